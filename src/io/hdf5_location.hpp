// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>

#include "io/hdf5.hpp"

namespace voxcycle::hdf5 {

/// What users call an array in an HDF5 file: PATH:/dataset.
struct Location {
  std::string path;
  std::string dataset;  ///< without the leading '/'; "" where none is named
};

/// PATH:/dataset; of files that are HDF5 by their names also FILE.h5 and FILE.h5:dataset.
/// @return nothing for a text of another form
std::optional<Location> parse_location(std::string const& text);

/// The dataset named; where none is, nu, else the only one.
/// @throws Error that names what the file holds, unless that includes it.
std::string dataset_of(File const& file, Location const& location);

/// @throws Error that names what the file holds, unless that includes the dataset.
void require_dataset(File const& file, std::string const& dataset);

}  // namespace voxcycle::hdf5
