#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""voxcycle scale: strong and weak scaling of a step, each number of processes started by itself."""

import json

import harness


class Scale(harness.Case):
    def setUp(self):
        super().setUp()
        self.config()

    def test_strong_and_weak(self):
        result = self.succeed("scale", "--config", "small.cfg", "--processes", "1,2", "--grid", "8",
                              "--rounds", "1", "--json", "scale.json", timeout=100)
        figures = json.loads((self.scratch / "scale.json").read_text())
        self.assertEqual((figures["grid"], figures["threads"], figures["rounds"]), (8, 1, 1))
        strong, weak = figures["strong"], figures["weak"]
        self.assertEqual([(r["processes"], r["batch"]) for r in strong], [(1, 4), (2, 4)])
        self.assertEqual([(r["processes"], r["batch"]) for r in weak], [(1, 4), (2, 8)])
        self.assertEqual(strong[0], weak[0], "measured once")
        for one, two in (strong, weak):
            self.assertEqual((one["speedup"], one["efficiency"]), (1, 1))
            faster = two["batch"] / two["seconds"] / (one["batch"] / one["seconds"])
            self.assertAlmostEqual(two["speedup"], faster, delta=1e-3 * faster)
            self.assertAlmostEqual(two["efficiency"], faster / 2, delta=1e-3 * faster)
        self.assertEqual(result.err.count("round 1 of 1"), 3)
        self.assertIn("strong scaling", result.out)
        self.assertFalse((self.scratch / "data").exists(), "random fields")

    def test_more_processes_than_units(self):
        result = self.succeed("scale", "--config", "small.cfg", "--processes", "1,3", "--grid", "8",
                              "--rounds", "1", timeout=100)
        self.assertIn("a batch of 4 has 2 micro-batches of 2 samples", result.out)

    def test_space(self):
        figures = self.figures("scale", "--config", "small.cfg", "--space", "--processes", "1,2",
                               "--grid", "16", "--batch", "1", "--rounds", "1",
                               "--run.spatial_above", "8")
        self.assertNotIn("strong", figures)
        self.assertEqual([(r["processes"], r["batch"], r["processes_a_sample"])
                          for r in figures["space"]], [(1, 1, 1), (2, 1, 2)])

    def test_refusals(self):
        for options, expect in [
                (("--processes", "2,1"), "'1' is no larger number"),
                (("--processes", "two"), "'two'"),
                (("--processes", "2,3", "--batch", "3"), "share evenly"),
                (("--processes", "1,2", "--launcher", "mpirun"), "has no {}"),
                (("--processes", "1,2", "--launcher", "false {}"), "'srun -n {}'"),
                (("--processes", "2", "--launcher", "env A={}"), "started 1 processes that know of each other instead of 2"),
                (("--json", "small.cfg/x"), "cannot write small.cfg/x"),
                (("--grid", "0"), "--grid '0'"),
                (("--processes", "1,2", "--space", "--grid", "16"), "not shared out"),
                (("--processes", "1,3", "--space", "--grid", "64", "--network.channels",
                  "4:8, 8:8, 16:8, 32:8, 64:8"), "must be a multiple of 6"),
                (("--processes", "1,2", "--space", "--grid", "64"), "nothing to share out on 64^3"),
                (("--processes", "1,2", "--run.spatial_processes", "2", "--grid", "64"), "not 1"),
        ]:
            with self.subTest(options=options):
                result = self.run_program("scale", "--config", "small.cfg", *options)
                self.assertEqual(result.status, 1, result.text)
                self.assertIn(expect, result.err)
        self.assertIn("without mpirun", self.run_program("scale", ranks=2).err)


if __name__ == "__main__":
    harness.main()
