#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The effective conductivity along the first axis in SciPy, TauFactor and PoreSpy; as a program, one
solve in a process of its own, of an image that numpy wrote:

    conductivity_tools.py TOOL IMAGE.npy TOLERANCE
"""

import importlib
import importlib.util
import json
import logging
import resource
import sys
from dataclasses import dataclass

import numpy as np
from scipy import ndimage, sparse
from scipy.sparse.linalg import cg

import conductivity_images as images


# ---- the seven-point equation in SciPy: potential 1 and 0 beyond the ends of the first axis ------


def pairs(array, axis):
    """@return all but the last along an axis, and all but the first: neighbours"""
    last, first = [slice(None)] * 3, [slice(None)] * 3
    last[axis], first[axis] = slice(None, -1), slice(1, None)
    return array[tuple(last)], array[tuple(first)]


def links(values, axis):
    """@return the conductances between neighbours along an axis: harmonic means."""
    low, high = pairs(values, axis)
    total = low + high
    return np.divide(2 * low * high, total, out=np.zeros_like(total), where=total > 0)


def reached(values):
    """@return which voxels conduct and are joined to either end through faces."""
    bodies, _ = ndimage.label(values > 0)
    ends = np.unique(bodies[[0, -1]])
    return np.isin(bodies, ends[ends > 0])


def equation(values, face):
    """@return matrix, right-hand side, first guess, and the energy of u = 0."""
    n = values.shape[0]
    kept = reached(values)
    ends = np.zeros_like(values)
    fixed = np.zeros_like(values)
    if face > 0:
        ends[0], ends[-1] = values[0] / face, values[-1] / face
        fixed[0] = ends[0]
    else:  # the outermost layers' own potentials are known
        across = links(values, 0)
        ends[1], ends[-2] = across[0], across[-1]
        fixed[1] = ends[1]
        kept[[0, -1]] = False
    number = np.cumsum(kept, dtype=np.int32).reshape(kept.shape) - 1
    rows, columns, weights = [], [], []
    for axis in range(3):
        weight = links(values, axis)
        low, high = pairs(number, axis)
        both = np.logical_and(*pairs(kept, axis)) & (weight > 0)
        rows.append(low[both])
        columns.append(high[both])
        weights.append(weight[both])
    rows, columns, weights = map(np.concatenate, (rows, columns, weights))
    size = int(kept.sum())
    upper = sparse.csr_matrix((-weights, (rows, columns)), shape=(size, size))
    diagonal = (ends[kept] + np.bincount(rows, weights, size) + np.bincount(columns, weights, size))
    matrix = upper + upper.T + sparse.diags(diagonal, format="csr")
    depth = (np.arange(n) + face) / (n - 1 + 2 * face)
    guess = np.broadcast_to((1 - depth)[:, None, None], values.shape)[kept]
    return matrix.tocsr(), fixed[kept], guess, fixed.sum()


def seven_point(values, face=0.5, tolerance=1e-12, multigrid=False):
    """@return the conductivity along the first axis, from the energy: its error is the square of
    the potential's.
    @param multigrid  preconditions with PyAMG's smoothed aggregation"""
    matrix, load, u, energy = equation(values.astype(float), face)
    if load.sum() == 0:
        return 0.0
    preconditioner = None
    if multigrid:
        import pyamg
        preconditioner = pyamg.smoothed_aggregation_solver(matrix).aspreconditioner()
    u, unfinished = cg(matrix, load, x0=u, rtol=tolerance, atol=0.0, maxiter=100000,
                       M=preconditioner)
    if unfinished:
        sys.exit(f"SciPy's CG did not converge to {tolerance}")
    energy += u @ (matrix @ u) - 2 * (u @ load)
    across = values.shape[1] * values.shape[2]
    return float(energy * (values.shape[0] - 1 + 2 * face) / across)


# ---- the others ----------------------------------------------------------------------------------


def taufactor(image, tolerance):
    import taufactor as package

    if image.max() > 1:
        conducts = {label: value for label, value in enumerate(images.VALUES) if value > 0}
        solver = package.MultiPhaseSolver(image, cond=conducts, device="cpu")
    else:
        solver = package.Solver(image, device="cpu")
    solver.solve(verbose=False, conv_crit=tolerance, iter_limit=100000)
    return float(np.asarray(solver.D_eff).ravel()[0])


def porespy(image, tolerance):
    import porespy as package

    logging.disable(logging.WARNING)
    return 1 / package.simulations.tortuosity_fd(image == 1, axis=0, tol=tolerance).formation_factor


def values_of(image):
    return np.asarray(images.VALUES)[image]


@dataclass(frozen=True)
class Tool:
    """What solves in a process of its own; `tolerances` from loose to tight."""

    run: object  # conductivity from image and tolerance
    tolerances: tuple
    needs: tuple = ()
    binary_only: bool = False
    face: dict = None  # of its equation, by whether the image is binary


HALF = {True: 0.5, False: 0.5}
TOOLS = {
    "scipy": Tool(lambda image, tolerance: seven_point(values_of(image), 0.5, tolerance),
                  (1e-3, 3e-4, 1e-4, 3e-5, 1e-5), face=HALF),
    "scipy, pyamg": Tool(lambda image, tolerance: seven_point(values_of(image), 0.5, tolerance, True),
                         (1e-2, 3e-3, 1e-3, 3e-4, 1e-4), ("pyamg",), face=HALF),
    "taufactor": Tool(taufactor, (3e-1, 1e-1, 3e-2, 1e-2, 3e-3), ("taufactor", "torch"),
                      face={True: 0.5, False: 1}),
    "porespy": Tool(porespy, (1e-5, 3e-6, 1e-6, 3e-7, 1e-7), ("porespy", "openpnm", "pyamg"),
                    binary_only=True, face={True: 0}),
}


FACES = {"face 0": 0, "face 1": 1}  # equations that only SciPy solves


def missing(*names):
    return [name for name in names if importlib.util.find_spec(name) is None]


def absent():
    """Tells what is missing. @return the names of the tools that it keeps from running"""
    without = {}
    for name, tool in TOOLS.items():
        lacking = missing(*tool.needs)
        if lacking:
            without[name] = lacking
            print(f"{name}: skipped, this Python has no {', '.join(lacking)} "
                  f"(pip install {' '.join(tool.needs)})")
    return set(without)


def worker(name, path, tolerance):
    """One solve, in a process of its own: prints its conductivity, and the processor's seconds
    without imports and reading."""
    image = np.load(path)
    if name in FACES:
        tool = Tool(lambda image, tolerance: seven_point(values_of(image), FACES[name], tolerance),
                    ())
    else:
        tool = TOOLS[name]
    for package in tool.needs:
        importlib.import_module(package)
    before = resource.getrusage(resource.RUSAGE_SELF)
    value = tool.run(image, tolerance)
    after = resource.getrusage(resource.RUSAGE_SELF)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(json.dumps({"value": value, "seconds": seconds}))


if __name__ == "__main__":
    worker(sys.argv[1], sys.argv[2], float(sys.argv[3]))
