#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Kills a training again and again: a random process of it, its launcher or all of them, half of the
time while a checkpoint is written, on one to three processes. Each kill is of a run that goes on; when
it is through it must have the bits of one that nobody harmed.
KILLS=200 tests/slow/kills.py build/release/voxcycle mpiexec"""

import os
import random
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

import harness  # noqa: E402  (its directory is known by now)
from standstill import children_of, rank_of  # noqa: E402

KILLS = int(os.environ.get("KILLS", "6"))
SEED = int(os.environ.get("SEED", "1"))
# A run takes some seconds, and is killed on its way several times.
STEPS = "120, 12"


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


class Kills(harness.Case):
    def setUp(self):
        super().setUp()
        self.config({"cycle.steps": STEPS, "train.optimizer": "muon, lbfgs",
                     "train.checkpoint_seconds": "0.05", "run.threads": "1"})
        self.succeed("generate", "--config", "small.cfg")

    def train(self, directory, ranks):
        return self.start("train", "--config", "small.cfg", "--run.directory", directory, ranks=ranks)

    def result_of(self, directory):
        """What must have the same bits: the figures of all steps, and those of the weights."""
        self.succeed("evaluate", "--config", "small.cfg", "--run.directory", directory)
        return (self.timeless_metrics(directory),
                (self.scratch / directory / "evaluation.json").read_text())

    def wait_for_moment(self, process, directory):
        """Some time later; half of the times amid a checkpoint's writing."""
        time.sleep(random.uniform(0.3, 2.5))
        if random.random() < 0.5:
            return
        run = self.scratch / directory
        end = time.monotonic() + 1
        while time.monotonic() < end and process.running():
            if run.is_dir() and any(".tmp-" in name for name in os.listdir(run)):
                return

    def kill(self, process):
        launcher = process.process.pid
        own = [pid for pid in children_of(launcher) if rank_of(pid) is not None] or [launcher]
        victims = random.choice([[random.choice(own)], [launcher], [launcher, *own]])
        for pid in victims:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        process.wait(60)
        for pid in own:  # those whose launcher is gone stop by themselves
            end = time.monotonic() + 30
            while is_alive(pid) and time.monotonic() < end:
                time.sleep(0.02)
            self.assertFalse(is_alive(pid), "a process outlived its launcher")

    def test_kills(self):
        random.seed(SEED)
        self.assertEqual(self.train("whole", 0).wait(100).status, 0)
        wanted = self.result_of("whole")
        kills = runs = 0
        while kills < KILLS:
            runs += 1
            directory = f"run{runs}"
            while not (self.scratch / directory / "DONE").exists():
                process = self.train(directory, random.choice([0, 1, 2, 3]))
                if kills < KILLS:
                    self.wait_for_moment(process, directory)
                if kills >= KILLS or not process.running():
                    self.assertEqual(process.wait(100).status, 0)
                    continue
                self.kill(process)
                kills += 1
            self.assertEqual(self.result_of(directory), wanted, f"run {runs} after {kills} kills")
            left = [name for name in os.listdir(self.scratch / directory) if ".tmp-" in name]
            print(f"{kills} kills, {runs} runs with the same bits, temporary files left: {len(left)}",
                  flush=True)


if __name__ == "__main__":
    harness.main()
