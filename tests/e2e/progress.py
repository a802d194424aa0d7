#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What a terminal shows while one waits: percent and time left first in training, and a line in
everything else that takes seconds."""

import array
import math
import os
import pty
import random
import re
import time

import harness

LEFT = r"left [\d.]+ (ms|s|min)"


class Progress(harness.Case):
    def on_terminal(self, *arguments):
        """@return seconds and what was shown by then, in the order of their coming"""
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.scratch)
            os.execve(harness.BINARY, [harness.BINARY, *map(str, arguments)],
                      {**os.environ, **harness.ENVIRONMENT})
        begin, shown, text = time.monotonic(), [], ""
        while True:
            try:
                read = os.read(terminal, 65536)
            except OSError:  # the program has ended
                break
            if not read:
                break
            text += read.decode(errors="replace")
            *whole, text = re.split(r"[\r\n]+", text)
            shown += [(time.monotonic() - begin, line.replace("\x1b[2K", "")) for line in whole]
        os.close(terminal)
        _, status = os.waitpid(pid, 0)
        self.assertEqual(os.waitstatus_to_exitcode(status), 0, shown[-5:])
        return shown

    def assert_shown(self, shown, pattern):
        self.assertTrue(any(re.match(pattern, line) for _, line in shown), shown)

    def test_training_begins_with_percent_and_what_is_left(self):
        self.config({"data.held_out_samples": "48", "cycle.steps": "200, 60",
                     "cycle.evaluations": "4, 3"})
        shown = self.on_terminal("generate", "--config", "small.cfg")
        self.assert_shown(shown, r"generating  \d+ %  " + LEFT)
        shown = self.on_terminal("train", "--config", "small.cfg")
        end = next(at for at, line in shown if line.startswith("trained "))
        told = [(at, int(match[1]), line) for at, line in shown
                if (match := re.match(rf"(\d+) %  {LEFT}  stage ", line))]
        shares = [share for _, share, _ in told]
        self.assertGreater(shares[-1], 85, told[-1])
        self.assertLess(shares[0], 30, told[0])
        # A machine that does something else meanwhile bends the line, but not from end to end.
        middle = next(share for at, share, _ in told if at > end / 2)
        self.assertTrue(15 < middle < 85, middle)

    def test_a_study_tells_how_far_its_runs_are(self):
        self.config({"cycle.steps": "300, 100"})
        with (self.scratch / "small.cfg").open("a") as config:
            config.write("[ablate]\ndirectory = study\n[vary]\nrun.seed = 1 | 2\n")
        shown = self.on_terminal("ablate", "--config", "small.cfg")
        self.assert_shown(shown, r"0 of 2 runs.*  run 1: \d+ %")
        self.assert_shown(shown, rf"1 of 2 runs  {LEFT}  run 2: \d+ %")

    def test_solve_verify_and_scale_tell_what_they_wait_for(self):
        random.seed(1)
        values = array.array("f", [math.exp(random.gauss(0, 2)) for _ in range(96**3)])
        (self.scratch / "nu.raw").write_bytes(values.tobytes())
        shown = self.on_terminal("solve", "--nu", "nu.raw:96,96,96:float32")
        self.assert_shown(shown, r"iteration \d+  [\d.]+ (ms|s)")
        self.config({"cycle.steps": "2, 1"})
        self.succeed("generate", "--config", "small.cfg")
        shown = self.on_terminal("verify", "--config", "small.cfg", "--ranks", "1")
        self.assert_shown(shown, r"waiting for exact-reduction-on-1\.log  [\d.]+ (ms|s)")
        shown = self.on_terminal("scale", "--config", "small.cfg", "--grid", "8",
                                 "--processes", "1")
        self.assert_shown(shown, r"waiting for 1-processes-batch-\d+\.log  [\d.]+ (ms|s)")


if __name__ == "__main__":
    harness.main()
