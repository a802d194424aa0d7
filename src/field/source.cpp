// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/field/source.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/exact_math.hpp"
#include "voxcycle/core/random.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/field/formula.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numbers>
#include <optional>
#include <regex>
#include <utility>
#include <vector>

#include "field/block_means.hpp"

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

double root_of_mean_square(std::vector<float> const& values) {
  double squares = 0.0;
  for (double const value : values) squares += value * value;
  return std::sqrt(squares / static_cast<double>(values.size()));
}

std::string content_of(SourceField const& field) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;  // FNV-1a of whole values
  for (float const value : field.values) {
    hash = (hash ^ std::bit_cast<std::uint32_t>(value)) * 0x100000001b3ULL;
  }
  return "file(" + field.grid.name() + ", rms=" + shortest_text(root_of_mean_square(field.values)) +
         format(", hash=%016llx)", static_cast<unsigned long long>(hash_bits({hash})));
}

/// The source of a content_of, else nothing.
std::optional<Source> parse_content(std::string const& text) {
  static std::regex const pattern(R"(file\(\d+x\d+x\d+, rms=([0-9.e+-]+), hash=[0-9a-f]{16}\))");
  std::smatch match;
  if (!std::regex_match(text, match, pattern)) return std::nullopt;
  auto const size = parse_number<double>(match[1].str());
  if (!size || !(*size > 0.0)) return std::nullopt;
  return Source{.kind = SourceKind::file, .content = text, .size = *size};
}

}  // namespace

Source parse_source(std::string_view text) {
  if (text == "sampled") return {SourceKind::sampled, 0.0};
  if (auto const known = parse_content(std::string(text))) return *known;
  if (auto const value = parse_number<double>(text); value && std::isfinite(*value)) {
    return {SourceKind::constant, *value == 0.0 ? 0.0 : *value};  // no -0
  }
  std::string const formula(text);
  try {
    require_formula(formula);
  } catch (Error const& problem) {
    throw Error(std::string("source ") + problem.what() +
                " Write the constant value of f, 0 for none, sampled, a formula such as "
                "8*sin(pi*x), or a file such as f.npy.");
  }
  return {.kind = SourceKind::formula, .formula = formula};
}

double source_size(Source const& source) {
  if (source.kind == SourceKind::constant) return std::abs(source.value);
  if (source.kind == SourceKind::sampled) return source_rms;
  if (source.kind == SourceKind::file) return source.size;
  return root_of_mean_square(formula_values(source.formula, Grid3::cube(kSizeGrid)));
}

std::string to_string(Source const& source) {
  if (source.kind == SourceKind::sampled) return "sampled";
  if (source.kind == SourceKind::formula) return source.formula;
  if (source.kind == SourceKind::file) return source.content;
  return shortest_text(source.value);
}

Source source_in_file(Callback<SourceField()> read) {
  auto const field = read();
  double const size = root_of_mean_square(field.values);
  VOXCYCLE_REQUIRE(size > 0.0 && std::isfinite(size),
                   field.location << ": f is zero everywhere, or too large for float32. Give "
                                     "problem.source = 0, or correct the file.");
  return {.kind = SourceKind::file,
          .content = content_of(field),
          .size = size,
          .read = std::move(read)};
}

std::vector<float> file_source_values(Source const& source, Grid3 const& grid,
                                      Planes const& planes) {
  require_valid(grid);
  VOXCYCLE_REQUIRE(source.read, "of the source " << source.content
                                                 << " only this is known, not its values. Name "
                                                    "the file in problem.source.");
  auto const field = source.read();
  VOXCYCLE_REQUIRE(content_of(field) == source.content,
                   field.location << " has changed: it held " << source.content << ", and holds "
                                  << content_of(field) << " now. Start again.");
  auto const block = block_means::size_of_block(field.grid, grid, field.location);
  Grid3 const part = on_planes(grid, planes);
  std::vector<float> values(static_cast<std::size_t>(part.voxel_count()));
  std::int64_t const before = planes.begin * block * field.grid.voxels[1] * field.grid.voxels[2];
  block_means::average(field.values.data() + before, block, part.voxels, values.data());
  return values;
}

void sample_source(std::uint64_t seed, std::int64_t index, Grid3 const& grid, Planes const& planes,
                   std::span<float> f) {
  require_valid(grid);
  VOXCYCLE_REQUIRE(
      std::ssize(f) == on_planes(grid, planes).voxel_count(),
      "source of " << f.size() << " voxels does not fit the grid " << grid.name() << '.');
  auto const [nx, ny, nz] = grid.voxels;
  auto const along_x = cosines(nx), along_y = cosines(ny), along_z = cosines(nz);
  auto const weights = coefficients(seed, index);
  float* out = f.data();
  auto const [begin, count] = or_all(planes, grid);
  for (std::int64_t x = begin; x < begin + count; ++x) {
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
