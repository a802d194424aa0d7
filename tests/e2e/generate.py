#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""voxcycle generate: shards that are there but not as they should be, a stop on the way, memory, and
what several processes say together."""

import os
import re
import signal

import harness


class Generate(harness.Case):
    def setUp(self):
        super().setUp()
        self.config()

    def generate(self, *options, ranks=0):
        """@return what it logged"""
        return self.succeed("generate", "--config", "small.cfg", *options, ranks=ranks).err

    def contents(self, directory="data"):
        root = self.scratch / directory
        return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*.h5*")}

    def refuse(self, *arguments, expect):
        result = self.run_program(*arguments, "--config", "small.cfg")
        self.assertEqual(result.status, 1, result.text)
        for text in expect:
            self.assertIn(text, result.err)

    def differences(self, log):
        """What it says of two ways to the references, by grid."""
        return dict(re.findall(r"references of (\d+)\^3: multigrid and FFT differ by (\S+)$", log,
                               re.MULTILINE))

    def test_two_ways_to_the_references_agree(self):
        for family in ("kl", "grf"):
            for solver in ("multigrid", "fft"):
                job = ("--data.family", family, "--data.reference", solver, "--cycle.levels",
                       "8, 16, 32", "--data.on_the_fly", "yes", "--cycle.steps", "1")
                told = self.differences(self.generate(*job, "--data.directory", family + solver))
                with self.subTest(family=family, solver=solver):
                    self.assertEqual(list(told), ["8", "16", "32"])
                    for difference in told.values():
                        self.assertTrue(0 < float(difference) < 1e-9, told)
        fft = ("--data.directory", "klfft", "--data.on_the_fly", "yes")
        self.assertEqual(self.differences(self.generate(*fft)), {})  # they were there
        self.succeed("train", "--config", "small.cfg", *fft)
        self.succeed("evaluate", "--config", "small.cfg", *fft)
        self.assertIn("references by fft-preconditioned conjugate gradients to 1e-10",
                      (self.scratch / "run/report.html").read_text())

    def test_references_looser_than_asked_for_are_made_anew(self):
        loose = ("--data.reference_tolerance", "1e-2")
        self.generate(*loose)
        self.succeed("train", "--config", "small.cfg", *loose)
        for command in ("train", "evaluate"):
            self.refuse(command, "--run.directory", "run" if command == "evaluate" else "other",
                        expect=["data/held_out", "were solved to 0.01",
                                "data.reference_tolerance is 1e-10", "Run voxcycle generate"])
        log = self.generate()
        self.assertEqual(log.count("solved to 0.01, data.reference_tolerance is 1e-10. Making it"), 2)
        self.assertIn("2 shards made, 6 were there", log)
        self.assertIn("0 shards made, 8 were there", self.generate())
        self.generate("--data.directory", "new")
        self.assertTrue(self.contents() == self.contents("new"), "bytes differ")
        # Better ones stay, and the report says how good they are.
        self.generate("--data.directory", "better", "--data.reference_tolerance", "1e-12")
        self.assertIn("0 shards made", self.generate("--data.directory", "better"))
        better = ("--config", "small.cfg", "--data.directory", "better", "--run.directory", "run2")
        self.succeed("train", *better)
        self.succeed("evaluate", *better)
        page = (self.scratch / "run2/report.html").read_text()
        self.assertRegex(page, r"conjugate gradients to 1e-12\b")

    def test_a_damaged_sample_is_made_anew(self):
        self.generate()
        before = self.contents()
        shard = self.scratch / "data/train/8x8x8/shard-00001-of-00003.h5"
        content = bytearray(shard.read_bytes())
        other = (shard.parent / "shard-00002-of-00003.h5").read_bytes()
        # Amid nu, not in the first sample.
        differ = [k for k, (a, b) in enumerate(zip(content, other)) if a != b]
        content[differ[len(differ) // 2]] ^= 0x55
        shard.write_bytes(content)
        self.refuse("train", expect=[shard.name, "checksum", "Run voxcycle generate"])
        log = self.generate(ranks=2)
        self.assertRegex(log, rf"warning.*{shard.name}: sample [1-9]\d*: its checksum")
        self.assertIn("1 shards made, 7 were there", log)
        self.assertTrue(self.contents() == before, "bytes differ")

    def test_stopped(self):
        job = ("--data.train_samples", "600", "--data.train_references", "yes")
        process = self.start("generate", "--config", "small.cfg", *job)
        self.wait_until(process, lambda: (self.scratch / "data/train/16x16x16").is_dir())
        process.send(signal.SIGINT)
        result = process.wait(20)
        self.assertEqual(result.status, harness.STOPPED, result.text)
        self.assertIn("stopped; the same command goes on, finished shards in data are kept",
                      result.out)
        made = self.contents()
        self.assertFalse([name for name in made if ".tmp" in name])
        self.assertIn(f"{len(made)} shards made, 0 were there, {122 - len(made)} are left", result.err)
        self.assertIn(f"{122 - len(made)} shards made, {len(made)} were there, in",
                      self.generate(*job))
        self.generate(*job, "--data.directory", "whole", ranks=2)
        self.assertTrue(self.contents() == self.contents("whole"), "bytes differ")

    def test_stopped_amid_a_shard(self):
        process = self.start("generate", "--config", "small.cfg", "--cycle.levels", "16",
                             "--cycle.steps", "1", "--data.train_samples", "30000",
                             "--data.train_references", "yes", "--data.shard_samples", "30000")
        self.wait_until(process, lambda: [p for p in self.scratch.rglob("*.tmp*")
                                          if p.stat().st_size > 1_000_000])
        process.send(signal.SIGTERM)
        result = process.wait(20)
        self.assertEqual(result.status, 1, result.text)
        self.assertIn("nothing was gained", result.err)
        self.assertIn("data.shard_samples", result.err)
        self.assertEqual(self.contents(), {})

    def peak(self, *options):
        """Most bytes that the program held."""
        process = self.start("generate", "--config", "small.cfg", "--cycle.levels", "64",
                             "--cycle.steps", "1", "--data.held_out_samples", "1", *options)
        _, status, usage = os.wait4(process.process.pid, 0)
        process.process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(status, 0, process.result(0).text)
        return 1024 * usage.ru_maxrss

    def test_memory_does_not_grow_with_the_shards(self):
        one = self.peak("--data.directory", "one", "--data.train_samples", "1")
        many = self.peak("--data.directory", "many", "--data.train_samples", "128",
                         "--data.shard_samples", "128")
        fields = 127 * 4 * 64**3
        self.assertLess(many - one, fields / 3)

    def test_processes_count_together(self):
        self.config({"data.held_out_samples": "3"})
        alone = self.generate("--data.directory", "alone")
        solved = re.search(r"6 reference solutions converged.*", alone)[0]
        for ranks in (2, 3):
            log = self.generate("--data.directory", f"on{ranks}", ranks=ranks)
            self.assertIn(solved, log)
            self.assertEqual(self.differences(log), self.differences(alone))
            self.assertIn("8 shards made, 0 were there", log)
            self.assertIn("0 shards made, 8 were there",
                          self.generate("--data.directory", f"on{ranks}", ranks=ranks))


if __name__ == "__main__":
    harness.main()
