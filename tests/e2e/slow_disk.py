#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A disk slower than training is warned about, once, with the share of time lost. SLOW_READS in the
environment names the library that slows reads down."""

import os
import re
from unittest import mock

import harness

WARNING = re.compile(r"waited for data (\d+) % of the last 50 steps' time")
TIMES = re.compile(r"^time:  data (\d+) %  forward.*  evaluation \d+ %  checkpoint \d+ %$", re.M)
# Enough steps on each of two grids that a second warning would have its occasion. Most batches wait
# for a slow read, which takes longer than a step, on a busy machine, too.
BRIEF = {"cycle.levels": "4, 8", "cycle.steps": "60", "network.channels": "4:2, 8:2",
         "network.smoothing": "0", "train.loss": "energy_normalised"}
# Steps that outweigh what reading takes.
LENGTHY = {"cycle.levels": "16", "cycle.steps": "60"}


class SlowDisk(harness.Case):
    def generate(self, changes):
        self.config(changes)
        self.succeed("generate", "--config", "small.cfg")

    def train(self, preload, ranks=0):
        with mock.patch.dict(os.environ, {"LD_PRELOAD": preload} if preload else {}):
            return self.succeed("train", "--config", "small.cfg", "--fresh", ranks=ranks)

    def test_one_warning_with_the_share(self):
        self.generate(BRIEF)
        for ranks in (0, 2):
            with self.subTest(ranks=ranks):
                result = self.train(os.environ["SLOW_READS"], ranks)
                found = WARNING.findall(result.text)
                self.assertEqual(len(found), 1, result.text)
                self.assertGreater(int(found[0]), 10)
                self.assertGreater(int(TIMES.search(result.out).group(1)), 10)

    def test_no_warning_for_a_fast_disk(self):
        self.generate(LENGTHY)
        result = self.train("")
        self.assertEqual(WARNING.findall(result.text), [])
        self.assertRegex(result.out, TIMES)


if __name__ == "__main__":
    harness.main()
