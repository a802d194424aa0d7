#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""voxcycle evaluate beside the main job: --compare with classical solvers, and --precision."""

import csv
import json

import harness

METHODS = ["network", "network_batched", "network_and_cycle", "full_multigrid",
           "pcg_to_network_error", "pcg_from_lift", "pcg_from_network"]


class Evaluate(harness.Case):
    def setUp(self):
        super().setUp()
        self.config({"problem.source": "sampled", "cycle.steps": "3, 2"})
        self.succeed("generate", "--config", "small.cfg")
        self.succeed("train", "--config", "small.cfg")

    def evaluate(self, *options, ranks=0):
        """@return the figures and what was printed."""
        out = self.succeed("evaluate", "--config", "small.cfg", "--json", "figures.json", *options,
                           ranks=ranks).out
        return json.loads((self.scratch / "figures.json").read_text()), out

    def test_compare(self):
        figures, out = self.evaluate("--compare")
        compared = figures["compare"]
        self.assertEqual([m["method"] for m in compared["methods"]], METHODS)
        self.assertEqual((compared["grid"], compared["samples"], compared["threads"]), ("16^3", 4, 1))
        network, batched, cycle, full, equal, lift, start = compared["methods"]
        for name in ("rel_l2_mean", "energy_norm_error_mean"):
            # The same measurement, by the table above it.
            self.assertAlmostEqual(network[name], figures[name], delta=1e-6 * figures[name])
            self.assertEqual(batched[name], network[name])
            # A V-cycle on the smooth kl family contracts the error at least fivefold.
            self.assertLess(cycle[name], network[name] / 5)
            self.assertLess(lift[name], 1e-5)
            self.assertLess(start[name], 1e-5)
        self.assertLessEqual(equal["energy_norm_error_max"], network["energy_norm_error_max"])
        self.assertTrue(1 <= equal["iterations"] < lift["iterations"])
        for method in compared["methods"]:
            self.assertGreater(method["seconds"], 0)
            self.assertLess(method["setup_seconds"], method["seconds"])
            self.assertTrue(method["converged"])
        self.assertTrue(0 < start["iterations"] <= lift["iterations"] + 1)
        for method in compared["methods"]:
            self.assertIn(method["name"], out)
        for sentence in compared["verdict"]:
            self.assertIn(sentence, out)
        self.assertIn("written: figures.json, run/evaluation.csv, run/compare.csv, run/report.html", out)
        with open(self.scratch / "run" / "compare.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([row["method"] for row in rows], METHODS)
        self.assertEqual(rows[3]["rel_l2_mean"], f"{full['rel_l2_mean']:.9g}")
        page = (self.scratch / "run" / "report.html").read_text()
        self.assertIn("Error against time", page)

        # One process measures, whoever else is there; errors do not depend on it.
        again, _ = self.evaluate("--compare", ranks=2)
        for method, other in zip(compared["methods"], again["compare"]["methods"]):
            for name in ("rel_l2_max", "energy_norm_error_mean", "iterations"):
                self.assertEqual(method[name], other[name])

        # Another grid than the cycle's finest has files of its own.
        before = (self.scratch / "run" / "report.html").read_text()
        self.succeed("evaluate", "--config", "small.cfg", "--grid", "8")
        self.assertEqual((self.scratch / "run" / "report.html").read_text(), before)
        coarse = json.loads((self.scratch / "run" / "evaluation_8.json").read_text())
        self.assertEqual(coarse["grid"], "8^3")
        for name in ("evaluation_8.csv", "report_8.html"):
            self.assertTrue((self.scratch / "run" / name).is_file(), name)

        figures, out = self.evaluate()
        self.assertNotIn("compare", figures)
        self.assertNotIn("F-cycle", out)

    def test_models_trained_in_float64(self):
        keys = ("--train.precision", "f64", "--run.directory", "double")
        self.succeed("train", "--config", "small.cfg", *keys)
        single, _ = self.evaluate(*keys)
        double, _ = self.evaluate(*keys, "--precision", "f64")
        for name in ("rel_l2_mean", "energy_norm_error_mean"):
            self.assertAlmostEqual(single[name], double[name], delta=1e-4 * double[name])
        # A mean alone may round to the same digits.
        self.assertNotEqual(single["per_sample"], double["per_sample"])
        field = next(self.scratch.glob("data/held_out/16x16x16/*.h5"))
        solved = self.succeed("solve", "--nu", f"{field}:/nu[0]", "--f", f"{field}:/f[0]",
                              "--model", "double/checkpoint.h5")
        self.assertIn("network", solved.out)

    def test_precision(self):
        figures = {}
        for name in ("f32", "f64", "bf16", "f16"):
            figures[name], out = self.evaluate("--precision", name)
            self.assertEqual(figures[name]["precision"], name)
            self.assertIn(f"averaged weights, {name}", out)
            self.assertIn(f"network in {name}", (self.scratch / "run/report.html").read_text())
        self.assertEqual(self.evaluate()[0], figures["f32"])
        l2 = {name: found["rel_l2_mean"] for name, found in figures.items()}
        # Rounding of the network's features: 2^-24 and 2^-9 of them, some hundredfold.
        # Nine digits of a mean may agree; those of each sample do not all.
        self.assertNotEqual(figures["f32"]["per_sample"], figures["f64"]["per_sample"])
        self.assertAlmostEqual(l2["f32"] / l2["f64"], 1, delta=1e-4)
        self.assertNotAlmostEqual(l2["bf16"] / l2["f64"], 1, delta=1e-6)
        self.assertAlmostEqual(l2["bf16"] / l2["f64"], 1, delta=0.2)
        self.assertNotAlmostEqual(l2["f16"] / l2["f64"], 1, delta=1e-6)
        self.assertAlmostEqual(l2["f16"] / l2["f64"], 1, delta=0.2 / 8)
        result = self.run_program("evaluate", "--config", "small.cfg", "--precision", "f8")
        self.assertEqual(result.status, 2)
        self.assertIn("--precision = 'f8' is not valid. Choose one of bf16, f16, f32, f64.", result.err)

    def test_training_samples(self):
        for split, message in (("train", "the train shards of grid 16x16x16 hold no reference"),
                               ("test", "--split test is no split. Choose held_out or train.")):
            result = self.run_program("evaluate", "--config", "small.cfg", "--split", split)
            self.assertIn(result.status, (1, 2))
            self.assertIn(message, result.err)
        result = self.run_program("evaluate", "--config", "small.cfg", "--split", "train",
                                  "--data.directory", "none", "--data.on_the_fly", "yes")
        self.assertIn("made on the fly, without references. Set data.on_the_fly = no", result.err)
        self.succeed("generate", "--config", "small.cfg", "--data.directory", "more",
                     "--data.train_references", "yes")
        figures, out = self.evaluate("--split", "train", "--data.directory", "more",
                                     "--data.train_references", "yes")
        self.assertIn("training samples at 16^3", out)
        self.assertEqual(len(figures["per_sample"]), 24)
        self.assertEqual(figures["split"], "train")
        self.assertTrue((self.scratch / "run/evaluation_train.csv").exists())

    def test_weights_that_were_kept(self):
        for levels, steps in (("16", "2"), ("8, 16", "2, 2")):
            run = f"run {levels}"
            keys = ("--cycle.levels", levels, "--cycle.steps", steps, "--run.directory", run)
            self.succeed("train", "--config", "small.cfg", *keys, "--train.keep_stages", "yes")
            stages = len(levels.split(","))
            for name, seen in ((f"stages/{stages:02}.h5", stages), ("best.h5", stages), ("stages/01.h5", 1)):
                figures, _ = self.evaluate(*keys, "--checkpoint", f"{run}/{name}")
                self.assertTrue(figures["weights"].endswith(name), figures["weights"])
                self.assertEqual(figures["split"], "held_out")
                report = (self.scratch / run / "report.html").read_text()
                self.assertIn("up to these weights", report)
                # With the curves of all stages up to there.
                for stage in range(1, stages + 1):
                    (self.assertIn if stage <= seen else self.assertNotIn)(f"stage {stage}, grid", report)

    def test_the_report_names_the_samples_it_is_about(self):
        keys = ("--data.family", "grf", "--data.directory", "grf")
        self.succeed("generate", "--config", "small.cfg", *keys)
        self.evaluate(*keys)
        report = (self.scratch / "run/report.html").read_text()
        self.assertRegex(report, r"trained on</\w+>\s*<\w+>kl\(")
        self.assertRegex(report, r"held-out samples</\w+>\s*<\w+>\d+ of grf\(")

    def test_only_what_is_asked_for_must_be_writable(self):
        for name in ("report.html", "compare_train.csv"):
            (self.scratch / "run" / name).mkdir()
        keys = ("--data.directory", "more", "--data.train_references", "yes")
        self.succeed("generate", "--config", "small.cfg", *keys)
        self.evaluate("--split", "train", *keys)
        for options, name in (((), "report.html"), (("--split", "train", "--compare"), "compare_train.csv")):
            result = self.run_program("evaluate", "--config", "small.cfg", *keys, *options)
            self.assertEqual(result.status, 1)
            self.assertIn(f"run/{name}", result.err)
            self.assertNotIn("energy gap", result.out)


if __name__ == "__main__":
    harness.main()
