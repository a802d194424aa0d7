#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""voxcycle scale: strong and weak scaling of a step, each number of processes started by itself or as
a job, kept in one directory, and predicted beyond the machine."""

import json
import os
from unittest import mock

import harness

SHARES = ("computing_share", "waiting_share", "reducing_share", "input_share")


class Scale(harness.Case):
    def setUp(self):
        super().setUp()
        self.config()

    def scale(self, *options):
        """Figures on the small grid, and what was printed."""
        result = self.succeed("scale", "--config", "small.cfg", "--grid", "8", "--json", "scale.json",
                              *options, timeout=150)
        text = (self.scratch / "scale.json").read_text()
        self.assertEqual(text, (self.scratch / "run/scale/scale.json").read_text())
        return json.loads(text), result

    def test_strong_and_weak(self):
        figures, result = self.scale("--processes", "1,2", "--repeats", "2")
        self.assertEqual((figures["grid"], figures["repeats"]), (8, 2))
        self.assertEqual(figures["input"], "random fields")
        self.assertEqual(len(figures["settings"]), 1)
        self.assertIn(", 1 thread per process", figures["settings"][0])
        strong, weak = figures["strong"], figures["weak"]
        self.assertEqual([(r["processes"], r["batch"]) for r in strong], [(1, 4), (2, 4)])
        self.assertEqual([(r["processes"], r["batch"]) for r in weak], [(1, 4), (2, 8)])
        self.assertEqual(strong[0], weak[0], "measured once")
        for one, two in (strong, weak):
            self.assertEqual((one["speedup"], one["efficiency"]), (1, 1))
            self.assertEqual((one["waiting_share"], one["reducing_share"]), (0, 0))
            self.assertGreater(two["reducing_share"], 0)
            self.assertAlmostEqual(sum(two[share] for share in SHARES), 1, delta=1e-3)
            faster = [two["batch"] / b / (one["batch"] / a)
                      for a, b in zip(one["seconds_each"], two["seconds_each"], strict=True)]
            self.assertAlmostEqual(two["speedup"], sum(faster) / 2, delta=1e-3 * max(faster))
            self.assertAlmostEqual(two["efficiency_low"], min(faster) / 2, delta=1e-3)
            self.assertAlmostEqual(two["efficiency_high"], max(faster) / 2, delta=1e-3)
        self.assertEqual(result.err.count("turn 1 of 2"), 3)
        self.assertIn("strong scaling", result.out)
        page = (self.scratch / "run/scale/scale.html").read_text()
        self.assertIn("<svg", page)
        self.assertNotIn("Predicted", page)
        self.assertFalse((self.scratch / "data").exists(), "random fields")

    def test_others_are_added_and_nothing_is_measured_twice(self):
        self.scale("--processes", "1", "--repeats", "1")
        before, _ = self.scale("--report")
        figures, result = self.scale("--processes", "1,3", "--repeats", "1")
        self.assertEqual([r["processes"] for r in figures["weak"]], [1, 3])
        self.assertEqual(figures["strong"][0], before["strong"][0])
        self.assertEqual(result.err.count("turn 1 of 1"), 2)
        self.assertIn("batch of 4 has 2 micro-batches of 2 samples", result.err)
        other = self.run_program("scale", "--config", "small.cfg", "--run.seed", "7")
        self.assertEqual(other.status, 1)
        self.assertIn("'run.seed = 1' there, 'run.seed = 7' now", other.err)
        fewer = self.run_program("scale", "--config", "small.cfg", "--batch", "2")
        self.assertIn("'batch = 4' there, 'batch = 2' now", fewer.err)
        figures, result = self.scale("--fresh", "--processes", "1", "--repeats", "1", "--batch", "2")
        self.assertEqual([(r["processes"], r["batch"]) for r in figures["weak"]], [(1, 2)])

    def test_samples_are_read_as_in_training(self):
        figures, _ = self.scale("--processes", "2", "--repeats", "1", "--data.on_the_fly", "yes")
        self.assertEqual(figures["input"], "read as in training")
        self.assertGreater(figures["weak"][0]["input_share"], 0)

    def test_prediction(self):
        figures, result = self.scale("--processes", "1,2", "--repeats", "1", "--model", "5,3")
        self.assertAlmostEqual(figures["model"]["latency_seconds"], 5e-6, places=9)
        self.assertEqual(figures["model"]["bytes_a_second"], 3e9)
        (step,) = figures["model"]["steps"]
        gradients, others = step["sums"]
        self.assertEqual(gradients["calls"], 2)  # exponents, integers
        self.assertGreater(others["calls"], 2)
        self.assertEqual(step["in_group"]["calls"], 0)
        strong, weak = figures["strong_predicted"], figures["weak_predicted"]
        self.assertEqual([row["processes"] for row in weak], [2**k for k in range(13)])
        self.assertEqual([row["micro_batches_in_turn"] for row in strong], [2] + 12 * [1])
        self.assertEqual(weak[-1]["batch"], 4 * 4096)
        # One process sums nothing.
        one = figures["strong"][0]
        self.assertAlmostEqual(one["predicted_seconds"], one["seconds"], delta=1e-3 * one["seconds"])
        self.assertEqual(figures["weak"][1]["predicted_seconds"], weak[1]["predicted_seconds"])
        self.assertIn("PREDICTED, not measured", result.out)
        page = (self.scratch / "run/scale/scale.html").read_text()
        self.assertIn("Predicted, not measured", page)

    def test_jobs(self):
        sbatch = self.scratch / "bin/sbatch"
        sbatch.parent.mkdir()
        sbatch.write_text("#!/bin/sh\necho \"$@\" >> submitted\necho 'a warning' >&2\necho '17;here'\n")
        sbatch.chmod(0o755)
        path = f"{sbatch.parent}:{os.environ['PATH']}"
        with mock.patch.dict(os.environ, {"PATH": path}):
            _, result = self.scale("--submit", "--processes", "1,2", "--repeats", "1")
        self.assertIn("1 process: job 17\n2 processes: job 17\n", result.out)
        self.assertEqual(
            (self.scratch / "submitted").read_text(),
            "".join(f"--parsable --ntasks={count} slurm/scale.sbatch run/scale/config.cfg --repeats 1\n"
                    for count in (1, 2)))
        # What a job calls: the study's batches hold, though 2 is its first number.
        self.succeed("scale", "--config", "run/scale/config.cfg", "--processes", "2", "--repeats", "1",
                     timeout=60)
        figures, _ = self.scale("--report")
        self.assertEqual([(r["processes"], r["batch"]) for r in figures["weak"]], [(2, 8)])
        with mock.patch.dict(os.environ, {"PATH": path}):
            _, result = self.scale("--submit", "--processes", "1,2", "--repeats", "1")
        self.assertNotIn("2 processes: job", result.out)
        with mock.patch.dict(os.environ, {"SLURM_NTASKS": "2"}):
            result = self.run_program("scale", "--config", "small.cfg", "--processes", "4",
                                      "--launcher", "mpirun -n {}")
        self.assertIn("this job has 2 tasks, too few for 4 processes", result.err)

    def test_space(self):
        figures = self.figures("scale", "--config", "small.cfg", "--space", "--processes", "1,2",
                               "--grid", "16", "--batch", "1", "--repeats", "1",
                               "--run.spatial_above", "8")
        self.assertNotIn("strong", figures)
        self.assertEqual([(r["processes"], r["batch"], r["processes_a_sample"])
                          for r in figures["space"]], [(1, 1, 1), (2, 1, 2)])

    def test_prediction_in_space(self):
        figures = self.figures("scale", "--config", "small.cfg", "--space", "--processes", "1,2",
                               "--grid", "64", "--batch", "2", "--repeats", "1", "--model", "hdr",
                               "--run.spatial_above", "16")
        self.assertEqual([row["processes_a_sample"] for row in figures["space_predicted"]], [1, 2, 4, 8])
        one, two = figures["space"]
        self.assertAlmostEqual(one["predicted_seconds"] / one["seconds"], 1, delta=1e-3)
        # What the line through both was made of, and messages.
        computing = two["seconds"] * two["computing_share"]
        self.assertGreaterEqual(two["predicted_seconds"], 0.999 * min(computing, one["seconds"]))
        rows = figures["groups_predicted"]
        self.assertEqual([(row["processes"], row["processes_a_sample"], row["batch"]) for row in rows],
                         [(1, 1, 2), (4096, 1, 8192), (4096, 2, 4096), (4096, 4, 2048), (4096, 8, 1024)])
        self.assertEqual(rows[1]["predicted_exchanging_share"], 0)
        self.assertGreater(rows[2]["predicted_exchanging_share"], 0)
        page = (self.scratch / "run/scale_space/scale.html").read_text()
        self.assertIn("groups: a micro-batch for each group of processes, predicted", page)

    def test_refusals(self):
        for options, expect in [
                (("--processes", "2,1"), "'1' is no larger number"),
                (("--processes", "two"), "'two'"),
                (("--repeats", "0"), "--repeats '0' is no positive number"),
                (("--report",), "nothing is measured in run/scale yet"),
                (("--report", "--submit"), "Choose one"),
                (("--model", "5,0"), "latency and bandwidth must be above 0"),
                (("--model", "5"), "nor a latency in microseconds and a bandwidth"),
                (("--model", "fdr"), "neither one of 10gbe"),
                (("--model", "5,3", "--space", "--processes", "2", "--grid", "64"), "Let it begin with 1"),
                (("--model", "5,3", "--run.spatial_processes", "2", "--processes", "2", "--grid", "64"),
                 "Add --space"),
                (("--processes", "2,3", "--batch", "3"), "share evenly"),
                (("--processes", "1,2", "--launcher", "mpirun"), "has no {}"),
                (("--processes", "1,2", "--launcher", "false {}"), "'srun -n {}'"),
                (("--processes", "2", "--launcher", "env A={}"), "started 1 processes that know of each other instead of 2"),
                (("--json", "small.cfg/x"), "cannot write small.cfg/x"),
                (("--grid", "0"), "--grid '0'"),
                (("--processes", "1,2", "--space", "--grid", "16"), "not shared out"),
                (("--processes", "1,13", "--space", "--grid", "64"), "no more than 10 processes"),
                (("--processes", "1,2", "--run.spatial_processes", "2", "--grid", "64"), "not 1"),
        ]:
            with self.subTest(options=options):
                result = self.run_program("scale", "--config", "small.cfg", *options)
                self.assertIn(result.status, (1, 2), result.text)
                self.assertIn(expect, result.err)
        self.assertIn("without mpirun", self.run_program("scale", ranks=2).err)


if __name__ == "__main__":
    harness.main()
