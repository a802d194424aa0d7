// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>

#include "field/block_means.hpp"
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
    VOXCYCLE_REQUIRE(
        !options_.location.empty(),
        "file: the location of the arrays is empty. Give data.file, e.g. fields.h5:/nu or "
        "'fields/*.npy'.");
    VOXCYCLE_REQUIRE(options_.open, "file: nothing was given that opens the arrays.");
  }

  std::string signature() const override {
    std::string const floor =
        options_.floor > 0.0 ? ", floor=" + shortest_text(options_.floor) : "";
    std::string const phases = options_.phases.empty() ? "" : ", phases=" + options_.phases;
    return "file(" + options_.location + phases + floor + ")";
  }
  bool may_have(std::string const& other) const override { return other.starts_with("file("); }
  std::optional<std::int64_t> sample_count() const override { return arrays().samples; }
  std::string doubt() const override { return arrays().doubt ? arrays().doubt() : ""; }
  bool has_unit() const override { return true; }
  std::int64_t parameter_count() const override { return 1; }

  std::vector<double> omega(std::uint64_t /*seed*/, std::int64_t index) const override {
    require_sample(static_cast<double>(index));
    return {static_cast<double>(index)};
  }

  void evaluate(std::span<double const> omega, Grid3 const& grid, Planes const& planes,
                std::span<float> nu) const override;

 private:
  VoxelArrays const& arrays() const {
    std::call_once(opened_, [&] { arrays_ = options_.open(options_.location, options_.phases); });
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

/// Raises values from 0 on to `floor`.
/// @param first  plane along x that the values begin with
void make_sound(std::vector<float>& values, Grid3 const& grid, std::int64_t first, double row,
                FileOptions const& options) {
  auto const floor = static_cast<float>(options.floor);
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (values[k] >= 0) values[k] = std::max(values[k], floor);
    if (values[k] > 0 && std::isfinite(values[k])) continue;
    auto const place = static_cast<std::int64_t>(k);
    auto const [nx, ny, nz] = grid.voxels;
    static_cast<void>(nx);
    VOXCYCLE_REQUIRE(false, options.location
                                << ": sample " << row << " is " << values[k] << " at voxel ("
                                << first + place / (ny * nz) << ", " << place / nz % ny << ", "
                                << place % nz
                                << ") in float32 (the equation needs a positive and finite "
                                   "coefficient). "
                                << (values[k] == 0 ? "Set data.floor to what voxels of 0 "
                                                     "are to be taken as."
                                                   : "Correct the array."));
  }
}

void File::evaluate(std::span<double const> omega, Grid3 const& grid, Planes const& planes,
                    std::span<float> nu) const {
  require_valid(grid);
  VOXCYCLE_REQUIRE(
      std::ssize(omega) == 1 && std::ssize(nu) == on_planes(grid, planes).voxel_count(),
      "file: " << omega.size() << " parameters and " << nu.size()
               << " voxels do not fit one place in a list on " << grid.name() << '.');
  require_sample(omega[0]);
  Grid3 const& fine = arrays().grid;
  std::int64_t const block = block_means::size_of_block(fine, grid, options_.location);
  auto const index = static_cast<std::int64_t>(omega[0]);
  auto const plane = grid.voxels[1] * grid.voxels[2];
  std::int64_t const maximum =
      std::max(std::int64_t{1}, options_.slab_voxels / (block * block * block * plane));
  auto const [begin, all] = or_all(planes, grid);
  for (std::int64_t x = begin; x < begin + all; x += maximum) {
    std::int64_t const count = std::min(maximum, begin + all - x);
    auto values = arrays().read(index, x * block, count * block);
    VOXCYCLE_REQUIRE(std::ssize(values) == count * block * fine.voxels[1] * fine.voxels[2],
                     options_.location << ": " << values.size() << " values do not fit "
                                       << count * block << " planes of " << fine.name() << '.');
    make_sound(values, fine, x * block, omega[0], options_);
    block_means::average(values.data(), block, {count, grid.voxels[1], grid.voxels[2]},
                         nu.data() + (x - begin) * plane);
  }
}

}  // namespace

std::unique_ptr<CoefficientFamily> make_file(FamilyOptions const& options) {
  return std::make_unique<File>(options.file);
}

}  // namespace voxcycle
