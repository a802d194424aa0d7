#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Effective conductivities of voxel images beside TauFactor, PoreSpy and SciPy.

    conductivity_in_others.py BINARY [--images 10] [--grid 24]
    conductivity_in_others.py BINARY --size 64 128 256 [--minutes 15] [--gigabytes 14]

Without --size it checks that all mean the same number, on random images with pores that conduct
nothing and bodies cut off from both faces. All solve the seven-point equation with harmonic means,
but differ in where the two faces of fixed potential are, which `face` counts in edges of a voxel
from the centres of the outermost ones:

    voxcycle solve --scheme finite_volume, TauFactor's Solver    0.5, the edge of the image
    TauFactor's MultiPhaseSolver                                 1, a copy of the layer beyond it
    PoreSpy's tortuosity_fd                                      0, the centres themselves

So SciPy solves each of the three, and the others are held to its value of theirs.

With --size: seconds of the processor and peak memory of processes of one thread, each at the first
tolerance of its list at which its conductivity is within 1e-3 of that of its own equation solved
tightly. Exit status 77 (skipped) where a package is missing, after what the others allow.
"""

import argparse
import json
import sys
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path

try:
    import numpy as np

    import conductivity_images as images
    import conductivity_tools as tools
except ImportError as error:
    print(f"skipped: {error} (pip install numpy scipy)")
    sys.exit(77)

SEED = 1
SAME = 1e-9  # relative; linear systems solved to 1e-12 in float64
TAUFACTOR_SAME = 2e-5  # relative; float32, stopped where layers carry the same to 1e-4
PORESPY_SAME = 1e-6  # relative; at a residual of 1e-9, and a flux is off by more than that
TIGHT = 1e-8  # residual of what --size measures errors against; energies have its square
ENOUGH = 1e-3  # relative error of a conductivity


HERE = Path(__file__).parent
SOLVE = (1e-1, 1e-2, 1e-3, 1e-4)
SHORT, REPEATS = 30, 2  # shorter solves, in seconds, run so often again; the least counts
BRACKET = (1e-2, 3e-3, 1e-3, 3e-4)


# ---- the same numbers ----------------------------------------------------------------------------


class Checks:
    def __init__(self):
        self.failed = False

    def same(self, name, value, expected, tolerance):
        error = abs(value / expected - 1)
        verdict = "" if error <= tolerance else f"  NOT within {tolerance:g}"
        self.failed |= bool(verdict)
        print(f"    {name:24} {value:.12f}  off by {error:.1e}{verdict}")


def finite_volume(options, path, phases, tolerance):
    found, run = images.figures(options.program, options.scratch, "solve", "--nu", path, "--scheme",
                                "finite_volume", "--tol", tolerance, *phases)
    return found["flow_into_faces"][0], run  # the longest edge is 1, the fall of potential, too


def random_images(options):
    """@return names and images: shares of pores at which some are cut off, and some more"""
    random = np.random.default_rng(SEED)
    for k in range(options.images):
        pores = (0.35, 0.5, 0.65)[k % 3]
        blur = (1.0, 1.5, 2.0)[k // 3 % 3]
        make = images.three_phase if k % 2 else images.binary
        image = make(random, options.grid, pores, blur)
        yield f"{k}: {make.__name__}, {pores:.0%} pores, blurred by {blur}", image


def check(options, without):
    checks = Checks()
    path = options.scratch / "image.npy"
    islands = 0
    for name, image in random_images(options):
        np.save(path, image)
        labels = np.unique(image)
        phases = ("--phases", ",".join(f"{label}:{images.VALUES[label]}" for label in labels))
        values = tools.values_of(image)
        islands += int(((values > 0) & ~tools.reached(values)).sum())
        exact = {face: tools.seven_point(values, face) for face in (0, 0.5, 1)}
        print(f"{name}: {exact[0.5]:.12f}")
        checks.same("voxcycle, seven points", finite_volume(options, path, phases, 1e-12)[0],
                    exact[0.5], SAME)
        found, _ = images.figures(options.program, options.scratch, "conductivity", path, "--axis",
                                  "x", *phases)
        axis = found["images"][0]["axes"][0]
        lower, upper = axis["conductivity_lower"], axis["conductivity_upper"]
        print(f"    bracket                  {lower:.6f} to {upper:.6f}")
        if not exact[0.5] * (1 - 1e-6) <= lower <= upper:  # the tolerance that it solves to
            print("    the lower bound is below the seven-point value")
            checks.failed = True
        two = image.max() == 1
        if "taufactor" not in without:
            checks.same("TauFactor", tools.taufactor(image, 1e-4), exact[0.5 if two else 1], TAUFACTOR_SAME)
        if "porespy" not in without and two:
            checks.same("PoreSpy", tools.porespy(image, 1e-9), exact[0], PORESPY_SAME)
    if islands == 0:
        print("no image has a body that is cut off: nothing shows that they are left out")
        checks.failed = True
    return checks.failed


# ---- side by side --------------------------------------------------------------------------------


@dataclass
class Row:
    """One tool at one tolerance, and what came of it."""

    value: float = float("nan")
    error: float = float("inf")
    seconds: float = float("nan")  # of the solve
    whole: float = float("nan")  # of the process
    megabytes: float = float("nan")
    note: str = ""


def of_python(options, path, name, tolerance):
    run = images.Run(sys.executable, HERE / "conductivity_tools.py", name, path, tolerance,
                     minutes=options.minutes, gigabytes=options.gigabytes)
    if run.status != 0:
        last = run.text.strip().splitlines()[-1:] or [""]
        return Row(whole=run.seconds, megabytes=run.megabytes,
                   note=f"stopped, status {run.status} {last[0][:60]}")
    found = json.loads(run.text.strip().splitlines()[-1])
    return Row(found["value"], 0, found["seconds"], run.seconds, run.megabytes)


def of_solve(options, path, phases, tolerance):
    value, run = finite_volume(options, path, phases, tolerance)
    return Row(value, 0, run.seconds - options.start, run.seconds, run.megabytes)


def of_bracket(options, path, phases, tolerance):
    found, run = images.figures(options.program, options.scratch, "conductivity", path, "--axis", "x",
                                "--tolerance", tolerance, *phases)
    axis = found["images"][0]["axes"][0]
    bounds = np.array([axis["conductivity_lower"], axis["conductivity_upper"]])
    return Row(bounds, 0, run.seconds - options.start, run.seconds, run.megabytes)


def seconds_to_start(options):
    """@return what voxcycle takes for an image of eight voxels: the libraries' loading"""
    path = options.scratch / "small.npy"
    np.save(path, np.ones((2, 2, 2)) + np.eye(2))
    return min(images.figures(options.program, options.scratch, "conductivity", path, "--axis", "x",
                              "--phases", "self")[1].seconds for _ in range(3))


def show(name, tolerance, row):
    value = " to ".join(f"{v:.6f}" for v in np.ravel(row.value))
    print(f"  {name:24} {tolerance:7.0e}  {value:22} {row.error:8.1e} {row.seconds:8.2f} "
          f"{row.whole:8.2f} {row.megabytes:7.0f}  {row.note}", flush=True)


def first_enough(name, run, tolerances, exact, begin):
    """Shows the runs up to the first that is close enough.
    @param begin  index of the tolerance that a smaller image needed
    @return that of the last"""
    for k in range(begin, len(tolerances)):
        row = run(tolerances[k])
        row.error = float(np.max(np.abs(row.value / exact - 1)))
        enough = row.error <= ENOUGH or row.note
        if enough and row.whole < SHORT:
            again = [run(tolerances[k]) for _ in range(REPEATS)] + [row]
            row.seconds, row.whole = (min(getattr(one, part) for one in again)
                                      for part in ("seconds", "whole"))
        show(name, tolerances[k], row)
        if enough:
            break
    return k


def side_by_side(options, without):
    path = options.scratch / "image.npy"
    options.start = seconds_to_start(options)
    begin = {}
    for make in (images.binary, images.three_phase):
        for n in options.size:
            image = make(np.random.default_rng(SEED), n, 0.5)
            np.save(path, image)
            two = image.max() == 1
            del image
            phases = ("--phases", "0:0,1:1" if two else "0:0,1:1,2:0.3")
            print(f"{make.__name__} {n}^3, half of it pores\n  {'':24} {'to':7}  {'conductivity':22} "
                  f"{'off by':>8} {'solve s':>8} {'whole s':>8} {'MB':>7}")
            exact = {0.5: of_solve(options, path, phases, 1e-10).value}
            bounds = of_bracket(options, path, phases, 1e-8).value
            runs = {"voxcycle solve": (lambda t: of_solve(options, path, phases, t), SOLVE, exact[0.5]),
                    "voxcycle conductivity": (lambda t: of_bracket(options, path, phases, t), BRACKET,
                                              bounds)}
            for name, tool in tools.TOOLS.items():
                if name in without or tool.binary_only and not two:
                    continue
                face = tool.face[two]
                if face not in exact:
                    exact[face] = of_python(options, path, f"face {face}", TIGHT).value
                runs[name] = (lambda t, name=name: of_python(options, path, name, t),
                              tool.tolerances, exact[face])
            for name, (run, tolerances, value) in runs.items():
                key = (name, two)
                begin[key] = first_enough(name, run, tolerances, value, begin.get(key, 0))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", help="voxcycle")
    parser.add_argument("--images", type=int, default=10)
    parser.add_argument("--grid", type=int, default=24)
    parser.add_argument("--size", type=int, nargs="*", help="side by side on these grids, instead")
    parser.add_argument("--minutes", type=float, default=15, help="of the processor, for one solve")
    parser.add_argument("--gigabytes", type=float, default=14, help="for one solve")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    without = tools.absent()
    with tempfile.TemporaryDirectory() as scratch:
        options.scratch = Path(scratch)
        failed = side_by_side(options, without) if options.size else check(options, without)
    sys.exit(1 if failed else 77 if without else 0)


if __name__ == "__main__":
    main()
