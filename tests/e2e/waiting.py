#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Who waits for whom: a process with a slow disk is named as the late one, a trace shows the steps of
all processes, and bench network measures what connects them. SLOW_READS in the environment names the
library that slows reads down."""

import json
import os

import harness

# Each step reads what a slow disk takes longer for than a step.
BRIEF = {"cycle.levels": "4, 8", "cycle.steps": "40", "network.channels": "4:2, 8:2",
         "network.smoothing": "0", "train.loss": "energy_normalised"}


class Waiting(harness.Case):
    def setUp(self):
        super().setUp()
        self.config(BRIEF)
        self.succeed("generate", "--config", "small.cfg")

    def test_a_process_with_a_slow_disk_is_late(self):
        train = [harness.BINARY, "train", "--config", "small.cfg"]
        slow = ["env", f"LD_PRELOAD={os.environ['SLOW_READS']}", *train]
        process = harness.Process(self.scratch, (), launcher=[
            harness.MPIEXEC, "-n", "1", *train, ":", "-n", "1", *slow, ":", "-n", "1", *train])
        self.addCleanup(process.close)
        result = process.wait(120)
        self.assertEqual(result.status, 0, result.text)
        self.assertRegex(result.out, r"waited for other processes:  process 1 \d %  process")
        self.assertRegex(result.out, r"process 1 on \S+ was late: the others waited \d\d %")
        self.assertEqual(result.out.count("was late"), 1, result.out)
        events = b"".join(file.read_bytes() for file in (self.scratch / "run").glob("events*"))
        for rank in range(3):
            self.assertIn(f"waited/process_{rank}".encode(), events)

    def test_alone_nobody_waits(self):
        self.assertNotIn("waited", self.succeed("train", "--config", "small.cfg").out)

    def test_trace(self):
        file = self.scratch / "run/trace.json"
        self.succeed("train", "--config", "small.cfg", "--trace", "3", ranks=2)
        events = json.loads(file.read_text())["traceEvents"]
        for rank in range(2):
            names = [event["name"] for event in events if event["pid"] == rank]
            for step in ("4^3 step 1", "4^3 step 3", "8^3 step 3"):
                self.assertEqual(names.count(step), 1, names)
            self.assertNotIn("4^3 step 4", names)
            self.assertIn("all-reduce", names)
        with_trace = self.timeless_metrics()
        self.succeed("train", "--config", "small.cfg", "--fresh")
        self.assertEqual(self.timeless_metrics(), with_trace)
        self.assertFalse(file.exists(), "it is not of this run")

    def test_bench_network(self):
        out = self.succeed("bench", "network", "--repeats", "2", "--json", "net.json", ranks=3).out
        line = json.loads((self.scratch / "net.json").read_text())
        self.assertEqual(json.loads(out.splitlines()[-1]), line)
        self.assertIn("64.0 MiB", out)
        self.assertEqual((line["processes"], line["hosts"]), (3, 1))
        self.assertEqual((line["bytes"][0], line["bytes"][-1]), (8, 2 ** 26))
        self.assertEqual(line["latency_seconds"], line["seconds_median"][0])
        for size, seconds, rate in zip(line["bytes"], line["seconds_median"],
                                       line["gigabytes_a_second"], strict=True):
            self.assertAlmostEqual(rate / (4 / 3 * size / seconds / 1e9), 1, delta=1e-9)
        self.assertIn("MPI", line["transport"])
        alone = self.run_program("bench", "network")
        self.assertEqual(alone.status, 1)
        self.assertIn("this is the only one", alone.err)


if __name__ == "__main__":
    harness.main()
