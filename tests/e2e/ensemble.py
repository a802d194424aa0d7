#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""An ensemble: each member has the bits of its training alone, one after the other or side by side,
stopped or not; mean and spread of evaluate and solve; and what no ensemble can be."""

import json
import signal

import harness

ENSEMBLE = {
    "cycle.levels": "8",
    "cycle.steps": "12",
    "ensemble.members": "3",
    "member.2.train.loss": "energy",
}


class Ensemble(harness.Refusal):
    def setUp(self):
        super().setUp()
        self.config(ENSEMBLE)
        self.succeed("generate", "--config", "small.cfg")

    def train(self, *options, ranks=0):
        return self.succeed("train", "--config", "small.cfg", *options, ranks=ranks)

    def figures_of(self, directory, config="small.cfg", *options, ranks=0):
        out = self.succeed("evaluate", "--config", config, "--run.directory", directory, "--json",
                           "figures.json", *options, ranks=ranks).out
        return json.loads((self.scratch / "figures.json").read_text()), out

    def assert_same_members(self, directory, other, members=3):
        for k in range(1, members + 1):
            self.assertEqual(self.timeless_metrics(f"{directory}/member_{k}"),
                             self.timeless_metrics(f"{other}/member_{k}"))
        self.assertEqual(self.figures_of(directory)[0]["per_sample"],
                         self.figures_of(other)[0]["per_sample"])

    def test_members_have_the_bits_of_their_training_alone(self):
        self.train()
        self.assertTrue((self.scratch / "run/DONE").exists())
        for k in (1, 2, 3):
            log = (self.scratch / f"run/member_{k}/log.txt").read_text()
            self.assertEqual(log.count("8^3 after 12 steps"), 1, "each its own log")
        losses = [harness.losses(self.metrics(f"run/member_{k}")) for k in (1, 2, 3)]
        self.assertEqual([len(one) for one in losses], [12] * 3)
        self.assertNotEqual(losses[0], losses[2], "seeds of their own")
        self.succeed("train", "--config", "run/member_3/config.cfg", "--run.directory", "alone")
        self.assertEqual(self.timeless_metrics("alone"), self.timeless_metrics("run/member_3"))
        alone, _ = self.figures_of("alone", "run/member_3/config.cfg")
        member, _ = self.figures_of("run/member_3", "run/member_3/config.cfg")
        self.assertEqual(alone["per_sample"], member["per_sample"])
        # Side by side, on groups of two processes and one.
        self.train("--run.directory", "side", "--ensemble.at_once", "2", ranks=3)
        self.assert_same_members("run", "side")
        log = (self.scratch / "side/member_2/log.txt").read_text()
        self.assertIn("training on 1 process of", log)
        self.assertIn("8^3 after 12 steps", log)

    def test_evaluate_and_solve(self):
        self.train()
        figures, out = self.figures_of("run")
        self.assertEqual(len(figures["members"]), 3)
        self.assertEqual(len(figures["per_sample"]), 4)
        for k, member in enumerate(figures["members"], 1):
            alone, _ = self.figures_of(f"run/member_{k}", f"run/member_{k}/config.cfg")
            for name in ("rel_l2_mean", "rel_l2_max", "energy_gap_mean", "energy_norm_error_mean"):
                self.assertEqual(member[name], alone[name])
            self.assertEqual(member["weights"], f"run/member_{k}/checkpoint.h5")
        errors = [member["energy_norm_error_mean"] for member in figures["members"]]
        self.assertAlmostEqual(figures["members_energy_norm_error"], sum(errors) / 3, places=9)
        self.assertAlmostEqual(figures["mean_over_members"] * sum(errors) / 3,
                               figures["mean"]["energy_norm_error_mean"], places=9)
        # By the triangle inequality.
        self.assertLess(figures["mean_over_members"], 1)
        self.assertGreater(figures["spread"], 0)
        self.assertTrue(-1 <= figures["rank_correlation"] <= 1)
        for sentence in figures["verdict"]:
            self.assertIn(sentence, out)
        self.assertIn("times the cost", out)
        self.assertIn("written: figures.json, run/evaluation.csv, run/report.html", out)
        page = (self.scratch / "run/report.html").read_text()
        self.assertIn("What the spread tells", page)
        self.assertEqual(figures, self.figures_of("run", ranks=2)[0])

        field = next(self.scratch.glob("data/held_out/8x8x8/*.h5"))
        solved = self.succeed("solve", "--nu", f"{field}:/nu[0]", "--model", "run", "--certify",
                              "--precision", "f32", "--out", "u.vtkhdf", "--json", "solve.json")
        self.assertIn("of the mean's size", solved.out)
        solve = json.loads((self.scratch / "solve.json").read_text())
        spread = figures["per_sample"][0]["spread"]
        self.assertAlmostEqual(solve["network_spread"], spread, delta=1e-5 * spread)
        self.assertLessEqual(solve["error_lower"],
                             1.001 * figures["per_sample"][0]["energy_norm_error"])
        # The directory of a single run, too; not any.
        self.succeed("solve", "--nu", f"{field}:/nu[0]", "--model", "run/member_1")
        self.refuse("solve", "--nu", f"{field}:/nu[0]", "--model", "data",
                    expect="neither a run with a checkpoint nor an ensemble")
        self.refuse("evaluate", "--config", "small.cfg", "--compare", expect="run/member_1/config.cfg")
        self.refuse("evaluate", "--config", "small.cfg", "--json", "run/member_2/checkpoint.h5",
                    expect="would overwrite")
        self.refuse("evaluate", "--config", "small.cfg", "--ensemble.members", "4",
                    expect=["member 4: ", "run/member_4/checkpoint.h5 does not exist"])

    def test_members_of_other_problems_have_no_mean(self):
        self.config({**ENSEMBLE, "ensemble.members": "2", "member.2.problem.source": "1",
                     "member.2.data.directory": "data2"})
        self.succeed("generate", "--config", "small.cfg")
        self.train()
        figures, out = self.figures_of("run")
        self.assertEqual(len(figures["members"]), 2)
        self.assertIsNone(figures["mean"])
        self.assertEqual(figures["per_sample"], [])
        self.assertIn("no mean: problem.source is '0' for member 1 and '1' for member 2", out)
        for k, member in enumerate(figures["members"], 1):
            alone, _ = self.figures_of(f"run/member_{k}", f"run/member_{k}/config.cfg")
            self.assertEqual(member["rel_l2_mean"], alone["rel_l2_mean"])

    def test_a_stopped_ensemble_goes_on_and_repeats_nothing(self):
        long = ("--cycle.steps", "300", "--train.checkpoint_seconds", "0.1")
        command = ("train", "--config", "small.cfg", *long)
        process = self.start(*command)
        second = self.scratch / "run/member_2/metrics.csv"
        self.wait_until(process, lambda: second.exists()
                        and len(harness.losses(self.metrics("run/member_2"))) >= 20)
        process.send(signal.SIGINT)
        result = process.wait(20)
        self.assertEqual(result.status, harness.STOPPED, result.text)
        self.assertIn("stopping with a checkpoint", result.err)
        self.assertIn("the same command goes on from the checkpoint in run", result.out)
        self.assertFalse((self.scratch / "run/DONE").exists())
        self.assertFalse((self.scratch / "run/member_3").exists())
        first = (self.scratch / "run/member_1/checkpoint.h5").read_bytes()
        result = self.succeed(*command)
        self.assertIn("run/member_1 holds the finished run already", result.err)
        self.assertRegex(result.err, r"going on with stage 1 after \d+ of its steps")
        self.assertEqual((self.scratch / "run/member_1/checkpoint.h5").read_bytes(), first)
        self.assertTrue((self.scratch / "run/DONE").exists())
        self.succeed(*command, "--run.directory", "whole")
        self.assert_same_members("run", "whole")
        # --fresh forgets all members before the first one trains.
        process = self.start(*command, "--fresh")
        self.wait_until(process, lambda: not (self.scratch / "run/member_3/checkpoint.h5").exists())
        process.send(signal.SIGINT)
        process.wait(20)

    def test_what_no_ensemble_can_be(self):
        # Each before the first step of any member.
        same = ("--member.3.run.seed", "1")
        for options, expect in (
                (same, "member 1 and member 3 are the same training"),
                (("--ensemble.at_once", "2"), "ensemble.at_once = 2 needs as many processes or more, not 1"),
                (("--ensemble.at_once", "4"), "is more than ensemble.members = 3"),
                (("--ensemble.members", "1"), "[member.2] has no effect"),
                (("--member.3.cycle.rat", "1"), "cycle.rate"),
                (("--member.3.train.loss", "x"), ["member 3: ", "energy_normalised"]),
                (("--member.3.run.memory_limit", "1"), "cannot stand in [member.3]"),
                (("--member.3.train.start", "none"), ["member 3: ", "train.start"]),
                (("--member.3.data.directory", "none"), ["member 3: ", "Run voxcycle generate"]),
                (("--member.3.problem.source", "1"), ["member 3: ", "source"]),
                (("--train.loss", "residual"), "--member.2.train.loss")):
            with self.subTest(options=options):
                self.refuse_train(*options, expect=expect)
                self.assertFalse((self.scratch / "run/member_1/metrics.csv").exists())
        self.refuse("export", "--config", "small.cfg", expect=["export", "run/member_1/config.cfg"])
        (self.scratch / "run").mkdir(exist_ok=True)
        (self.scratch / "run/checkpoint.h5").write_text("")
        self.refuse_train(expect="holds a run, and no ensemble")


if __name__ == "__main__":
    harness.main()
