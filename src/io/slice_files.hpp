// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

namespace voxcycle {

/// Whether it ends as names of TIFF files do.
bool is_tiff_name(std::string const& name);
bool is_folder(std::string const& path);

/// Those that fit a pattern, by the numbers in their names: 2 before 10.
std::vector<std::string> files_like(std::string const& pattern);
/// The entries of a folder with names that `takes` takes, in the same order.
std::vector<std::string> files_in(std::string const& folder,
                                  bool (*takes)(std::string const& name));

/// The TIFF files of one image, in the order of their planes:
///
///     FILE.tif                itself
///     A.tif,B.tif,...         these, as they stand
///     FOLDER, 'FOLDER/*.tif'  those there, in that order
///
/// @throws Error where there is none.
std::vector<std::string> slice_files(std::string const& location);

}  // namespace voxcycle
