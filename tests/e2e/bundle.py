#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""./dev bundle: the folder runs from anywhere with torch and the C library alone. What each process
loads is read from the dynamic loader's own log."""

import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import harness

ROOT = Path(__file__).resolve().parents[2]
MOST_MEBIBYTES = 60
# The system's share: the C library and the loader.
GLIBC = re.compile(r"/(ld-linux[^/]*|lib(c|m|dl|pthread|rt|resolv|util|anl|mvec))\.so\.\d+$")
LOADED = re.compile(r"calling init: (/.*)")
STARTED = re.compile(r"transferring control: (.*)")


def torch_of(binary):
    """The torch package that the build uses."""
    text = (Path(binary).resolve().parent / "CMakeCache.txt").read_text()
    return Path(re.search(r"^TORCH_WHEEL:PATH=(.*)$", text, re.M)[1])


class Bundle(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = Path(tempfile.mkdtemp(prefix="voxcycle-bundle-"))
        cls.addClassCleanup(shutil.rmtree, cls.scratch, ignore_errors=True)
        made = cls.scratch / "made"
        build = Path(harness.BINARY).resolve().parent
        done = subprocess.run([ROOT / "src/bundle/make.sh", build, made], text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode:
            raise AssertionError(done.stdout)
        # Relocatable: it runs from where it was not made, reached through a link.
        cls.folder = cls.scratch / "moved here"
        made.rename(cls.folder)
        cls.torch = torch_of(harness.BINARY)
        cls.work = cls.scratch / "work"
        cls.work.mkdir()

    def call(self, *arguments, program="voxcycle", environment=None, timeout=120):
        """Runs a launcher of the bundle with an empty environment but for PATH and torch."""
        return subprocess.run(
            [self.folder / program, *map(str, arguments)], cwd=self.work, text=True, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout,
            env={"PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1",
                 "VOXCYCLE_TORCH_WHEEL": str(self.torch), **(environment or {})})

    def test_size(self):
        size = sum(f.lstat().st_size for f in self.folder.rglob("*") if f.is_file())
        self.assertLess(size, MOST_MEBIBYTES * 2**20)

    def foreign(self, arguments, name):
        """@return libraries that a run of the bundle loaded from elsewhere than it may."""
        log = self.work / name
        log.mkdir()
        done = self.call(*arguments, environment={"LD_DEBUG": "libs", "LD_DEBUG_OUTPUT": str(log / "p")})
        self.assertEqual(done.returncode, 0, done.stderr)
        # Plugins of the wheel's companions lie beside torch.
        allowed = [self.folder.resolve(), self.torch.resolve().parent]
        ours, found = 0, set()
        for file in log.iterdir():
            # One process: libraries, program, ... where programs replace each other (exec). Those of
            # the system, bash and the like, are its own affair.
            *_, libraries, program, opened = STARTED.split("\n" + file.read_text(errors="replace"))
            inside = self.folder.resolve() in Path(program).resolve().parents
            if not inside and program != "mpirun":  # which PATH found
                continue
            ours += 1
            for line in LOADED.findall(libraries + opened):
                path = Path(line).resolve()
                if not GLIBC.search(line) and not any(a in path.parents for a in allowed):
                    found.add(line)
        self.assertGreater(ours, 0)
        return done.stdout, found

    def test_nothing_is_loaded_from_elsewhere(self):
        out, found = self.foreign(["info"], "alone")
        self.assertIn("1, self", out)
        self.assertEqual(found, set())

    def test_nothing_is_loaded_from_elsewhere_on_two_processes(self):
        out, found = self.foreign(["-n", 2, "info"], "two")
        self.assertRegex(out, "2, MPI")
        self.assertEqual(found, set())

    def test_generates_and_trains(self):
        case = harness.Case()
        case.scratch = self.work
        case.config({"cycle.steps": "2, 2"})
        verify = ["verify", "--ranks", "1,2", "--steps", "2", "--run.directory", "verify"]
        for command in (["generate"], ["-n", 2, "train"], verify):
            done = self.call(*command, "--config", "small.cfg")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertTrue((self.work / "run/metrics.csv").is_file())

    def test_gpu_tests_say_why_they_are_skipped(self):
        if "GPU use      ready" in self.call("info").stdout:
            self.skipTest("a GPU is here")
        done = self.call(program="run_gpu_tests")
        self.assertEqual(done.returncode, 77, done.stderr)
        self.assertIn("skipped: ", done.stdout)

    def test_wrong_torch_is_named(self):
        other = self.work / "torch"
        (other / "lib").mkdir(parents=True)
        done = self.call("info", environment={"VOXCYCLE_TORCH_WHEEL": str(other)})
        self.assertEqual(done.returncode, 1)
        self.assertIn("is no torch package", done.stderr)
        (other / "lib/libtorch_cpu.so").touch()
        (other / "version.py").write_text("__version__ = '2.9.1+cu128'\n")
        done = self.call("info", environment={"VOXCYCLE_TORCH_WHEEL": str(other)})
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"is torch 2\.9\.1, the bundle was built with 2\.11\.0 \(")

    def test_torch_of_python_is_found(self):
        python = self.work / "bin/python3"
        python.parent.mkdir()
        python.write_text(f"#!/bin/sh\nPYTHONPATH={self.torch.parent} exec {shutil.which('python3')} \"$@\"\n")
        python.chmod(0o755)
        done = self.call("info", environment={"VOXCYCLE_TORCH_WHEEL": "",
                                              "PATH": f"{python.parent}:/usr/bin:/bin"})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"torch +2\.11\.0")

    def test_only_bundles_are_replaced(self):
        precious = self.work / "precious"
        precious.mkdir()
        (precious / "file").touch()
        build = Path(harness.BINARY).resolve().parent
        done = subprocess.run([ROOT / "src/bundle/make.sh", build, precious], text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 1)
        self.assertIn("is no bundle", done.stderr)
        self.assertTrue((precious / "file").exists())


if __name__ == "__main__":
    harness.main()
