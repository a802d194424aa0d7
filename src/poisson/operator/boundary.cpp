// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/poisson/boundary.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/text.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include <ATen/ATen.h>

namespace voxcycle {
namespace {

constexpr char const* face_names[6] = {"x-", "x+", "y-", "y+", "z-", "z+"};

Face parse_face(std::string const& entry, std::size_t face) {
  if (entry == "flux") {
    return {};
  }
  auto const value = parse_number<double>(entry);
  VOXCYCLE_REQUIRE(value && std::isfinite(*value),
                   "boundary entry \""
                       << entry << "\" for face " << face_names[face]
                       << " is neither a finite number nor \"flux\". Write the "
                          "Dirichlet value, or flux for zero flux"
                       << (entry == "periodic" ? "; periodic faces: conductivity --periodic."
                                               : "."));
  return {FaceKind::dirichlet, *value};
}

// Sets the nodes of each Dirichlet face to value(face): x last, so that its faces win on shared
// edges, then y.
template <class Value>
void fill_dirichlet_planes(at::Tensor const& field, Grid3 const& grid, Boundary const& boundary,
                           Value const& value) {
  for (int axis = 2; axis >= 0; --axis) {
    for (int side = 0; side < 2; ++side) {
      Face const& face = boundary.face(axis, side);
      if (face.kind != FaceKind::dirichlet) continue;
      field.select(2 + axis, side == 0 ? 0 : grid.voxels[axis]).fill_(value(face));
    }
  }
}

/// Inverse distances to the Dirichlet faces of one axis, and with them weighted values, at each of
/// its nodes; shapes broadcast to that of a field. Faces themselves are filled later.
struct AxisBlend {
  at::Tensor weights, values;
};

AxisBlend blend_along(int axis, Grid3 const& grid, Boundary const& boundary) {
  std::int64_t const n = grid.nodes(axis);
  std::vector<double> weights(n), values(n);
  for (int side = 0; side < 2; ++side) {
    Face const& face = boundary.face(axis, side);
    if (face.kind != FaceKind::dirichlet) continue;
    for (std::int64_t node = 0; node < n; ++node) {
      std::int64_t const steps = side == 0 ? node : grid.voxels[axis] - node;
      if (steps == 0) continue;
      double const weight = 1.0 / (static_cast<double>(steps) * grid.spacing(axis));
      weights[node] += weight;
      values[node] += weight * face.value;
    }
  }
  std::vector<std::int64_t> shape(5, 1);
  shape[2 + axis] = n;
  return {at::tensor(weights, at::kDouble).view(shape),
          at::tensor(values, at::kDouble).view(shape)};
}

bool has_dirichlet(Boundary const& boundary, int axis) {
  return boundary.face(axis, 0).kind == FaceKind::dirichlet ||
         boundary.face(axis, 1).kind == FaceKind::dirichlet;
}

}  // namespace

bool Boundary::has_dirichlet() const {
  return std::any_of(faces.begin(), faces.end(),
                     [](Face const& face) { return face.kind == FaceKind::dirichlet; });
}

bool Boundary::has_different_values() const {
  std::optional<double> first;
  return std::any_of(faces.begin(), faces.end(), [&](Face const& face) {
    if (face.kind != FaceKind::dirichlet) return false;
    if (!first) first = face.value;
    return face.value != *first;
  });
}

bool Boundary::has_steps() const {
  for (int a = 0; a < 6; ++a) {
    for (int b = a + 1; b < 6; ++b) {
      bool const meet = a / 2 != b / 2;
      bool const fixed =
          faces[a].kind == FaceKind::dirichlet && faces[b].kind == FaceKind::dirichlet;
      if (meet && fixed && faces[a].value != faces[b].value) return true;
    }
  }
  return false;
}

Boundary of_part(Boundary boundary, Slab const& slab) {
  if (!slab.is_first()) boundary.faces[0] = Face{};
  if (!slab.is_last()) boundary.faces[1] = Face{};
  return boundary;
}

Boundary parse_boundary(std::string_view text) {
  auto const entries = split_list(text);
  VOXCYCLE_REQUIRE(entries.size() == 6,
                   "boundary \"" << text << "\" has " << entries.size()
                                 << " entries, expected 6. List the faces x-, x+, y-, y+, z-, z+, "
                                    "e.g. \"1, 0, flux, flux, flux, flux\".");
  Boundary boundary;
  for (std::size_t face = 0; face < entries.size(); ++face) {
    boundary.faces[face] = parse_face(entries[face], face);
  }
  return boundary;
}

std::string to_string(Boundary const& boundary) {
  std::vector<std::string> entries;
  for (Face const& face : boundary.faces) {
    entries.push_back(face.kind == FaceKind::dirichlet ? shortest_text(face.value) : "flux");
  }
  return join(entries);
}

double datum_of(Boundary const& boundary) {
  std::optional<double> minimum;
  for (Face const& face : boundary.faces) {
    if (face.kind != FaceKind::dirichlet) continue;
    if (!minimum || std::abs(face.value) < std::abs(*minimum)) minimum = face.value;
  }
  return minimum.value_or(0.0);
}

at::Tensor from_datum(at::Tensor const& u, Boundary const& boundary) {
  double const datum = datum_of(boundary);
  return datum == 0.0 ? u : u - datum;
}

Boundary from_datum(Boundary boundary) {
  double const datum = datum_of(boundary);
  for (Face& face : boundary.faces) {
    if (face.kind == FaceKind::dirichlet) face.value -= datum;
  }
  return boundary;
}

at::Tensor free_node_mask(Grid3 const& grid, Boundary const& boundary,
                          at::TensorOptions const& options) {
  at::Tensor mask = at::ones(grid.node_shape(), options);
  fill_dirichlet_planes(mask, grid, boundary, [](Face const&) { return 0.0; });
  return mask;
}

at::Tensor lift(Grid3 const& grid, Boundary const& boundary, at::TensorOptions const& options) {
  require_valid(grid);
  return lift_of_part(whole_slab(grid), boundary, options);
}

at::Tensor lift_of_part(Slab const& slab, Boundary const& boundary,
                        at::TensorOptions const& options) {
  Grid3 const part = slab.part();
  Boundary const measured = from_datum(boundary);  // equal values blend to themselves
  at::Tensor weights, values;
  for (int axis = 0; axis < 3; ++axis) {
    if (!has_dirichlet(boundary, axis)) continue;
    auto const along = blend_along(axis, slab.whole, measured);
    auto const on_device = [&](at::Tensor const& x) {
      return (axis == 0 ? x.narrow(2, slab.first(), part.nodes(0)) : x).to(options.device());
    };
    weights = weights.defined() ? weights + on_device(along.weights) : on_device(along.weights);
    values = values.defined() ? values + on_device(along.values) : on_device(along.values);
  }
  if (!weights.defined()) return at::zeros(part.node_shape(), options);
  values.div_(weights).add_(datum_of(boundary));
  weights.reset();
  at::Tensor field = values.to(options).expand(part.node_shape()).contiguous();
  set_dirichlet_values(field, part, of_part(boundary, slab));
  return field;
}

void set_dirichlet_values(at::Tensor& u, Grid3 const& grid, Boundary const& boundary) {
  auto const shape = grid.node_shape(u.dim() == 5 ? u.size(0) : 1);
  VOXCYCLE_REQUIRE(u.sizes() == at::IntArrayRef(shape),
                   "u has shape " << u.sizes() << ", expected " << at::IntArrayRef(shape) << '.');
  fill_dirichlet_planes(u, grid, boundary, [](Face const& face) { return face.value; });
}

}  // namespace voxcycle
