// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/exact_math.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/field/sobol.hpp"

#include <array>
#include <cmath>

#include "field/families.hpp"

namespace voxcycle {
namespace {

/// Positive roots a_i of tan a = 4 a / (a^2 - 4): the modes of the covariance exp(-2 |s - t|) on
/// [0, 1].
constexpr double kRoots[] = {1.720667178038759, 4.057515676220868,  6.851236918963457,
                             9.826360878869767, 12.874596358343892, 15.957331424826481};
constexpr int kMaxModes = 6;
/// |log nu| stays below the sum of |omega|; e^80 and e^-80 are well inside the range of float.
constexpr double kMaxLogarithm = 80.0;

/// lambda_i = 1 / (1 + a_i^2 / 4).
double eigenvalue(double a) {
  return 1.0 / (1.0 + 0.25 * a * a);
}

/// eta_i at the n voxel centres of one axis of unit length.
std::vector<double> mode_at_centres(double a, std::int64_t n) {
  std::vector<double> eta(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) {
    double const s = (static_cast<double>(i) + 0.5) / static_cast<double>(n);
    eta[static_cast<std::size_t>(i)] = 0.5 * a * exact_cos(a * s) + exact_sin(a * s);
  }
  return eta;
}

/// Truncated Karhunen-Loeve-like lognormal field of the MGDiffNet papers:
///
///     log nu = sum_i omega_i lambda_i^(3/2) eta_i(x) eta_i(y) eta_i(z),
///     eta_i(s) = a_i/2 cos(a_i s) + sin(a_i s)
///
/// with x, y, z scaled to [0, 1] and omega uniform in [-range, range]^modes (Sobol). As
/// |eta_i| <= lambda_i^(-1/2), |log nu| <= sum_i |omega_i|.
class Kl : public CoefficientFamily {
 public:
  explicit Kl(FamilyOptions const& options) : modes_(options.modes), range_(options.omega_range) {
    VOXCYCLE_REQUIRE(modes_ >= 1 && modes_ <= kMaxModes,
                     "kl has no " << modes_ << " modes. Use 1 to " << kMaxModes << '.');
    VOXCYCLE_REQUIRE(range_ > 0 && range_ * modes_ <= kMaxLogarithm,
                     "kl: omega range "
                         << range_ << " with " << modes_
                         << " modes (nu could leave the range of float). Use a range in (0, "
                         << kMaxLogarithm / modes_ << "].");
  }

  std::string signature() const override {
    return format("kl(modes=%d, range=%.17g)", modes_, range_);
  }

  std::int64_t parameter_count() const override { return modes_; }

  std::vector<double> omega(std::uint64_t seed, std::int64_t index) const override {
    std::vector<double> values = sobol_point(seed, index, modes_);
    for (double& value : values) value = range_ * (2.0 * value - 1.0);
    return values;
  }

  void evaluate(std::span<double const> omega, Grid3 const& grid, Planes const& planes,
                std::span<float> nu) const override;

 private:
  int modes_;
  double range_;
};

void Kl::evaluate(std::span<double const> omega, Grid3 const& grid, Planes const& planes,
                  std::span<float> nu) const {
  require_valid(grid);
  VOXCYCLE_REQUIRE(
      std::ssize(omega) == modes_ && std::ssize(nu) == on_planes(grid, planes).voxel_count(),
      "kl: " << omega.size() << " parameters and " << nu.size() << " voxels do not fit " << modes_
             << " modes on " << grid.name() << '.');
  double bound = 0.0;
  for (double value : omega) bound += std::abs(value);
  VOXCYCLE_REQUIRE(bound <= kMaxLogarithm, "kl: the sum of |omega| is "
                                               << bound << " (nu could leave the range of float). "
                                               << "Keep it below " << kMaxLogarithm << '.');
  auto const [nx, ny, nz] = grid.voxels;
  std::vector<std::array<std::vector<double>, 3>> eta;
  std::vector<double> weight;
  for (int i = 0; i < modes_; ++i) {
    double const a = kRoots[i];
    double const lambda = eigenvalue(a);
    weight.push_back(omega[i] * lambda * std::sqrt(lambda));
    eta.push_back({mode_at_centres(a, nx), mode_at_centres(a, ny), mode_at_centres(a, nz)});
  }
  std::vector<double> row(static_cast<std::size_t>(nz));
  float* out = nu.data();
  auto const [begin, count] = or_all(planes, grid);
  for (std::int64_t x = begin; x < begin + count; ++x) {
    for (std::int64_t y = 0; y < ny; ++y, out += nz) {
      std::fill(row.begin(), row.end(), 0.0);
      for (int i = 0; i < modes_; ++i) {
        double const factor = weight[i] * eta[i][0][x] * eta[i][1][y];
        double const* along_z = eta[i][2].data();
        for (std::int64_t z = 0; z < nz; ++z) row[z] += factor * along_z[z];
      }
      exact_exp(row);
      for (std::int64_t z = 0; z < nz; ++z) out[z] = static_cast<float>(row[z]);
    }
  }
}

}  // namespace

std::unique_ptr<CoefficientFamily> make_kl(FamilyOptions const& options) {
  return std::make_unique<Kl>(options);
}

}  // namespace voxcycle
