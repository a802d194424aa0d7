#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What the program says about itself: info, --help, --dump-config."""

import json
import re

import harness


class Info(harness.Case):
    def test_info(self):
        out = self.succeed("info").out
        lines = dict(line.split(None, 1) for line in out.splitlines())
        versioned = "voxcycle compiler torch oneDNN MPI HDF5 FFTW Boost spdlog libpng zlib"
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

    def test_info_on_processes_and_threads(self):
        out = self.succeed("info", "--run.threads", "3", ranks=2).out
        lines = dict(line.split(None, 1) for line in out.splitlines())
        self.assertEqual(lines["threads"], "3 a process")
        self.assertRegex(lines["processes"], r"^2, MPI")
        self.assertEqual(out.count("torch"), 1, "one rank speaks")

    def test_help_names_every_command_and_flag(self):
        out = self.succeed("--help").out
        words = "generate train evaluate solve export ablate verify bench info --config --dump-config --fresh --json --grid"
        for word in (*words.split(), "--checkpoint"):
            self.assertIn(word, out)
        self.assertEqual(self.succeed("train", "--help").out, out)
        nothing = self.run_program()
        self.assertNotEqual(nothing.status, 0)
        self.assertEqual(nothing.out, out)

    def test_dump_config(self):
        dump = self.succeed("--dump-config").out
        sections = re.findall(r"^\[(\w+)\]$", dump, re.M)
        self.assertEqual(sections, ["run", "problem", "data", "cycle", "network", "train", "lbfgs",
                                    "ablate"])
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
        self.assertEqual(line["grid"], 16)
        self.assertGreater(line["ratio_to_copy"], 0)
        self.assertEqual(line["device"], "cpu")
        on_gpu = self.run_program("bench", "energy", "--grid", "16", "--device", "cuda")
        if on_gpu.status:
            self.assertRegex(on_gpu.err, r"GPU: .*\(.*\)\. ")
        else:
            self.assertIn('"device": "cuda"', on_gpu.out)
        self.assertIn("Choose cpu or cuda", self.run_program("bench", "energy", "--device", "tpu").err)
        self.succeed("bench", "step", "--grid", "8", "--batch", "4", "--reduction", "exact,fast",
                     "--json", "step.json", ranks=2)
        line = json.loads((self.scratch / "step.json").read_text())
        self.assertEqual(line["processes"], 2)
        self.assertGreater(line["exact_seconds_median"], 0)
        out = self.succeed("bench", "reference", "--grid", "16", "--json", "solves.json").out
        line = json.loads((self.scratch / "solves.json").read_text())
        for solve in line["solves"]:
            self.assertIn(solve["field"], out)
            if solve["chosen"]:
                self.assertTrue(solve["converged"], solve)
                self.assertLess(solve["relative_residual"], 1e-8)
                self.assertLessEqual(solve["iterations"], 40)
                self.assertGreater(solve["ratio_to_apply"], 1)
        self.assertNotEqual(self.run_program("bench", "nothing").status, 0)
        self.assertIn("kl, grf", self.run_program("bench", "reference", "--field", "none").err)

    def test_command_line_wins_over_file_wins_over_default(self):
        self.config({"cycle.batch": "6", "train.loss": "energy"})
        out = self.succeed("train", "--cycle.batch", "7", "--config", "small.cfg", "--run.seed=5",
                           "--dump-config").out
        for line in ("batch = 7", "loss = energy", "seed = 5", "optimizer = muon"):
            self.assertRegex(out, f"(?m)^{line}$")


if __name__ == "__main__":
    harness.main()
