#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Networks whose coarser levels are nested grids (network.coarse = black_box), where nu jumps."""

import harness

NESTED = {"network.coarse": "black_box", "data.family": "inclusions", "data.shape": "both",
          "data.inclusions": "2, 4", "data.radius": "0.15, 0.3"}


class Nested(harness.Case):
    def setUp(self):
        super().setUp()
        self.config(NESTED)

    def untrained(self, *options):
        """Mean energy-norm error on the coarsest grid before any step."""
        self.succeed("train", "--config", "small.cfg", "--fresh", *options)
        return float(next(r for r in self.metrics() if r["energy_gap_mean"])["energy_norm_error_mean"])

    def test_an_order_closer_than_averaged_grids(self):
        self.succeed("generate", "--config", "small.cfg")
        averaged = self.untrained("--network.coarse", "averaged")
        self.assertLess(self.untrained(), averaged / 10)

        # The same model evaluates, solves and says what it is.
        figures = self.figures("evaluate", "--config", "small.cfg")
        self.assertLess(figures["energy_norm_error_mean"], averaged / 5)
        nu = str(next(self.scratch.glob("data/held_out/16x16x16/*.h5"))) + ":/nu[0]"
        figures = self.figures("solve", "--nu", nu, "--model", "run/checkpoint.h5", "--compare")
        self.assertTrue(figures["converged"])
        self.succeed("export", "--config", "small.cfg", "--out", "m.pt", timeout=120)

    def test_directions_do_no_harm_and_take_off_most_of_the_error(self):
        self.succeed("generate", "--config", "small.cfg")
        smooth = ("--network.smoothing", "8")
        directions = (*smooth, "--network.subspace", "4")
        errors = {}
        for options in smooth, directions:
            self.untrained(*options)
            errors[options] = [(r["grid"], float(r["energy_norm_error_mean"]))
                               for r in self.metrics() if r["energy_gap_mean"]]
        # Above the coarsest grid they cannot do harm, whatever the rate.
        alone = errors[smooth][0][1]
        coarse = [error for grid, error in errors[directions] if grid == "8^3"]
        self.assertGreater(len(coarse), 1)
        self.assertLess(max(coarse), alone)
        self.assertGreater(max(error for grid, error in errors[smooth] if grid == "8^3"), alone)
        trained = errors[directions][-1][1]
        self.assertLess(trained, errors[smooth][-1][1] / 3)
        figures = self.figures("evaluate", "--config", "small.cfg", *directions)
        self.assertAlmostEqual(figures["energy_norm_error_mean"], trained, delta=0.1 * trained)
        nu = str(next(self.scratch.glob("data/held_out/16x16x16/*.h5"))) + ":/nu[0]"
        figures = self.figures("solve", "--nu", nu, "--model", "run/checkpoint.h5", "--compare")
        self.assertTrue(figures["converged"])
        self.succeed("export", "--config", "small.cfg", *directions, "--out", "m.pt", timeout=120)
        self.assert_same_bits(*directions)

    def test_auto_is_what_it_chose(self):
        self.config({**NESTED, "network.coarse": "auto"})
        self.succeed("generate", "--config", "small.cfg")
        for options, coarse, scale in (((), "black_box", "0.25"),
                                       (("--network.smoothing", "0"), "averaged", "4")):
            with self.subTest(coarse=coarse):
                self.succeed("train", "--config", "small.cfg", "--fresh", *options)
                chosen = (*options, "--network.coarse", coarse, "--network.correction_scale", scale)
                self.succeed("evaluate", "--config", "small.cfg", *chosen)
                self.succeed("train", "--config", "small.cfg", *chosen)  # finished: the same run
                for command in ("evaluate", "train"):
                    result = self.run_program(command, "--config", "small.cfg", *options,
                                              "--network.correction_scale", "1")
                    self.assertGreater(result.status, 0)
                    self.assertIn("network.correction_scale", result.err)

    def test_same_bits_on_any_number_of_processes(self):
        # Two units a batch: of three ranks one has none.
        self.succeed("generate", "--config", "small.cfg")
        self.assert_same_bits()

    def test_grids_above_the_finest_block_are_smoothed_alone(self):
        few = ("--network.channels", "4:8, 8:8")
        self.succeed("generate", "--config", "small.cfg")
        self.assert_same_bits(*few)
        result = self.succeed("train", "--config", "small.cfg", *few)
        self.assertIn("16^3: smoothing steps alone", result.text)
        self.assertNotIn("8^3: smoothing", result.text)
        entering, *_, end = [r["energy_norm_error_mean"] for r in self.metrics()
                             if r["grid"] == "16^3" and r["energy_norm_error_mean"]]
        self.assertNotEqual(entering, end)  # blocks learn from the finer grid's loss
        figures = self.figures("evaluate", "--config", "small.cfg", *few)
        self.assertAlmostEqual(figures["energy_norm_error_mean"], float(end), delta=1e-4)
        # Without smoothing steps nothing would happen there.
        result = self.run_program("train", "--config", "small.cfg", *few, "--network.coarse",
                                  "averaged", "--network.smoothing", "0", "--run.directory", "rough")
        self.assertGreater(result.status, 0)
        self.assertIn("Add 16 to network.channels", result.err)

    def test_auto_averages_where_nested_grids_cannot_be_had(self):
        self.succeed("generate", "--config", "small.cfg")
        for coarse, *options in (("black_box",),
                                 ("averaged", "--network.name", "unet", "--network.depth", "2"),
                                 ("averaged", "--network.smoothing", "0")):
            with self.subTest(options=options):
                expected = self.untrained("--network.coarse", coarse, *options)
                self.assertEqual(self.untrained("--network.coarse", "auto", *options), expected)

    def test_what_cannot_be_had(self):
        for options, texts in (
                (("--network.coarse", "x"), ["network.coarse", "auto, averaged, black_box"]),
                (("--network.name", "unet"), ["network.name = multigrid", "network.coarse = averaged"]),
                (("--network.smoothing", "0"), ["needs smoothing steps", "network.smoothing"]),
                (("--network.subspace", "17"), ["network.subspace", "16"]),
                (("--network.subspace", "2", "--network.coarse", "averaged"),
                 ["network.subspace = 2", "network.coarse = black_box"]),
                (("--network.subspace", "2", "--network.channels", "8:8, 16:8"),
                 ["cycle.levels", "nothing to learn", "Begin with 16"]),
                (("--network.residual_input", "yes"),
                 ["network.residual_input = yes", "network.smoothing = 0"]),
                (("--network.residual_input", "perhaps"), ["network.residual_input", "no, yes"]),
                (("--network.correction_scale", "x"), ["network.correction_scale", "be auto"]),
                (("--network.channels", "16:8", "--cycle.levels", "16", "--cycle.steps", "5"),
                 ["at most 10 voxels", "network.channels"])):
            with self.subTest(options=options):
                result = self.run_program("train", "--config", "small.cfg", *options)
                self.assertGreater(result.status, 0)
                for text in texts:
                    self.assertIn(text, result.err)


if __name__ == "__main__":
    harness.main()
