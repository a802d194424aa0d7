#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""VTK reads what solve writes, and solve reads what h5py writes. Needs a Python with VTK, NumPy and
h5py (Debian: python3-vtk9, python3-numpy, python3-h5py); without one the test is skipped (77)."""

import json
import struct
import subprocess
import sys

import harness

READ = """
import h5py, json, sys
from vtkmodules.vtkIOHDF import vtkHDFReader
reader = vtkHDFReader()
reader.SetFileName(sys.argv[1])
reader.Update()
image = reader.GetOutput()
u = image.GetPointData().GetArray("u")
matrix = image.GetDirectionMatrix()
attributes = h5py.File(sys.argv[1])["VTKHDF"].attrs
print(json.dumps({
    "marks": {name: attributes[name].item() for name in ("converged", "relative_residual",
                                                         "iterations", "tolerance")},
    "dimensions": image.GetDimensions(), "spacing": image.GetSpacing(),
    "origin": image.GetOrigin(),
    "direction": [matrix.GetElement(i, j) for i in range(3) for j in range(3)],
    "points": [[*image.GetPoint(k), u.GetValue(k)] for k in range(image.GetNumberOfPoints())],
}))
"""

CELLS = """
import h5py, json, sys
print(json.dumps(h5py.File(sys.argv[1])["VTKHDF/CellData/nu"][()].tolist()))
"""

WRITE = """
import h5py, numpy, sys
nu = numpy.load(sys.argv[1])
with h5py.File("h5py.h5", "w") as file:
    file["plain"] = nu
    file.create_dataset("group/packed", data=nu, chunks=(2, 3, 4), compression="gzip")
    file.create_dataset("big", data=nu.astype(">f8"))
    file.create_dataset("short", data=nu.round().astype("i2"))
    file.create_dataset("texts", data=[b"a", b"b"])
    file.create_dataset("complex", data=nu.astype("c16"))
with h5py.File("image.vtkhdf", "w") as file:
    root = file.create_group("VTKHDF")
    root.attrs["Version"] = (1, 0)
    root.attrs.create("Type", b"ImageData", dtype=h5py.string_dtype("ascii", 9))
    root.attrs["WholeExtent"] = numpy.array([0, 4, 0, 6, 0, 8], dtype="i4")
    root.attrs["Origin"] = (1.0, 2.0, 3.0)
    root.attrs["Spacing"] = (0.5, 0.25, 0.125)
    root.attrs["Direction"] = (1.0, 0, 0, 0, 1, 0, 0, 0, 1)
    root.create_dataset("CellData/conductivity", data=nu.transpose(2, 1, 0))
numpy.save("fortran.npy", numpy.asfortranarray(nu))
numpy.save("zyx.npy", nu.transpose(2, 1, 0))
numpy.save("single.npy", nu.astype("f4"))
"""

PYTHON = ""
SIZE = (4, 6, 8)
SPACING = (0.5, 0.25, 0.125)


def find_python():
    for python in (sys.executable, "/usr/bin/python3"):
        found = subprocess.run([python, "-c", "import h5py, numpy; import vtkmodules.vtkIOHDF"],
                               stderr=subprocess.DEVNULL, check=False)
        if found.returncode == 0:
            return python
    return ""


def nu_at(x, y, z):
    return 1.0 + 100 * x + 10 * y + z


class Vtk(harness.Case):
    def setUp(self):
        super().setUp()
        nx, ny, nz = SIZE
        values = [nu_at(x, y, z) for x in range(nx) for y in range(ny) for z in range(nz)]
        (self.scratch / "nu.raw").write_bytes(struct.pack(f"<{len(values)}d", *values))
        self.nu = "nu.raw:4,6,8:float64"

    def python(self, code, *arguments):
        result = subprocess.run([PYTHON, "-c", code, *arguments], cwd=self.scratch, text=True,
                                capture_output=True, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotIn("ERR", result.stderr)
        return result.stdout

    def read(self, name):
        return json.loads(self.python(READ, name))

    def test_vtk_sees_the_fields_where_they_are(self):
        # Uniform nu: u is linear between the faces, whichever axis they end.
        (self.scratch / "one.raw").write_bytes(struct.pack("<192d", *[1.0] * 192))
        for axis in range(3):
            faces = ["flux"] * 6
            faces[2 * axis:2 * axis + 2] = ["3", "-1"]
            self.succeed("solve", "--nu", "one.raw:4,6,8:float64", "--bc", ", ".join(faces),
                         "--spacing", "0.5, 0.25, 0.125", "--out", "u.vtkhdf", "--tol", "1e-12")
            image = self.read("u.vtkhdf")
            self.assertEqual(image["dimensions"], [5, 7, 9])
            self.assertEqual(image["spacing"], list(SPACING))
            self.assertEqual(image["origin"], [0, 0, 0])
            self.assertEqual(image["direction"], [1, 0, 0, 0, 1, 0, 0, 0, 1])
            length = SIZE[axis] * SPACING[axis]
            self.assertEqual(len(image["points"]), 5 * 7 * 9)
            for *place, u in image["points"]:
                self.assertAlmostEqual(u, 3 - 4 * place[axis] / length, delta=1e-9)
            self.assertEqual(image["marks"]["converged"], 1)
            self.assertLessEqual(image["marks"]["relative_residual"], 1e-12)

    def test_cells_and_marks(self):
        result = self.run_program("solve", "--nu", self.nu, "--spacing", "0.5, 0.25, 0.125",
                                  "--iterations", "1", "--tol", "1e-13", "--out", "u.vtkhdf")
        self.assertEqual(result.status, 1, result.text)
        marks = self.read("u.vtkhdf")["marks"]
        self.assertEqual(marks["converged"], 0)
        self.assertEqual(marks["iterations"], 1)
        self.assertEqual(marks["tolerance"], 1e-13)
        self.assertGreater(marks["relative_residual"], 1e-13)
        # Only VTK 9.3 and later read cell arrays of images: their order is looked at by h5py.
        self.succeed("solve", "--nu", self.nu, "--out", "u.vtkhdf", "--with-nu")
        cells = json.loads(self.python(CELLS, "u.vtkhdf"))
        self.assertEqual(cells, [[[nu_at(x, y, z) for x in range(4)] for y in range(6)]
                                 for z in range(8)])

    def test_files_of_numpy_and_h5py(self):
        self.python("import numpy; numpy.save('nu.npy', numpy.fromfile('nu.raw').reshape(4, 6, 8))")
        self.python(WRITE, "nu.npy")
        spacing = ("--spacing", "0.5, 0.25, 0.125")
        ways = [("nu.npy", *spacing), ("fortran.npy", *spacing),
                ("zyx.npy", "--axes", "zyx", *spacing), ("single.npy", *spacing),
                ("h5py.h5:/plain", *spacing), ("h5py.h5:/group/packed", *spacing),
                ("h5py.h5:/big", *spacing), ("h5py.h5:/short", *spacing), ("image.vtkhdf",),
                ("image.vtkhdf:conductivity",), (self.nu, *spacing)]
        flows = []
        for way in ways:
            self.succeed("solve", "--nu", *way, "--bc", "1, 0, flux, 0.5, flux, -1", "--json",
                         "out.json")
            figures = json.loads((self.scratch / "out.json").read_text())
            self.assertEqual(figures["grid"], list(SIZE), way)
            flows.append(figures["flow_into_faces"])
        for way, found in zip(ways, flows):
            self.assertEqual(found, flows[-1], way)
        for name in ("texts", "complex"):
            result = self.run_program("solve", "--nu", f"h5py.h5:/{name}")
            self.assertEqual(result.status, 1)
            self.assertIn("no plain numbers", result.err)


if __name__ == "__main__":
    PYTHON = find_python()
    if not PYTHON:
        print("no Python with VTK, NumPy and h5py was found: skipped")
        sys.exit(77)
    harness.main()
