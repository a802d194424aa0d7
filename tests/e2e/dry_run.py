#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""train --dry-run: says what a training would do, needs no data, leaves nothing behind, and refuses
what the training itself would refuse."""

import re

import harness

STAGE = re.compile(r"^(\d+) +(\S+) +(.+?) +(\d+) +(adam|muon|sgd) +(\d+) .* (\d+) % +(\d+) %$")


class DryRun(harness.Case):
    def stages(self, *options, ranks=0):
        result = self.succeed("train", "--config", "small.cfg", "--dry-run", *options, ranks=ranks)
        self.assertFalse((self.scratch / "run").exists())
        self.assertFalse((self.scratch / "data").exists())
        return result, [m.groups() for m in map(STAGE.match, result.out.splitlines()) if m]

    def test_each_stage_has_its_budget_samples_and_share(self):
        self.config({"cycle.name": "v", "cycle.steps": "10, 4", "cycle.batch": "4, 2",
                     "train.optimizer": "adam, muon"})
        result, stages = self.stages()
        self.assertIn("path of cycle v: 16^3 8^3 16^3", result.out)
        self.assertEqual([s[1:6] for s in stages],
                         [("16^3", "4 steps", "2", "muon", "8"),
                          ("8^3", "10 steps", "4", "adam", "40"),
                          ("16^3", "4 steps", "2", "muon", "8")])
        # Voxels: 8 * 4096 twice and 40 * 512.
        self.assertEqual([s[7] for s in stages], ["38", "24", "38"])
        self.assertAlmostEqual(sum(int(s[6]) for s in stages), 100, delta=2)
        words = r"predicted training time (\S+) (m?s) on 1 process, (\S+) (m?s) with evaluations"
        trained, unit, whole, whole_unit = re.search(words, result.out).groups()
        milliseconds = {"ms": 1, "s": 1000}
        self.assertGreater(float(whole) * milliseconds[whole_unit],
                           float(trained) * milliseconds[unit])

    def test_memory_and_sums_of_each_stage(self):
        self.config({"cycle.batch": "4", "train.reduction": "exact"})
        result, _ = self.stages()
        pattern = re.compile(r"^\d +\S+ .+ (\d+\.\d) MiB +(\d+\.\d) KiB ")
        lines = [m.groups() for m in map(pattern.match, result.out.splitlines()) if m]
        memory, sums = zip(*[map(float, line) for line in lines])
        self.assertGreater(memory[1], memory[0])
        # Weights of levels 4, 8 and of 16, as 64 bit integers: stem, down, up, two convolutions of
        # the encoder and, but on the coarsest, of the decoder, the head. Normalisations sum theirs
        # with the statistics.
        level4 = 27 * (8 + 2 * 64) + 8 + 8 * 8 + 1
        finer = level4 + 27 * (128 + 64) + 2 * (8 * 64 + 8)
        statistics = 2 * 8 * 2 * 2 * 24  # of a block
        # An exponent each parameter of these: weight and bias of stem, head, down and up, and the
        # convolutions' weights. And the loss.
        others, more = 8 * (6 + 12) + 24, 8 * 12
        self.assertAlmostEqual(sums[0], (8 * (level4 + finer) + 3 * statistics + others) / 1024,
                               delta=0.1)
        self.assertAlmostEqual(
            sums[1], (8 * (level4 + 2 * finer) + 5 * statistics + others + more) / 1024, delta=0.1)

    def test_epochs_and_seconds_become_steps(self):
        self.config({"cycle.steps": "0", "cycle.epochs": "1.5, 0", "cycle.seconds": "0, 0.5",
                     "cycle.batch": "8", "data.train_samples": "100"})
        _, stages = self.stages(ranks=2)
        self.assertEqual(stages[0][1:6], ("8^3", "1.5 epochs, 19 steps", "8", "muon", "152"))
        self.assertEqual(stages[1][2], "500 ms")
        self.assertGreater(int(stages[1][5]), 0)

    def test_processes_without_a_sample(self):
        self.config({"cycle.batch": "5", "train.micro_batch_size": "3", "data.held_out_samples": "4"})
        for ranks in (2, 3):
            result, stages = self.stages(ranks=ranks)
            self.assertEqual([s[3] for s in stages], ["5", "5"])
        self.assertIn("1 of 3 processes have no samples in a step", result.err)

    def test_refuses_what_training_refuses(self):
        self.config({"cycle.steps": "5"})
        for key, value, expect in [
                ("cycle.steps", "5, 0", r"stage 2 \(16\^3\) has no budget"),
                ("cycle.levels", "8, 20", "no level for grid 20.*let them be 5, 10, 20 in"),
                ("cycle.levels", "8, 22", "no level for grid 22.*let them be 11, 22 in"),
                ("network.channels", "16:8", "no level for grid 8.*let them be 4, 8 in"),
                ("train.optimizer", "adam, lion", "lion"),
        ]:
            result = self.run_program("train", "--config", "small.cfg", "--dry-run", f"--{key}",
                                      value)
            self.assertNotEqual(result.status, 0, key)
            self.assertRegex(result.err, expect)
            self.assertNotIn("predicted", result.out)


if __name__ == "__main__":
    harness.main()
