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

# All arrays of a solution in a format, as nested lists of x, y, z (and component).
ARRAYS = """
import h5py, json, numpy, sys
from vtkmodules.vtkIOXML import vtkXMLImageDataReader
from vtkmodules.util.numpy_support import vtk_to_numpy
name = sys.argv[1]
arrays, figures = {}, {}
if name.endswith(".npy"):
    arrays["u"] = numpy.load(name)
elif name.endswith(".h5"):
    with h5py.File(name) as file:
        arrays = {key: file[key][()] for key in file}
        figures = {key: numpy.ravel(value).tolist() for key, value in file.attrs.items()}
elif name.endswith(".vtkhdf"):
    with h5py.File(name) as file:
        for kind in ("PointData", "CellData"):
            for key, array in file["VTKHDF"].get(kind, {}).items():
                arrays[key] = numpy.moveaxis(array[()], (0, 1, 2), (2, 1, 0))
else:
    reader = vtkXMLImageDataReader()
    reader.SetFileName(name)
    reader.Update()
    image = reader.GetOutput()
    figures = {"spacing": image.GetSpacing(), "origin": image.GetOrigin()}
    points = image.GetDimensions()
    for data, size in ((image.GetPointData(), points),
                       (image.GetCellData(), [n - 1 for n in points])):
        for k in range(data.GetNumberOfArrays()):
            array = vtk_to_numpy(data.GetArray(k))
            tail = array.shape[1:]
            arrays[data.GetArrayName(k)] = numpy.moveaxis(
                array.reshape(*reversed(size), *tail), (0, 1, 2), (2, 1, 0))
    for k in range(image.GetFieldData().GetNumberOfArrays()):
        array = image.GetFieldData().GetArray(k)
        figures[array.GetName()] = [array.GetValue(0)]
print(json.dumps({"arrays": {key: value.tolist() for key, value in arrays.items()},
                  "figures": figures}))
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
        found = subprocess.run([python, "-c", "import h5py, numpy; import vtkmodules.vtkIOHDF, vtkmodules.vtkIOXML"],
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

    def test_all_formats_hold_the_same(self):
        options = ("--nu", self.nu, "--spacing", "0.5, 0.25, 0.125", "--bc", "1, 0, flux, 0.5, flux, -1")
        found = {}
        for kind in ("vtkhdf", "h5", "vti", "npy"):
            more = () if kind == "npy" else ("--with-nu", "--flux")
            self.succeed("solve", *options, "--out", f"u.{kind}", *more)
            found[kind] = json.loads(self.python(ARRAYS, f"u.{kind}"))
            self.assertEqual(found[kind]["arrays"]["u"], found["vtkhdf"]["arrays"]["u"], kind)
            if more:
                self.assertEqual(found[kind]["arrays"], found["vtkhdf"]["arrays"], kind)
            if kind in ("h5", "vti"):
                figures = found[kind]["figures"]
                self.assertEqual(list(figures["spacing"]), list(SPACING))
                self.assertEqual(figures["converged"], [1])
                self.assertLess(figures["relative_residual"][0], 1e-8)
        arrays = found["h5"]["arrays"]
        self.assertEqual(arrays["nu"][3][5][7], nu_at(3, 5, 7))
        # The flux is nu times the mean slope of the four edges of a voxel along an axis.
        u = arrays["u"]
        slope = sum(u[3][j][k] - u[2][j][k] for j in (3, 4) for k in (5, 6)) / 4 / SPACING[0]
        self.assertAlmostEqual(arrays["flux"][2][3][5][0] / (nu_at(2, 3, 5) * slope), 1, 12)

    def test_the_flux_of_layers_is_what_flows(self):
        nx, ny, nz = SIZE
        values = [[1.0, 2.0, 4.0, 8.0][x] for x in range(nx) for _ in range(ny * nz)]
        (self.scratch / "layers.raw").write_bytes(struct.pack(f"<{len(values)}d", *values))
        self.succeed("solve", "--nu", "layers.raw:4,6,8:float64", "--spacing", "0.5, 0.25, 0.125",
                     "--out", "u.h5", "--flux", "--json", "u.json", "--tol", "1e-12")
        flux = json.loads(self.python(ARRAYS, "u.h5"))["arrays"]["flux"]
        area = ny * nz * SPACING[1] * SPACING[2]
        into = json.loads((self.scratch / "u.json").read_text())["flow_into_faces"][0] / area
        for plane in flux:
            for row in plane:
                for vector in row:
                    self.assertAlmostEqual(vector[0] / -into, 1, 9)
                    self.assertAlmostEqual(vector[1], 0, 9)
                    self.assertAlmostEqual(vector[2], 0, 9)

    def test_what_a_format_cannot_hold(self):
        for more in ("--flux", "--with-nu"):
            result = self.run_program("solve", "--nu", self.nu, "--out", "u.npy", more)
            self.assertEqual(result.status, 2, result.text)
            self.assertIn("u.npy: this format holds u alone", result.err)
        result = self.run_program("solve", "--nu", self.nu, "--out", "u.vtk")
        self.assertEqual(result.status, 2, result.text)
        self.assertIn("Let it end in one of .vtkhdf, .vti, .h5, .npy.", result.err)

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
