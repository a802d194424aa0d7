#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The main job: generate, train on two processes, evaluate; what it leaves behind, and what the
same commands do when typed again."""

import csv
import json
import math
import re

import harness


class MainJob(harness.Case):
    def setUp(self):
        super().setUp()
        self.config({"cycle.steps": "30, 15"})
        self.succeed("generate", "--config", "small.cfg")

    def train(self, *options):
        return self.succeed("train", "--config", "small.cfg", *options, ranks=2)

    def test_whole_job(self):
        trained = self.train()
        self.assertIn("run directory run", trained.out)
        evaluated = self.succeed("evaluate", "--config", "small.cfg", "--json", "figures.json")
        run = self.scratch / "run"
        names = "config.cfg log.txt metrics.csv checkpoint.h5 DONE report.html evaluation.csv"
        for name in names.split():
            self.assertTrue((run / name).is_file(), name)
        self.assertEqual(len(list(run.glob("events.out.tfevents*"))), 1)
        self.assertEqual([p.name for p in self.scratch.rglob("*.tmp*")], [])

        self.check_metrics()
        figures = json.loads((self.scratch / "figures.json").read_text())
        self.check_figures(figures)
        self.check_gain(trained.err, evaluated.out, figures)
        self.check_table(evaluated.out, figures)
        self.check_report((run / "report.html").read_text())

    def check_metrics(self):
        rows = self.metrics()
        steps = [row for row in rows if row["loss"]]
        self.assertEqual([(row["stage"], row["grid"]) for row in steps],
                         [("1", "8^3")] * 30 + [("2", "16^3")] * 15)
        self.assertTrue(all(math.isfinite(float(row["loss"])) for row in steps))
        seconds = [float(row["seconds"]) for row in rows]
        self.assertEqual(seconds, sorted(seconds))
        evaluations = [row for row in rows if row["energy_gap_mean"]]
        self.assertEqual(len(evaluations), 2 * (1 + 2), "before each stage and twice within")
        gaps = [float(row["energy_gap_mean"]) for row in evaluations]
        # The lift alone has a gap near 1 in mean; 45 steps of a small network cut it to a third.
        self.assertLess(gaps[-1], gaps[0] / 2)

    def check_figures(self, figures):
        self.assertEqual(figures["samples"], 4)
        self.assertEqual(figures["grid"], "16^3")
        names = "rel_l2_mean rel_l2_max energy_gap_mean energy_norm_error_mean"
        for name in names.split():
            self.assertTrue(0 < figures[name] < 1, f"{name} = {figures[name]}")
        self.assertLessEqual(figures["rel_l2_mean"], figures["rel_l2_max"])
        samples = figures["per_sample"]
        self.assertEqual([sample["index"] for sample in samples], [0, 1, 2, 3])
        for sample in samples:
            # Ritz: the energy gap is the squared energy-norm error. The gap is a difference of
            # energies and the norm a sum of squares; float32 predictions leave 1e-5.
            self.assertAlmostEqual(sample["energy_gap"] / sample["energy_norm_error"] ** 2, 1,
                                   delta=1e-5)
        for name in ("rel_l2", "energy_gap", "energy_norm_error"):
            values = [sample[name] for sample in samples]
            self.assertAlmostEqual(figures[name + "_mean"], sum(values) / 4, places=7)
        self.assertEqual(figures["rel_l2_max"], max(s["rel_l2"] for s in samples))
        with open(self.scratch / "run" / "evaluation.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(rows, [{k: f"{v:.9g}" for k, v in sample.items()} for sample in samples])
        # The last held-out evaluation of training is the same measurement.
        last = [row for row in self.metrics() if row["energy_gap_mean"]][-1]
        self.assertAlmostEqual(float(last["energy_gap_mean"]) / figures["energy_gap_mean"], 1,
                               delta=1e-8)

    def check_gain(self, log, text, figures):
        before, after = figures["untrained"], figures["energy_norm_error_mean"]
        self.assertLess(after, before["energy_norm_error_mean"] / 1.5)
        words = r"training took the energy-norm error at 16\^3 from (\S+) % to (\S+) %"
        for where in (log, text):
            told = [float(x) / 100 for x in re.search(words, where).groups()]
            self.assertAlmostEqual(told[0], before["energy_norm_error_mean"], delta=1e-4)
            self.assertAlmostEqual(told[1], after, delta=1e-4)
        untrained = next(line for line in text.splitlines() if line.startswith("untrained"))
        self.assertAlmostEqual(float(untrained.split()[1]) / 100, before["rel_l2_mean"], delta=5e-5)

    def test_training_that_gains_nothing_is_told(self):
        # V begins on the finest grid: what it measures before its first step are the same weights.
        self.config({"cycle.name": "v", "cycle.steps": "1, 1", "cycle.rate": "3"})
        log = self.train().err
        out = self.succeed("evaluate", "--config", "small.cfg", "--json", "figures.json")
        first = next(row for row in self.metrics() if row["energy_gap_mean"])
        self.assertEqual((first["grid"], first["step"]), ("16^3", "0"))
        before = json.loads((self.scratch / "figures.json").read_text())["untrained"]
        for name, value in before.items():
            self.assertAlmostEqual(float(first[name]) / value, 1, delta=1e-6)
        for text in (log, out.err):
            self.assertRegex(text, r"\[warning\].* training gained nothing at 16\^3: the energy-norm")
            self.assertIn("lower cycle.rate", text)

    def check_table(self, text, figures):
        mean = next(line for line in text.splitlines() if line.startswith("mean"))
        self.assertAlmostEqual(float(mean.split()[1]) / 100, figures["rel_l2_mean"], delta=5e-5)

    def check_report(self, page):
        self.assertIn("<svg", page)
        self.assertIn("data:image/png;base64,", page)
        references = re.findall(r"""(?:src|href)\s*=\s*["']([^"']*)["']""", page)
        outside = [r for r in references if not r.startswith(("data:image/", "#"))]
        self.assertEqual(outside, [], "the page needs other files")
        self.assertNotRegex(page.replace("http://www.w3.org/2000/svg", ""), r"https?://|@import|<link")
        for text in ("16^3", "half_v", "normalised"):
            self.assertIn(text, page)

    def test_again(self):
        again = self.succeed("generate", "--config", "small.cfg")
        self.assertRegex(again.err, r"\b0 shards made, 8 were there\b")

        self.train()
        first = self.timeless_metrics()
        checkpoint = (self.scratch / "run" / "checkpoint.h5").read_bytes()
        events = sorted((self.scratch / "run").glob("events.out.tfevents*"))
        again = self.train()
        self.assertEqual(sorted((self.scratch / "run").glob("events.out.tfevents*")), events)
        self.assertIn("holds the finished run already", again.err)
        self.assertIn("--fresh", again.err)
        self.assertEqual((self.scratch / "run" / "checkpoint.h5").read_bytes(), checkpoint)
        self.assertTrue((self.scratch / "run" / "DONE").exists())
        self.assertEqual(self.timeless_metrics(), first)

        self.train("--fresh")
        self.assertEqual(self.timeless_metrics(), first)
        self.assertNotEqual((self.scratch / "run" / "checkpoint.h5").read_bytes(), checkpoint,
                            "--fresh did not train (its times cannot be the same)")

    def test_output_that_is_no_terminal_has_plain_lines(self):
        for ranks in (0, 2):
            out = self.succeed("train", "--config", "small.cfg", "--fresh", ranks=ranks).out
            with self.subTest(ranks=ranks):
                self.assertIn("stage 1/2  8^3  step 1/30", out)
                self.assertNotRegex(out, "[\x1b\r]")


if __name__ == "__main__":
    harness.main()
