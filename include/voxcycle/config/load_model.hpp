// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <string>

namespace voxcycle {

struct Model;

/// The model of a checkpoint, or of a run directory's, for SolverOptions::model. Reading it
/// switches off what HDF5 prints of errors by itself (H5Eset_auto2); other threads must not use an
/// HDF5 library without locks meanwhile.
/// @throws Error naming the file if it is missing, damaged, or no checkpoint of this version.
std::shared_ptr<Model> load_model(std::string const& path);

}  // namespace voxcycle
