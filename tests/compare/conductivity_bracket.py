#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Brackets of `voxcycle conductivity`: of lattices of spheres, beside Rayleigh's value, and of images
whose voxels are divided.

    conductivity_bracket.py BINARY [--lattice 32 64 128] [--images 20] [--grid 16] [--factors 2 4 8]

Dividing voxels leaves the geometry as it is, so brackets must nest: the upper bound falls, the lower
rises. The mean is compared with that of the finest voxels. Exit status 77 (skipped) without numpy.
"""

import argparse
import math
import sys
import tempfile
from pathlib import Path

try:
    import numpy as np

    import conductivity_images as images
except ImportError as error:
    print(f"skipped: {error} (pip install numpy)")
    sys.exit(77)

SEED = 1
CONTRAST = 10.0  # of the spheres
RADII = (0.35, 0.45)  # in edges of the lattice's cell: fractions of about 0.18 and 0.38
TOLERANCE = 1e-6  # to which the program solves: so much may ends of brackets be out of order
EDGES = 0.8  # relative: a sphere of voxels conducts better than its volume, by less than this / n
BLUR = 1.5  # voxels


def rayleigh(fraction, contrast):
    """Rayleigh (1892), with the coefficients of Sangani and Acrivos (1983)."""
    b = (1 - contrast) / (2 + contrast)
    t = (1 - contrast) / (4 / 3 + contrast)
    d = -1 / b - fraction + 1.305 * t * fraction ** (10 / 3) / (1 + 0.405 * t * fraction ** (7 / 3))
    return 1 + 3 * fraction / d


def brackets(options, arrays, *phases):
    """@return lower and upper bounds along x of each array, from one call, and its Run"""
    names = []
    for k, array in enumerate(arrays):
        names.append(options.scratch / f"{k}.npy")
        np.save(names[-1], array)
    found, run = images.figures(options.program, options.scratch, "conductivity", *names, "--axis",
                                "x", "--tolerance", TOLERANCE, *phases)
    axes = [one["axes"][0] for one in found["images"]]
    return np.array([[axis["conductivity_lower"], axis["conductivity_upper"]] for axis in axes]), run


def lattices(options):
    """Symmetry makes the cell's faces along the flow ones that nothing passes.
    @return whether a mean is farther from Rayleigh's than the voxels' edges explain"""
    failed = False
    print(f"spheres of contrast {CONTRAST:g}, simple cubic lattice")
    print("  voxels  fraction  Rayleigh   lower      upper      mean       off by    half width")
    for radius in RADII:
        print(f"  radius {radius}, a fraction of {4 / 3 * math.pi * radius ** 3:.4f}")
        for n in options.lattice:
            x = (np.arange(n) + 0.5) / n - 0.5
            square = x[:, None, None] ** 2 + x[:, None] ** 2 + x ** 2
            inside = (square < radius ** 2).astype(np.uint8)
            (bounds,), _ = brackets(options, [inside], "--phases", f"0:1,1:{CONTRAST}")
            exact, mean = rayleigh(inside.mean(), CONTRAST), bounds.mean()
            print(f"  {n:3}^3   {inside.mean():.5f}   {exact:.6f}   {bounds[0]:.6f}   "
                  f"{bounds[1]:.6f}   {mean:.6f}   {mean / exact - 1:+.2%}    "
                  f"{np.ptp(bounds) / 2 / mean:.2%}", flush=True)
            if not 0 < mean / exact - 1 < EDGES / n:
                print(f"  NOT above it by less than {EDGES / n:.2%}")
                failed = True
    return failed


def kinds(options):
    """@return name, images and options of each kind"""
    random = np.random.default_rng(SEED)
    n = options.grid

    def binary():
        return [images.binary(random, n, 0.5, BLUR) for _ in range(options.images)]

    yield "binary, contrast 100", binary(), ("--phases", "0:1,1:100")
    yield "binary, half of it zero", binary(), ("--phases", "0:0,1:1")
    fields = [np.exp(images.blurred_noise(random, n, BLUR)) for _ in range(options.images)]
    yield "lognormal, variance 1", fields, ("--phases", "self")


def spread(numbers):
    return f"{np.min(numbers):8.3%} {np.median(numbers):8.3%} {np.max(numbers):8.3%}"


def divided(array, factor):
    for axis in range(3):
        array = np.repeat(array, factor, axis)
    return array


def refinement(options):
    """@return whether brackets failed to nest"""
    failed = False
    for name, coarse, phases in kinds(options):
        print(f"{name}: {options.images} images of {options.grid}^3, voxels divided; min, median, max")
        found = {}
        for factor in (1, *options.factors):
            found[factor], run = brackets(options, [divided(array, factor) for array in coarse],
                                          *phases)
            print(f"  x{factor}: {run.seconds:.1f} s of the processor", flush=True)
        flows = found[1][:, 1] > 0
        if not flows.all():
            print(f"  nothing flows through {np.sum(~flows)} of them")
        finest = found[max(found)][flows].mean(1)
        before = None
        for factor, bounds in found.items():
            bounds = bounds[flows]
            mean = bounds.mean(1)
            print(f"  x{factor}  half width {spread(np.ptp(bounds, 1) / 2 / mean)}   mean off by "
                  f"{spread(np.abs(mean / finest - 1))}, high in {np.sum(mean > finest)}")
            if before is not None:
                out = np.maximum(before[:, 0] - bounds[:, 0], bounds[:, 1] - before[:, 1]) / mean
                if np.max(out) > 2 * TOLERANCE:
                    print(f"  NOT nested in {np.sum(out > 2 * TOLERANCE)}, by up to {np.max(out):.1e}")
                    failed = True
            before = bounds
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", help="voxcycle")
    parser.add_argument("--lattice", type=int, nargs="*", default=[32, 64, 128])
    parser.add_argument("--images", type=int, default=20)
    parser.add_argument("--grid", type=int, default=16)
    parser.add_argument("--factors", type=int, nargs="+", default=[2, 4, 8])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        options.scratch = Path(scratch)
        failed = [part(options) for part in (lattices, refinement)]
    sys.exit(1 if any(failed) else 0)


if __name__ == "__main__":
    main()
