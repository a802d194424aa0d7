#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Limits that the system sets: sizes of files, processes, memory."""

import os
import resource

import harness
from conductivity import numpy_file

NOBODY = 65534


class Limits(harness.Case):
    def field(self, n, name="field.npy"):
        (self.scratch / name).write_bytes(numpy_file([1.0] * n ** 3, (n, n, n), "<f4", "f"))
        return name

    def end_of(self, *arguments, in_child=None):
        process = self.start(*arguments, in_child=in_child)
        return process.wait(60)

    def test_a_file_that_may_not_grow_is_named(self):
        self.field(32)
        most = 100_000
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        result = self.end_of("solve", "--nu", "field.npy", "--out", "u.npy", in_child=limit)
        self.assertEqual(result.status, 1, result.text)
        self.assertRegex(result.err, r"u\.npy.*File too large")
        self.assertFalse((self.scratch / "u.npy").exists())

    def test_threads_that_cannot_be_started_are_no_hang(self):
        self.field(8)
        if os.geteuid() != 0:
            self.skipTest("another user's limit of processes can be set by root alone")
        os.chmod(self.scratch, 0o777)
        def limit():
            resource.setrlimit(resource.RLIMIT_NPROC, (2, 2))
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        result = self.end_of("solve", "--nu", "field.npy", "--run.threads", "8", in_child=limit)
        if "ermission denied" in result.text:
            self.skipTest("the program lies where nobody else may run it")
        self.assertEqual(result.status, 1, result.text)
        self.assertRegex(result.err, r"only \d of 8 threads can be started .*ulimit -u.*run\.threads")

    def test_fields_that_do_not_fit_are_refused_before_the_solve(self):
        self.field(64)
        result = self.run_program("solve", "--nu", "field.npy", "--run.memory_limit", "0.1")
        self.assertEqual(result.status, 1, result.text)
        self.assertRegex(result.err, r"field\.npy: .*64\^3 .* needs .*MiB.*but 102.4 MiB are.*run\.memory_limit")
        self.assertLess(result.seconds, harness.MOST_SECONDS)
        self.succeed("solve", "--nu", "field.npy", "--run.memory_limit", "1")

    def test_a_sparse_file_of_many_voxels_is_refused(self):
        header = numpy_file([], (10_000, 10_000, 10_000), "<f4", "f")
        with open(self.scratch / "huge.npy", "wb") as file:
            file.write(header)
            file.truncate(len(header) + 4 * 10 ** 12)
        result = self.run_program("solve", "--nu", "huge.npy")
        self.assertEqual(result.status, 1, result.text)
        self.assertIn("huge.npy", result.err)
        self.assertNotIn("bad_alloc", result.err)
        self.assertLess(result.seconds, harness.MOST_SECONDS)


if __name__ == "__main__":
    harness.main()
