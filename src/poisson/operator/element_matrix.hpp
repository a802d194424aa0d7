// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/grid/grid3.hpp"

#include <array>

#include "poisson/operator/energy_rows.hpp"

namespace voxcycle {

/// 8x8, over the corners of a voxel numbered 4 x + 2 y + z.
using Matrix8 = std::array<std::array<double, 8>, 8>;

/// Eigenvalues of the element matrix for nu = 1 in the Haar basis (see energy.hpp).
HaarSpectrum haar_spectrum(Grid3 const& grid);

/// Each diagonal entry of the element matrix for nu = 1.
double element_diagonal(Grid3 const& grid);

/// The element matrix for nu = 1.
Matrix8 element_stiffness(Grid3 const& grid);

}  // namespace voxcycle
