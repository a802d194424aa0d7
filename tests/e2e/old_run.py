#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A config and a checkpoint that an older program wrote are read: old_run holds a training stopped
in its second stage, with keys and a fingerprint of the first version."""

import json
import shutil
from pathlib import Path

import harness

OLD = Path(__file__).with_name("old_run")

# Mean relative L2 error that the older program told of this checkpoint, and of the finished run.
STOPPED_ERROR = 0.0109039437
FINISHED_ERROR = 0.0100326592
# Processors of other kinds round otherwise in bfloat16.
TOLERANCE = 0.02


class OldRun(harness.Case):
    def setUp(self):
        super().setUp()
        shutil.copy(OLD / "config.cfg", self.scratch / "old.cfg")
        (self.scratch / "run").mkdir()
        shutil.copy(OLD / "checkpoint.h5", self.scratch / "run")
        self.succeed("generate", "--config", "old.cfg")

    def expect_error(self, expected):
        self.succeed("evaluate", "--config", "old.cfg")
        error = json.loads((self.scratch / "run/evaluation.json").read_text())["rel_l2_mean"]
        self.assertAlmostEqual(error, expected, delta=TOLERANCE * expected)

    def test_is_evaluated_and_goes_on(self):
        self.expect_error(STOPPED_ERROR)
        result = self.succeed("train", "--config", "old.cfg")
        self.assertEqual(result.err.count("train.unit_size is called train.micro_batch_size now"), 1)
        self.assertEqual(result.err.count("network.directions is called network.subspace now"), 1)
        self.assertRegex(result.err, r"going on with stage 2 after \d+ of its steps")
        self.expect_error(FINISHED_ERROR)

    def test_of_other_values_is_refused(self):
        result = self.run_program("train", "--config", "old.cfg", "--cycle.batch", "6")
        self.assertEqual(result.status, 1, result.text)
        self.assertIn("'cycle.batch = 4' there, 'cycle.batch = 6' now", result.err)

    def test_starts_another_run(self):
        self.succeed("train", "--config", "old.cfg")
        result = self.succeed("train", "--config", "old.cfg", "--run.directory", "next",
                              "--train.start", "run")
        self.assertIn("starting with the weights of run", result.err)


if __name__ == "__main__":
    harness.main()
