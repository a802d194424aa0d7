// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/grid/grid3.hpp"
#include "voxcycle/grid/slab.hpp"

#include <array>
#include <string>
#include <string_view>

#include <ATen/core/Tensor.h>

namespace voxcycle {

enum class FaceKind { dirichlet, zero_flux };

struct Face {
  FaceKind kind = FaceKind::zero_flux;
  double value = 0.0;  ///< constant Dirichlet value g; unused for zero flux
  bool operator==(Face const&) const = default;
};

/// Conditions on the six faces of the box, in the order x-, x+, y-, y+, z-, z+.
/// Default: u = 1 at x = 0, u = 0 at x = 1, zero flux on the other four.
struct Boundary {
  std::array<Face, 6> faces{Face{FaceKind::dirichlet, 1.0},
                            Face{FaceKind::dirichlet, 0.0},
                            Face{},
                            Face{},
                            Face{},
                            Face{}};

  Face const& face(int axis, int side) const { return faces[2 * axis + side]; }
  bool has_dirichlet() const;
  /// Whether two Dirichlet faces differ; else the lift is constant.
  bool has_different_values() const;
  /// Whether two Dirichlet faces that meet differ: a field prolonged from the coarser grid then
  /// lacks the exact values beside their edge.
  bool has_steps() const;
  bool operator==(Boundary const&) const = default;
};

/// Of a part of a grid: faces that cut it have no condition of their own (zero flux), and nodes on
/// them are others'.
Boundary of_part(Boundary boundary, Slab const& slab);

/// Parses six entries in face order, each a Dirichlet value or "flux", e.g. "1, 0, flux, flux,
/// flux, flux". @throws Error naming the entry.
Boundary parse_boundary(std::string_view text);
/// The inverse of parse_boundary.
std::string to_string(Boundary const& boundary);

/// The Dirichlet value of least magnitude, 0 without one. K takes no notice of constants, but
/// rounding of K u does: fields are best measured from here.
double datum_of(Boundary const& boundary);
/// u measured from the boundary's datum; u itself where that is 0.
at::Tensor from_datum(at::Tensor const& u, Boundary const& boundary);
/// The same problem for from_datum(u).
Boundary from_datum(Boundary boundary);

/// 1 on free nodes, 0 on Dirichlet nodes. Shape [1, 1, nx+1, ny+1, nz+1].
/// @param options  its type and where it is made
at::Tensor free_node_mask(Grid3 const& grid, Boundary const& boundary,
                          at::TensorOptions const& options);

/// A field with the exact Dirichlet values (x faces win on shared edges, then y): inverse-distance
/// blend of the Dirichlet faces, so linear between two opposite faces and 1 - x by default; zero
/// when there is no Dirichlet face. Shape [1, 1, nx+1, ny+1, nz+1].
/// @param options  its type and where it is made
at::Tensor lift(Grid3 const& grid, Boundary const& boundary, at::TensorOptions const& options);
/// A part of it. @param boundary  of the whole grid
at::Tensor lift_of_part(Slab const& slab, Boundary const& boundary,
                        at::TensorOptions const& options);

/// Gives u, in place, the exact Dirichlet values, those of the lift; free nodes keep theirs.
/// @param u  [B, 1, nx+1, ny+1, nz+1]. @throws Error for another shape.
void set_dirichlet_values(at::Tensor& u, Grid3 const& grid, Boundary const& boundary);

}  // namespace voxcycle
