// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/exact_math.hpp"
#include "voxcycle/core/parallel.hpp"
#include "voxcycle/core/random.hpp"
#include "voxcycle/core/text.hpp"

#include <cmath>

#include "field/families.hpp"
#include "field/normal.hpp"
#include "field/row_product.hpp"
#include "field/spectrum.hpp"
#include "field/voxel_centre.hpp"

namespace voxcycle {
namespace {

constexpr std::uint64_t kStream = 0x677266;  // tells our random numbers from other families'
constexpr double kMaxKey = 0x1.0p53;

/// Lognormal Gaussian random field on a box within the unit cube by a truncated Fourier series
///
///     log nu = sum_{p,q,r} d(p, q, r) z_{pqr} phi_p(x) phi_q(y) phi_r(z),
///     phi_0 = 1,  phi_{2m-1}(s) = sqrt(2) cos(2 pi m s / period),  phi_{2m} the same with sin
///
/// with d the deviation that WaveSpectrum gives to the wave numbers |m| of p, q, r, and z_{pqr}
/// standard normal numbers, each a hash of (sample, p, q, m of r). Cosines and sines of equal
/// deviation make the field stationary (Shinozuka and Deodatis 1991). The grid plays no part:
/// coarse and fine levels sample one function at their voxel centres, and sums run separably, an
/// axis at a time.
///
/// The one parameter of a sample is its key, a whole number below 2^53.
class Grf : public CoefficientFamily {
 public:
  explicit Grf(GrfOptions const& options)
      : options_(options),
        spectrum_(make_spectrum(options)),
        functions_(2 * spectrum_.band + 1),
        row_(padded_row(functions_)) {}

  std::string signature() const override {
    return format("grf(covariance=%s, length=%.17g, variance=%.17g, band=%d)",
                  options_.covariance.c_str(), options_.length, options_.variance, options_.band);
  }

  std::int64_t parameter_count() const override { return 1; }

  std::vector<double> omega(std::uint64_t seed, std::int64_t index) const override {
    auto const bits = hash_bits({kStream, seed, static_cast<std::uint64_t>(index)});
    return {static_cast<double>(bits >> 11)};
  }

  void evaluate(std::span<double const> omega, Grid3 const& grid, Planes const& planes,
                std::span<float> nu) const override;

 private:
  std::vector<double> coefficients(std::uint64_t key) const;
  std::vector<double> functions_at_centres(Grid3 const& grid, int axis, Planes const& of) const;
  std::vector<double> sum_along_x(std::vector<double> const& coefficients,
                                  std::vector<double> const& phi) const;

  GrfOptions options_;
  WaveSpectrum spectrum_;
  std::int64_t functions_;  ///< phi an axis
  std::int64_t row_;        ///< functions_, padded
};

/// |m| of phi_p.
int wave_number(std::int64_t p) {
  return static_cast<int>((p + 1) / 2);
}

/// d z as [q, p, r], rows padded with zeros.
std::vector<double> Grf::coefficients(std::uint64_t key) const {
  std::vector<double> values(static_cast<std::size_t>(functions_ * functions_ * row_), 0.0);
  parallel_for(functions_, functions_ * row_, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t q = begin; q < end; ++q) {
      for (std::int64_t p = 0; p < functions_; ++p) {
        double* row = values.data() + (q * functions_ + p) * row_;
        auto const row_key =
            hash_bits({key, static_cast<std::uint64_t>(p), static_cast<std::uint64_t>(q)});
        for (int m = 0; m <= spectrum_.band; ++m) {
          double const deviation = spectrum_.at(wave_number(p), wave_number(q), m);
          if (deviation == 0.0) break;
          auto const [first, second] =
              normal_pair(hash_bits({row_key, static_cast<std::uint64_t>(m)}));
          row[m == 0 ? 0 : 2 * m - 1] = deviation * first;
          if (m > 0) row[2 * m] = deviation * second;
        }
      }
    }
  });
  return values;
}

/// phi_p at the centres of some voxels of an axis as [n, p], rows padded.
std::vector<double> Grf::functions_at_centres(Grid3 const& grid, int axis, Planes const& of) const {
  constexpr double kTwoPi = 6.283185307179586;
  std::vector<double> values(static_cast<std::size_t>(of.count * row_), 0.0);
  for (std::int64_t i = 0; i < of.count; ++i) {
    double const s = voxel_centre(grid, axis, of.begin + i);
    double* row = values.data() + i * row_;
    row[0] = 1.0;
    for (int m = 1; m <= spectrum_.band; ++m) {
      double const angle = kTwoPi / spectrum_.period * m * s;
      row[2 * m - 1] = std::sqrt(2.0) * exact_cos(angle);
      row[2 * m] = std::sqrt(2.0) * exact_sin(angle);
    }
  }
  return values;
}

/// sum_p d z phi_p(x) as [n, q, r]. @param phi  of x, [n, p]
std::vector<double> Grf::sum_along_x(std::vector<double> const& coefficients,
                                     std::vector<double> const& phi) const {
  auto const n = std::ssize(phi) / row_;
  std::vector<double> sums(static_cast<std::size_t>(n * functions_ * row_), 0.0);
  parallel_for(functions_, n * row_, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t q = begin; q < end; ++q) {
      std::int64_t const reached = 2 * spectrum_.reach(wave_number(q)) + 1;  // zeros beyond
      multiply_rows({.a = phi.data(),
                     .a_stride = row_,
                     .b = coefficients.data() + q * functions_ * row_,
                     .b_stride = row_,
                     .c = sums.data() + q * row_,
                     .c_stride = functions_ * row_,
                     .rows = n,
                     .inner = reached,
                     .columns = padded_row(reached)});
    }
  });
  return sums;
}

void Grf::evaluate(std::span<double const> omega, Grid3 const& grid, Planes const& planes,
                   std::span<float> nu) const {
  require_valid(grid);
  VOXCYCLE_REQUIRE(
      std::ssize(omega) == 1 && std::ssize(nu) == on_planes(grid, planes).voxel_count(),
      "grf: " << omega.size() << " parameters and " << nu.size() << " voxels do not fit one key on "
              << grid.name() << '.');
  for (double length : grid.lengths) {
    VOXCYCLE_REQUIRE(length <= 1.0, "grf: an edge of " << length << ". The field has the period of "
                                                       << spectrum_.period
                                                       << ": use a grid with no edge longer than "
                                                          "1.");
  }
  double const key = omega[0];
  VOXCYCLE_REQUIRE(key >= 0 && key < kMaxKey && key == std::floor(key),
                   "grf: " << key << " is no key of a sample. Keys are whole numbers below 2^53.");
  Planes const along_x = or_all(planes, grid);
  std::int64_t const ny = grid.voxels[1];
  std::int64_t const nz = grid.voxels[2];
  auto const sums = sum_along_x(coefficients(static_cast<std::uint64_t>(key)),
                                functions_at_centres(grid, 0, along_x));
  auto const phi_y = functions_at_centres(grid, 1, {0, ny});
  auto const phi_z = functions_at_centres(grid, 2, {0, nz});
  std::int64_t const out_row = padded_row(nz);
  std::vector<double> across(static_cast<std::size_t>(functions_ * out_row), 0.0);  // phi_z^T
  for (std::int64_t z = 0; z < nz; ++z) {
    for (std::int64_t r = 0; r < functions_; ++r) across[r * out_row + z] = phi_z[z * row_ + r];
  }
  parallel_for(along_x.count, ny * nz, [&](std::int64_t begin, std::int64_t end) {
    std::vector<double> along_y(static_cast<std::size_t>(ny * row_));
    std::vector<double> plane(static_cast<std::size_t>(ny * out_row));
    for (std::int64_t x = begin; x < end; ++x) {
      multiply_rows({.a = phi_y.data(),
                     .a_stride = row_,
                     .b = sums.data() + x * functions_ * row_,
                     .b_stride = row_,
                     .c = along_y.data(),
                     .c_stride = row_,
                     .rows = ny,
                     .inner = functions_,
                     .columns = row_});
      multiply_rows({.a = along_y.data(),
                     .a_stride = row_,
                     .b = across.data(),
                     .b_stride = out_row,
                     .c = plane.data(),
                     .c_stride = out_row,
                     .rows = ny,
                     .inner = functions_,
                     .columns = out_row});
      exact_exp(plane);
      float* out = nu.data() + x * ny * nz;
      for (std::int64_t y = 0; y < ny; ++y, out += nz) {
        for (std::int64_t z = 0; z < nz; ++z) {
          out[z] = static_cast<float>(plane[y * out_row + z]);
        }
      }
    }
  });
}

}  // namespace

std::unique_ptr<CoefficientFamily> make_grf(FamilyOptions const& options) {
  return std::make_unique<Grf>(options.grf);
}

}  // namespace voxcycle
