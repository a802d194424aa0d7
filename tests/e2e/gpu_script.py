#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tests/gpu/run_all.sh with stand-ins for the programs: what it says of tests that fail, of benchmarks
that print nothing and of what there was no time for, and which parts it runs."""

import json
import os
import subprocess
from pathlib import Path

import harness

SCRIPT = Path(__file__).resolve().parents[2] / "tests/gpu/run_all.sh"

VOXCYCLE = """#!/usr/bin/env bash
[[ $1 == info ]] && echo "GPU use      ${GPU:-ready}"
[[ $1 == bench ]] && echo '{"of": "'"$2"'"}' > "${@: -1}"
[[ "$1 $2" == "bench conv" ]] && rm -f "${@: -1}" && exit 3
exit 0
"""
GPU_TESTS = """#!/usr/bin/env bash
[[ $1 != --gtest_list_tests ]] || { printf 'EnergyOnGpu.\\n  a\\nTrainerOnGpu.\\n  b\\n'; exit 0; }
[[ $* != *Trainer* ]]
"""


class GpuScript(harness.Case):
    def setUp(self):
        super().setUp()
        (self.scratch / "tests").mkdir()
        for name, text in (("voxcycle", VOXCYCLE), ("tests/gpu_tests", GPU_TESTS)):
            (self.scratch / name).write_text(text)
            (self.scratch / name).chmod(0o755)

    def run_script(self, *parts, **environment):
        """@return exit status and results by test."""
        done = subprocess.run(["bash", SCRIPT, self.scratch, "out.json", *parts], cwd=self.scratch,
                              env=os.environ | environment, capture_output=True, text=True)
        self.printed = done.stdout
        path = self.scratch / "out.json"
        self.results = json.loads(path.read_text()) if path.exists() else None
        return done.returncode, done.stderr

    def by_test(self):
        return {one["test"]: one["result"] for one in self.results["tests"]}

    def test_failures_are_told_and_the_rest_goes_on(self):
        self.assertEqual(self.run_script()[0], 1)
        tests = self.by_test()
        self.assertEqual(tests["EnergyOnGpu"], "passed")
        self.assertEqual(tests["TrainerOnGpu"], "failed (1)")
        self.assertEqual(tests["compare at 256^3"], "passed")
        self.assertEqual(tests["same bits on 1, 2, 3 processes"], "passed")
        benches = self.results["benches"]
        self.assertIn({"of": "energy"}, benches)
        broken = [one for one in benches if "bench" in one]
        self.assertEqual([one["result"] for one in broken], ["failed (3)"] * 2)
        self.assertTrue(broken[0]["bench"].startswith("conv --grid 256"))
        self.assertTrue(self.results["finished"])
        self.assertFalse(self.results["passed"])
        self.assertEqual((self.scratch / "out.log").read_text(), self.printed)

    def test_what_there_was_no_time_for_was_not_started(self):
        self.assertEqual(self.run_script("kernels", "steps", VOXCYCLE_GPU_TEST_SECONDS="0")[0], 1)
        self.assertEqual(self.by_test(), {"EnergyOnGpu": "not started"})
        self.assertEqual({one["result"] for one in self.results["benches"]}, {"not started"})
        self.assertFalse(self.results["finished"])

    def test_parts(self):
        self.assertEqual(self.run_script("kernels")[0], 0)
        self.assertEqual(self.by_test(), {"EnergyOnGpu": "passed"})
        self.assertTrue(self.results["passed"])
        status, error = self.run_script("kernel")
        self.assertEqual(status, 1)
        self.assertIn("there is no part 'kernel'", error)

    def test_without_a_gpu_it_says_why(self):
        self.assertEqual(self.run_script(GPU="no driver")[0], 77)
        self.assertIn("skipped: no driver", self.printed)


if __name__ == "__main__":
    harness.main()
