#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A network of a box that is no cube (problem.box), from generate to solve."""

import harness

BOX = {"problem.box": "1, 0.5, 0.25", "data.family": "grf", "data.correlation_length": "0.3"}
NESTED = {"network.coarse": "auto", "network.smoothing": "4", "cycle.rate": "1e-2"}


class Box(harness.Case):
    def setUp(self):
        super().setUp()
        self.config({**BOX, **NESTED})

    def test_whole_job(self):
        self.succeed("generate", "--config", "small.cfg", ranks=2)
        steps = ("--config", "small.cfg", "--cycle.steps", "100, 20")
        self.succeed("train", *steps, ranks=2)
        norms = [float(row["energy_norm_error_mean"]) for row in self.metrics()
                 if row["energy_norm_error_mean"]]
        figures = self.figures("evaluate", *steps)
        self.assertEqual((figures["grid"], figures["samples"]), ("16x8x4", 4))
        self.assertLess(figures["energy_norm_error_mean"], 0.01)
        self.assertLess(min(norms[1:3]), norms[0], "nothing was learned")
        # Another grid of the same box, named by its longest edge.
        self.assertEqual(self.figures("evaluate", *steps, "--grid", "8")["grid"], "8x4x2")
        self.assertTrue((self.scratch / "run/report_8.html").exists())

        nu = str(next(self.scratch.glob("data/held_out/16x8x4/*.h5"))) + ":/nu[0]"
        solved = self.figures("solve", "--nu", nu, "--model", "run/checkpoint.h5", "--compare")
        self.assertTrue(solved["converged"])
        self.succeed("export", *steps, "--out", "m.pt", "--sample", "s.pt", timeout=120)

    def test_same_bits_on_any_number_of_processes(self):
        self.succeed("generate", "--config", "small.cfg")
        self.assert_same_bits()

    def test_every_family_and_a_source(self):
        for changes in ({"data.family": "kl"}, {"data.family": "inclusions"},
                        {"problem.source": "sampled"}, {"problem.source": "2"},
                        {"problem.boundary": "flux, flux, 0, flux, flux, 1"},
                        {**NESTED, "network.norm": "group"},
                        {"network.name": "unet", "network.depth": "1"}):
            with self.subTest(changes=changes):
                self.config({**BOX, **changes, "run.directory": "other", "data.directory": "more"})
                self.succeed("generate", "--config", "small.cfg")
                self.succeed("train", "--config", "small.cfg", "--fresh", "--cycle.steps", "3")
                self.succeed("evaluate", "--config", "small.cfg", "--cycle.steps", "3")
                for shard in self.scratch.glob("more/**/*.h5"):
                    shard.unlink()


class Refused(harness.Refusal):
    def test_boxes_that_levels_do_not_cut_into_voxels(self):
        for box, expect in (("2, 1, 1", ["problem.box", "give 1, 0.5, 0.5"]),
                            ("1, 1", ["problem.box", "2 numbers", "x, y and z"]),
                            ("1, a, 1", ["problem.box", "'a'"]),
                            ("1, 0, 1", ["problem.box", "'0'"]),
                            ("1, 0.3, 1", ["problem.box", "2.4 voxels"]),
                            ("1, 1, 0.125", ["network", "multiple of 2"])):
            with self.subTest(box=box):
                self.refuse_train("--problem.box", box, expect=expect)


if __name__ == "__main__":
    harness.main()
