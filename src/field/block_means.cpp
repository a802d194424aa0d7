// SPDX-License-Identifier: BSD-3-Clause
#include "field/block_means.hpp"

#include "voxcycle/core/error.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace voxcycle::block_means {

namespace {

/// Levels of the arrays' proportions down to one that is odd, coarsest first: "5, 10, 20".
std::string levels_that_fit(Grid3 const& fine) {
  auto const [nx, ny, nz] = fine.voxels;
  std::int64_t const common = std::gcd(nx, std::gcd(ny, nz));
  std::string levels = std::to_string(fine.level());
  for (std::int64_t ratio = 2; common % ratio == 0; ratio *= 2) {
    levels.insert(0, std::to_string(fine.level() / ratio) + ", ");
  }
  return levels;
}

}  // namespace

std::int64_t size_of_block(Grid3 const& fine, Grid3 const& coarse, std::string const& location) {
  std::int64_t const block = fine.voxels[0] / coarse.voxels[0];
  for (int axis = 0; axis < 3; ++axis) {
    VOXCYCLE_REQUIRE(
        block * coarse.voxels[axis] == fine.voxels[axis],
        location << ": its arrays are " << fine.name() << ", the grid asked for is "
                 << coarse.name()
                 << " (a voxel of a level is a cube of the arrays' voxels). Use levels "
                    "and arrays of which all three axes have the same ratio, a whole "
                    "number; problem.box gives the levels the arrays' proportions. "
                    "Levels that fit: "
                 << levels_that_fit(fine) << '.');
  }
  return block;
}

void average(float const* values, std::int64_t block, std::array<std::int64_t, 3> const& voxels,
             float* means) {
  auto const [nx, ny, nz] = voxels;
  std::vector<double> sums(static_cast<std::size_t>(nz));
  auto const weight = 1.0 / static_cast<double>(block * block * block);
  for (std::int64_t x = 0; x < nx; ++x) {
    for (std::int64_t y = 0; y < ny; ++y) {
      std::fill(sums.begin(), sums.end(), 0.0);
      for (std::int64_t row = 0; row < block * block; ++row) {
        std::int64_t const fine_x = x * block + row / block;
        std::int64_t const fine_y = y * block + row % block;
        float const* in = values + (fine_x * ny * block + fine_y) * nz * block;
        for (std::int64_t z = 0; z < nz * block; ++z) sums[z / block] += in[z];
      }
      float* out = means + (x * ny + y) * nz;
      for (std::int64_t z = 0; z < nz; ++z) out[z] = static_cast<float>(weight * sums[z]);
    }
  }
}

}  // namespace voxcycle::block_means
