// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

namespace voxcycle {

struct PythonFile {
  std::string name;  ///< e.g. conv.py
  std::string text;
};

/// All of src/network/python, as voxcycle_python in src/cmake/Modules.cmake embeds them.
std::vector<PythonFile> python_files();

}  // namespace voxcycle
