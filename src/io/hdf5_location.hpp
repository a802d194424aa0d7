// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>

#include "io/hdf5.hpp"

namespace voxcycle::hdf5 {

/// What users call an array in an HDF5 file: PATH:/dataset.
struct Location {
  std::string path;
  std::string dataset;  ///< without the leading '/'
};

/// @return nothing for a text of another form
std::optional<Location> parse_location(std::string const& text);

/// @throws Error that names what the file holds, unless that includes the dataset.
void require_dataset(File const& file, std::string const& dataset);

}  // namespace voxcycle::hdf5
