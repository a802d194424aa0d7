// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/io/field_file.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace voxcycle {

/// What the numbers of an image stand for.
struct Phases {
  bool are_values = false;                           ///< the numbers are conductivities
  std::vector<std::pair<double, double>> of_labels;  ///< label, its value >= 0
};

/// "0:0,1:1,2:0.3", labels to values, or "self": they are values.
/// @throws Error naming `name` for another text, a label that stands twice, a negative value.
Phases parse_phases(std::string const& name, std::string const& text);

/// Voxels first to last - 1 along x, y and z; nothing: to the end.
struct Crop {
  std::array<std::int64_t, 3> first{};
  std::array<std::optional<std::int64_t>, 3> end{};
};

/// "x0:x1,y0:y1,z0:z1"; a number may be left out: ":" is a whole axis. @throws Error naming `name`.
Crop parse_crop(std::string const& name, std::string const& text);

struct ImageOptions {
  VoxelFieldOptions field{};
  std::optional<Crop> crop{};
  std::optional<double> threshold{};  ///< numbers below it become the label 0, others 1
  std::optional<Phases> phases{};
};

/// How much of an image has one number.
struct PhaseShare {
  double label;  ///< in the file, or by the threshold
  double value;  ///< what it conducts
  std::int64_t voxels;
};

/// A coefficient as an image shows it.
struct Image {
  VoxelField field;                ///< values >= 0 and finite
  std::vector<PhaseShare> phases;  ///< by label; empty where there are many numbers
  /// Where no phases were given and the numbers are a few whole ones: that they look like labels,
  /// and what to do, as a sentence. Else "".
  std::string doubt;
};

/// Reads a field as read_voxel_field does, and gives its numbers a meaning: crop, threshold,
/// phases, in this order.
/// @throws UsageError if the crop reaches beyond the image, a label has no value or a phase does
/// not occur, naming them; Error naming the file for numbers that are negative or not finite.
Image read_image(std::string const& location, ImageOptions const& options = {});

/// As Image::doubt, of numbers without phases. @param option  how phases are given, e.g. "--phases
/// "
std::string label_doubt(std::span<double const> values, std::string const& option);

/// @throws Error naming the file unless an image has two values at least, of which one conducts.
void require_two_values(std::string const& location, Image const& image);

/// The middle plane across x, of a TIFF the middle page, as PNG: y downwards, z to the right, a
/// voxel a square, colours from its least value to its largest.
std::string middle_plane_png(VoxelField const& field);

}  // namespace voxcycle
