// SPDX-License-Identifier: BSD-3-Clause
// What voxcycle conductivity tells of images: lines, JSON, CSV.
#pragma once

#include "voxcycle/io/image.hpp"
#include "voxcycle/solver/image_conductivity.hpp"

#include <string>
#include <vector>

namespace voxcycle {

/// Of one image: figures, or why there are none.
struct ImageReport {
  std::string image;
  std::vector<PhaseShare> phases{};
  ImageFigures figures{};
  std::string error{};
  std::string png{};      ///< its middle plane, if that is asked for,
  std::string picture{};  ///< and the file that holds it
};

/// The mean, what it lies between, and what of that the solver left.
std::string bracket_words(AxisConductivity const& conductivity);
/// A block of lines for an image.
std::string conductivity_text(ImageReport const& report);
/// @param tolerance  that was asked for
std::string conductivity_json(std::vector<ImageReport> const& reports, double tolerance);
/// A line for each image and axis.
std::string conductivity_csv(std::vector<ImageReport> const& reports);

}  // namespace voxcycle
