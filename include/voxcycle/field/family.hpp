// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/core/callback.hpp"
#include "voxcycle/field/voxel_arrays.hpp"
#include "voxcycle/grid/grid3.hpp"
#include "voxcycle/grid/slab.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace voxcycle {

/// A family of coefficient fields. A sample is a pure function of (family, seed, index, grid): the
/// same bytes on every machine and for every number of processes.
class CoefficientFamily {
 public:
  virtual ~CoefficientFamily() = default;

  /// Name with all parameters, e.g. "kl(modes=4, range=3)": identifies the family in files.
  virtual std::string signature() const = 0;
  /// Whether samples of this signature may be this family's. Arrays are told apart by what they
  /// hold, not by the text of their path: for them, that has to be compared.
  virtual bool may_have(std::string const& other) const { return other == signature(); }
  /// How many samples there are; nothing: as many as one likes. Of a finite family, `index` counts
  /// through all of them, whatever the seed. @throws Error if a file cannot be read.
  virtual std::optional<std::int64_t> sample_count() const { return std::nullopt; }
  /// Looks through a file before anything is made of it. What its numbers look wrong for, as a
  /// sentence for people; else "". @throws Error for one that cannot be read.
  virtual std::string doubt() const { return {}; }
  /// Whether nu has a unit of the user's, that a network trained on it knows; others are around 1.
  virtual bool has_unit() const { return false; }
  /// Length of omega.
  virtual std::int64_t parameter_count() const = 0;
  /// The parameters of sample `index` (the same for every grid).
  virtual std::vector<double> omega(std::uint64_t seed, std::int64_t index) const = 0;
  /// nu at voxel centres for given parameters, z fastest, all > 0 and finite: on all voxels of the
  /// grid, or on some planes of it, where the values are the same.
  /// @throws Error for sizes that do not fit, or omega out of range.
  virtual void evaluate(std::span<double const> omega, Grid3 const& grid, Planes const& planes,
                        std::span<float> nu) const = 0;
};

/// grf: log nu is a stationary Gaussian random field. Lengths are those of Grid3::lengths, at most
/// 1.
struct GrfOptions {
  std::string covariance = "exponential";  ///< exponential: exp(-r/l); gaussian: exp(-r^2/(2 l^2))
  double length = 0.1;                     ///< correlation length l, 0.02 to 0.5
  double variance = 1.0;                   ///< of log nu, > 0 and <= 16
  int band = 48;                           ///< most wave numbers each way along an axis, 1 to 128

  bool operator==(GrfOptions const&) const = default;
};

/// inclusions: spheres and boxes of nu = contrast in a background of nu = 1.
struct InclusionOptions {
  std::string shape = "spheres";            ///< spheres, boxes, both
  std::array<int, 2> count{5, 20};          ///< fewest and most inclusions a sample, 1 to 1000
  std::array<double, 2> radius{0.05, 0.2};  ///< of spheres, half edges of boxes
  double contrast = 1e3;                    ///< 1e-6 to 1e6; below 1 the inclusions insulate

  bool operator==(InclusionOptions const&) const = default;
};

/// file: the user's own arrays.
struct FileOptions {
  std::string location;  ///< handed to `open`, e.g. "fields.h5:/nu"; names the family, too
  /// What the numbers stand for, as Phases' text; "": values.
  std::string phases{};
  /// Called when first needed.
  Callback<VoxelArrays(std::string const& location, std::string const& phases)> open;
  /// What smaller values, 0 among them, are raised to, in the arrays' unit; 0 refuses zeros.
  double floor = 0.0;
  /// Of an array's voxels, so many are in memory at a time (64 MiB), or one plane of blocks.
  std::int64_t slab_voxels = std::int64_t{1} << 24;

  bool operator==(FileOptions const&) const = default;
};

/// Names accepted as GrfOptions::covariance and InclusionOptions::shape.
std::vector<std::string> covariance_names();
std::vector<std::string> inclusion_shape_names();

/// Options of all families; each reads its own part.
struct FamilyOptions {
  std::string name = "kl";
  int modes = 4;             ///< kl: number of modes, 1 to 6
  double omega_range = 3.0;  ///< kl: omega in [-range, range]^modes, range * modes <= 80
  GrfOptions grf;
  InclusionOptions inclusions;
  FileOptions file;

  bool operator==(FamilyOptions const&) const = default;
};

/// Names accepted by make_family.
std::vector<std::string> family_names();
/// @throws Error for an unknown name or parameters out of range, naming the valid ones.
std::unique_ptr<CoefficientFamily> make_family(FamilyOptions const& options);

}  // namespace voxcycle
