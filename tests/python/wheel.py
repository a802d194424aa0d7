#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The wheel installed by pip, its tutorial, and a torch of another version; see run.py."""

import os
import re
import subprocess
import sys
from pathlib import Path

import harness

ROOT = Path(__file__).resolve().parents[2]


class Wheel(harness.Case):
    def run_python(self, *arguments, path):
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([path, os.environ["PYTHONPATH"]])}
        return subprocess.run([sys.executable, *arguments], cwd=self.scratch, env=environment,
                              capture_output=True, text=True, timeout=250)

    def test_installed(self):
        import voxcycle
        folder = Path(voxcycle.__file__).parents[1]
        subprocess.run([sys.executable, "-m", "wheel", "pack", folder, "--dest-dir", self.scratch],
                       check=True, capture_output=True)
        wheel, = self.scratch.glob("voxcycle-*.whl")
        target = self.scratch / "site"
        subprocess.run([sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "-q",
                        "--target", target, wheel], check=True, capture_output=True)
        result = self.run_python(
            "-c", "import numpy, voxcycle; print(voxcycle.__file__, voxcycle.solve("
            "numpy.ones((4, 4, 4))).u[:, 0, 0].tolist())", path=str(target))
        self.assertEqual(result.stdout.strip(),
                         f"{target}/voxcycle/__init__.py [1.0, 0.75, 0.5, 0.25, 0.0]", result.stderr)

    def test_another_torch_is_refused(self):
        (self.scratch / "torch.py").write_text("__version__ = '2.10.0+cpu'\n")
        result = self.run_python("-c", "import voxcycle", path=str(self.scratch))
        self.assertIn("voxcycle was built for torch 2.11.0, and this is 2.10.0+cpu. Type: pip "
                      "install torch==2.11.0.", result.stderr)

    def test_tutorial(self):
        self.config({"cycle.steps": "40, 30", "network.smoothing": "0",
                     "network.residual_input": "yes"})
        self.succeed("generate", "--config", "small.cfg")
        self.succeed("train", "--config", "small.cfg")
        result = self.run_python(ROOT / "src/python/examples/inverse.py", "run", "--steps", "40",
                                 path="")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        # Of the ball that the network thinks it is; nu = 1.65 in the middle is off by 20 %.
        distance, = re.findall(r"The solver's u .* is ([\d.]+)% off", result.stdout)
        self.assertLess(float(distance), 4)


if __name__ == "__main__":
    harness.main()
