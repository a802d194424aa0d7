// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/error.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>

#include "field/families.hpp"

namespace voxcycle {
namespace {

/// Largest row number that a double holds exactly.
constexpr double kMaxRows = 0x1.0p53;

/// The user's own voxel arrays. Their grid is the finest; a coarser grid gets the arithmetic mean
/// over each block of voxels, as the multigrid hierarchy coarsens nu. The one parameter of a sample
/// is its place in the list. The arrays are opened when first needed: a training from shards alone
/// does not need the file.
class File : public CoefficientFamily {
 public:
  explicit File(FileOptions options) : options_(std::move(options)) {
    VOXCYCLE_REQUIRE(!options_.location.empty(),
                     "file: the location of the arrays is empty. Give PATH:/dataset, e.g. "
                     "fields.h5:/nu.");
    VOXCYCLE_REQUIRE(options_.open, "file: nothing was given that opens the arrays.");
  }

  std::string signature() const override { return "file(" + options_.location + ")"; }
  std::optional<std::int64_t> sample_count() const override { return arrays().samples; }
  bool has_unit() const override { return true; }
  std::int64_t parameter_count() const override { return 1; }

  std::vector<double> omega(std::uint64_t /*seed*/, std::int64_t index) const override {
    require_sample(static_cast<double>(index));
    return {static_cast<double>(index)};
  }

  void evaluate(std::span<double const> omega, Grid3 const& grid,
                std::span<float> nu) const override;

 private:
  VoxelArrays const& arrays() const {
    std::call_once(opened_, [&] { arrays_ = options_.open(options_.location); });
    return arrays_;
  }

  void require_sample(double row) const {
    VOXCYCLE_REQUIRE(row >= 0 && row < kMaxRows && row == std::floor(row) &&
                         row < static_cast<double>(arrays().samples),
                     options_.location << ": there is no sample " << row << ", it holds "
                                       << arrays().samples << '.');
  }

  FileOptions options_;
  mutable std::once_flag opened_;
  mutable VoxelArrays arrays_;
};

/// How many voxels of `fine` along each axis make one of `coarse`. The same for all axes: else the
/// field would be squashed. @throws Error naming both.
std::int64_t block_of(Grid3 const& fine, Grid3 const& coarse, std::string const& location) {
  std::int64_t const block = fine.voxels[0] / coarse.voxels[0];
  for (int axis = 0; axis < 3; ++axis) {
    VOXCYCLE_REQUIRE(
        block * coarse.voxels[axis] == fine.voxels[axis],
        location << ": its arrays are " << fine.name() << ", the grid asked for is "
                 << coarse.name()
                 << " (a voxel of a level is a cube of the arrays' voxels). Use levels "
                    "and arrays of which all three axes have the same ratio, a whole "
                    "number; problem.box gives the levels the arrays' proportions.");
  }
  return block;
}

/// @param first  plane along x that the values begin with
void require_sound(std::vector<float> const& values, Grid3 const& grid, std::int64_t first,
                   double row, std::string const& location) {
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (values[k] > 0 && std::isfinite(values[k])) continue;
    auto const place = static_cast<std::int64_t>(k);
    auto const [nx, ny, nz] = grid.voxels;
    static_cast<void>(nx);
    VOXCYCLE_REQUIRE(false, location << ": sample " << row << " is " << values[k] << " at voxel ("
                                     << first + place / (ny * nz) << ", " << place / nz % ny << ", "
                                     << place % nz
                                     << ") in float32 (the equation needs a positive and finite "
                                        "coefficient). Correct the array.");
  }
}

/// Means of blocks of block^3 values, on `voxels` of them along each axis.
void average(float const* values, std::int64_t block, std::array<std::int64_t, 3> const& voxels,
             float* nu) {
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
      float* out = nu + (x * ny + y) * nz;
      for (std::int64_t z = 0; z < nz; ++z) out[z] = static_cast<float>(weight * sums[z]);
    }
  }
}

void File::evaluate(std::span<double const> omega, Grid3 const& grid, std::span<float> nu) const {
  require_valid(grid);
  VOXCYCLE_REQUIRE(std::ssize(omega) == 1 && std::ssize(nu) == grid.voxel_count(),
                   "file: " << omega.size() << " parameters and " << nu.size()
                            << " voxels do not fit one place in a list on " << grid.name() << '.');
  require_sample(omega[0]);
  Grid3 const& fine = arrays().grid;
  std::int64_t const block = block_of(fine, grid, options_.location);
  auto const index = static_cast<std::int64_t>(omega[0]);
  auto const plane = grid.voxels[1] * grid.voxels[2];
  std::int64_t const maximum =
      std::max(std::int64_t{1}, options_.slab_voxels / (block * block * block * plane));
  for (std::int64_t x = 0; x < grid.voxels[0]; x += maximum) {
    std::int64_t const planes = std::min(maximum, grid.voxels[0] - x);
    auto const values = arrays().read(index, x * block, planes * block);
    VOXCYCLE_REQUIRE(std::ssize(values) == planes * block * fine.voxels[1] * fine.voxels[2],
                     options_.location << ": " << values.size() << " values do not fit "
                                       << planes * block << " planes of " << fine.name() << '.');
    require_sound(values, fine, x * block, omega[0], options_.location);
    average(values.data(), block, {planes, grid.voxels[1], grid.voxels[2]}, nu.data() + x * plane);
  }
}

}  // namespace

std::unique_ptr<CoefficientFamily> make_file(FamilyOptions const& options) {
  return std::make_unique<File>(options.file);
}

}  // namespace voxcycle
