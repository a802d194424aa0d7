#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""voxcycle.solve and read_shard beside the program; see run.py."""

import math
import os
import signal
import threading
import time
import unittest
import warnings

import harness
import numpy as np
import torch
import voxcycle

THREADS = 2


def field(*shape, seed=0):
    return np.exp(np.random.default_rng(seed).normal(size=shape))


class AsTheProgram(harness.Case):
    """To the last bit, on the same number of threads."""

    def setUp(self):
        super().setUp()
        torch.set_num_threads(THREADS)

    def check(self, nu, *options, **arguments):
        np.save(self.scratch / "nu.npy", nu)
        figures = self.figures("solve", "--nu", "nu.npy", "--out", "u.vtkhdf", "--run.threads",
                               THREADS, *options)
        found = voxcycle.solve(nu, **arguments)
        self.assertIsInstance(found.u, np.ndarray)
        # VTK's arrays are [z, y, x], and lie in the file as they are.
        stored = np.ascontiguousarray(found.u.transpose(2, 1, 0)).tobytes()
        self.assertIn(stored, (self.scratch / "u.vtkhdf").read_bytes())
        for name, value in vars(found).items():
            if name != "u" and not name.startswith("seconds"):
                self.assertEqual(value, figures[name], name)
        return found

    def test_defaults(self):
        found = self.check(field(12, 16, 8))
        self.assertEqual(found.u.shape, (13, 17, 9))
        self.assertTrue(found.converged)
        self.assertLess(found.error_bound, 1e-4)

    def test_all_options(self):
        nu = field(8, 12, 6).astype(np.float32)
        nu[2:4, 3:5, 1:3] = 0
        self.check(nu, "--bc", "0.5,-1,flux,2,flux,flux", "--f", "8*sin(x)+y", "--tol", "1e-5",
                   "--spacing", "0.1,0.3,0.2", "--iterations", "77", "--fill", "-3",
                   boundary=[0.5, -1, "flux", 2, None, "flux"], source="8*sin(x)+y", tol=1e-5,
                   spacing=(0.1, 0.3, 0.2), iterations=77, fill=-3)

    def test_finite_volumes_and_a_source_in_an_array(self):
        nu, f = field(10, 8, 8), field(10, 8, 8, seed=1)
        np.save(self.scratch / "f.npy", f)
        found = self.check(nu, "--f", "f.npy", "--scheme", "finite_volume", source=f,
                           scheme="finite_volume")
        self.assertEqual(found.u.shape, nu.shape)

    def test_a_model_and_shards(self):
        self.config({"cycle.steps": "3, 2"})
        self.succeed("generate", "--config", "small.cfg")
        self.succeed("train", "--config", "small.cfg")
        shard, = (self.scratch / "data/held_out/16x16x16").glob("*.h5")
        samples = voxcycle.read_shard(shard)
        self.assertEqual(samples["nu"].shape, (4, 16, 16, 16))
        self.assertEqual(samples["u_ref"].shape, (4, 17, 17, 17))
        self.assertEqual(samples["split"], "held_out")
        self.assertEqual(list(samples["lengths"]), [1, 1, 1])
        for name in ("nu", "u_ref"):  # they lie in the file as they are
            self.assertIn(samples[name][2].tobytes(), shard.read_bytes(), name)
        reference = voxcycle.solve(samples["nu"][0]).u
        self.assertLess(abs(reference - samples["u_ref"][0]).max(), 1e-6)
        run = self.scratch / "run"
        found = self.check(samples["nu"][1], "--model", "run", model=run)
        self.assertTrue(found.network_used)
        self.check(samples["nu"][1], "--model", "run/best.h5", model=voxcycle.Model(run / "best.h5"))
        with self.assertRaisesRegex(voxcycle.Error, "was trained for the boundary '1, 0, .*Solve"):
            voxcycle.solve(samples["nu"][0], model=run, boundary="2, 0, flux, flux, flux, flux")
        damaged = bytearray(shard.read_bytes())
        damaged[shard.read_bytes().index(samples["nu"][2].tobytes())] ^= 1
        shard.write_bytes(damaged)
        with self.assertRaisesRegex(voxcycle.Error, str(shard)):
            voxcycle.read_shard(shard)


class Arrays(unittest.TestCase):
    def setUp(self):
        torch.set_num_threads(THREADS)
        self.nu = field(8, 6, 4)
        self.u = voxcycle.solve(self.nu).u

    def test_kinds_and_layouts(self):
        tensor = torch.from_numpy(self.nu)
        found = voxcycle.solve(tensor).u
        self.assertIsInstance(found, torch.Tensor)
        fixed = self.nu.copy()
        fixed.flags.writeable = False
        cases = {"torch": tensor, "with a gradient": tensor.clone().requires_grad_(),
                 "Fortran's order": np.asfortranarray(self.nu), "read only": fixed,
                 "big endian": self.nu.astype(">f8"), "every other": np.repeat(self.nu, 2, 0)[::2],
                 "backwards": self.nu[::-1].copy()[::-1], "strided torch":
                 tensor.permute(2, 0, 1).contiguous().permute(1, 2, 0)}
        for name, nu in cases.items():
            with self.subTest(name):
                self.assertTrue(np.array_equal(voxcycle.solve(nu).u, self.u))
        whole = voxcycle.solve(np.arange(1, 193).reshape(8, 6, 4)).u
        self.assertTrue(np.array_equal(
            whole, voxcycle.solve(np.arange(1.0, 193.0).reshape(8, 6, 4)).u))

    def test_u_outlives_all_else(self):
        kept = [voxcycle.solve(self.nu).u for _ in range(3)]
        self.assertTrue(all(np.array_equal(u, self.u) for u in kept))

    def test_it_warns_where_it_does_not_converge(self):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            found = voxcycle.solve(self.nu, iterations=1)
        self.assertFalse(found.converged)
        self.assertIn("Raise tol or iterations.", str(told[0].message))

    def test_refusals(self):
        nu, negative, nan = self.nu, self.nu.copy(), self.nu.copy()
        negative[1, 2, 3], nan[3, 2, 1] = -1, math.nan
        cases = [
            ({"nu": nu[0]}, r"shape \[6, 4\]. Pass \[nx, ny, nz\]"),
            ({"nu": nu[:0]}, r"Pass \[nx, ny, nz\]"),
            ({"nu": negative}, "negative"),
            ({"nu": nan}, "not finite"),
            ({"nu": "nu.npy"}, "is no array"),
            ({"nu": nu + 1j}, "complex"),
            ({"nu": torch.empty(4, 4, 4, device="meta")}, "on meta"),
            ({"nu": nu, "boundary": [1, 0]}, "2 entries, expected 6"),
            ({"nu": nu, "boundary": "1, 0, flux, flux, flux, open"}, "open"),
            ({"nu": nu, "source": nu[1:]}, "f has shape"),
            ({"nu": nu, "source": "sin(q)"}, "formula"),
            ({"nu": nu, "scheme": "q2"}, "Choose one of finite_volume, q1"),
            ({"nu": nu, "spacing": (1, 2)}, "spacing has 2"),
            ({"nu": nu, "spacing": (1, 2, -1)}, "spacing -1 along z"),
            ({"nu": nu, "tol": 0}, "tolerance 0"),
            ({"nu": nu, "iterations": 0}, "at least one iteration"),
            ({"nu": nu, "device": "gpu"}, "Choose cpu or cuda"),
            ({"nu": nu, "model": "none.h5"}, "none.h5 does not exist"),
            ({"nu": nu, "model": __file__}, "cannot open as HDF5"),
        ]
        if not torch.cuda.is_available():
            cases.append(({"nu": nu, "device": "cuda"}, "GPU"))
        for arguments, expect in cases:
            with self.subTest(expect):
                with self.assertRaisesRegex(voxcycle.Error, expect) as caught:
                    voxcycle.solve(**arguments)
                self.assertRegex(str(caught.exception), r"\.$", "an error is a sentence")

    def test_other_threads_go_on_and_control_c_ends_it(self):
        nu = field(96, 96, 96)
        ticks, going = [], True

        def tick():
            while going:
                ticks.append(time.monotonic())
                time.sleep(0.01)

        def interrupt():
            time.sleep(0.3)
            os.kill(os.getpid(), signal.SIGINT)

        threads = [threading.Thread(target=tick), threading.Thread(target=interrupt)]
        for thread in threads:
            thread.start()
        with self.assertRaises(KeyboardInterrupt):
            while True:
                voxcycle.solve(nu, tol=1e-14)
        going = False
        for thread in threads:
            thread.join()
        self.assertGreater(len(ticks), 10)
        self.assertTrue(np.array_equal(voxcycle.solve(self.nu).u, self.u))


if __name__ == "__main__":
    harness.main()
