// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/core/callback.hpp"
#include "voxcycle/grid/grid3.hpp"
#include "voxcycle/grid/slab.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace voxcycle {

enum class SourceKind {
  constant,  ///< f has one value everywhere in every sample
  sampled,   ///< every sample has a smooth random f of its own (sample_source)
  formula,   ///< f is a function of the place, the same one in every sample (formula_values)
  file       ///< f stands in a file, the same one in every sample (file_source_values)
};

/// What a file holds.
struct SourceField {
  std::string location;  ///< for messages
  Grid3 grid;
  std::vector<float> values;  ///< z fastest
};

/// Right-hand side f of -div(nu grad u) = f, constant within a voxel.
struct Source {
  SourceKind kind = SourceKind::constant;
  double value = 0.0;     ///< of a constant source
  std::string formula{};  ///< of a source by formula
  std::string content{};  ///< of one in a file, what it holds: grid, root of the mean square, hash
  double size = 0.0;      ///< of one in a file, that root
  Callback<SourceField()> read{};  ///< of one in a file, empty where only its content is known

  /// Whether f differs from voxel to voxel: samples then hold it, and the network sees it.
  bool varies() const { return kind != SourceKind::constant; }
  bool is_zero() const { return kind == SourceKind::constant && value == 0.0; }
  bool operator==(Source const&) const = default;
};

/// Root of the mean square of sampled sources. On the unit cube with nu = 1 a source of 8 between
/// two faces of value 0 makes a parabola of height 1.
constexpr double source_rms = 8.0;

/// A typical |f|: of a sampled source source_rms, of a formula the root of its mean square on the
/// unit cube, of a file that of its values.
double source_size(Source const& source);

/// Parses a finite number, "sampled", a formula in x, y and z, or what to_string makes of a file.
/// @throws Error for anything else.
Source parse_source(std::string_view text);
/// The inverse of parse_source. A file is named by its content, wherever it lies:
/// "file(64x64x64, rms=8, hash=0123456789abcdef)".
std::string to_string(Source const& source);

/// The source that `read` reads, once now and again for each file_source_values.
/// @throws Error if f is zero everywhere, or what `read` throws.
Source source_in_file(Callback<SourceField()> read);
/// f on `grid`, or some planes of it: the means over blocks of the file's voxels, as families
/// coarsen nu.
/// @throws Error if the grid is not the file's or coarser by a whole number, if the file holds
/// something else by now, or if the source is known by its content alone.
std::vector<float> file_source_values(Source const& source, Grid3 const& grid,
                                      Planes const& planes = {});

/// The source of sample `index`, a pure function that every grid samples at its voxel centres:
///
///     f = 8 c sum_ijk xi_ijk / (1 + i^2 + j^2 + k^2) cos(pi i x) cos(pi j y) cos(pi k z)
///
/// over i, j, k = 0, 1, 2 with x, y, z scaled to [0, 1], xi uniform with variance 1, and c such
/// that the mean square of f is 8^2 in expectation.
/// @param f  z fastest, of all voxels or those of some planes
/// @throws Error for sizes that do not fit.
void sample_source(std::uint64_t seed, std::int64_t index, Grid3 const& grid, Planes const& planes,
                   std::span<float> f);

}  // namespace voxcycle
