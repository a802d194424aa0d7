#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What the program says about itself: info, --help, --dump-config."""

import json
import os
import re

import harness


class Info(harness.Case):
    def test_info(self):
        out = self.succeed("info").out
        lines = dict(line.split(None, 1) for line in out.splitlines())
        versioned = "voxcycle compiler torch oneDNN MPI HDF5 FFTW Boost spdlog libpng libtiff zlib"
        for name in versioned.split():
            self.assertRegex(lines[name], r"\d+\.\d+", name)
        self.assertRegex(lines["voxcycle"], r"\(commit ([0-9a-f]{7,}(-dirty)?|unknown)\)")
        self.assertIn("CPU", lines["devices"])
        self.assertRegex(lines["CUDA"], r"^kernels (none|\d+\.\d), driver (none|\d+\.\d), NCCL header ")
        # Either ready, or what is missing and what to do about it.
        gpu = next(line for line in out.splitlines() if line.startswith("GPU use")).split(None, 2)[2]
        self.assertRegex(gpu, r"^ready$|\(.*\)\. .*\.$")
        self.assertRegex(lines["cores"], r"^\d+$")
        self.assertEqual(lines["threads"], "1 a process")
        self.assertEqual(lines["processes"], "1, self")

    def test_cores_are_those_that_the_process_may_run_on(self):
        one = min(os.sched_getaffinity(0))
        for ranks in (0, 2):
            out = self.run_program("info", ranks=ranks,
                                   in_child=lambda: os.sched_setaffinity(0, {one})).out
            self.assertRegex(out, r"(?m)^cores +1$")

    def test_info_on_processes_and_threads(self):
        out = self.succeed("info", "--run.threads", "3", ranks=2).out
        lines = dict(line.split(None, 1) for line in out.splitlines())
        self.assertEqual(lines["threads"], "3 a process")
        self.assertRegex(lines["processes"], r"^2, MPI")
        self.assertEqual(out.count("torch"), 1, "one rank speaks")

    def test_cores_that_mpirun_leaves_idle(self):
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("one core alone")
        for binding, idle in (("core", True), ("none", False)):
            process = harness.Process(self.scratch, [], launcher=[
                harness.MPIEXEC, "--bind-to", binding, "-n", "1", harness.BINARY, "info"])
            self.addCleanup(process.close)
            result = process.wait(30)
            if "bind" in result.err and "leaves" not in result.err:
                self.skipTest("this machine does not bind processes")
            self.assertEqual("mpirun binds each process to 1 core and leaves" in result.err, idle,
                             result.err)

    def test_help_names_every_command_and_flag(self):
        out = self.succeed("--help", "--all").out
        words = "generate train evaluate solve conductivity export ablate scale verify bench info --config --dump-config --completion --fresh --json --grid"
        for word in (*words.split(), "--checkpoint"):
            self.assertIn(word, out)
        self.assertNotIn("--worker", out, "verify's own flag")
        version = self.succeed("--version").out
        self.assertRegex(version, r"^voxcycle \d+\.\d+\S*, commit (\w+(-dirty)?)\n$")

    def test_help_of_one_command(self):
        for command, flag, others in (("train", "--dry-run", "--certify"), ("solve", "--certify",
                                                                              "--dry-run")):
            out = self.succeed(command, "--help").out
            self.assertIn(f"usage: voxcycle {command} ", out)
            self.assertIn(flag, out)
            self.assertNotIn(others, out)
        self.assertIn("energy|", self.succeed("bench", "-h").out)

    def test_dump_config(self):
        dump = self.succeed("--dump-config").out
        sections = re.findall(r"^\[(\w+)\]$", dump, re.M)
        self.assertEqual(sections, ["run", "log", "problem", "data", "cycle", "network", "train", "lbfgs",
                                    "ensemble", "ablate"])
        # Each key has its meaning in the line above.
        keys = re.findall(r"^(#.*\n)?(\w+) =", dump, re.M)
        self.assertGreater(len(keys), 30)
        for comment, key in keys:
            self.assertGreater(len(comment), 10, key)

        (self.scratch / "dump.cfg").write_text(dump)
        again = self.succeed("train", "--config", "dump.cfg", "--dump-config").out
        self.assertEqual(again, dump)

    def test_bench_measures_side_by_side(self):
        self.succeed("bench", "energy", "--grid", "16", "--json", "energy.json")
        line = json.loads((self.scratch / "energy.json").read_text())
        self.assertEqual((line["grid"], line["repeats"]), (16, 11))
        self.assertGreater(line["ratio_to_copy"], 0)
        self.assertEqual(line["device"], "the CPU")
        on_gpu = self.run_program("bench", "energy", "--grid", "16", "--run.device", "cuda")
        if on_gpu.status:
            self.assertRegex(on_gpu.err, r"GPU: .*\(.*\)\. ")
        else:
            self.assertIn('"device": "GPU 0 ', on_gpu.out)
        wrong = self.run_program("bench", "energy", "--run.device", "tpu")
        self.assertIn("Choose one of auto, cpu, cuda", wrong.err)
        self.succeed("bench", "step", "--grid", "8", "--batch", "4", "--reduction", "exact,fast",
                     "--repeats", "4", "--json", "step.json", ranks=2)
        line = json.loads((self.scratch / "step.json").read_text())
        self.assertEqual(line["repeats"], 4)
        self.assertEqual(line["processes"], 2)
        self.assertGreater(line["exact_seconds_median"], 0)
        self.assertAlmostEqual(line["baseline_seconds_median"] / line["exact_seconds_median"],
                               line["speedup"], delta=1e-3 * line["speedup"])
        self.succeed("bench", "step", "--grid", "8", "--batch", "4", "--no-baseline", "--profile",
                     "trace.json", "--json", "step.json", ranks=2)
        line = json.loads((self.scratch / "step.json").read_text())
        self.assertTrue(0 < line["convolution_share"] < 1)
        events = json.loads((self.scratch / "trace.json").read_text())["traceEvents"]
        names = {event.get("name") for event in events}
        self.assertLessEqual({"aten::convolution", "aten::convolution_backward"}, names)
        self.succeed("bench", "conv", "--grid", "8", "--channels", "4", "--repeats", "3", "--json",
                     "conv.json")
        line = json.loads((self.scratch / "conv.json").read_text())
        layers = line["layers"]
        self.assertEqual(line["repeats"], 3)
        self.assertEqual([layer["layer"] for layer in layers],
                         ["stem", "same", "joined", "down", "up", "head"])
        for layer in layers:
            self.assertGreater(layer["bf16_seconds"], layer["bf16_forward_seconds"])
        out = self.succeed("bench", "reference", "--grid", "16", "--json", "solves.json").out
        line = json.loads((self.scratch / "solves.json").read_text())
        for solve in line["solves"]:
            self.assertIn(solve["field"], out)
            if solve["chosen"]:
                self.assertTrue(solve["converged"], solve)
                self.assertLess(solve["relative_residual"], 1e-8)
                self.assertLessEqual(solve["iterations"], 40)
                self.assertGreater(solve["ratio_to_apply"], 1)
        self.succeed("bench", "io", "--grid", "8", "--samples", "5", "--batch", "2", "--json",
                     "io.json", "--data.directory", "new/data", "--data.train_references", "yes",
                     "--repeats", "2")
        line = json.loads((self.scratch / "io.json").read_text())
        self.assertEqual(line["repeats"], 2)
        # nu float32, u_ref float64 of five samples, and some hundred bytes about them.
        arrays = 5 * (8**3 * 4 + 9**3 * 8)
        self.assertLess(arrays, line["bytes"])
        self.assertLess(line["bytes"], arrays + 10000)
        for part in ("write", "read", "prefetch"):
            taken, copied = line[f"{part}_seconds_median"], line[f"{part}_copy_seconds_median"]
            self.assertAlmostEqual(line[f"{part}_ratio_to_copy"] / (taken / copied), 1, 6)
            self.assertAlmostEqual(line[f"{part}_samples_per_second"] * taken, 5, 6)
            self.assertAlmostEqual(line[f"{part}_megabytes_per_second"] * taken * 1e6 / line["bytes"],
                                   1, 6)
        self.assertFalse((self.scratch / "new").exists(), "it cleans up")
        self.assertIn("one process", self.run_program("bench", "io", ranks=2).err)
        self.assertIn("energy, step, loss, conv, reference, io", self.run_program("bench", "nothing").err)
        self.assertIn("kl, grf", self.run_program("bench", "reference", "--field", "none").err)

    def test_numbers_on_the_command_line(self):
        cases = [
            (("bench", "energy", "--grid", "16abc"), "--grid '16abc' is no positive number. Give"),
            (("bench", "loss", "--profile", "t.json"), "--profile means nothing to bench loss, which"),
            (("bench", "energy", "--grid", "0"), "--grid '0' is no positive number. Give"),
            (("bench", "loss", "--repeats", "-1"), "--repeats '-1' is no positive number. Give"),
            (("bench", "reference", "--repeats", "2"), "--repeats means nothing to bench reference"),
            (("bench", "step", "--grid", "8", "--reduction", "both"),
             "--reduction 'both' is unknown. Choose exact, fast or exact,fast."),
            (("verify", "--ranks", "1,2x"), "--ranks: '2x' is no number of processes. Give"),
            (("verify", "--ranks", "1", "--steps", "0"), "--steps: '0' is no number of steps. Give"),
        ]
        for arguments, expect in cases:
            with self.subTest(arguments=arguments):
                result = self.run_program(*arguments)
                self.assertIn(result.status, (1, 2), result.text)
                self.assertIn(expect, result.err)

    def test_bench_step_looks_at_the_network_it_names(self):
        channels = {4: 6, 8: 4}
        weights = 0
        child = None
        for c in channels.values():
            weights += 27 * c + c + 2 * 27 * c * c + 4 * c + 8 * c + 1  # stem, enc, head
            if child:  # down, up, dec
                weights += 8 * c * child + child + 8 * child * c + c + 3 * 27 * c * c + 4 * c
            child = c
        self.succeed("bench", "step", "--grid", "8", "--batch", "2", "--no-baseline", "--json",
                     "step.json", "--network.channels", "4:6, 8:4, 16:2", "--network.smoothing",
                     "0", "--train.loss", "energy_normalised")
        line = json.loads((self.scratch / "step.json").read_text())
        self.assertEqual(line["parameters"], weights)
        # u starts as the lift, whose energy is 1.09 to 2.9 times the solution's on kl.
        self.assertGreater(line["first_loss"], 1.09)
        self.assertLess(line["first_loss"], 2.9)
        self.assertAlmostEqual(sum(line[f"{part}_share"] for part in (
            "data", "forward", "loss", "backward", "reduction", "update")), 1, delta=0.01)
        self.assertNotIn("speedup", line)
        # L-BFGS is timed as the gradients that it asks for.
        line = json.loads(self.succeed("bench", "step", "--grid", "8", "--batch", "2", "--no-baseline",
                                       "--repeats", "1", "--train.optimizer", "lbfgs").out)
        self.assertGreater(line["seconds_median"], 0)

    def test_command_line_wins_over_file_wins_over_default(self):
        self.config({"cycle.batch": "6", "train.loss": "energy"})
        out = self.succeed("train", "--cycle.batch", "7", "--config", "small.cfg", "--run.seed=5",
                           "--dump-config").out
        for line in ("batch = 7", "loss = energy", "seed = 5", "optimizer = muon"):
            self.assertRegex(out, f"(?m)^{line}$")


if __name__ == "__main__":
    harness.main()
