#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A study of two cases with two seeds each: run, interrupted, gone on with, not repeated; its report;
a run that fails."""

import csv
import json
import shutil
import signal

import harness

# What a step or an evaluation says, whichever comes first.
DIVERGED = "(the loss is not finite|its weights diverged)"
STUDY = """
[ablate]
directory = study
spectrum_samples = 2
baseline = direct
[vary]
run.seed = 1 | 2
[case.direct]
cycle.name = custom
cycle.path = 2
[case.half_v]
cycle.name = half_v
"""

NAMES = ["direct,seed=1", "direct,seed=2", "half_v,seed=1", "half_v,seed=2"]
GRIDS = {"data.held_out_samples": "4", "cycle.levels": "4, 8", "cycle.steps": "12, 8",
         "network.channels": "4:8, 8:8"}


class Ablate(harness.Case):
    def setUp(self):
        super().setUp()
        self.write({})

    def write(self, changes, study=STUDY):
        """small.cfg and the study's sections, as study.cfg."""
        self.config({**GRIDS, **changes})
        text = (self.scratch / "small.cfg").read_text()
        (self.scratch / "study.cfg").write_text(text + study)

    def ablate(self, *options, timeout=100):
        return self.run_program("ablate", "--config", "study.cfg", *options, timeout=timeout)

    def done(self):
        return [name for name in NAMES if (self.scratch / "study" / name / "DONE").exists()]

    def list(self):
        result = self.succeed("ablate", "--config", "study.cfg", "--list")
        return result.out.splitlines()

    def steps_done(self, name):
        path = self.scratch / "study" / name / "metrics.csv"
        return len(harness.losses(self.metrics(f"study/{name}"))) if path.exists() else 0

    def read_json(self):
        return json.loads((self.scratch / "study" / "ablation.json").read_text())

    def test_runs_and_reports(self):
        self.assertEqual(len(self.list()), 4)
        self.assertFalse((self.scratch / "study").exists(), "--list writes nothing")
        result = self.ablate("--ablate.jobs", "2")
        self.assertEqual(result.status, 0, result.text)
        self.assertEqual(self.done(), NAMES)
        self.assertIn("4 of 4: run ", result.err)
        for line in self.list():
            self.assertIn("finished", line)

        study = self.read_json()
        self.assertEqual([run["label"] for run in study["runs"]],
                         ["direct, seed 1", "direct, seed 2", "half_v, seed 1", "half_v, seed 2"])
        for run, name in zip(study["runs"], NAMES):
            self.check_run(run, name)
        direct, half_v = study["groups"]
        self.assertEqual(direct["finished_runs"], 2)
        self.assertEqual(direct["speedup"]["mean"], 1)
        self.assertGreater(half_v["rel_l2_mean"]["mean"], 0)

        with open(self.scratch / "study" / "ablation.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(len(rows), sum(len(run["curve"]) for run in study["runs"]))
        page = (self.scratch / "study" / "study.html").read_text()
        for text in ("direct", "half_v", "Errors by wavenumber", "</html>"):
            self.assertIn(text, page)
        self.check_not_repeated()

    def check_run(self, run, name):
        half_v = name.startswith("half_v")
        self.assertEqual(run["state"], "finished")
        self.assertEqual(run["cycle"], "half_v" if half_v else "custom")
        self.assertEqual(run["path"], ["4^3", "8^3"] if half_v else ["8^3"])
        self.assertEqual(run["grid"], "8^3")
        self.assertEqual(run["seed"], int(name[-1]))
        self.assertEqual(run["settings"], {"run.seed": name[-1]})
        self.assertEqual((run["loss"], run["norm"]), ("energy_multigrid", "sync_batch"))
        # 8 steps of 4 samples at 8^3; half_v has 12 at 4^3 before.
        self.assertEqual(run["work"], 8 * 4 * 8**3 + (12 * 4 * 4**3 if half_v else 0))
        rows = [row for row in self.metrics(f"study/{name}") if row["rel_l2_mean"]]
        self.assertEqual(len(run["curve"]), len(rows))
        for point, row in zip(run["curve"], rows):
            for key in ("seconds", "rel_l2_mean", "energy_gap_mean", "energy_norm_error_mean"):
                self.assertAlmostEqual(point[key], float(row[key]), delta=1e-8 * abs(point[key]))
        self.assertEqual(run["rel_l2_mean"], run["curve"][-1]["rel_l2_mean"])
        self.assertEqual([s["grid"] for s in run["spectra"]], run["path"])
        for spectrum in run["spectra"]:
            # Wavenumbers up to sqrt(7^2 + 8^2 + 8^2) = 13.3.
            self.assertEqual(len(spectrum["energy"]), 14)
            self.assertAlmostEqual(sum(spectrum["share"]), 1, delta=1e-6)

    def check_not_repeated(self):
        def times():
            paths = [self.scratch / "study" / name / "checkpoint.h5" for name in NAMES]
            paths += sorted((self.scratch / "study").glob("*/stages/*.spectrum"))
            return [path.stat().st_mtime_ns for path in paths]

        before = times()
        self.assertEqual(len(before), 4 + 6)
        result = self.ablate()
        self.assertEqual(result.status, 0, result.text)
        self.assertIn("4 of 4 runs are finished already", result.err)
        self.assertEqual(times(), before)

    def test_interrupted_and_gone_on_with(self):
        long = {"cycle.steps": "200, 150", "train.checkpoint_seconds": "0.1"}
        self.write(long)
        process = self.start("ablate", "--config", "study.cfg")
        self.wait_until(process, lambda: self.steps_done(NAMES[0]) > 20)
        other = self.ablate()
        self.assertEqual(other.status, 1, other.text)
        self.assertRegex(other.err, r"study is in use by process \d+ on \S+\. .*another ablate\.directory")
        process.send(signal.SIGINT)
        result = process.wait(20)
        self.assertEqual(result.status, harness.STOPPED, result.text)
        self.assertIn("stopped; the same command goes on", result.out)
        self.assertFalse((self.scratch / "study" / "study.html").exists())
        self.assertEqual(self.done(), [])
        self.assertIn("unfinished", self.list()[0])
        self.assertIn("not begun", self.list()[3])

        # What ends a run that is to go on comes before its log is open again.
        self.assertEqual(self.ablate("--run", "1", "--run.memory_limit", "0.001").status, 1)
        self.assertRegex(self.ablate("--report").out, "missing: run 1, .*: failed: .*of memory a process")

        # One run of a job array at a time; then what is missing; the report in between.
        self.assertEqual(self.ablate("--run", "1").status, 0)
        self.assertEqual(self.done(), NAMES[:1])
        output = (self.scratch / "study" / NAMES[0] / "output.txt").read_text()
        self.assertRegex(output, r"going on with stage 1 after \d+ of its steps")
        self.assertIn("missing: run 4", self.ablate("--report").out)
        self.assertEqual([run["state"] for run in self.read_json()["runs"]],
                         ["finished", "not begun", "not begun", "not begun"])
        self.assertEqual(self.ablate("--ablate.jobs", "3").status, 0)
        self.assertEqual(self.done(), NAMES)

        # As if never interrupted.
        self.succeed("train", "--config", f"study/{NAMES[0]}/config.cfg", "--run.directory", "whole")
        self.assertEqual(self.timeless_metrics("whole"), self.timeless_metrics(f"study/{NAMES[0]}"))

    def test_killed_leaves_nothing_running(self):
        self.write({"cycle.steps": "100000", "train.checkpoint_seconds": "0.1"})
        process = self.start("ablate", "--config", "study.cfg")
        self.wait_until(process, lambda: self.steps_done(NAMES[0]) > 5)
        process.send(signal.SIGKILL)
        process.wait(5)
        output = self.scratch / "study" / NAMES[0] / "output.txt"
        harness.wait_for(lambda: "stopped; the same command" in output.read_text(), 20)

    def test_a_failed_run_is_named_and_the_others_go_on(self):
        (self.scratch / "study" / NAMES[1]).mkdir(parents=True)
        (self.scratch / "study" / NAMES[1] / "metrics.csv").mkdir()  # cannot be written
        result = self.ablate()
        self.assertEqual(result.status, 1, result.text)
        self.assertIn(NAMES[0], self.done())
        self.assertNotIn(NAMES[1], self.done())
        self.assertIn("run 2, direct, seed 2: it ended with status 1", result.err)
        self.assertIn("metrics.csv", result.err)
        self.assertIn("missing: run 2", result.out)

    def test_divergence_is_named(self):
        study = STUDY[:STUDY.index("[vary]")] + "[case.direct]\n[case.wild]\ncycle.rate = 1000\n"
        self.write({"cycle.steps": "3, 2"}, study + "[case.broken]\ncycle.rate = 1000\n"
                   "train.optimizer = sgd\n")
        result = self.ablate()
        self.assertEqual(result.status, 1, result.text)
        self.assertRegex(result.err, "run 2, wild, after .*, diverged\n")
        self.assertRegex(result.out, "\nwild .* diverged\n")
        self.assertNotRegex(result.out, "\ndirect .* diverged\n")
        self.assertRegex(result.out, f"missing: run 3, broken: failed: .*{DIVERGED}")
        states = ["finished", "diverged", "failed"]
        self.assertEqual([line.split()[1] for line in self.list()], states)
        runs = self.read_json()["runs"]
        self.assertEqual([run["state"] for run in runs], states)
        self.assertRegex(runs[2]["failure"], DIVERGED)
        self.assertEqual([run["failure"] for run in runs[:2]], ["", ""])
        with open(self.scratch / "study" / "ablation.csv", newline="") as file:
            by_label = {row["label"]: row["state"] for row in csv.DictReader(file)}
        self.assertEqual(by_label, {"direct": "finished", "wild": "diverged"})  # broken has no row
        page = (self.scratch / "study" / "study.html").read_text()
        self.assertIn("wild<small class='warn'>diverged</small>", page)
        self.assertIn("3 finished, 1 of them diverged", page)

        # Figures come from checkpoints, whose checksums tell of damage.
        before = self.read_json()
        (self.scratch / "study/direct/metrics.csv").write_text("damaged")
        self.ablate("--report")
        self.assertEqual(self.read_json()["runs"], before["runs"])
        checkpoint = self.scratch / "study/direct/checkpoint.h5"
        content = bytearray(checkpoint.read_bytes())
        digit = content.index(b"\n1,") + 1
        content[digit] ^= 2  # one bit, of the first row's stage
        checkpoint.write_bytes(content)
        result = self.ablate("--report")
        self.assertRegex(result.err, "run 1, direct, is left out: study/direct/checkpoint.h5: metrics: "
                                     "its checksum does not fit")
        self.assertIn("missing: run 1, direct: ", result.out)
        self.assertRegex(result.out, "direct +0/1 not finished")

    def test_a_run_that_fails_before_its_log_is_told(self):
        one = "[ablate]\ndirectory = study\nspectrum_samples = 0\n[case.small]\n[case.large]\n"
        self.write({}, study=one + "run.memory_limit = 0.001\n")
        result = self.ablate()
        self.assertEqual(result.status, 1, result.text)
        self.assertRegex(result.out, "missing: run 2, large: failed: .*of memory a process")
        # Another config in the same place has not failed.
        result = self.ablate("--report", "--cycle.batch", "3")
        self.assertIn("missing: run 2, large: not begun", result.out)

    def test_processes_may_share_samples_out(self):
        self.assertEqual(self.ablate("--list", "--run.spatial_processes", "2", "--run.spatial_above", "8",
                                     "--ablate.processes", "2").status, 0)

    def test_places_may_change_amid_a_study(self):
        self.assertEqual(self.ablate("--data", "--data.directory", "moved").status, 0)
        long = ("--cycle.steps", "100000, 8", "--train.checkpoint_seconds", "0.1",
                "--data.directory", "moved")
        process = self.start("ablate", "--config", "study.cfg", "--run", "3", *long)
        self.wait_until(process, lambda: self.steps_done(NAMES[2]) > 5)
        process.send(signal.SIGINT)
        self.assertEqual(process.wait(20).status, harness.STOPPED)
        (self.scratch / "moved").rename(self.scratch / "data")
        process = self.start("ablate", "--config", "study.cfg", "--run", "3", *long,
                             "--data.directory", "data")
        output = self.scratch / "study" / NAMES[2] / "output.txt"
        self.wait_until(process, lambda: "going on with stage 1" in output.read_text())
        process.send(signal.SIGINT)
        self.assertEqual(process.wait(20).status, harness.STOPPED)

    def test_finished_runs_no_longer_need_what_they_started_from(self):
        self.succeed("generate", "--config", "small.cfg")
        self.succeed("train", "--config", "small.cfg", "--run.directory", "start")
        start = ("--train.start", "start")
        self.assertEqual(self.ablate("--run", "1", *start).status, 0)
        shutil.rmtree(self.scratch / "start")
        self.assertEqual(self.ablate("--report", *start).status, 0)
        self.assertIn("finished", self.succeed("ablate", "--config", "study.cfg", "--list", *start).out)
        result = self.ablate(*start)
        self.assertEqual(result.status, 1, result.text)
        self.assertIn("run 2, direct, seed 2: train.start = 'start' holds no finished run", result.err)

    def test_a_changed_config_is_told(self):
        self.assertEqual(self.ablate("--run", "1").status, 0)
        result = self.ablate("--run", "1", "--cycle.batch", "3")
        self.assertEqual(result.status, 1, result.text)
        self.assertIn("holds a run of another config ('cycle.batch = 4' there, 'cycle.batch = 3' now)",
                      result.err)
        shutil.rmtree(self.scratch / "study" / NAMES[0])
        self.assertEqual(self.ablate("--run", "1", "--cycle.batch", "3").status, 0)

    def test_what_auto_chose_in_words_is_the_same_run(self):
        one = "[ablate]\ndirectory = study\nspectrum_samples = 0\n[case.half_v]\ncycle.name = half_v\n"
        self.write({"network.coarse": "auto", "network.smoothing": "4"}, study=one)
        self.assertEqual(self.ablate().status, 0)
        again = self.ablate("--network.coarse", "black_box", "--network.correction_scale", "0.25")
        self.assertEqual(again.status, 0, again.text)
        self.assertIn("1 of 1 runs are finished already", again.err)
        other = self.ablate("--network.coarse", "averaged")
        self.assertIn("holds a run of another config", other.err)

    def test_runs_on_several_processes(self):
        launcher = f"{harness.MPIEXEC} -n {{}}"
        result = self.ablate("--run", "3", "--ablate.processes", "2", "--ablate.launcher", launcher)
        self.assertEqual(result.status, 0, result.text)
        output = (self.scratch / "study" / NAMES[2] / "output.txt").read_text()
        self.assertIn("training on 2 processes", output)

    def test_no_shell_reads_the_launcher(self):
        self.assertEqual(self.ablate("--data").status, 0)
        (self.scratch / "my launcher").write_text('#!/bin/sh\nprintf "%s|" "$@" >words\nexit 3\n')
        (self.scratch / "my launcher").chmod(0o755)
        self.ablate("--run", "1", "--ablate.processes", "2",
                    "--ablate.launcher", "'./my launcher' {} $HOME $(touch made)")
        self.assertFalse((self.scratch / "made").exists())
        words = (self.scratch / "words").read_text()
        self.assertTrue(words.startswith("2|$HOME|$(touch|made)|/"), words)

    def test_a_stop_before_anything_was_gained_is_no_place_to_go_on_from(self):
        self.assertEqual(self.ablate("--data").status, 0)
        for status in (1, harness.STOPPED):
            (self.scratch / "stand-in").write_text(
                f"#!/bin/sh\ntrap 'exit {status}' INT TERM USR1\ntouch ready\n"
                "while :; do sleep 0.05; done\n")
            (self.scratch / "stand-in").chmod(0o755)
            (self.scratch / "ready").unlink(missing_ok=True)
            process = self.start("ablate", "--config", "study.cfg", "--run", "1",
                                 "--ablate.processes", "2", "--ablate.launcher", "./stand-in {}")
            self.wait_until(process, (self.scratch / "ready").exists)
            process.send(signal.SIGUSR1)
            result = process.wait(20)
            self.assertEqual(result.status, status, result.text)
            self.assertEqual("nothing was gained" in result.err, status == 1)

    def test_wrong_use(self):
        for options, text in [
            (("--run", "5"), "from 1 to 4"),
            (("--run", "x"), "from 1 to 4"),
            (("--list", "--report"), "exclude each other"),
            (("--ablate.baseline", "w"), "Choose one of direct, half_v"),
            (("--ablate.jobs", "0"), "ablate.jobs"),
            (("--ablate.target_metric", "l2"), "rel_l2, energy_gap, energy_norm_error"),
            (("--case.direct.cycle.path", "3"), "run 1, direct, seed 1: "),
            (("--case.direct.cycle.pth", "3"), "cycle.path"),
            (("--case.direct.run.spatial_processes", "2"), "run.spatial_processes = 2 needs a multiple of 2 processes, not 1"),
            (("--run.seed", "7"), "Give --vary.run.seed instead"),
            (("--cycle.path", "1"), "Give --case.direct.cycle.path instead"),
            (("--vary.train.loss", "energy | enrgy"), "run 2, direct, seed 1, loss enrgy: "),
            (("--vary.train.optimizer", "adm"), "adam"),
            (("--vary.network.name", "unt"), "unet"),
            (("--vary.data.family", "k"), "kl"),
            (("--case.half_v.cycle.steps", "0"), "run 3, half_v, seed 1: "),
            (("--case.half_v.network.channels", "8:8"), "run 3, half_v, seed 1: "),
        ]:
            with self.subTest(options=options):
                result = self.ablate(*options)
                self.assertIn(result.status, (1, 2), result.text)
                self.assertIn(text, result.err)
                self.assertFalse((self.scratch / "data").exists())
        result = self.run_program("train", "--config", "study.cfg")
        self.assertIn("Use voxcycle ablate", result.err)
        self.assertEqual(result.status, 2)
        result = self.run_program("ablate", "--config", "small.cfg")
        self.assertIn("describes no study", result.err)


if __name__ == "__main__":
    harness.main()
