#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Training on one's own files: stacks of TIFF, arrays of numpy, raw numbers, lists, patterns and
folders of them, labels and their values."""

import base64
import struct
import zlib
from pathlib import Path

import harness
from conductivity import numpy_file, tiff_file

N = 16
COUNT = 12
PHASES = {0: 0.1, 1: 1.0}


def labels(index):
    """A body in a matrix, elsewhere in each image: [x][y * N + z]."""
    def solid(x, y, z):
        return (x - 5 - index % 5) ** 2 + (y - 8) ** 2 + (z - 4 - index // 2) ** 2 < 16
    return [[int(solid(x, y, z)) for y in range(N) for z in range(N)] for x in range(N)]


def values(index):
    return [PHASES[label] for plane in labels(index) for label in plane]

# An HDF5 file whose dataset nu, float64 [2, 2, 2], takes its numbers from numbers.raw.
EXTERNAL = zlib.decompress(base64.b64decode(
    "eNrr9HBx4+WS4mLi4GCAgf9QwM4E4RtAxUvCD1n7e7gEMSk0vuDORsYVTELIGmGAi4mBkYGBjZcBSDHllR6GWeDOQC0Q"
    "Fqe+FewkRgZGRhMGBiZmRkaoqxmIpZlFGBgFFewZIAHgwGDCzWDyn5mBgRXoemYudg2gyQwgHzAynGeE6OBAc4UDlOYA"
    "hgIzI8z3MFGGFAa6gGtKB+Z7uDoGgNgSUDGogxneM6KqzSvNTUotKtYrSiwH8wHfoj9T"))


class OwnFields(harness.Case):
    def setUp(self):
        super().setUp()
        for folder in ("scans", "fields", "slices"):
            (self.scratch / folder).mkdir()
        for k in range(COUNT):
            self.write(f"scans/s{k}.tif", tiff_file(labels(k), N, N))
            self.write(f"fields/f{k}.npy", numpy_file(values(k), (N, N, N), "<f4", "f"))

    def write(self, name, content):
        (self.scratch / name).write_bytes(content)
        return name

    def own_config(self, file, **more):
        self.config({"data.family": "file", "data.file": file, "data.train_samples": "8",
                     "data.shard_samples": "100", "data.held_out_samples": "4",
                     "cycle.steps": "6, 4", **{"data." + key: text for key, text in more.items()}})

    def losses_on(self, file, **more):
        """Of a training, that starts anew."""
        self.own_config(file, directory="data." + str(len(list(self.scratch.glob("data.*")))), **more)
        generated = self.succeed("generate", "--config", "small.cfg")
        self.assertNotIn("[warning]", generated.err)
        self.succeed("train", "--config", "small.cfg", "--fresh")
        return harness.losses(self.metrics())

    def test_stacks_of_labels_and_files_of_values_are_the_same_data(self):
        phases = ",".join(f"{label}:{value}" for label, value in PHASES.items())
        wanted = self.losses_on("scans/*.tif", phases=phases)
        self.assertEqual(len(wanted), 10)
        self.succeed("evaluate", "--config", "small.cfg")
        solved = self.figures("solve", "--nu", "scans/s10.tif", "--phases", phases, "--model", "run")
        self.assertTrue(solved["converged"])

        everything = [value for k in range(COUNT) for value in values(k)]
        self.write("all.npy", numpy_file(everything, (COUNT, 1, N, N, N), "<f4", "f"))
        self.write("some.npy", numpy_file(everything[:9 * N ** 3], (9, N, N, N), "<f8", "d"))
        raw = numpy_file(values(10), (N, N, N), "<f4", "f")[-4 * N ** 3:]
        self.write("ten.raw", raw)
        for plane, pixels in enumerate(labels(11)):
            self.write(f"slices/p{plane}.tif", tiff_file([pixels], N, N))
        self.assertEqual(self.losses_on("fields", phases="self"), wanted)
        self.assertEqual(self.losses_on("all.npy", phases="self"), wanted)
        self.assertEqual(self.losses_on(
            f"some.npy, all.npy[9], ten.raw:{N},{N},{N}:float32, fields/f11.npy", phases="self"), wanted)
        # A folder of slices is one field more.
        self.own_config("scans, slices", directory="data.slices", phases=phases)
        self.succeed("generate", "--config", "small.cfg")

    def test_sets_are_told_apart_by_what_they_hold(self):
        self.losses_on("fields")
        (self.scratch / "fields").rename(self.scratch / "elsewhere")
        self.own_config("elsewhere", directory="data.0")
        self.assertIn("0 shards made, 4 were there", self.succeed("generate", "--config", "small.cfg").err)
        self.assertIn("already", self.succeed("train", "--config", "small.cfg").err)

        self.own_config("elsewhere", directory="again")
        self.succeed("generate", "--config", "small.cfg")
        self.assertIn("already", self.succeed("train", "--config", "small.cfg").err)
        self.write("elsewhere/f11.npy", numpy_file(values(3), (N, N, N), "<f4", "f"))
        self.own_config("elsewhere/*", directory="data.0")
        other = self.run_program("train", "--config", "small.cfg", "--fresh")
        self.assertIn("its sample 3 is not number 11 of file(elsewhere/*)", other.err)
        self.own_config("elsewhere", directory="changed")
        self.succeed("generate", "--config", "small.cfg")
        other = self.run_program("train", "--config", "small.cfg")
        self.assertRegex(other.err, "another config .'contents of the shards = .*--fresh")

    def test_a_dry_run_needs_no_shards(self):
        self.own_config("fields")
        self.succeed("generate", "--config", "small.cfg")
        next(self.scratch.glob("data/train/*/*.h5")).unlink()  # as generate leaves it when killed
        self.succeed("train", "--config", "small.cfg", "--dry-run")
        refused = self.run_program("train", "--config", "small.cfg")
        self.assertIn("Run voxcycle generate", refused.err)

    def test_grids_between_levels(self):
        self.config({"cycle.levels": "6, 12", "cycle.steps": "4, 4"})
        self.succeed("generate", "--config", "small.cfg")
        self.succeed("train", "--config", "small.cfg")
        for n in (12, 24):
            self.write("field.npy", numpy_file([1.0 + k % 7 for k in range(n ** 3)], (n, n, n), "<f4", "f"))
            solved = self.figures("solve", "--nu", "field.npy", "--model", "run")
            self.assertTrue(solved["converged"])

    def refuse(self, expect):
        result = self.run_program("generate", "--config", "small.cfg")
        self.assertNotEqual(result.status, 0)
        for text in expect:
            self.assertIn(text, result.err)
        self.assertEqual(list(self.scratch.glob("data/**/*.h5")), [])

    def test_what_is_refused(self):
        self.write("small.npy", numpy_file([1.0] * 512, (8, 8, 8), "<f4", "f"))
        self.write("rgb.tif", tiff_file([[1] * 3 * N * N] * N, N, N, samples=3))
        self.write("cut.tif", tiff_file(labels(0), N, N)[:-400])
        self.write("cut.npy", numpy_file(values(0), (1, N, N, N), "<f4", "f")[:-8])
        (self.scratch / "empty").mkdir()
        for file, more, expect in (
                ("none/*.npy", {}, ["none/*.npy: fits no file"]),
                ("empty", {}, ["empty: is a folder without fields", "empty/*.h5:/nu"]),
                ("fields, small.npy", {}, ["small.npy: has 8x8x8 voxels", "16x16x16", "one shape"]),
                ("scans", {"phases": "0:1"}, ["s0.tif: the label 1 has no value", "Add 1:VALUE"]),
                ("scans", {"phases": "0:1,1"}, ["data.phases", "the phase '1' has no value"]),
                ("scans", {}, ["is 0 at voxel", "Set data.floor"]),
                ("fields, rgb.tif", {}, ["rgb.tif"]), ("cut.tif", {}, ["cut.tif"]),
                ("cut.npy", {}, ["cut.npy"]),
                ("fields/f0.npy[1]", {}, ["there is no such field", "holds 1"])):
            self.own_config(file, **more)
            with self.subTest(file=file, **more):
                self.refuse(expect)

    def test_what_looks_wrong_is_said(self):
        self.own_config("scans", phases="0:0.1,1:1,7:3")
        told = self.succeed("generate", "--config", "small.cfg", ranks=2).err
        self.assertEqual(told.count("the phase 7 does not occur in the first 12 fields"), 1)
        twos = [[1 + label for label in plane] for plane in labels(0)]
        for k in range(COUNT):
            self.write(f"scans/s{k}.tif", tiff_file(twos, N, N))
        self.own_config("scans", directory="other")
        told = self.succeed("generate", "--config", "small.cfg").err
        self.assertRegex(told, r"s0.tif: the whole numbers 1 .* look like labels.*"
                               r"data.phases = 1:VALUE,2:VALUE, or say data.phases = self")


class OtherFiles(harness.Refusal):
    def test_values_in_them_are_read_where_that_is_allowed(self):
        (self.scratch / "e.h5").write_bytes(EXTERNAL)
        (self.scratch / "numbers.raw").write_bytes(struct.pack("<8d", *range(1, 9)))
        told = ["e.h5: nu: takes values from another file, numbers.raw", "--external"]
        for command in (("solve", "--nu", "e.h5:/nu"), ("conductivity", "e.h5:/nu", "--phases", "self")):
            with self.subTest(command=command):
                self.refuse(*command, expect=told)
                self.succeed(*command, "--external")
        self.config({"data.family": "file", "data.file": "e.h5:/nu"})
        self.refuse("generate", "--config", "small.cfg", expect=told)


class Damaged(harness.Case):
    def test_a_file_that_ends_hdf5_itself_is_named(self):
        corpus = Path(__file__).resolve().parents[1] / "fuzz/corpus"
        content = bytearray((corpus / "hdf5/virtual.h5").read_bytes())
        content[1417] = 10  # an index at an address that is undefined, but for this byte
        (self.scratch / "index.h5").write_bytes(content)
        result = self.run_program("solve", "--nu", "index.h5")
        self.assertNotEqual(result.status, 0, result.text)
        self.assertIn("index.h5", result.err)


class Names(harness.Refusal):
    def test_names_are_shown_as_text(self):
        """Whatever a terminal would make of them."""
        name = "a\x1b[2J\udcff.npy"  # a byte that is no UTF-8
        error = self.refuse("solve", "--nu", name, expect="a\\x1b[2J\\xff.npy: there is no such file")
        self.assertNotIn("\x1b", error)
        self.refuse("solve", "--nu", "small.cfg/nu.npy", expect="small.cfg/nu.npy: cannot be reached (Not a directory)")
        self.refuse("train", "--config", "small.cfg/x.cfg", expect="small.cfg/x.cfg (Not a directory)")


class Contrasts(harness.Refusal):
    """That no solver can bear: what it says names the field."""

    def test_solves(self):
        values = [1e-300 if k // 64 % 2 else 1.0 for k in range(8 ** 3)]
        (self.scratch / "d.npy").write_bytes(numpy_file(values, (8, 8, 8), "<f8", "d"))
        for command in (("solve", "--nu", "d.npy"), ("conductivity", "d.npy", "--phases", "self")):
            with self.subTest(command=command):
                self.refuse(*command, expect="d.npy: coarsest matrix")

    def test_references(self):
        values = [1e-38 if k // 512 % 2 else 1e38 for k in range(N ** 3)]
        (self.scratch / "g.npy").write_bytes(numpy_file(6 * values, (6, N, N, N), "<f4", "f"))
        self.config({"data.family": "file", "data.file": "g.npy", "data.train_samples": "4",
                     "data.held_out_samples": "2"})
        self.refuse("generate", "--config", "small.cfg",
                    expect=["held_out sample 0 of file(g.npy)", "at 8^3: coarsest matrix"])


if __name__ == "__main__":
    harness.main()
