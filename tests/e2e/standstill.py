#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A process that stands still ends the job, which says who it was."""

import os
import signal
import time
from pathlib import Path

import harness

PATIENCE = 4
STOOD_STILL = 124
STEPS = 4000


def children_of(pid):
    """Of a process, and theirs."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except (OSError, ValueError):
            continue
        if folder.name.isdigit() and int(fields[1]) == pid:
            found += [int(folder.name), *children_of(int(folder.name))]
    return found


def rank_of(pid):
    try:
        for entry in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
            if entry.startswith(b"OMPI_COMM_WORLD_RANK="):
                return int(entry.partition(b"=")[2])
    except OSError:
        pass
    return None


class Standstill(harness.Case):
    def setUp(self):
        super().setUp()
        self.config({"cycle.steps": f"{STEPS}, {STEPS}", "run.patience": str(PATIENCE),
                     "train.checkpoint_seconds": "0.1"})
        self.succeed("generate", "--config", "small.cfg")

    def begin(self):
        """@return a training on three processes that has made some steps, and their process ids"""
        metrics = self.scratch / "run/metrics.csv"
        seen = len(harness.losses(self.metrics())) if metrics.exists() else 0
        process = self.start("train", "--config", "small.cfg", ranks=3)
        self.wait_until(process, lambda: metrics.exists() and
                        len(harness.losses(self.metrics())) > seen + 20)
        ranks = {rank_of(pid): pid for pid in children_of(process.process.pid)}
        self.addCleanup(self.end_all, [pid for rank, pid in ranks.items() if rank is not None])
        return process, [ranks[rank] for rank in range(3)]

    def end_all(self, pids):
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def test_a_stopped_process_is_named_and_the_job_ends(self):
        for rank in (2, 0):  # rank 0, which watches, has a deputy
            process, pids = self.begin()
            os.kill(pids[rank], signal.SIGSTOP)
            begin = time.monotonic()
            result = process.wait(60)
            self.assertLess(time.monotonic() - begin, 2 * PATIENCE)
            self.assertEqual(result.status, STOOD_STILL, result.text)
            self.assertRegex(result.err, rf"process {rank} on {os.uname().nodename} has not "
                                         r"answered for [4-7]\.\d s \(in step \d+, [a-z ]+")
            self.assertIn("Ending the job", result.err)
            self.assertFalse((self.scratch / "run/DONE").exists())
        # The last checkpoint is whole.
        process, _ = self.begin()
        process.send(signal.SIGUSR1)
        self.assertEqual(process.wait(30).status, harness.STOPPED)

    def test_a_stop_that_one_does_not_hear_is_told_at_once(self):
        self.config({"cycle.steps": f"{STEPS}, {STEPS}", "train.checkpoint_seconds": "0.1",
                     "run.patience": "30"})
        process, pids = self.begin()
        os.kill(pids[1], signal.SIGSTOP)
        os.kill(pids[0], signal.SIGUSR1)
        self.wait_until(process, lambda: "asked to stop, but process 1" in process.result(0).err, 15)
        os.kill(pids[1], signal.SIGCONT)
        result = process.wait(30)
        self.assertEqual(result.status, harness.STOPPED, result.text)
        self.assertEqual(result.err.count("asked to stop, but"), 1)

    def test_a_suspended_job_goes_on(self):
        process, pids = self.begin()
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        time.sleep(2 * PATIENCE)
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
        seen = len(harness.losses(self.metrics()))
        self.wait_until(process, lambda: len(harness.losses(self.metrics())) > seen + 20)
        process.send(signal.SIGUSR1)
        result = process.wait(30)
        self.assertEqual(result.status, harness.STOPPED, result.text)
        self.assertNotIn("has not answered", result.err)


if __name__ == "__main__":
    harness.main()
