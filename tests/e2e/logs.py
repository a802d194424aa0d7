#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What train logs: whose lines stand where (log.mode, log.file), and what it tells before the first
step."""

import hashlib
import os
import re
import struct

import harness

LINE = re.compile(r"^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\] \[(info|warning|error)\] rank (\d): (.*)$")
EVALUATIONS = ["8^3 after 0", "8^3 after 1", "8^3 after 2", "16^3 after 0", "16^3 after 1"]


class Logs(harness.Refusal):
    def setUp(self):
        super().setUp()
        self.config({"cycle.steps": "2, 1", "cycle.batch": "3", "train.micro_batch_size": "1"})
        self.succeed("generate", "--config", "small.cfg")

    def train(self, *options):
        return self.succeed("train", "--config", "small.cfg", *options, ranks=3)

    def evaluations(self, path, rank):
        """What `rank` says of them there; every line of the file must be whole."""
        lines = [LINE.match(line).groups() for line in (self.scratch / path).read_text().splitlines()]
        texts = [text for _, number, text in lines if int(number) == rank]
        return [text.split(" steps:")[0] for text in texts if re.match(r"\d+\^3 after", text)]

    def test_master(self):
        error_stream = self.train().err
        self.assertEqual(self.evaluations("run/log.txt", 0), EVALUATIONS)
        for rank in (1, 2):
            self.assertEqual(self.evaluations("run/log.txt", rank), [])
            self.assertNotIn(f"rank {rank}:", error_stream)
        self.assertEqual([p.name for p in (self.scratch / "run").glob("log*")], ["log.txt"])

    def test_collect(self):
        error_stream = self.train("--log.mode", "collect").err
        for rank in range(3):
            self.assertEqual(self.evaluations("run/log.txt", rank), EVALUATIONS)
        self.assertNotRegex(error_stream, "rank [12]:")
        self.assertEqual([p.name for p in (self.scratch / "run").glob("log*")], ["log.txt"])

    def test_workers(self):
        self.train("--log.mode", "workers")
        for name, rank in (("log.txt", 0), ("log.1.txt", 1), ("log.2.txt", 2)):
            for other in range(3):
                self.assertEqual(self.evaluations(f"run/{name}", other),
                                 EVALUATIONS if other == rank else [])

    def test_another_file(self):
        self.train("--log.mode", "workers", "--log.file", "logs/of.this/run")
        names = sorted(str(p.relative_to(self.scratch)) for p in self.scratch.rglob("logs/of.this/*"))
        self.assertEqual(names, ["logs/of.this/run", "logs/of.this/run.1", "logs/of.this/run.2"])
        self.assertEqual(list((self.scratch / "run").glob("log*")), [])

    def test_errors_of_all_ranks_are_in_the_log_in_every_mode(self):
        self.config({"data.directory": "few", "data.train_samples": "3", "data.shard_samples": "1",
                     "cycle.steps": "1", "cycle.batch": "3", "train.micro_batch_size": "1"})
        self.succeed("generate", "--config", "small.cfg")
        shards = sorted((self.scratch / "few/train/8x8x8").iterdir())
        for mode in ("master", "collect", "workers"):
            speakers = set()
            for k, shard in enumerate(shards):
                whole = shard.read_bytes()
                harness.damage_nu(shard, shards[k - 1])
                run = f"{mode}{k}"
                told = self.refuse_train("--run.directory", run, "--log.mode", mode, ranks=3,
                                         expect=[shard.name, "checksum"])
                shard.write_bytes(whole)
                lines = map(LINE.match, (self.scratch / run / "log.txt").read_text().splitlines())
                ((rank, text),) = [line.groups()[1:] for line in lines if line[1] == "error"]
                self.assertIn(f"rank {rank}: {text}", told)
                speakers.add(rank)
                if mode == "workers" and rank != "0":
                    self.assertIn(text, (self.scratch / run / f"log.{rank}.txt").read_text())
            self.assertEqual(speakers, {"0", "1", "2"}, mode)

    def test_a_log_that_cannot_be_written_is_named_before_anything_is_lost(self):
        self.succeed("train", "--config", "small.cfg")

        def contents():
            return {p: hashlib.sha256(p.read_bytes()).hexdigest()
                    for p in (self.scratch / "run").rglob("*") if p.is_file() and "log." not in p.name}

        before = contents()
        (self.scratch / "run" / "log.2.txt").mkdir()
        for mode in ("master", "collect", "workers"):
            self.refuse_train("--fresh", "--log.mode", mode, "--log.file", "small.cfg/log.txt", ranks=3,
                              expect=["cannot write the log small.cfg/log", "log.file"])
            self.assertEqual(contents(), before)
        self.refuse_train("--fresh", "--log.mode", "workers", ranks=3,
                          expect=["cannot write the log run/log.2.txt", "Is a directory"])
        self.assertEqual(contents(), before)
        self.refuse_train("--log.mode", "all", expect="collect, master, workers")


class Summary(harness.Case):
    def said(self, *options, ranks=0):
        """Lines of the log before the first evaluation, by name; and the warnings."""
        self.succeed("train", "--config", "small.cfg", "--fresh", *options, ranks=ranks)
        before = (self.scratch / "run/log.txt").read_text().split(" after 0 steps")[0]
        (self.scratch / "run/log.txt").unlink()
        lines = re.findall(r"\[info\] (?:rank 0: )?([a-z0-9 ]+): (.*)", before)
        return dict(lines), re.findall(r"\[warning\] (.*)", before)

    def test_before_the_first_step(self):
        self.config({"data.more": "other:3"})
        self.succeed("generate", "--config", "small.cfg")
        self.succeed("generate", "--config", "small.cfg", "--data.directory", "other", "--data.seed",
                     "7", "--data.train_samples", "16")
        lines, _ = self.said("--train.rate_scaling", "linear", ranks=2)
        self.assertRegex(lines["build"], r"^voxcycle \d.*, commit \S+, \S.*, torch \d")
        self.assertRegex(lines["machines"], r"^\S+ \(2 processes, 2 threads, \d+ cores?\)$")
        self.assertEqual(lines["devices"], "the CPU")
        self.assertIn("MPI", lines["transport"])
        self.assertEqual(lines["precision"], "bf16, sums exact")
        self.assertRegex(lines["network"], r"^multigrid, .*, [1-9]\d* parameters$")
        self.assertEqual(lines["held out"], "4 at 8^3, 4 at 16^3")
        self.assertEqual(lines["data"], "other: 16 at 8^3, 16 at 16^3 training samples, probability 0.75")
        self.assertRegex(lines["stage 1"], r"^8\^3, 12 steps, batch 4 in 2 micro-batches, muon at rate 0.1, "
                                           r".* per process, time not known yet")
        self.assertRegex(lines["stage 2"], r"^16\^3, 6 steps, .*\(levels trained before: 0.03\)")
        run = self.scratch / "run"
        (events,) = run.glob("events.out.tfevents*")
        text = events.read_bytes()
        for part in (b"run/summary", b"| precision | bf16, sums exact |", b"probability 0.25"):
            self.assertIn(part, text)
        # The files that are there now, and one checkpoint more while it is written.
        needed = re.match(r"about ([\d.]+) (KiB|MiB)", lines["disk"])
        needed = float(needed[1]) * {"KiB": 2**10, "MiB": 2**20}[needed[2]]
        size = {p.name: p.stat().st_size for p in run.iterdir() if p.is_file()}
        there = sum(size.values()) + size["checkpoint.h5"]
        self.assertTrue(0.5 < needed / there < 2, f"{needed} bytes predicted, {there} needed")

    def test_what_tensorboard_shows(self):
        self.config()
        self.succeed("generate", "--config", "small.cfg")
        self.said(ranks=2)
        (events,) = (self.scratch / "run").glob("events.out.tfevents*")
        content = events.read_bytes()

        def values(tag):
            """Of a curve: simple_value stands behind the tag."""
            found = re.findall(tag.encode() + rb"\x15(.{4})", content, re.DOTALL)
            return [struct.unpack("<f", number)[0] for number in found]

        rates = values("train/rate")
        self.assertEqual(len(rates), 12 + 6)
        self.assertAlmostEqual(max(rates), 0.05, places=2)
        for tag, least, most in (("samples_per_second", 1, 1e6), ("gradient_norm", 1e-9, 1e3),
                                 ("update_ratio", 1e-9, 1), ("memory_gib", 0.01, 100)):
            found = values("train/" + tag)
            self.assertEqual(len(found), 2, "every tenth step, of 18")
            for value in found:
                self.assertTrue(least < value < most, f"{tag} {value}")
        for name in ("held_out/u/8^3", "held_out/error/16^3", "run/config", "hparams", "cycle.rate"):
            self.assertIn(name.encode(), content)
        self.assertEqual(content.count(b"\x89PNG"), 2 * 2 * (1 + 2), "two pictures an evaluation")

    def test_warnings(self):
        self.config({"cycle.batch": "2"})
        self.succeed("generate", "--config", "small.cfg")
        _, warnings = self.said(ranks=2)
        self.assertRegex("\n".join(warnings), r"8\^3: 1 of 2 processes have no samples in a step")
        threads = len(os.sched_getaffinity(0))
        _, warnings = self.said("--run.threads", threads, ranks=2)
        self.assertRegex("\n".join(warnings),
                         rf"{2 * threads} threads on \S+ wait for each other on \d+ core")


if __name__ == "__main__":
    harness.main()
