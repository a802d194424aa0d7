#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Processes that compute a sample together (run.spatial_processes)."""

import shutil

import harness

NESTED = {"network.coarse": "black_box", "network.smoothing": "4", "cycle.rate": "1e-2"}
PAIRS = ("--run.spatial_processes", "2", "--run.spatial_above", "8")


class Space(harness.Case):
    def setUp(self):
        super().setUp()
        self.config(NESTED)
        self.succeed("generate", "--config", "small.cfg")

    def train(self, directory, *options, ranks):
        self.succeed("train", "--config", "small.cfg", "--run.directory", directory,
                     "--train.precision", "f64", *options, ranks=ranks)
        return [float(loss) for loss in harness.losses(self.metrics(directory))]

    def test_losses_are_those_of_whole_samples(self):
        whole = self.train("whole", ranks=1)
        for name, ranks, options in (("pairs", 4, ()),
                                     ("again", 2, ("--train.recompute", "yes")),
                                     ("fast", 2, ("--train.reduction", "fast"))):
            with self.subTest(name):
                shared = self.train(name, *PAIRS, *options, ranks=ranks)
                for found, expected in zip(shared, whole, strict=True):
                    self.assertAlmostEqual(found, expected, delta=1e-6 * expected)

    def test_grids_without_a_block_are_shared_out(self):
        blocks = ("--network.channels", "4:8, 8:8")
        whole = self.train("whole", *blocks, ranks=1)
        shared = self.train("shared", *blocks, *PAIRS, ranks=2)
        for found, expected in zip(shared, whole, strict=True):
            self.assertAlmostEqual(found, expected, delta=1e-6 * expected)

    def test_auto(self):
        auto = ("--run.spatial_processes", "auto", "--run.spatial_above", "8", "--train.micro_batch_size", "1")
        alone = ("--config", "small.cfg", *auto, "--cycle.batch", "1")
        result = self.succeed("train", *alone, ranks=2)
        self.assertRegex(result.err, r"run.spatial_processes = auto: 2 processes per sample, \S+ MiB a process "
                                     r"\(1 would take about 1\.\d times as long\)")
        self.assertIn("spatial_processes = 2\n", (self.scratch / "run/config.cfg").read_text())
        self.succeed("evaluate", *alone, ranks=2)
        self.succeed("generate", *alone, ranks=2)
        many = self.succeed("train", "--config", "small.cfg", *auto, "--dry-run", ranks=2)
        self.assertIn("auto: 1 process per sample", many.err)
        small = self.run_program("train", *alone, "--dry-run", "--run.memory_limit", "0.01", ranks=2)
        self.assertRegex(small.err, r"auto: [12] process\S* per sample.* which does not fit either")

    def test_same_bits_on_any_number_of_processes_and_after_a_stop(self):
        self.succeed("generate", "--config", "small.cfg", "--cycle.levels", "8, 32")
        for ranks, options in (("1,2,3", ("--network.norm", "sync_batch")),
                               ("1,3", ("--train.precision", "f32", "--run.spatial_parts", "4",
                                        "--train.optimizer", "adam, lbfgs", "--lbfgs.samples", "4"))):
            with self.subTest(options=options):
                self.assert_same_bits("--space", "--run.spatial_above", "8", "--cycle.levels", "8, 32",
                                      *options, ranks=ranks)

    def test_same_bits_on_any_number_of_groups_and_after_a_stop(self):
        self.config({**NESTED, "cycle.steps": "4, 6"})
        self.assert_same_bits(*PAIRS, ranks="2,4")

    def test_group_norm_and_lbfgs(self):
        for options in (("--network.norm", "group"),
                        ("--train.optimizer", "adam, lbfgs", "--cycle.steps", "6, 2",
                         "--lbfgs.samples", "8")):
            with self.subTest(options=options):
                name = options[1].replace(", ", "-")
                whole = self.train(name, *options, ranks=1)
                shared = self.train(name + "-pair", *options, *PAIRS, ranks=2)
                for found, expected in zip(shared, whole, strict=True):
                    self.assertAlmostEqual(found, expected, delta=1e-5 * abs(expected))
                there, here = self.metrics(name + "-pair"), self.metrics(name)
                for a, b in zip(there, here, strict=True):
                    if b["energy_norm_error_mean"]:
                        error = float(b["energy_norm_error_mean"])
                        self.assertAlmostEqual(float(a["energy_norm_error_mean"]), error,
                                               delta=1e-4 * error)

    def test_what_was_trained_together_is_evaluated_alone(self):
        self.succeed("train", "--config", "small.cfg", *PAIRS, ranks=2)
        alone = self.figures("evaluate", "--config", "small.cfg")
        last = [row for row in self.metrics() if row["energy_norm_error_mean"]][-1]
        # In float32 here and there; bf16 made the weights.
        self.assertAlmostEqual(alone["energy_norm_error_mean"],
                               float(last["energy_norm_error_mean"]), delta=1e-5)

    def test_references_made_together(self):
        options = ("--cycle.levels", "8, 32", "--data.held_out_samples", "5", "--data.shard_samples", "2")
        shutil.rmtree(self.scratch / "data")  # of other samples
        self.succeed("generate", "--config", "small.cfg", *options)
        (self.scratch / "data").rename(self.scratch / "alone")
        for ranks in (2, 4):
            with self.subTest(ranks=ranks):
                result = self.succeed("generate", "--config", "small.cfg", *options, *PAIRS, ranks=ranks)
                self.assertIn("10 reference solutions converged", result.err)
                for path in (self.scratch / "alone").rglob("*.h5"):
                    other = self.scratch / "data" / path.relative_to(self.scratch / "alone")
                    self.assertEqual(other.read_bytes(), path.read_bytes(), path)
                again = self.succeed("generate", "--config", "small.cfg", *options, *PAIRS, ranks=ranks)
                self.assertIn("0 shards made, 30 were there", again.err)
                shutil.rmtree(self.scratch / "data")

    def test_evaluated_together(self):
        self.succeed("train", "--config", "small.cfg")
        alone = self.figures("evaluate", "--config", "small.cfg")
        page = (self.scratch / "run/report.html").read_text()
        for ranks in (2, 4):
            together = self.figures("evaluate", "--config", "small.cfg", *PAIRS, ranks=ranks)
            for key in ("energy_norm_error_mean", "rel_l2_mean", "energy_gap_mean"):
                self.assertAlmostEqual(together[key] / alone[key], 1.0, delta=1e-4, msg=key)
            again = (self.scratch / "run/report.html").read_text()
            self.assertEqual(again.count("<img"), page.count("<img"))


class Refused(harness.Refusal):
    def test_processes_that_are_no_groups(self):
        self.succeed("generate", "--config", "small.cfg")
        for ranks, options, expect in (
                (0, PAIRS, ["run.spatial_processes = 2", "multiple of 2 processes, not 1"]),
                (3, PAIRS, ["run.spatial_processes = 2", "multiple of 2 processes, not 3"]),
                (3, ("--run.spatial_processes", "3", "--run.spatial_above", "8"),
                 ["run.spatial_processes = 3", "16 planes", "no more than 2 processes"]),
                (2, (*PAIRS, "--network.name", "unet"), ["network.name = multigrid, not unet"]),
                (2, ("--run.spatial_processes", "0"), ["run.spatial_processes"]),
                (2, ("--run.spatial_above", "0"), ["run.spatial_above"]),
                (2, (*PAIRS, "--run.spatial_parts", "1"), ["run.spatial_parts = 1 are too few", "Let it be 2"]),
                (0, ("--run.spatial_parts", "4", "--run.spatial_above", "8"),
                 ["run.spatial_parts = 4 is too many", "16 planes"]),
                (0, ("--run.spatial_parts", "two"), ["run.spatial_parts"]),
                (0, ("--run.spatial_parts", "2", "--network.name", "unet"), ["network.name = multigrid, not unet"]),
                (2, ("--run.spatial_processes", "2", "--run.spatial_above", "2"), ["coarsest level", "be 4"])):
            with self.subTest(options=options, ranks=ranks):
                self.refuse_train(*options, expect=expect, ranks=ranks)
        self.refuse("bench", "step", "--config", "small.cfg", "--grid", "64", "--run.spatial_processes", "2",
                    expect=["multiple of 2 processes"])
        self.refuse("bench", "step", "--config", "small.cfg", "--run.spatial_processes", "auto",
                    expect=["auto is for train, evaluate and generate"])

    def test_evaluate(self):
        self.succeed("generate", "--config", "small.cfg")
        self.succeed("train", "--config", "small.cfg")
        self.refuse("evaluate", "--config", "small.cfg", *PAIRS, "--compare", ranks=2,
                    expect="Leave out run.spatial_processes")
        self.refuse("evaluate", "--config", "small.cfg", *PAIRS, ranks=3, expect="multiple of 2 processes, not 3")

    def test_verify_and_scale(self):
        self.refuse("verify", "--config", "small.cfg", *PAIRS, expect=["multiple of 2 processes, not 1"])
        self.refuse("verify", "--config", "small.cfg", "--space", "--ranks", "1,2", expect=["16^3 are not shared out"])
        self.refuse("scale", "--config", "small.cfg", "--space", "--grid", "64", "--network.name", "unet",
                    "--processes", "2", expect=["network.name = multigrid"])

    def test_another_run_space_does_not_go_on(self):
        self.succeed("generate", "--config", "small.cfg")
        self.succeed("train", "--config", "small.cfg", ranks=2)
        self.refuse_train(*PAIRS, expect=["run.spatial_parts = 1", "run.spatial_parts = 2",
                                          "set run.spatial_parts = 1, or start over"], ranks=2)
        # Without it nothing depends on which grids would be shared out.
        self.succeed("train", "--config", "small.cfg", "--run.spatial_above", "8", ranks=2)


if __name__ == "__main__":
    harness.main()
