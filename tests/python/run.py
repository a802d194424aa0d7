#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs a test of the Python module beside torch, with stand-ins for CUDA libraries that are not
there. Skipped (status 77) where torch or numpy cannot be imported.

usage: run.py TEST TORCH_PACKAGE MODULE_FOLDER BINARY MPIEXEC [unittest options]
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import torch_stand_ins

SKIPPED = 77


def main(test, torch, folder, *arguments):
    torch = Path(torch)
    with tempfile.TemporaryDirectory(prefix="voxcycle-python-") as scratch:
        stand_ins = Path(scratch) / "stand_ins"
        torch_stand_ins.make(torch, stand_ins)
        paths = [folder, str(torch.parent), str(Path(__file__).resolve().parents[1] / "e2e")]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(paths),
                       "LD_LIBRARY_PATH": str(stand_ins), "VOXCYCLE_STAND_INS": str(stand_ins)}
        probe = subprocess.run([sys.executable, "-c", "import numpy, torch"], env=environment,
                               capture_output=True, text=True)
        if probe.returncode != 0:
            print("skipped: torch and numpy cannot be imported:", probe.stderr.strip()[-300:])
            return SKIPPED
        return subprocess.run([sys.executable, test, *arguments], env=environment).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
