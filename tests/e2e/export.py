#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""voxcycle export: what Python's torch.jit.load makes of the file, without voxcycle, is what the
program computed. Skipped where no Python has torch: VOXCYCLE_PYTHON, the one that runs this and the
project's own are tried."""

import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

import harness

# Rounding of float32 through all layers, relative to the largest value.
ROUNDING = 1e-5

# Runs in the Python that has torch.
PROBE = Path(__file__).with_name("export_probe.py")


def python_with_torch():
    """@return the first Python that can load torch, or None."""
    own = Path(__file__).resolve().parents[2] / ".venv/bin/python"
    for python in (os.environ.get("VOXCYCLE_PYTHON"), sys.executable, str(own)):
        if python is None or not Path(python).exists():
            continue
        if subprocess.run([python, "-c", "import torch"], capture_output=True).returncode == 0:
            return python
    return None


PYTHON = python_with_torch()
WITH = ("--config", "small.cfg")
OUT = ("--out", "model.pt", "--sample", "sample.pt")


class Export(harness.Case):
    def train(self, changes=None):
        self.config({"cycle.steps": "3, 2", **(changes or {})})
        self.succeed("generate", *WITH)
        self.succeed("train", *WITH)

    def probe(self, *grids):
        """What PROBE prints, and what it says of cubes of so many voxels."""
        result = subprocess.run([PYTHON, PROBE, *map(str, grids)], cwd=self.scratch,
                                capture_output=True, text=True, timeout=120,
                                env={**os.environ, **harness.ENVIRONMENT})
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def check_values(self, found):
        for name in ("self check", "together", "one by one", "float64", "other unit", "after train()"):
            self.assertLess(found[name], ROUNDING, name)
        self.assertGreater(found["change"], 1e-3, "all samples look alike")
        self.assertEqual(found["shape"], [3, 1, 17, 17, 17])
        self.assertEqual(found["coarse"], [3, 1, 9, 9, 9])
        self.assertFalse(found["training"])
        self.assertFalse(found["gradients"])

    @unittest.skipUnless(PYTHON, "no Python with torch")
    def test_multigrid(self):
        self.train({"problem.boundary": "0.3, flux, flux, -1.7, flux, flux"})
        out = self.succeed("export", *WITH, *OUT).out
        self.assertIn("model.pt", out)
        found = self.probe(8, 12, 48, 2, 33)
        self.check_values(found)
        self.assertEqual(found["ends"][0], [0.3], "in float64")
        self.assertEqual(found["levels"], [8, 16])
        metadata = found["metadata"]
        self.assertEqual(metadata["levels"], [8, 16])
        self.assertEqual(metadata["boundary"], "0.3, flux, flux, -1.7, flux, flux")
        self.assertEqual(metadata["source"], "0")
        self.assertEqual(metadata["weights"], "averaged")
        self.assertIn("multigrid", metadata["network"])
        self.assertRegex(metadata["config_hash"], "^[0-9a-f]{16}$")
        self.assertIn("train.loss = ", found["config"])
        self.assertEqual(found["refusals"][:3], ["", "", ""])
        for text in found["refusals"][3:]:
            self.assertIn("no level for grid", text)

    @unittest.skipUnless(PYTHON, "no Python with torch")
    def test_unet_with_a_source_of_each_sample(self):
        self.train({"network.name": "unet", "network.depth": "2", "network.base_channels": "4",
                    "network.norm": "group",
                    "problem.source": "sampled"})
        self.succeed("export", *WITH, *OUT)
        found = self.probe(8, 12, 6)
        self.check_values(found)
        self.assertEqual(found["ends"], [[1.0], [0.0]])
        self.assertEqual(found["metadata"]["source"], "sampled")
        self.assertEqual(found["refusals"][0], "")
        self.assertEqual(found["refusals"][1], "")
        self.assertIn("multiple of 4", found["refusals"][2])

    def test_without_a_config_and_on_two_processes(self):
        self.train()
        self.succeed("export", "--checkpoint", "run/checkpoint.h5", "--out", "one.pt")
        self.succeed("export", *WITH, "--out", "two.pt", ranks=2)
        model = (self.scratch / "one.pt").read_bytes()
        self.assertEqual(model, (self.scratch / "two.pt").read_bytes())
        self.assertEqual(model[:2], b"PK", "TorchScript is a zip archive")

    def test_refusals(self):
        self.config()
        cases = [
            ((*WITH,), "--out"),
            ((*WITH, "--out", "model.pt"), "run/checkpoint.h5 does not exist"),
            (("--checkpoint", "small.cfg", "--out", "model.pt"), "small.cfg"),
        ]
        for arguments, expect in cases:
            with self.subTest(arguments=arguments):
                result = self.run_program("export", *arguments)
                self.assertIn(result.status, (1, 2), result.text)
                self.assertIn(expect, result.err)
                self.assertFalse((self.scratch / "model.pt").exists())
        self.train()
        result = self.run_program("export", *WITH, *OUT, "--data.directory", "none")
        self.assertEqual(result.status, 1, result.text)
        self.assertIn("Run voxcycle generate", result.err)
        self.assertFalse((self.scratch / "sample.pt").exists())


if __name__ == "__main__":
    harness.main(skipped=PYTHON is None)
