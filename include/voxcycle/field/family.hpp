// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/grid/grid3.hpp"

#include <cstdint>
#include <memory>
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
  /// Length of omega.
  virtual std::int64_t parameter_count() const = 0;
  /// The parameters of sample `index` (the same for every grid).
  virtual std::vector<double> omega(std::uint64_t seed, std::int64_t index) const = 0;
  /// nu at voxel centres for given parameters, z fastest, all > 0 and finite; nu.size() must be
  /// grid.voxel_count(). @throws Error for sizes that do not fit, or omega out of range.
  virtual void evaluate(std::span<double const> omega, Grid3 const& grid,
                        std::span<float> nu) const = 0;
};

/// Options of all families; each reads its own part.
struct FamilyOptions {
  std::string name = "kl";
  int modes = 4;             ///< kl: number of modes, 1 to 6
  double omega_range = 3.0;  ///< kl: omega in [-range, range]^modes, range * modes <= 80
};

/// Names accepted by make_family.
std::vector<std::string> family_names();
/// @throws Error for an unknown name or parameters out of range, naming the valid ones.
std::unique_ptr<CoefficientFamily> make_family(FamilyOptions const& options);

}  // namespace voxcycle
