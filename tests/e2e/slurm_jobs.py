#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The scripts of slurm/ in a Slurm on this machine: each does its work, and a training that goes back
into the queue ends with the bits of one that was left alone. Runs where it is asked for, with
`./dev test --slurm`: Slurm has to be installed."""

import atexit
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import harness
import slurm_cluster

SCRIPTS = Path(__file__).resolve().parents[2] / "slurm"
STEPS = (100, 20)  # time enough for the test to see a training's first step and interrupt it
ENDED = {"COMPLETED", "FAILED", "TIMEOUT", "CANCELLED", "NODE_FAIL", "OUT_OF_MEMORY"}

# Waits to be stopped on its first start; ends well on its second.
PATIENT = """#!/usr/bin/env bash
echo "start $((${SLURM_RESTART_COUNT:-0} + 1)): $*"
((${SLURM_RESTART_COUNT:-0} == 0)) || exit 0
trap 'exit 75' USR1
sleep 100 & wait
"""


class SlurmJobs(harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.cluster = slurm_cluster.Cluster()
        atexit.register(cls.cluster.stop)  # after Ctrl-C, too
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
        cls.cluster.start()

    def setUp(self):
        super().setUp()
        (self.scratch / "slurm").symlink_to(SCRIPTS)
        self.config({
            "cycle.steps": ", ".join(map(str, STEPS)),
            "train.checkpoint_seconds": "0.1",  # also the pace of metrics.csv
        })

    def call(self, *command, **environment):
        """A command as a person at the cluster types it. @return what it prints."""
        done = subprocess.run(
            command, cwd=self.scratch, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            env={**self.cluster.environment, **harness.ENVIRONMENT, "VOXCYCLE": harness.BINARY, **environment})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def submit(self, script, *arguments, options=(), **environment):
        """@return the job's number."""
        return self.call("sbatch", "--parsable", *options, f"slurm/{script}", *arguments, **environment).strip()

    def job(self, number):
        """What Slurm knows of a job, by name."""
        shown = self.call("scontrol", "--oneliner", "show", "job", number)
        return dict(re.findall(r"(\w+)=(\S*)", shown))

    def output(self, number):
        return "".join(path.read_text() for path in sorted(self.scratch.glob(f"slurm-*-{number}*.out")))

    def wait_for(self, condition, number, timeout=300):
        end = time.monotonic() + timeout
        while not condition():
            self.assertLess(time.monotonic(), end, f"{self.job(number)}\n{self.output(number)}")
            time.sleep(0.2)

    def has_ended(self, number):
        return self.job(number)["JobState"] in ENDED

    def wait_in_job(self, condition, number):
        """Waits for what a job does before its end."""
        self.wait_for(lambda: condition() or self.has_ended(number), number)
        self.assertTrue(condition(), self.output(number))

    def end_of(self, number, state="COMPLETED"):
        """Waits for a job to end so. @return how often it was started anew."""
        self.wait_for(lambda: self.has_ended(number), number)
        job = self.job(number)
        self.assertEqual(job["JobState"], state, self.output(number))
        return int(job["Restarts"])

    def steps_done(self):
        path = self.scratch / "run" / "metrics.csv"
        return len(harness.losses(self.metrics())) if path.exists() else 0

    def evaluation(self, directory):
        """Errors of the averaged weights, to nine digits."""
        self.succeed("evaluate", "--config", "small.cfg", "--run.directory", directory)
        return (self.scratch / directory / "evaluation.json").read_text()

    def expect_as_uninterrupted(self):
        self.succeed("train", "--config", "small.cfg", "--run.directory", "whole")
        self.assertEqual(self.timeless_metrics(), self.timeless_metrics("whole"))
        self.assertEqual(self.evaluation("run"), self.evaluation("whole"))

    def test_requeued_by_slurms_signal_and_by_scontrol(self):
        self.succeed("generate", "--config", "small.cfg")
        number = self.submit("train.sbatch", "small.cfg")
        # What --signal=B:USR1 sends, at a time that the test chooses; then what an operator types.
        for restarts, command in enumerate((["scancel", "--batch", "--signal=USR1"], ["scontrol", "requeue"])):
            done = self.steps_done()
            self.wait_in_job(lambda: self.steps_done() >= done + 5, number)
            self.call(*command, number)
            self.wait_in_job(lambda: int(self.job(number)["Restarts"]) > restarts, number)
        self.assertEqual(self.end_of(number), 2)
        said = self.output(number)
        self.assertIn(f"time is up: job {number} goes back into the queue", said)
        self.assertEqual(len(re.findall(r"going on with stage \d after \d+ of its steps", said)), 2, said)
        self.expect_as_uninterrupted()

    def test_the_time_limit_requeues(self):
        (self.scratch / "patient").write_text(PATIENT)
        (self.scratch / "patient").chmod(0o755)
        number = self.submit("train.sbatch", "small.cfg", "--fresh", options=["--time=1"],
                             VOXCYCLE=str(self.scratch / "patient"))
        self.assertEqual(self.end_of(number), 1, self.output(number))
        self.assertEqual(re.findall(r"start .*", self.output(number)),
                         ["start 1: train --config small.cfg --fresh"] * 2
                         + ["start 2: train --config small.cfg"] * 2)

    def test_data_then_training_on_two_nodes(self):
        nodes = ["--nodes=2", "--ntasks-per-node=2"]
        data = self.submit("generate.sbatch", "small.cfg", options=nodes)
        training = self.submit("train.sbatch", "small.cfg", "--run.device", "auto", options=[
            *nodes, "--gpus-per-node=1", f"--dependency=afterok:{data}", "--kill-on-invalid-dep=yes"])
        self.end_of(data)
        self.end_of(training)
        self.assertEqual(self.job(training)["NumNodes"], "2")
        self.assertIn("training on 4 processes", self.output(training))
        self.assertTrue((self.scratch / "run" / "DONE").exists())

    def test_a_study_is_an_array(self):
        self.config({"ablate.directory": "study", "cycle.steps": "6, 3", "ablate.spectrum_samples": "0",
                     "vary.run.seed": "1 | 2"})
        said = self.call("slurm/ablate.sbatch", "small.cfg")
        numbers = re.fullmatch(r"data: job (\d+); 2 runs: job array (\d+); report: job (\d+)\n", said)
        self.assertIsNotNone(numbers, said)
        for number in (numbers[1], f"{numbers[2]}_1", f"{numbers[2]}_2", numbers[3]):
            self.end_of(number)
        study = json.loads((self.scratch / "study" / "ablation.json").read_text())
        self.assertEqual([run["state"] for run in study["runs"]], ["finished"] * 2)

    def test_a_scaling_study_measures_all_processes_of_its_job(self):
        number = self.submit("scale.sbatch", "small.cfg", "--grid", "8", "--json", "scale.json",
                             options=["--ntasks=4"])
        self.end_of(number)
        figures = json.loads((self.scratch / "scale.json").read_text())
        self.assertEqual([row["processes"] for row in figures["strong"]], [4])
        self.assertEqual(self.job(number)["NumNodes"], "2")

    def test_a_config_that_is_not_there_ends_the_job(self):
        number = self.submit("train.sbatch", "none.cfg")
        self.assertEqual(self.end_of(number, "FAILED"), 0)
        self.assertIn("none.cfg", self.output(number))


def main():
    if "VOXCYCLE_TEST_SLURM" not in os.environ:
        print("skipped: ./dev test --slurm runs this test, in a Slurm that it starts on this machine")
        sys.exit(77)
    if missing := slurm_cluster.missing_programs():
        print("skipped: Slurm is not installed (" + ", ".join(missing) + "). ./dev test --slurm installs it.")
        sys.exit(77)
    harness.main()


if __name__ == "__main__":
    main()
