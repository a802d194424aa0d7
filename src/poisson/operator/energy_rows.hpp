// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/core/instruction_set.hpp"

#include <cstdint>

namespace voxcycle {

/// Eigenvalues of the Q1 element matrix for nu = 1 in the basis of sums (s) and differences (d)
/// along x, y, z; that of (s,s,s) is zero. Indexed by 4 [x is d] + 2 [y is d] + [z is d].
struct HaarSpectrum {
  double lambda[8];
};

/// One slab of voxel planes of one sample: what the row kernel does in one call.
template <class T>
struct SlabJob {
  T const* u;             ///< first node plane of the slab; planes follow each other
  T const* nu;            ///< first voxel plane
  T* gradient;            ///< first node plane of K u
  std::int64_t planes;    ///< voxel planes in the slab
  std::int64_t ny, nz;    ///< voxels along y and z
  bool add_first;         ///< add to the first node plane instead of setting it
  bool add_last;          ///< the same for the last one
  HaarSpectrum spectrum;  ///< of the element matrix
  T* scratch;             ///< energy_scratch_size(nz) values, 64-byte aligned
  double* energies;       ///< u^T K u of each voxel plane
};

/// A row of scratch holds nz + 1 values or more and keeps 64-byte alignment.
constexpr std::int64_t energy_scratch_row(std::int64_t nz) {
  return (nz + 16) / 16 * 16;
}
constexpr std::int64_t energy_scratch_size(std::int64_t nz) {
  return 13 * energy_scratch_row(nz);
}

/// The row kernel (src/poisson/kernels/energy_rows.cpp), compiled once per instruction set and
/// chosen at run time. All give the same bits: no fused multiply-add, and sums in a fixed number of
/// lanes.
namespace energy_rows {

struct Table {
  /// Writes K u restricted to the slab's voxels, and their energies.
  void (*f32)(SlabJob<float> const& job);
  void (*f64)(SlabJob<double> const& job);

  void sweep(SlabJob<float> const& job) const { f32(job); }
  void sweep(SlabJob<double> const& job) const { f64(job); }
};

VOXCYCLE_KERNEL_TABLES

}  // namespace energy_rows

}  // namespace voxcycle
