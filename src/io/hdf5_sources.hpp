// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/io/field_file.hpp"

#include <string>

#include <hdf5.h>

namespace voxcycle::hdf5 {

/// HDF5 reads the fill value where a source of a virtual dataset or a file of external numbers is
/// missing, and says nothing.
/// @param path      of the file that holds the dataset
/// @param label     what messages call the dataset
/// @param external  whether sources may be other files
/// @throws Error naming the first that is missing, or that is another file where that is refused.
void require_sources(hid_t dataset, std::string const& path, std::string const& label,
                     External external);

/// @throws Error if a link on the way to the object `name` of `file` leads into another file,
/// before that is opened.
void require_no_external_link(hid_t file, std::string const& name, std::string const& label);

}  // namespace voxcycle::hdf5
