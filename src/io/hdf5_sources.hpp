// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include <hdf5.h>

namespace voxcycle::hdf5 {

/// HDF5 reads the fill value where a source of a virtual dataset or a file of external numbers is
/// missing, and says nothing.
/// @param path   of the file that holds the dataset
/// @param label  what messages call the dataset
/// @throws Error naming the first that is missing.
void require_sources(hid_t dataset, std::string const& path, std::string const& label);

}  // namespace voxcycle::hdf5
