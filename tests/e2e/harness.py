# SPDX-License-Identifier: BSD-3-Clause
"""What the end-to-end tests share: a scratch directory, small configs, and the program itself, run
alone or through mpiexec. Each test is `x.py BINARY MPIEXEC [unittest options]`."""

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from dataclasses import dataclass
from pathlib import Path

BINARY = ""
MPIEXEC = ""

ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
    # Ranks that wait give way: on a busy machine steps are several times faster.
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "ASAN_OPTIONS": "detect_leaks=0",
}

# Exit status of work that was stopped and can go on.
STOPPED = 75

# Of a refusal: includes the start of mpiexec on a busy machine.
MOST_SECONDS = 10

# Two small grids and a small network: a step takes about 10 ms.
SMALL = {
    "run.directory": "run",
    "data.directory": "data",
    "data.train_samples": "24",
    "data.held_out_samples": "4",
    "data.shard_samples": "10",
    "cycle.levels": "8, 16",
    "cycle.steps": "12, 6",
    "cycle.batch": "4",
    "cycle.rate": "5e-2",
    "cycle.evaluations": "2",
    "network.channels": "4:8, 8:8, 16:8",
    # With the defaults, 4 and auto, an untrained network is too good on grids this small to show
    # learning.
    "network.smoothing": "1",
    "network.coarse": "averaged",
}


@dataclass
class Result:
    status: int
    out: str
    err: str
    seconds: float

    @property
    def text(self):
        return self.out + self.err


def command_line(arguments, ranks):
    """`ranks` 0: without mpiexec."""
    launcher = [MPIEXEC, "-n", str(ranks)] if ranks else []
    return [*launcher, BINARY, *map(str, arguments)]


class Process:
    """A run of the program under way; its output goes to files, so that it never blocks."""

    def __init__(self, directory, arguments, ranks=0, in_child=None, launcher=None):
        """@param launcher  the whole command, instead of the program with `arguments`"""
        self.out = tempfile.TemporaryFile("w+")
        self.err = tempfile.TemporaryFile("w+")
        self.begin = time.monotonic()
        self.process = subprocess.Popen(
            launcher or command_line(arguments, ranks),
            cwd=directory,
            env={**os.environ, **ENVIRONMENT},
            stdin=subprocess.DEVNULL,
            stdout=self.out,
            stderr=self.err,
            preexec_fn=in_child,
        )

    def running(self):
        return self.process.poll() is None

    def send(self, number):
        self.process.send_signal(number)

    def wait(self, timeout):
        """@return the Result; a run that exceeds `timeout` seconds is ended and fails the test."""
        try:
            status = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.end()
            raise AssertionError(f"no end after {timeout} s; output:\n{self.result(-1).text}")
        return self.result(status)

    def end(self):
        """Ends a run that is still under way."""
        if not self.running():
            return
        self.send(signal.SIGTERM)  # mpiexec ends its ranks on this, not when it is killed
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def close(self):
        self.end()
        self.out.close()
        self.err.close()

    def result(self, status):
        texts = []
        for stream in (self.out, self.err):
            stream.seek(0)
            texts.append(stream.read())
        return Result(status, *texts, time.monotonic() - self.begin)


class Case(unittest.TestCase):
    """A test with a scratch directory, in which the program runs."""

    def setUp(self):
        self.scratch = Path(tempfile.mkdtemp(prefix="voxcycle-e2e-"))
        self.addCleanup(shutil.rmtree, self.scratch, ignore_errors=True)

    def config(self, changes=None, name="small.cfg"):
        """Writes SMALL with `changes` (section.key: value) and returns the file's name."""
        sections = {}
        for key, value in {**SMALL, **(changes or {})}.items():
            section, _, name_in_section = key.partition(".")
            sections.setdefault(section, []).append(f"{name_in_section} = {value}")
        text = "\n".join(f"[{section}]\n" + "\n".join(lines) for section, lines in sections.items())
        (self.scratch / name).write_text(text + "\n")
        return name

    def start(self, *arguments, ranks=0, in_child=None):
        process = Process(self.scratch, arguments, ranks, in_child)
        self.addCleanup(process.close)
        return process

    def run_program(self, *arguments, ranks=0, timeout=60, in_child=None):
        return self.start(*arguments, ranks=ranks, in_child=in_child).wait(timeout)

    def succeed(self, *arguments, ranks=0, timeout=60):
        result = self.run_program(*arguments, ranks=ranks, timeout=timeout)
        self.assertEqual(result.status, 0, result.text)
        return result

    def figures(self, *arguments, ranks=0):
        """What a command writes where --json says."""
        # The emulated GPU's benchmarks take a minute on a busy machine.
        self.succeed(*arguments, "--json", "figures.json", ranks=ranks, timeout=150)
        return json.loads((self.scratch / "figures.json").read_text())

    def assert_same_bits(self, *options, ranks="1,3"):
        """That small.cfg trains alike on these numbers of processes."""
        verified = self.figures("verify", "--config", "small.cfg", "--ranks", ranks, "--steps", "3",
                                "--launcher", f"{MPIEXEC} -n {{}}", *options)
        self.assertTrue(verified["identical"])

    def metrics(self, directory="run"):
        """metrics.csv as a list of dictionaries of text."""
        with open(self.scratch / directory / "metrics.csv", newline="") as file:
            return list(csv.DictReader(file))

    def timeless_metrics(self, directory="run"):
        """metrics.csv without the one column that differs from run to run."""
        rows = self.metrics(directory)
        for row in rows:
            del row["seconds"]
        return rows

    def wait_until(self, process, condition, timeout=40):
        """Waits until `condition()` while `process` runs."""
        end = time.monotonic() + timeout
        while not condition():
            if not process.running():
                self.fail("ended too early:\n" + process.wait(1).text)
            self.assertLess(time.monotonic(), end, "what the test waits for did not happen")
            time.sleep(0.02)


class Refusal(Case):
    """Runs that must fail."""

    def setUp(self):
        super().setUp()
        self.config()

    def refuse(self, *arguments, expect, ranks=0, in_child=None):
        """Expects a failure with one error line that has all texts of `expect`."""
        result = self.run_program(*arguments, ranks=ranks, timeout=MOST_SECONDS, in_child=in_child)
        self.assertNotEqual(result.status, 0, result.text)
        self.assertGreater(result.status, 0, "ended by a signal")
        errors = [line for line in result.err.splitlines() if "[error]" in line]
        self.assertEqual(len(errors), 1, result.text)
        for text in expect if isinstance(expect, (list, tuple)) else [expect]:
            self.assertIn(text, errors[0])
        self.assertRegex(errors[0], r"\.$", "an error is a sentence")
        self.assertNotRegex(result.text, r"terminate called|Traceback|Segmentation|core dumped")
        self.assertEqual(self.temporaries(), [])
        return errors[0]

    def temporaries(self):
        return [str(p) for p in self.scratch.rglob("*.tmp*")]

    def refuse_train(self, *options, expect, ranks=0):
        return self.refuse("train", "--config", "small.cfg", *options, expect=expect, ranks=ranks)


def damage_nu(path, other):
    """Changes a value amid nu of a shard: the longest stretch in which it differs from another."""
    content = bytearray(path.read_bytes())
    differ = [k for k, (a, b) in enumerate(zip(content, other.read_bytes())) if a != b]
    content[differ[len(differ) // 2]] ^= 0x55
    path.write_bytes(content)


def wait_for(condition, timeout):
    """Waits until `condition()`."""
    end = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("what the test waits for did not happen")
        time.sleep(0.02)


def losses(rows):
    """The loss column of the training rows, as text."""
    return [row["loss"] for row in rows if row["loss"]]


def main(skipped=False):
    """@param skipped  tells ctest so (status 77) if what could run has passed."""
    global BINARY, MPIEXEC
    BINARY, MPIEXEC = sys.argv[1:3]
    program = unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2, exit=False)
    failed = not program.result.wasSuccessful()
    sys.exit(1 if failed else 77 if skipped else 0)
