// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

namespace voxcycle {

/// Version of the linked FFTW. @throws Error if another library (MKL exports the same names) has
/// taken FFTW's place.
std::string fftw_library_version();

}  // namespace voxcycle
