// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/field/source.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/exact_math.hpp"
#include "voxcycle/core/random.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/field/formula.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

namespace voxcycle {
namespace {

constexpr int kModes = 3;               // an axis
constexpr std::int64_t kSizeGrid = 32;  // on which the size of a formula is found
/// Keeps the coefficients apart from all else that is drawn from the seed.
constexpr std::uint64_t kStream = 0x736f75726365U;

/// cos(pi i x) at the voxel centres of an axis, one row a mode.
std::array<std::vector<double>, kModes> cosines(std::int64_t n) {
  std::array<std::vector<double>, kModes> rows;
  for (int i = 0; i < kModes; ++i) {
    for (std::int64_t k = 0; k < n; ++k) {
      double const x = (static_cast<double>(k) + 0.5) / static_cast<double>(n);
      rows[i].push_back(exact_cos(std::numbers::pi * i * x));
    }
  }
  return rows;
}

double decay(int i, int j, int k) {
  return 1.0 / (1 + i * i + j * j + k * k);
}

/// Coefficients of one sample, ijk with k fastest.
std::vector<double> coefficients(std::uint64_t seed, std::int64_t index) {
  std::vector<double> values;
  double mean_square = 0.0;
  std::uint64_t number = 0;
  for (int i = 0; i < kModes; ++i) {
    for (int j = 0; j < kModes; ++j) {
      for (int k = 0; k < kModes; ++k, ++number) {
        double const uniform =
            hash_uniform({kStream, seed, static_cast<std::uint64_t>(index), number});
        values.push_back(decay(i, j, k) * std::sqrt(12.0) * (uniform - 0.5));
        // cos^2 has mean 1/2 but for the constant mode.
        double const share = (i > 0 ? 0.5 : 1.0) * (j > 0 ? 0.5 : 1.0) * (k > 0 ? 0.5 : 1.0);
        mean_square += decay(i, j, k) * decay(i, j, k) * share;
      }
    }
  }
  for (double& value : values) value *= source_rms / std::sqrt(mean_square);
  return values;
}

}  // namespace

Source parse_source(std::string_view text) {
  if (text == "sampled") return {SourceKind::sampled, 0.0};
  if (auto const value = parse_number<double>(text); value && std::isfinite(*value)) {
    return {SourceKind::constant, *value == 0.0 ? 0.0 : *value};  // no -0
  }
  std::string const formula(text);
  try {
    require_formula(formula);
  } catch (Error const& problem) {
    throw Error(std::string("source ") + problem.what() +
                " Write the constant value of f, 0 for none, sampled, or a formula such as "
                "8*sin(pi*x).");
  }
  return {.kind = SourceKind::formula, .formula = formula};
}

double source_size(Source const& source) {
  if (source.kind == SourceKind::constant) return std::abs(source.value);
  if (source.kind == SourceKind::sampled) return source_rms;
  double squares = 0.0;
  auto const values = formula_values(source.formula, Grid3::cube(kSizeGrid));
  for (double const value : values) squares += value * value;
  return std::sqrt(squares / static_cast<double>(values.size()));
}

std::string to_string(Source const& source) {
  if (source.kind == SourceKind::sampled) return "sampled";
  if (source.kind == SourceKind::formula) return source.formula;
  return shortest_text(source.value);
}

void sample_source(std::uint64_t seed, std::int64_t index, Grid3 const& grid, std::span<float> f) {
  require_valid(grid);
  VOXCYCLE_REQUIRE(
      std::ssize(f) == grid.voxel_count(),
      "source of " << f.size() << " voxels does not fit the grid " << grid.name() << '.');
  auto const [nx, ny, nz] = grid.voxels;
  auto const along_x = cosines(nx), along_y = cosines(ny), along_z = cosines(nz);
  auto const weights = coefficients(seed, index);
  float* out = f.data();
  for (std::int64_t x = 0; x < nx; ++x) {
    for (std::int64_t y = 0; y < ny; ++y) {
      std::array<double, kModes> of_z{};
      for (int i = 0; i < kModes; ++i) {
        for (int j = 0; j < kModes; ++j) {
          double const factor = along_x[i][x] * along_y[j][y];
          for (int k = 0; k < kModes; ++k) {
            of_z[k] += factor * weights[(i * kModes + j) * kModes + k];
          }
        }
      }
      for (std::int64_t z = 0; z < nz; ++z) {
        double value = 0.0;
        for (int k = 0; k < kModes; ++k) value += of_z[k] * along_z[k][z];
        *out++ = static_cast<float>(value);
      }
    }
  }
}

}  // namespace voxcycle
