// SPDX-License-Identifier: BSD-3-Clause
// Format: https://docs.vtk.org/en/latest/vtk_file_formats/vtkxml_file_format.html, ImageData with
// appended raw data: each array is its number of bytes and its values, x fastest.
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/text.hpp"

#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "io/solution_formats.hpp"

namespace voxcycle {
namespace {

std::string numbers(std::array<double, 3> const& values) {
  return shortest_text(values[0]) + ' ' + shortest_text(values[1]) + ' ' + shortest_text(values[2]);
}

std::uint64_t bytes_of(SolutionArray const& array) {
  return static_cast<std::uint64_t>(array.values.size()) * sizeof(double);
}

/// The elements that describe the arrays on nodes or in voxels, whose data begin at `offset`.
std::string described(std::vector<SolutionArray> const& arrays, bool on_nodes) {
  std::uint64_t offset = 0;
  std::string text;
  for (auto const& array : arrays) {
    if (array.on_nodes == on_nodes) {
      text += format(
          "        <DataArray type=\"Float64\" Name=\"%s\" NumberOfComponents=\"%ld\" "
          "format=\"appended\" offset=\"%lu\"/>\n",
          array.name.c_str(), static_cast<long>(array.components),
          static_cast<unsigned long>(offset));
    }
    offset += sizeof(std::uint64_t) + bytes_of(array);
  }
  return text;
}

std::string header_of(SolutionFile const& solution, std::vector<SolutionArray> const& arrays) {
  auto const& grid = solution.grid;
  auto const& n = grid.voxels;
  auto const extent = format("0 %ld 0 %ld 0 %ld", static_cast<long>(n[0]), static_cast<long>(n[1]),
                             static_cast<long>(n[2]));
  std::string text =
      "<?xml version=\"1.0\"?>\n<VTKFile type=\"ImageData\" version=\"1.0\" "
      "byte_order=\"LittleEndian\" header_type=\"UInt64\">\n  <ImageData WholeExtent=\"" +
      extent + "\" Origin=\"" + numbers(solution.origin) + "\" Spacing=\"" +
      numbers({grid.spacing(0), grid.spacing(1), grid.spacing(2)}) + "\">\n    <FieldData>\n";
  for (auto const& [name, value] : figures_of(solution)) {
    text += "      <DataArray type=\"Float64\" Name=\"" + name +
            "\" NumberOfTuples=\"1\" format=\"ascii\">" + shortest_text(value) + "</DataArray>\n";
  }
  return text + "    </FieldData>\n    <Piece Extent=\"" + extent + "\">\n      <PointData>\n" +
         described(arrays, true) + "      </PointData>\n      <CellData>\n" +
         described(arrays, false) +
         "      </CellData>\n    </Piece>\n  </ImageData>\n  <AppendedData encoding=\"raw\">\n_";
}

}  // namespace

void write_vti(std::string const& temporary, std::string const& path,
               SolutionFile const& solution) {
  static_assert(std::endian::native == std::endian::little);
  auto const arrays = arrays_of(solution);
  std::ofstream out(temporary, std::ios::binary);
  auto const write = [&](auto const* values, std::size_t bytes) {
    out.write(reinterpret_cast<char const*>(values), static_cast<std::streamsize>(bytes));
  };
  out << header_of(solution, arrays);
  for (auto const& array : arrays) {
    std::uint64_t const bytes = bytes_of(array);
    write(&bytes, sizeof bytes);
    for_planes_of_z(array, solution.grid,
                    [&](std::int64_t, auto plane) { write(plane.data(), plane.size_bytes()); });
  }
  out << "\n  </AppendedData>\n</VTKFile>\n";
  out.close();
  VOXCYCLE_REQUIRE(out, "cannot write " << path << ": " << std::strerror(errno)
                                        << ". Free some space or choose another directory.");
}

}  // namespace voxcycle
