// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/io/solution_file.hpp"

#include "voxcycle/core/atomic_file.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/text.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "io/hdf5.hpp"
#include "io/solution_formats.hpp"

namespace voxcycle {
namespace {

/// The header's length is a multiple of this. Source: numpy.lib.format.
constexpr std::size_t kAlignment = 64;

void write_npy(std::string const& temporary, std::string const& path,
               SolutionFile const& solution) {
  auto const u = arrays_of(solution).front();
  auto const n = extents_of(u, solution.grid);
  std::string header =
      format("{'descr': '<f8', 'fortran_order': False, 'shape': (%ld, %ld, %ld), }",
             static_cast<long>(n[0]), static_cast<long>(n[1]), static_cast<long>(n[2]));
  constexpr std::size_t before = 10;  // magic, version, length
  header.append(kAlignment - 1 - (before + header.size()) % kAlignment, ' ') += '\n';
  std::ofstream out(temporary, std::ios::binary);
  out << "\x93NUMPY" << '\1' << '\0' << static_cast<char>(header.size() % 256)
      << static_cast<char>(header.size() / 256) << header;
  for_planes_of_x(u, solution.grid, [&](std::int64_t, auto plane) {
    out.write(reinterpret_cast<char const*>(plane.data()),
              static_cast<std::streamsize>(plane.size_bytes()));
  });
  out.close();
  VOXCYCLE_REQUIRE(out, "cannot write " << path << ": " << std::strerror(errno)
                                        << ". Free some space or choose another directory.");
}

void write_h5(std::string const& temporary, std::string const& path, SolutionFile const& solution) {
  auto file = hdf5::File::create(temporary, path);
  auto const& grid = solution.grid;
  std::array const spacing{grid.spacing(0), grid.spacing(1), grid.spacing(2)};
  file.write_attribute("spacing", std::span<double const>(spacing));
  file.write_attribute("origin", std::span<double const>(solution.origin));
  for (auto const& [name, value] : figures_of(solution)) {
    file.write_attribute(name, std::span<double const>(&value, 1));
  }
  for (auto const& array : arrays_of(solution)) {
    auto const n = extents_of(array, grid);
    hdf5::Shape shape(n.begin(), n.end());
    if (array.components > 1) shape.push_back(array.components);
    auto dataset = file.create_dataset(array.name, hdf5::Number::float64, shape);
    for_planes_of_x(array, grid,
                    [&](std::int64_t x, auto plane) { dataset.write_row<double>(x, plane); });
  }
  file.close();
}

/// Reads the array some planes across an axis at a time, about 32 MiB.
void for_slabs(SolutionArray const& array, Grid3 const& grid, std::size_t axis,
               std::function<void(Box const& slab, std::span<double const> values)> const& take) {
  constexpr std::int64_t values_at_once = std::int64_t{1} << 22;
  auto const extents = extents_of(array, grid);
  Box slab{.count = extents};
  std::int64_t const plane = slab.size() / extents[axis] * array.components;
  std::int64_t const planes = std::max<std::int64_t>(1, values_at_once / plane);
  std::vector<double> values;
  for (; slab.begin[axis] < extents[axis]; slab.begin[axis] += planes) {
    slab.count[axis] = std::min(planes, extents[axis] - slab.begin[axis]);
    values.resize(static_cast<std::size_t>(slab.size() * array.components));
    array.values.read(slab, extents, array.components, values.data());
    take(slab, values);
  }
}

struct SolutionFormat {
  std::string extension;
  void (*write)(std::string const& temporary, std::string const& path,
                SolutionFile const& solution);
  bool holds_more = true;  ///< than u
};

std::vector<SolutionFormat> const kSolutionFormats{{".vtkhdf", write_vtkhdf},
                                                   {".vti", write_vti},
                                                   {".h5", write_h5},
                                                   {".npy", write_npy, /*holds_more=*/false}};

SolutionFormat const& find_solution_format(std::string const& flag, std::string const& path) {
  std::vector<std::string> extensions;
  for (auto const& format : kSolutionFormats) {
    if (path.ends_with(format.extension)) return format;
    extensions.push_back(format.extension);
  }
  throw Error(flag + path + " is no name of a file of solutions. Let it end in one of " +
              join(extensions) + '.');
}

}  // namespace

std::vector<SolutionArray> arrays_of(SolutionFile const& solution) {
  bool const on_nodes = solution.u.size() != solution.grid.voxel_count();
  std::vector<SolutionArray> arrays{{"u", solution.u, on_nodes},
                                    {"spread", solution.spread},
                                    {"nu", solution.nu, false},
                                    {"flux", solution.flux, false, 3}};
  std::erase_if(arrays, [](auto const& array) { return array.values.empty(); });
  for (auto const& array : arrays) {
    auto const [nx, ny, nz] = extents_of(array, solution.grid);
    VOXCYCLE_REQUIRE(array.values.size() == nx * ny * nz * array.components,
                     "a field of " << array.values.size() << " values is no " << nx << "x" << ny
                                   << "x" << nz << ". Pass the whole field.");
  }
  return arrays;
}

std::array<std::int64_t, 3> extents_of(SolutionArray const& array, Grid3 const& grid) {
  if (!array.on_nodes) return grid.voxels;
  return {grid.nodes(0), grid.nodes(1), grid.nodes(2)};
}

std::vector<std::pair<std::string, double>> figures_of(SolutionFile const& solution) {
  auto figures = solution.figures;
  figures.insert(figures.begin(), {{"converged", solution.converged ? 1.0 : 0.0},
                                   {"relative_residual", solution.relative_residual}});
  return figures;
}

void FieldValues::read(Box const& box, std::array<std::int64_t, 3> const& extents,
                       std::int64_t components, double* to) const {
  if (read_) return read_(box, to);
  std::int64_t const run = box.count[2] * components;
  for (std::int64_t x = box.begin[0]; x < box.begin[0] + box.count[0]; ++x) {
    for (std::int64_t y = box.begin[1]; y < box.begin[1] + box.count[1]; ++y) {
      std::int64_t const row = (x * extents[1] + y) * extents[2] + box.begin[2];
      to = std::copy_n(whole_.data() + row * components, run, to);
    }
  }
}

void for_planes_of_x(SolutionArray const& array, Grid3 const& grid, TakePlane const& take) {
  for_slabs(array, grid, 0, [&](Box const& slab, std::span<double const> values) {
    std::size_t const plane = values.size() / static_cast<std::size_t>(slab.count[0]);
    for (std::int64_t x = 0; x < slab.count[0]; ++x) {
      take(slab.begin[0] + x, values.subspan(static_cast<std::size_t>(x) * plane, plane));
    }
  });
}

void for_planes_of_z(SolutionArray const& array, Grid3 const& grid, TakePlane const& take) {
  std::int64_t const components = array.components;
  std::vector<double> plane;
  for_slabs(array, grid, 2, [&](Box const& slab, std::span<double const> values) {
    auto const [nx, ny, nz] = slab.count;
    plane.resize(static_cast<std::size_t>(nx * ny * components));
    for (std::int64_t z = 0; z < nz; ++z) {
      double* out = plane.data();
      for (std::int64_t y = 0; y < ny; ++y) {
        for (std::int64_t x = 0; x < nx; ++x) {
          out = std::copy_n(values.data() + ((x * ny + y) * nz + z) * components, components, out);
        }
      }
      take(slab.begin[2] + z, plane);
    }
  });
}

void write_solution(std::string const& path, SolutionFile const& solution) {
  require_valid(solution.grid);
  auto const& format = find_solution_format("", path);
  write_atomically(path,
                   [&](std::string const& temporary) { format.write(temporary, path, solution); });
}

void require_solution_format(std::string const& flag, std::string const& path, bool more) {
  VOXCYCLE_REQUIRE(
      find_solution_format(flag + ' ', path).holds_more || !more,
      flag << ' ' << path
           << ": this format holds u alone. Let the name end in .vtkhdf, .vti or .h5.");
}

}  // namespace voxcycle
