// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/io/png.hpp"

#include <string>
#include <utility>
#include <vector>

namespace voxcycle {

/// A picture with its caption and the range and kind of its colours.
struct Picture {
  std::string caption;
  std::string png;
  double low = 0.0;
  double high = 0.0;
  std::string unit;
  ColorMap colors = ColorMap::sequential;
};

/// Slices of one sample side by side: nu, u, reference, error.
struct SamplePictures {
  std::string title;  ///< e.g. "worst sample (index 17)"
  std::string note;   ///< e.g. its errors in words
  std::vector<Picture> pictures;
};

/// @return a section of a page with the samples' pictures, "" without samples.
std::string render_samples(std::vector<SamplePictures> const& samples);

/// @return a page of pictures below the figures of the solution, a name and a value each.
std::string render_slices(std::string const& title,
                          std::vector<std::pair<std::string, std::string>> const& figures,
                          std::vector<SamplePictures> const& samples);

}  // namespace voxcycle
