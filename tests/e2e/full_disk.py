#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A full disk: an error that says so, from all processes, and nothing half-written."""

import resource
import signal

import harness
from harness import Refusal


def full_disk(limit):
    """A preexec_fn after which no file can grow beyond `limit` bytes."""
    def apply():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    return apply


class FullDisk(Refusal):
    def test_generate(self):
        for limit in (3000, 10_000, 30_000):
            with self.subTest(limit=limit):
                # Standard output and error are files as well; the least limit has room for them.
                error = self.refuse_with_limit(limit, "generate", "--config", "small.cfg")
                self.assertIn(".h5", error)
        for shard in self.scratch.rglob("*.h5"):
            self.assertLess(shard.stat().st_size, 30_000)
        # What was written before is whole, and the same command goes on.
        self.succeed("generate", "--config", "small.cfg")
        self.succeed("train", "--config", "small.cfg")

    def refuse_with_limit(self, limit, *arguments):
        return self.refuse(*arguments, expect=["File too large", "space"],
                           in_child=full_disk(limit))

    def test_train(self):
        self.succeed("generate", "--config", "small.cfg")
        # Room for the log and the metrics, not for a checkpoint (some 200 kB).
        self.refuse_with_limit(100_000, "train", "--config", "small.cfg")
        self.assertFalse((self.scratch / "run" / "checkpoint.h5").exists())
        self.assertFalse((self.scratch / "run" / "DONE").exists())
        self.succeed("train", "--config", "small.cfg", ranks=2)


if __name__ == "__main__":
    harness.main()
