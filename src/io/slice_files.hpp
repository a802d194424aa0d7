// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

namespace voxcycle {

/// Whether it ends as names of TIFF files do.
bool is_tiff_name(std::string const& name);
bool is_folder(std::string const& path);

/// The TIFF files of one image, in the order of their planes:
///
///     FILE.tif                itself
///     A.tif,B.tif,...         these, as they stand
///     FOLDER, 'FOLDER/*.tif'  those there, by the numbers in their names: 2 before 10
///
/// @throws Error where there is none.
std::vector<std::string> slice_files(std::string const& location);

}  // namespace voxcycle
