# SPDX-License-Identifier: BSD-3-Clause
"""What the comparisons of effective conductivities share: images made from a seed, and runs measured
in seconds of the processor."""

import json
import os
import resource
import subprocess
import tempfile

import numpy as np

BLUR = 3.0  # of noise, voxels; features are about three times as wide
VALUES = (0.0, 1.0, 0.3)  # of the labels of a three-phase image
ONE_THREAD = {name: "1" for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS",
                                     "NUMBA_NUM_THREADS")}


def blurred_noise(random, n, blur=BLUR):
    """Normal numbers on n^3 voxels, smoothed by a periodic Gaussian, of variance 1."""
    squares = [np.fft.fftfreq(n) ** 2] * 2 + [np.fft.rfftfreq(n) ** 2]
    exponent = -2 * np.pi ** 2 * blur ** 2
    noise = np.fft.rfftn(random.standard_normal((n, n, n)))
    for axis, square in enumerate(squares):
        shape = [1, 1, 1]
        shape[axis] = -1
        noise *= np.exp(exponent * square).reshape(shape)
    field = np.fft.irfftn(noise, s=(n, n, n), axes=(0, 1, 2))
    return field / field.std()


def binary(random, n, pores, blur=BLUR):
    """1 in this share of the voxels, 0 elsewhere."""
    field = blurred_noise(random, n, blur)
    return (field < np.quantile(field, pores)).astype(np.uint8)


def three_phase(random, n, pores, blur=BLUR):
    """0 outside the pores, 1 in them, and 2, a binder, in a third of what is left."""
    image = binary(random, n, pores, blur)
    field = blurred_noise(random, n, blur)
    image[(image == 0) & (field < np.quantile(field, 1 / 3))] = 2
    return image


class Run:
    """A command that ran on one thread: status, output, seconds of the processor, peak memory."""

    def __init__(self, *command, minutes=None, gigabytes=None):
        def limit():
            if minutes:
                seconds = int(60 * minutes)
                resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
            if gigabytes:
                resource.setrlimit(resource.RLIMIT_DATA, (int(gigabytes * 2 ** 30),) * 2)

        with tempfile.TemporaryFile("w+") as output:
            process = subprocess.Popen([str(word) for word in command], stdout=output,
                                       stderr=subprocess.STDOUT, preexec_fn=limit,
                                       env={**os.environ, **ONE_THREAD})
            _, status, usage = os.wait4(process.pid, 0)
            output.seek(0)
            self.text = output.read()
        self.status = process.returncode = os.waitstatus_to_exitcode(status)
        self.seconds = usage.ru_utime + usage.ru_stime
        self.megabytes = usage.ru_maxrss / 1024


def figures(program, scratch, *arguments):
    """@return what a command of voxcycle writes with --json, and its Run"""
    path = scratch / "figures.json"
    run = Run(program, *arguments, "--json", path)
    if run.status != 0:
        raise SystemExit(f"voxcycle {' '.join(map(str, arguments))}: status {run.status}\n{run.text}")
    return json.loads(path.read_text()), run
