#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""voxcycle solve on files that this test writes byte by byte: exact figures of layered media, all
orders of axes, models, what is refused, and what is said of a solve that does not converge."""

import html
import json
import math
import os
import struct
import zlib

import harness

N = 16
LAYERS = [1.0, 10.0, 100.0, 2.0, 7.0, 1.0, 1.0, 30.0, 4.0, 5.0, 6.0, 1.0, 1.0, 50.0, 3.0, 2.0]
ARITHMETIC = sum(LAYERS) / N
HARMONIC = N / sum(1 / value for value in LAYERS)
# Relative residuals of 1e-10 leave less than this in flows.
AGREEMENT = 1e-7


def rough(x, y, z):
    """A coefficient in [0.1, 10) without any symmetry."""
    return 10.0 ** (2.0 * math.modf(abs(math.sin(12.9898 * x + 78.233 * y + 37.719 * z)) * 43758)[0]
                    - 1.0)


def numpy_file(values, shape, kind="<f8", fortran=False):
    header = f"{{'descr': '{kind}', 'fortran_order': {fortran}, 'shape': {tuple(shape)}, }}"
    header += " " * (-(11 + len(header)) % 64) + "\n"
    code = {"<f8": "d", "<f4": "f", "<i4": "i"}[kind]
    return (b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()
            + struct.pack(f"<{len(values)}{code}", *values))


def cells(nx, ny, nz, order="xyz"):
    """All (x, y, z), the first axis of `order` slowest."""
    extents = {"x": nx, "y": ny, "z": nz}
    a, b, c = order
    for i in range(extents[a]):
        for j in range(extents[b]):
            for k in range(extents[c]):
                place = {a: i, b: j, c: k}
                yield place["x"], place["y"], place["z"]


def png_rows(path):
    """Rows of palette entries of a picture without filters or interlacing."""
    data = path.read_bytes()
    width, height = struct.unpack(">II", data[16:24])
    place, packed = 8, b""
    while place < len(data):
        size, = struct.unpack(">I", data[place:place + 4])
        if data[place + 4:place + 8] == b"IDAT":
            packed += data[place + 8:place + 8 + size]
        place += 12 + size
    lines = zlib.decompress(packed)
    assert len(lines) == height * (width + 1) and not any(lines[::width + 1]), path
    return [lines[k * (width + 1) + 1:(k + 1) * (width + 1)] for k in range(height)]


class Solve(harness.Case):
    def write(self, name, content):
        (self.scratch / name).write_bytes(content)
        return name

    def layered(self, axis, name="layers.npy"):
        values = [LAYERS[cell["xyz".index(axis)]] for cell in cells(N, N, N)]
        return self.write(name, numpy_file(values, (N, N, N)))

    def solve(self, nu, *options):
        self.succeed("solve", "--nu", nu, "--json", "out.json", *options)
        return json.loads((self.scratch / "out.json").read_text())

    def refuse(self, *options, expect):
        result = self.run_program("solve", *options)
        self.assertIn(result.status, (1, 2), result.text)
        for text in expect:
            self.assertIn(text, result.err)
        return result


class Figures(Solve):
    def test_layers_have_exact_conductivities(self):
        for axis in "xyz":
            with self.subTest(axis=axis):
                figures = self.solve(self.layered(axis), "--conductivity", "--tol", "1e-10")
                self.assertTrue(figures["converged"])
                self.assertLessEqual(figures["relative_residual"], 1e-10)
                for direction, value in zip("xyz", figures["effective_conductivity"]):
                    exact = HARMONIC if direction == axis else ARITHMETIC
                    self.assertAlmostEqual(value / exact, 1.0, delta=AGREEMENT)
                # The default problem is the one across x.
                into = figures["flow_into_faces"]
                exact = HARMONIC if axis == "x" else ARITHMETIC
                self.assertAlmostEqual(into[0] / exact, 1.0, delta=AGREEMENT)
                self.assertEqual(into[2:], [0, 0, 0, 0])
                self.assertLess(abs(figures["imbalance"]), AGREEMENT * exact)

    def test_fft_finds_what_multigrid_finds(self):
        values = [rough(*cell) for cell in cells(8, 12, 16)]
        problem = (self.write("rough.npy", numpy_file(values, (8, 12, 16))), "--bc",
                   "1, 0, flux, 0.5, flux, -1", "--f", "8*sin(pi*x)", "--tol", "1e-11")
        figures, expected = self.solve(*problem, "--solver", "fft"), self.solve(*problem)
        self.assertEqual((figures["solver"], expected["solver"]), ("fft", "multigrid"))
        self.assertGreater(figures["iterations"], expected["iterations"])
        self.assertTrue(figures["converged"])
        self.assertLessEqual(figures["relative_residual"], 1e-11)
        self.assertLess(figures["error_estimate"], 1e-10)
        self.assertLess(figures["error_bound"], 1e-6)
        self.assertGreater(figures["seconds_fft"], 0)
        for a, b in zip(figures["flow_into_faces"], expected["flow_into_faces"]):
            self.assertAlmostEqual(a, b, delta=1e-9 * (1 + abs(b)))
        threads = self.solve(*problem, "--solver", "fft", "--run.threads", "2")
        self.assertEqual(threads["flow_into_faces"], figures["flow_into_faces"])

    def test_zeros_take_no_part(self):
        # Layers along x, every other one of 0, and a voxel of the first of these that floats.
        values = [0 if z % 2 else 2 for _, _, z in cells(N, N, N)]
        values[(3 * N + 3) * N + 1] = 5
        nu = self.write("zeros.npy", numpy_file(values, (N, N, N)))
        for scheme, dropped in (("q1", 0), ("finite_volume", 0)):
            figures = self.solve(nu, "--scheme", scheme, "--fill", "0", "--tol", "1e-10")
            self.assertEqual(figures["scheme"], scheme)
            self.assertEqual(figures["empty_voxels"], N * N * N // 2 - 1)
            self.assertEqual(figures["dropped_voxels"], dropped)
            self.assertTrue(figures["converged"])
            self.assertGreater(figures["flow_into_faces"][0], 1 - AGREEMENT)
        self.refuse("--nu", nu, "--scheme", "q2", expect=("--scheme = 'q2'", "finite_volume"))

    def test_sources_and_boxes(self):
        ones = self.write("one.raw", struct.pack("<512f", *[1.0] * 512)) + ":8,8,8:float32"
        figures = self.solve(ones, "--bc", "flux, flux, 0, 0, flux, flux", "--f", "6",
                             "--spacing", "0.25, 0.5, 0.125", "--tol", "1e-12")
        # Box 2 x 4 x 1: f L A / 2 leaves through each of the two faces.
        for flow in figures["flow_into_faces"][2:4]:
            self.assertAlmostEqual(flow, -6 * 4 * 2 / 2, delta=AGREEMENT)
        self.assertAlmostEqual(figures["source"], 48, delta=AGREEMENT)
        f = self.write("f.npy", numpy_file([6] * 512, (8, 8, 8), "<i4"))
        again = self.solve(ones, "--bc", "flux, flux, 0, 0, flux, flux", "--f", f,
                           "--spacing", "0.25, 0.5, 0.125", "--tol", "1e-12")
        self.assertEqual(again["flow_into_faces"], figures["flow_into_faces"])
        by_formula = self.solve(ones, "--bc", "flux, flux, 0, 0, flux, flux", "--f", "12*x",
                                "--spacing", "0.25, 0.5, 0.125", "--tol", "1e-12")  # 12 in the mean
        for flow in by_formula["flow_into_faces"][2:4]:
            self.assertAlmostEqual(flow, 2 * figures["flow_into_faces"][2], delta=AGREEMENT)
        again = self.solve(ones, "--problem.boundary", "flux, flux, 0, 0, flux, flux",
                           "--problem.source", "6", "--spacing", "0.25, 0.5, 0.125", "--tol",
                           "1e-12")
        self.assertEqual(again["flow_into_faces"], figures["flow_into_faces"])

    def test_every_way_to_store_the_same_field(self):
        size = (8, 12, 16)
        by_order = {order: [rough(*cell) for cell in cells(*size, order)]
                    for order in ("xyz", "zyx", "yzx")}
        raw = {order: self.write(order + ".raw", struct.pack("<1536d", *values))
               for order, values in by_order.items()}
        f4 = [struct.unpack("<f", struct.pack("<f", v))[0] for v in by_order["xyz"]]
        ways = {
            "C order": (self.write("c.npy", numpy_file(by_order["xyz"], size)),),
            "Fortran order": (self.write("f.npy", numpy_file(by_order["zyx"], size, fortran=True)),),
            "zyx": (raw["zyx"] + ":16,12,8:float64", "--axes", "zyx"),
            "yzx": (raw["yzx"] + ":12,16,8:float64", "--axes", "yzx"),
            "xyz": (raw["xyz"] + ":8,12,16:float64",),
            "its own solution file": ("first.vtkhdf",),
        }
        boundary = ("--bc", "1, 0, flux, 0.5, flux, -1")
        self.solve(ways["xyz"][0], *boundary, "--out", "first.vtkhdf", "--with-nu")
        expected = None
        for name, (nu, *options) in ways.items():
            figures = self.solve(nu, *boundary, *options)
            expected = expected or figures
            with self.subTest(way=name):
                self.assertEqual(figures["grid"], [8, 12, 16])
                self.assertEqual(figures["flow_into_faces"], expected["flow_into_faces"])
        # As a source it would be its coefficient; of the names this asks for the source's.
        self.refuse("--nu", "first.vtkhdf", "--f", "first.vtkhdf", *boundary,
                    expect=["there is no cell array 'f'. It holds: nu"])
        self.solve("first.vtkhdf", "--f", "first.vtkhdf:nu", *boundary)
        # Axes are those of files that do not tell theirs, whatever directories are called.
        source = self.solve("first.vtkhdf", "--f", "first.vtkhdf:nu", *boundary)
        (self.scratch / "of.vtkhdf").mkdir()
        (self.scratch / "zyx.raw").rename(self.scratch / "of.vtkhdf" / "zyx.raw")
        again = self.solve("first.vtkhdf", "--f", "of.vtkhdf/zyx.raw:16,12,8:float64", "--axes",
                           "zyx", *boundary)
        self.assertEqual(again["flow_into_faces"], source["flow_into_faces"])
        self.refuse("--nu", "first.vtkhdf", "--axes", "zyx", expect=["Leave out the axes"])
        # Both files tell spacings, which differ by a factor.
        self.solve("first.vtkhdf", *boundary, "--spacing", "2", "--out", "other.vtkhdf", "--with-nu")
        self.refuse("--nu", "first.vtkhdf", "--f", "other.vtkhdf:nu", *boundary,
                    expect=["other.vtkhdf:nu: ", "edges 2,2,2, the coefficient's 0.0625,0.0625,",
                            "Give --spacing"])
        self.solve("first.vtkhdf", "--f", "other.vtkhdf:nu", "--spacing", "3", *boundary)
        single = self.solve(self.write("s.npy", numpy_file(f4, size, "<f4")), *boundary)
        for a, b in zip(single["flow_into_faces"], expected["flow_into_faces"]):
            self.assertAlmostEqual(a, b, delta=1e-4 * (1 + abs(b)))

    def test_pictures(self):
        nu = self.layered("z")
        figures = self.solve(nu, "--png", "pictures")
        names = {p.name for p in (self.scratch / "pictures").iterdir()}
        self.assertEqual(names, {f"{f}_{a}.png" for f in ("u", "nu") for a in "xyz"}
                         | {"slices.html"})
        # The planes across x show every layer, the top one first, each 512 / 16 pixels high.
        logs = [math.log10(value) for value in LAYERS]
        expected = [round(254 * (log - min(logs)) / (max(logs) - min(logs))) for log in logs]
        rows = png_rows(self.scratch / "pictures/nu_x.png")
        self.assertEqual([set(row) for row in rows], [{c} for c in expected[::-1] for _ in range(32)])
        self.assertEqual(len(rows[0]), 512)
        # What the colours mean: in the figures, on the terminal and on the page.
        self.assertEqual(figures["pictures"]["log10_nu"], [min(logs), max(logs)])
        for end, exact in zip(figures["pictures"]["u"], (0, 1)):
            self.assertAlmostEqual(end, exact, delta=1e-6)
        out = self.succeed("solve", "--nu", nu, "--png", "pictures").out
        self.assertIn("slices.html (u 0 to 1, log10 nu 0 to 2)", out)
        page = (self.scratch / "pictures/slices.html").read_text()
        self.assertEqual(page.count("data:image/png"), 12)  # six pictures, six scales
        self.assertIn("<span>2</span>", page)
        for line in out.splitlines():  # and all that the terminal says above it
            if not line.startswith("written"):
                self.assertIn(f"{line[:14].strip()}</th>\n<td>{line[15:]}</td>", html.unescape(page))

    def test_pictures_are_to_scale(self):
        nu = self.write("one.npy", numpy_file([1.0] * 6 * 8 * 4, (6, 8, 4)))
        for spacing, edges in [("1,1,4", (1, 1, 4)), ("0.3,0.1,0.2", (3, 1, 2)),
                               ("1,1.37,1", (1, 1.37, 1)), ("1,1,2000", (1, 1, 2000))]:
            self.solve(nu, "--spacing", spacing, "--png", "pictures")
            for name, more in (("nu", 0), ("u", 1)):
                lengths = [(n + more) * h for n, h in zip((6, 8, 4), edges)]
                for axis, (right, up) in zip("xyz", ((1, 2), (0, 2), (0, 1))):
                    with self.subTest(spacing=spacing, picture=name + axis):
                        rows = png_rows(self.scratch / f"pictures/{name}_{axis}.png")
                        height, width = len(rows), len(rows[0])
                        self.assertAlmostEqual(height * lengths[right], width * lengths[up],
                                               delta=0.51 * (lengths[right] + lengths[up]))
                        self.assertTrue(256 <= max(height, width) <= 4096, (height, width))


class Refusals(Solve):
    def test_coefficients(self):
        good = [1.0] * 64
        cases = {"negative": -1.0, "not a number": math.nan, "infinite": math.inf}
        for name, value in cases.items():
            values = list(good)
            values[4 * 4 * 1 + 4 * 2 + 3] = values[-1] = value
            nu = self.write("bad.npy", numpy_file(values, (4, 4, 4)))
            with self.subTest(name=name):
                self.refuse("--nu", nu, "--out", "no.vtkhdf",
                            expect=["bad.npy", f"2 {name}, of 64", "(1, 2, 3)"])
                self.assertFalse((self.scratch / "no.vtkhdf").exists())

    def test_files_and_options(self):
        nu = self.write("nu.npy", numpy_file([1.0] * 64, (4, 4, 4)))
        flat = self.write("flat.npy", numpy_file([1.0] * 64, (8, 8)))
        big = self.write("big.npy", numpy_file([1.0] * 512, (8, 8, 8)))
        raw = self.write("nu.raw", bytes(100))
        holes = self.write("holes.npy", numpy_file([1.0, 0.0] * 32, (4, 4, 4)))
        fft = ("--nu", nu, "--solver", "fft")
        os.mkfifo(self.scratch / "pipe")
        cases = [
            ((), ["--nu FILE"]),
            (("--nu", flat), ["flat.npy", "three axes"]),
            (("--nu", "none.npy"), ["none.npy", "no such file"]),
            (("--nu", "nu.dat"), ["'nu.dat'", "FILE.npy"]),
            (("--nu", raw + ":4,4,4:float32"), ["nu.raw", "100 bytes", "256"]),
            (("--nu", raw + ":5,5,1:float99"), ["'float99'", "float32"]),
            (("--nu", nu, "--axes", "xxz"), ["'xxz'", "zyx"]),
            (("--nu", nu, "--spacing", "1, 0, 1"), ["--spacing", "'1, 0, 1'"]),
            (("--nu", nu, "--tol", "1e-16"), ["1e-16", "rounding"]),
            (("--nu", nu, "--tol", "small"), ["--tol = 'small'"]),
            (("--nu", nu, "--iterations", "0"), ["--iterations"]),
            (("--nu", nu, "--bc", "1, 0"), ["--bc", "6"]),
            (("--nu", nu, "--f", big), ["big.npy", "8x8x8", "4x4x4"]),
            (("--nu", nu, "--f", "1/(x-x)"), ["1/(x-x)", "not finite"]),
            (("--nu", nu, "--f", "1", "--bc", "flux, flux, flux, flux, flux, flux"),
             ["no solution"]),
            (("--nu", nu, "--model", "none.h5"), ["none.h5 does not exist"]),
            (("--nu", nu, "--model", nu), ["nu.npy", "HDF5"]),
            (("--nu", nu, "--solver", "cg"), ["--solver = 'cg'", "fft, multigrid"]),
            ((*fft, "--scheme", "finite_volume"), ["finite volumes", "Take the solver multigrid"]),
            ((*fft, "--conductivity"), ["--conductivity", "--solver fft", "Leave one out"]),
            ((*fft, "--model", "m.h5"), ["--model", "--solver fft", "Leave one out"]),
            ((*fft, "--certify"), ["--certify", "--solver fft", "Leave one out"]),
            (("--nu", holes, "--solver", "fft"), ["not positive", "Take the solver multigrid"]),
            (("--nu", nu, "--compare"), ["--compare", "--model"]),
            (("--nu", nu, "--with-nu"), ["--with-nu", "--out"]),
            # Before the solve, which may take long: nothing is printed of it.
            (("--nu", nu, "--out", "nu.npy/u.vtkhdf"), ["cannot write nu.npy/u.vtkhdf", "no directory"]),
            (("--nu", nu, "--json", "."), ["cannot write .", "directory"]),
            (("--nu", nu, "--out", "pipe"), ["cannot write pipe", "a pipe", "Give a file's name"]),
            (("--nu", nu, "--png", "nu.npy/u"), ["cannot write nu.npy/u/u_x.png", "no directory"]),
        ]
        for options, expect in cases:
            with self.subTest(options=options):
                self.assertEqual(self.refuse(*options, expect=expect).out, "")
        result = self.run_program("solve", "--nu", nu, ranks=2)
        self.assertNotEqual(result.status, 0)
        self.assertIn("one process", result.err)

    def test_unreachable_tolerance_is_told_and_the_file_is_written(self):
        values = [rough(*cell) for cell in cells(16, 16, 16)]
        nu = self.write("rough.npy", numpy_file(values, (16, 16, 16)))
        result = self.refuse("--nu", nu, "--iterations", "2", "--out", "u.vtkhdf", "--json",
                             "u.json", expect=["rough.npy", "2 iterations", "1e-08", "--iterations"])
        self.assertIn("NOT CONVERGED", result.out)
        figures = json.loads((self.scratch / "u.json").read_text())
        self.assertFalse(figures["converged"])
        self.assertEqual(figures["iterations"], 2)
        self.assertGreater(figures["relative_residual"], 1e-8)
        self.assertTrue((self.scratch / "u.vtkhdf").exists())

    def test_a_lift_that_all_but_solves_is_solved_to_rounding(self):
        # Rounding is a large share of its residual.
        values = [1 + 1e-9 * rough(*cell) for cell in cells(16, 16, 16)]
        nu = self.write("even.npy", numpy_file(values, (16, 16, 16)))
        result = self.succeed("solve", "--nu", nu, "--tol", "1e-12", "--iterations", "400", "--json",
                              "u.json")
        self.assertIn("the limit of rounding", result.out)
        figures = json.loads((self.scratch / "u.json").read_text())
        self.assertTrue(figures["converged"])
        self.assertGreater(figures["relative_residual"], 1e-12)
        self.assertLess(figures["error_estimate"], 1e-13)
        self.assertLess(figures["iterations"], 100)


class WithAModel(Solve):
    def setUp(self):
        super().setUp()
        self.config({"cycle.steps": "60, 40", "train.precision": "f32"})
        self.succeed("generate", "--config", "small.cfg")
        self.succeed("train", "--config", "small.cfg")
        shard = next((self.scratch / "data/held_out/16x16x16").iterdir())
        self.nu = f"{shard.relative_to(self.scratch)}:/nu[1]"
        self.model = ("--model", "run/checkpoint.h5")

    def test_a_model_alone_is_enough(self):
        alone = self.solve(self.nu)
        self.assertNotIn("network_used", alone)
        figures = self.solve(self.nu, *self.model, "--compare")
        self.assertTrue(figures["converged"] and figures["network_used"])
        self.assertEqual(figures["network_grid"], "16x16x16")
        self.assertEqual(figures["network_precision"], "f32")  # as it was trained
        self.assertEqual(figures["iterations_from_lift"], alone["iterations"])
        self.assertLessEqual(figures["iterations"], alone["iterations"])
        for a, b in zip(figures["flow_into_faces"], alone["flow_into_faces"]):
            self.assertAlmostEqual(a, b, delta=1e-6)
        out = self.succeed("solve", "--nu", self.nu, *self.model, "--compare").out
        self.assertRegex(out, r"from the lift: \d+ iterations")
        self.assertRegex(out, r"The network saved (\d+ of \d+|no) iterations")

        rounded = self.solve(self.nu, *self.model, "--precision", "bf16")
        self.assertEqual(rounded["network_precision"], "bf16")
        self.assertTrue(rounded["converged"] and rounded["network_used"])
        self.assertAlmostEqual(rounded["start_error_estimate"], figures["start_error_estimate"],
                               delta=0.1 * figures["start_error_estimate"])
        self.assertNotEqual(rounded["start_error_estimate"], figures["start_error_estimate"])

        certified = self.solve(self.nu, *self.model, "--certify", "--out", "net.vtkhdf")
        self.assertEqual(certified["iterations"], 0)
        self.assertFalse(certified["converged"])
        self.assertLessEqual(certified["error_lower"], certified["error_estimate"])
        self.assertLessEqual(certified["error_estimate"], certified["error_upper"])
        self.assertGreater(certified["error_lower"], 1e-4)
        self.assertLess(certified["error_upper"], 1)
        self.assertTrue((self.scratch / "net.vtkhdf").exists())

        # A field above the finest level of network.channels.
        values = [2.0 + math.sin(0.3 * x) * math.cos(0.2 * y + 0.1 * z)
                  for x, y, z in cells(32, 32, 32)]
        fine = self.write("fine.npy", numpy_file(values, (32, 32, 32)))
        figures = self.solve(fine, *self.model)
        self.assertTrue(figures["converged"])
        self.assertEqual(figures["network_grid"], "32x32x32")
        # Without smoothing steps there is nothing above that level.
        self.succeed("train", "--config", "small.cfg", "--network.smoothing", "0", "--cycle.steps",
                     "5", "--run.directory", "rough")
        rough = ("--model", "rough/checkpoint.h5")
        figures = self.solve(fine, *rough)
        self.assertTrue(figures["converged"])
        self.assertEqual(figures["network_grid"], "16x16x16")
        out = self.succeed("solve", "--nu", fine, *rough).out
        self.assertIn("on 16^3, interpolated", out)

        self.refuse("--nu", self.nu, *self.model, "--bc", "1, 0, 0, flux, flux, flux",
                    expect=["run/checkpoint.h5", "was trained for the boundary"])
        self.refuse("--nu", self.nu, *self.model, "--precision", "f64",
                    expect=["in bf16, f16 or f32, not in f64"])
        self.refuse("--nu", self.nu, *self.model, "--precision", "half",
                    expect=["--precision", "half", "bf16"])
        self.refuse("--nu", self.nu, "--precision", "bf16", expect=["--precision", "Add --model"])
        self.refuse("--nu", self.nu, *self.model, "--f", "2",
                    expect=["run/checkpoint.h5", "trained for the source"])


if __name__ == "__main__":
    harness.main()
