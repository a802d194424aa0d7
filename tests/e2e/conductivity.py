#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""voxcycle conductivity on images that this test writes byte by byte: formats, phases, figures of
layers, several images in one call, and what is refused."""

import csv
import io
import json
import struct
import zipfile
import zlib

import harness

LABELS = (0, 87, 182)
VALUES = {0: 2.0, 87: 0.5, 182: 8.0}
SHAPE = (6, 4, 5)  # page, row, column
SERIES = 6 / (2 / 2.0 + 2 / 0.5 + 2 / 8.0)
PARALLEL = (2 * 2.0 + 2 * 0.5 + 2 * 8.0) / 6
PHASES = ("--phases", "0:2,87:0.5,182:8")


def numpy_file(values, shape, kind="|u1", code="B"):
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    header += " " * (-(11 + len(header)) % 64) + "\n"
    return (b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()
            + struct.pack(f"<{len(values)}{code}", *values))


def tiff_file(planes, rows, columns, samples=1):
    """8 bits a sample, deflated, a strip a page."""
    data = b"II*\0\0\0\0\0"
    place = 4
    for plane in planes:
        strip = zlib.compress(bytes(plane))
        offset = len(data)
        data += strip + b"\0" * (len(strip) % 2)
        tags = [(256, columns), (257, rows), (258, 8), (259, 8), (262, 1), (273, offset),
                (277, samples), (278, rows), (279, len(strip))]
        data = data[:place] + struct.pack("<I", len(data)) + data[place + 4:]
        data += struct.pack("<H", len(tags))
        data += b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in tags)
        place = len(data)
        data += b"\0\0\0\0"
    return data


def layers():
    """Two pages of each label."""
    return [[LABELS[page // 2]] * (SHAPE[1] * SHAPE[2]) for page in range(SHAPE[0])]


class Conductivity(harness.Refusal):
    def write(self, name, content):
        path = self.scratch / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        return name

    def layered(self, name="layers.tif"):
        return self.write(name, tiff_file(layers(), *SHAPE[1:]))

    def zipped(self, name, **arrays):
        with zipfile.ZipFile(self.scratch / name, "w", zipfile.ZIP_DEFLATED) as archive:
            for key, content in arrays.items():
                archive.writestr(key + ".npy", content)
        return name

    def assert_layers(self, figures, across="x"):
        for one in figures["axes"]:
            exact = SERIES if one["axis"] == across else PARALLEL
            for name in ("conductivity", "conductivity_lower", "conductivity_upper"):
                self.assertAlmostEqual(one[name] / exact, 1, delta=2e-6, msg=name)
            self.assertAlmostEqual(one["tortuosity_factor"], PARALLEL / exact, delta=1e-5)
            self.assertAlmostEqual(one["tortuosity"] ** 2, PARALLEL / exact, delta=1e-5)
            self.assertAlmostEqual(one["effective_diffusivity"], exact / 8, delta=1e-5)
            self.assertAlmostEqual(one["formation_factor"] * exact, 8, delta=1e-4)
            self.assertEqual(one["percolating_fraction"], 1)


class Figures(Conductivity):
    def test_a_checkerboard_conducts_the_geometric_mean(self):
        """Of two squares in each direction, in the plane; exact for any contrast (Keller, A theorem
        on the conductivity of a composite medium, J. Math. Phys. 5, 1964)."""
        n = 32
        plane = [int((row < n // 2) != (column < n // 2)) for row in range(n) for column in range(n)]
        image = self.write("board.tif", tiff_file([plane] * 4, n, n))
        figures = self.figures("conductivity", image, "--phases", "0:1,1:4")["images"][0]["axes"]
        self.assertAlmostEqual(figures[0]["conductivity"], 2.5, delta=1e-6)
        for one in figures[1:]:
            self.assertLess(one["conductivity_lower"], 2.0)
            self.assertGreater(one["conductivity_upper"], 2.0)
            self.assertAlmostEqual(one["conductivity"], 2.0, delta=0.02)

    def test_every_format_in_one_call(self):
        flat = [value for plane in layers() for value in plane]
        for k in range(6):
            self.write(f"slices/s{k + 7}.tif", tiff_file([layers()[k]], *SHAPE[1:]))
        ones = numpy_file([1] * 8, (2, 2, 2))
        images = [self.layered(), "slices", "slices/*.tif",
                  self.write("a.npy", numpy_file(flat, SHAPE)),
                  self.write("4d.npy", numpy_file(flat, (1, 1, *SHAPE))),
                  self.write("half.npy", numpy_file(flat, SHAPE, "<f2", "e")),
                  self.zipped("one.npz", layers=numpy_file(flat, SHAPE)),
                  self.zipped("two.npz", a=ones, b=numpy_file(flat, SHAPE)) + ":b",
                  self.zipped("nu.npz", a=ones, nu=numpy_file(flat, SHAPE)),
                  self.write("l.raw", bytes(flat)) + ":6,4,5:uint8"]
        figures = self.figures("conductivity", *images, *PHASES, "--csv", "out.csv")
        self.assertEqual([one["image"] for one in figures["images"]], images)
        for one in figures["images"]:
            with self.subTest(image=one["image"]):
                self.assertEqual(one["grid"], list(SHAPE))
                self.assertEqual([phase["label"] for phase in one["phases"]], list(LABELS))
                self.assertEqual([phase["value"] for phase in one["phases"]], [2, 0.5, 8])
                self.assertAlmostEqual(sum(p["volume_fraction"] for p in one["phases"]), 1)
                self.assert_layers(one)
        with open(self.scratch / "out.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([(row["image"], row["axis"]) for row in rows],
                         [(image, axis) for image in images for axis in "xyz"])
        for row, one in zip(rows[:3], figures["images"][0]["axes"]):
            self.assertEqual(float(row["conductivity"]), one["conductivity"])
            self.assertEqual(row["nx"], "6")
            self.assertEqual(row["error"], "")

    def test_axes_crop_spacing_and_threshold(self):
        image = self.layered()
        one, = self.figures("conductivity", image, *PHASES, "--axes", "zyx", "--axis", "z,y",
                            "--spacing", "1,1,3")["images"]
        self.assertEqual([axis["axis"] for axis in one["axes"]], ["z", "y"])
        self.assertEqual(one["spacing"], [1, 1, 3])
        self.assert_layers(one, across="z")
        one, = self.figures("conductivity", image, "--crop", "1:4,:,0:3", "--threshold", "80",
                            "--phases", "0:4,1:1", "--axis", "x", "--png", "p")["images"]
        self.assertEqual(one["picture"], "p/1_layers.tif.png")
        picture = (self.scratch / one["picture"]).read_bytes()
        self.assertEqual(struct.unpack(">II", picture[16:24]), (3 * 128, 4 * 128))
        self.assertEqual(one["grid"], [3, 4, 3])
        self.assertAlmostEqual(one["axes"][0]["conductivity"], 3 / (1 / 4 + 2), delta=1e-5)

    def test_nothing_flows_through_a_solid_layer(self):
        one, = self.figures("conductivity", self.layered(), "--phases", "0:2,87:0,182:8",
                            "--csv", "out.csv")["images"]
        x, y, z = one["axes"]
        self.assertFalse(x["percolates"])
        self.assertEqual((x["conductivity"], x["percolating_fraction"]), (0, 0))
        self.assertIsNone(x["tortuosity_factor"])  # infinity is none of JSON's numbers
        self.assertAlmostEqual(one["conducting_fraction"], 2 / 3)
        for axis in (y, z):
            self.assertAlmostEqual(axis["conductivity"], 20 / 6, delta=1e-5)
            self.assertEqual(axis["percolating_fraction"], 1)
        self.assertIn(",inf,", (self.scratch / "out.csv").read_text())

    def test_the_tensor_of_an_image_that_repeats(self):
        result = self.succeed("conductivity", self.layered(), *PHASES, "--periodic", "--json",
                              "out.json", "--csv", "out.csv", "--tolerance", "1e-9")
        for text in ("an upper bound", "1.14286 along (1.0000, 0.0000, 0.0000)", " + 0 + 0 iterations"):
            self.assertIn(text, result.out)
        self.assertNotIn("along x", result.out)
        one, = json.loads((self.scratch / "out.json").read_text())["images"]
        self.assertNotIn("axes", one)
        tensor = one["periodic"]
        exact = (SERIES, PARALLEL, PARALLEL)
        for i in range(3):
            self.assertAlmostEqual(tensor["principal_values"][i], exact[i], delta=1e-8)
            for k in range(3):
                self.assertAlmostEqual(tensor["conductivity"][i][k], exact[i] * (i == k), delta=1e-8)
        self.assertTrue(tensor["converged"])
        self.assertLess(tensor["solver_error"], 1e-9)
        with open(self.scratch / "out.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([row["axis"] for row in rows], list("xyz"))
        for row, values in zip(rows, tensor["conductivity"], strict=True):
            self.assertEqual([float(row["conductivity_" + axis]) for axis in "xyz"], values)
            self.assertEqual(row["error"], "")

    def test_slanted_layers_conduct_best_along_themselves(self):
        slanted = [(x + y) % 4 // 2 for x in range(4) for y in range(4) for _ in range(2)]
        image = self.write("slanted.npy", numpy_file(slanted, (4, 4, 2)))
        one, = self.figures("conductivity", image, "--phases", "0:1,1:4", "--periodic")["images"]
        tensor = one["periodic"]
        self.assertLess(tensor["conductivity"][0][1], -0.3)
        self.assertEqual(tensor["conductivity"][0][1], tensor["conductivity"][1][0])
        least, *others = tensor["principal_values"]
        self.assertTrue(1.6 < least < 1.8, least)
        for value in others:
            self.assertAlmostEqual(value, 2.5, delta=1e-5)
        for component, expected in zip(tensor["principal_directions"][0], (0.5, 0.5, 0)):
            self.assertAlmostEqual(component ** 2, expected, delta=1e-5)

    def test_solve_by_the_same_code(self):
        image = self.layered()
        figures = self.figures("solve", "--nu", image, *PHASES, "--conductivity")
        for axis, (value, low) in enumerate(zip(figures["effective_conductivity"],
                                                figures["effective_conductivity_lower"])):
            self.assertAlmostEqual(value / (PARALLEL if axis else SERIES), 1, delta=1e-6)
            self.assertAlmostEqual(low / (PARALLEL if axis else SERIES), 1, delta=1e-6)
        parts = ("network", "setup", "estimate", "multigrid", "conductivity")
        self.assertAlmostEqual(figures["seconds"], sum(figures["seconds_" + p] for p in parts))
        labels = self.write("labels.npy", numpy_file([1, 2] * 4, (2, 2, 2)))
        result = self.succeed("solve", "--nu", labels)
        self.assertIn("1 (50.00 %), 2 (50.00 %) look like labels", result.err)
        self.assertNotIn("look like", self.succeed("solve", "--nu", labels, "--phases", "self").err)


class WithAModel(Conductivity):
    def test_a_network_has_a_bracket_of_its_own(self):
        self.config({"cycle.steps": "60, 40", "train.precision": "f32"})
        self.succeed("generate", "--config", "small.cfg")
        self.succeed("train", "--config", "small.cfg")
        shard = next((self.scratch / "data/held_out/16x16x16").iterdir())
        nu = f"{shard.relative_to(self.scratch)}:/nu[1]"
        model = ("--model", "run")
        # Turned, y is x: the network solves the same problem.
        figures = self.figures("conductivity", nu, "--axis", "x", *model, "--csv", "out.csv")
        turned = self.figures("conductivity", nu, "--axis", "y", "--axes", "yxz", *model)
        axis, other = (one["images"][0]["axes"][0] for one in (figures, turned))
        network = axis["network"]
        self.assertTrue(network["used"])
        self.assertLessEqual(network["lower"], axis["conductivity_upper"] * (1 + 1e-6))
        self.assertGreaterEqual(network["upper"], axis["conductivity_upper"] * (1 - 1e-6))
        self.assertLess(network["upper"] / network["lower"], 1.01)
        self.assertLessEqual(network["seconds"], network["with_bounds_seconds"])
        self.assertAlmostEqual(other["conductivity_upper"] / axis["conductivity_upper"], 1, delta=1e-5)
        with open(self.scratch / "out.csv", newline="") as file:
            row = next(csv.DictReader(file))
        self.assertEqual(float(row["network_upper"]), network["upper"])
        # Holes: a network sees something small there.
        values = numpy_file([(x + y) % 7 > 0 for x in range(16) for y in range(256)], (16, 16, 16))
        image = (self.write("h.npy", values), "--phases", "self", *model)
        for axis in self.figures("conductivity", *image)["images"][0]["axes"]:
            self.assertLessEqual(axis["network"]["lower"], axis["conductivity_upper"] * (1 + 1e-6))
            self.assertGreaterEqual(axis["network"]["upper"], axis["conductivity_upper"] * (1 - 1e-6))
        out = self.succeed("conductivity", *image).out
        self.assertEqual(out.count("network alone: trilinear value between"), 3)

        self.refuse("conductivity", nu, *model, "--periodic", expect="Leave out --model.")
        self.refuse("conductivity", nu, "--model", shard, expect="no voxcycle-archive")
        other = ("--config", "small.cfg", "--problem.boundary", "flux,flux,1,0,flux,flux",
                 "--data.directory", "other_data", "--run.directory", "other")
        self.succeed("generate", *other)
        self.succeed("train", *other, "--cycle.steps", "2, 2")
        self.refuse("conductivity", nu, "--model", "other", "--json", "no.json", expect=[
                        "a model trained for '1, 0, flux, flux, flux, flux'", "name another"])
        self.assertFalse((self.scratch / "no.json").exists())


class Refusals(Conductivity):
    def refuse_usage(self, *arguments, expect):
        error = self.refuse("conductivity", *arguments, "--json", "no.json", "--csv", "no.csv",
                            expect=expect)
        self.assertFalse((self.scratch / "no.json").exists())
        self.assertFalse((self.scratch / "no.csv").exists())
        return error

    def status(self, *arguments):
        return self.run_program("conductivity", *arguments).status

    def test_usage(self):
        image = self.layered()
        cases = [
            ((), "conductivity needs an image"),
            ((image,), ["0 (33.33 %), 87 (33.33 %), 182 (33.33 %) look like labels",
                        "--phases 0:VALUE,87:VALUE,182:VALUE", "--phases self"]),
            ((image, "--phases", "0:1,87:2"), ["layers.tif: the label 182 has no value", "33.33 %"]),
            ((image, "--phases", "0:1,87:2,182:3,4:5"), "the phase 4 does not occur"),
            ((image, "--phases", "0,87,182"), "the phase '0' has no value"),
            ((image, *PHASES, "--spacing", "1,0,1"), "--spacing = '1,0,1'"),
            ((image, *PHASES, "--axis", "w"), "--axis = 'w'"),
            ((image, *PHASES, "--axis", "x,x"), "--axis = 'x,x'"),
            ((image, *PHASES, "--tolerance", "0"), "--tolerance"),
            ((image, *PHASES, "--periodic", "--axis", "x"), "Leave out --axis."),
            ((image, *PHASES, "--periodic", "--run.device", "cuda"), "--periodic runs on CPUs"),
            ((image, "--phases", "0:2,87:0,182:8", "--periodic"),
             ["layers.tif: --periodic needs positive values, and 40 of 120", "--phases"]),
            ((image, *PHASES, "--threshold", "much"), "--threshold"),
            ((image, *PHASES, "--crop", "0:9,:,:"), ["no voxels 0 to 8 along x", "it has 6"]),
            ((image, *PHASES, "--phase", "1:1"), "unknown option --phase"),
            (("layers.jpg", *PHASES), ["'layers.jpg'", "FILE.tif"]),
        ]
        for arguments, expect in cases:
            with self.subTest(arguments=arguments):
                self.refuse_usage(*arguments, expect=expect)
        self.refuse("conductivity", image, *PHASES, "--csv", image,
                    expect="would overwrite a file that is read")
        self.assertEqual(self.status(image), 2)
        self.assertEqual(self.status(image, *PHASES, "--phase", "1"), 2)
        self.assertEqual(self.status(image, *PHASES, "--axis", "w"), 2)

    def test_a_contrast_that_is_too_much(self):
        slanted = [(x + y) % 4 // 2 for x in range(4) for y in range(4) for _ in range(2)]
        image = self.write("slanted.npy", numpy_file(slanted, (4, 4, 2)))
        self.refuse("conductivity", image, "--phases", "0:1e-15,1:1", "--periodic",
                    expect=["slanted.npy: did not converge", "contrast; here 1e+15", "least value."])

    def test_images(self):
        page = [0, 1] * 10
        negative = numpy_file([-1, 2, 3, 4] * 2, (2, 2, 2), "|i1", "b")
        nan = numpy_file([1.0, float("nan")] * 4, (2, 2, 2), "<f8", "d")
        whole = tiff_file([page, page], 4, 5)
        archive = (self.scratch / self.zipped("good.npz", nu=numpy_file(page, (2, 2, 5)))).read_bytes()
        damaged = bytearray(archive)
        damaged[archive.find(b"NUMPY") if b"NUMPY" in archive else 45] ^= 0x55
        bad = {
            self.write("rgb.tif", tiff_file([page * 3], 4, 5, samples=3)): "RGB",
            self.write("cut.tif", whole[:len(whole) - 30]): "truncated",
            self.write("ones.tif", tiff_file([[1] * 20] * 2, 4, 5)): "all 40 voxels have the value 1",
            self.write("zero.tif", tiff_file([[0] * 20] * 2, 4, 5)): "nothing conducts",
            self.write("neg.npy", negative): "2 negative, of 8",
            self.write("nan.npy", nan): "4 not a number, of 8",
            self.write("cut.npz", archive[:-5]): "zip archive",
            self.write("bad.npz", bytes(damaged)): "bad.npz",
            self.zipped("two.npz", a=negative, b=negative): "It holds: a, b",
            self.write("big.npy", numpy_file([], (2048, 2048, 512))): "2^31 - 1",
            "none.tif": "no such file",
        }
        result = self.run_program("conductivity", *bad, "--phases", "self", "--json", "no.json")
        self.assertEqual(result.status, 1)
        self.assertFalse((self.scratch / "no.json").exists())
        errors = [line for line in result.err.splitlines() if "[error]" in line]
        self.assertIn("none of the 11 images could be solved. Nothing is written.", errors.pop())
        for (image, expect), error in zip(bad.items(), errors, strict=True):
            self.assertIn(image, error)
            self.assertIn(expect, error)
        self.refuse_usage("cut.tif", "--phases", "self", expect="truncated")

    def test_one_bad_image_of_several(self):
        image = self.layered()
        result = self.run_program("conductivity", "none.tif", image, *PHASES, "--json", "out.json",
                                  "--csv", "out.csv")
        self.assertEqual(result.status, 1)
        self.assertIn("none.tif: there is no such file", result.err)
        self.assertIn("1 image of 2 could not be solved", result.err)
        bad, good = json.loads((self.scratch / "out.json").read_text())["images"]
        self.assertIn("no such file", bad["error"])
        self.assert_layers(good)
        rows = list(csv.DictReader(io.StringIO((self.scratch / "out.csv").read_text())))
        self.assertEqual([row["axis"] for row in rows], ["", "x", "y", "z"])
        self.assertIn("no such file", rows[0]["error"])

    def test_a_full_standard_output_is_a_failure(self):
        with open("/dev/full", "w") as full:
            status = harness.subprocess.run([harness.BINARY, "info"], stdout=full, check=False,
                                            env={**harness.os.environ, **harness.ENVIRONMENT},
                                            stderr=harness.subprocess.DEVNULL).returncode
        self.assertEqual(status, 1)


if __name__ == "__main__":
    harness.main()
