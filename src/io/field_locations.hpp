// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

namespace voxcycle {

/// The files of fields that a list names, as locations of read_voxel_field. A part of the list is
/// one of these locations, or
///
///     'FOLDER/*.npy', 'FOLDER/*.h5:/nu'  files that fit a pattern, by the numbers in their names
///     FOLDER                             its files .npy, .npz, .vtkhdf and .tif
///
/// TIFF files of one page that a pattern or folder finds are the slices of one field.
/// @throws Error for a part that finds nothing.
std::vector<std::string> field_locations(std::string const& list);

}  // namespace voxcycle
