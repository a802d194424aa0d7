#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""mpirun -n N voxcycle solve: processes that share out a field."""

import math

import harness
from conductivity import numpy_file
from space import NESTED


class SharedSolve(harness.Refusal):
    N = 48

    def setUp(self):
        super().setUp()
        n = self.N
        self.values = values = [math.exp(math.sin(0.2 * x + 0.1 * y) + 0.5 * math.cos(0.15 * y * z / n))
                  for x in range(n) for y in range(n) for z in range(n)]
        (self.scratch / "nu.npy").write_bytes(numpy_file(values, (n, n, n), "<f8", "d"))

    def solve(self, *options, ranks):
        figures = self.figures("solve", "--nu", "nu.npy", "--out", "u.vti", *options, ranks=ranks)
        times = [key for key in figures if key.startswith("seconds")]
        return {key: figures[key] for key in figures if key not in times}, (self.scratch / "u.vti").read_bytes()

    def test_same_bits_on_any_number_of_processes(self):
        for options in (("--f", "sin(5*x)*y", "--with-nu", "--flux"),
                        ("--bc", "flux,2,flux,flux,-1,flux", "--spacing", "1,2,1.5")):
            with self.subTest(options=options):
                figures, file = self.solve(*options, ranks=0)
                for ranks in (2, 3):
                    found, its_file = self.solve(*options, ranks=ranks)
                    self.assertEqual(its_file, file)
                    for key in ("iterations", "error_bound", "error_estimate"):
                        self.assertEqual(found[key], figures[key], key)

    def test_files_of_any_order(self):
        n = self.N
        one = self.figures("solve", "--nu", "nu.npy", "--out", "made.h5", "--with-nu")
        values = self.values
        (self.scratch / "zyx.raw").write_bytes(numpy_file(
            [values[(x * n + y) * n + z] for z in range(n) for y in range(n) for x in range(n)],
            (n, n, n), "<f8", "d")[-8 * n ** 3:])
        for nu in (("made.h5:/nu",), (f"zyx.raw:{n},{n},{n}:float64", "--axes", "zyx")):
            two = self.figures("solve", "--nu", *nu, ranks=2)
            for key in ("iterations", "error_bound", "error_estimate"):
                self.assertEqual(two[key], one[key], nu)

    def test_conducting_bodies(self):
        n = self.N
        balls = [(8, 8, 8), (24, 30, 20), (25, 12, 36), (40, 24, 24), (12, 38, 12)]
        values = [1e6 if any((x - a) ** 2 + (y - b) ** 2 + (z - c) ** 2 < 36 for a, b, c in balls) else 1.0
                  for x in range(n) for y in range(n) for z in range(n)]
        (self.scratch / "balls.npy").write_bytes(numpy_file(values, (n, n, n), "<f8", "d"))
        one, two, three = (self.figures("solve", "--nu", "balls.npy", ranks=ranks) for ranks in (0, 2, 3))
        for several in (two, three):
            self.assertEqual(several["iterations"], one["iterations"])
            self.assertLess(several["error_bound"], 1e-4)
            for found, flow in zip(several["flow_into_faces"], one["flow_into_faces"], strict=True):
                self.assertAlmostEqual(found, flow, delta=1e-6)

    def test_from_a_network(self):
        self.config({**NESTED, "train.precision": "f32"})
        self.succeed("generate", "--config", "small.cfg")
        self.succeed("train", "--config", "small.cfg")
        n = 64
        values = [3 + math.sin(0.1 * x + 0.05 * y) * math.cos(0.07 * z) for x in range(n) for y in range(n)
                  for z in range(n)]
        (self.scratch / "fine.npy").write_bytes(numpy_file(values, (n, n, n), "<f8", "d"))
        solve = ("solve", "--nu", "fine.npy", "--model", "run/checkpoint.h5", "--compare")
        one, *others = (self.figures(*solve, ranks=ranks) for ranks in (0, 2, 3))
        for several in others:
            self.assertTrue(several["network_used"])
            for key in ("iterations", "iterations_from_lift", "network_grid"):
                self.assertEqual(several[key], one[key], key)
            self.assertAlmostEqual(several["start_error_estimate"] / one["start_error_estimate"], 1, delta=1e-3)
        (self.scratch / "small.npy").write_bytes(numpy_file(values[:32 ** 3], (32, 32, 32), "<f8", "d"))
        self.refuse("solve", "--nu", "small.npy", "--model", "run/checkpoint.h5", ranks=2,
                    expect="does not run on 2 processes at 32^3")

    def test_certified_errors(self):
        one, all_of_them = (self.figures("solve", "--nu", "nu.npy", "--certify", ranks=ranks)
                            for ranks in (0, 3))
        for key in ("error_lower", "error_upper"):
            self.assertAlmostEqual(all_of_them[key] / one[key], 1.0, delta=1e-6)

    def test_files_that_processes_do_not_share(self):
        n = self.N
        other = {"gone": None, "smaller": (numpy_file([1.0] * 40 ** 3, (40,) * 3, "<f8", "d")),
                 "changed": (numpy_file([1.0] * n ** 3, (n,) * 3, "<f8", "d"))}
        words = {"gone": "there is no such file", "smaller": "voxels of nu.npy",
                 "changed": "processes read different files"}
        for name, contents in other.items():
            with self.subTest(name):
                there = self.scratch / name
                there.mkdir()
                if contents:
                    (there / "nu.npy").write_bytes(contents)
                part = [harness.BINARY, "solve", "--nu", "nu.npy", "--out", "u.npy"]
                process = harness.Process(self.scratch, (), launcher=[
                    harness.MPIEXEC, "-n", "1", *part, ":", "-n", "1", "--wdir", str(there), *part])
                self.addCleanup(process.close)
                result = process.wait(60)
                self.assertNotEqual(result.status, 0)
                self.assertIn(words[name], result.err)
                self.assertFalse((self.scratch / "u.npy").exists())

    def test_what_is_refused(self):
        self.refuse("solve", "--nu", "nu.npy", ranks=9,
                    expect="Take no more than 8 processes")
        self.refuse("solve", "--nu", "nu.npy", "--conductivity", ranks=2,
                    expect="--conductivity is for one process")
        self.refuse("solve", "--nu", "nu.npy", "--scheme", "finite_volume", ranks=2,
                    expect="Take one process")
        n = self.N
        (self.scratch / "holes.npy").write_bytes(numpy_file([0.0] + [1.0] * (n ** 3 - 1), (n, n, n), "<f8", "d"))
        self.refuse("solve", "--nu", "holes.npy", ranks=2, expect="Take one process for zeros in nu")


if __name__ == "__main__":
    harness.main()
