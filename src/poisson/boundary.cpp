// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/poisson/boundary.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/poisson/parallel.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <system_error>

#include <ATen/ATen.h>

namespace voxcycle {
namespace {

constexpr char const* face_names[6] = {"x-", "x+", "y-", "y+", "z-", "z+"};

Face parse_face(std::string const& entry, std::size_t face) {
  if (entry == "flux") {
    return {};
  }
  double value = 0.0;
  char const* const end = entry.data() + entry.size();
  auto const [stop, error] = std::from_chars(entry.data(), end, value);
  VOXCYCLE_REQUIRE(error == std::errc() && stop == end && std::isfinite(value),
                   "boundary entry \"" << entry << "\" for face " << face_names[face]
                                       << " is neither a finite number nor \"flux\". Write the "
                                          "Dirichlet value, or flux for zero flux.");
  return {FaceKind::dirichlet, value};
}

// Calls body(x, y, z, node) for every node.
template <class Body>
void for_each_node(Grid3 const& grid, Body const& body) {
  std::int64_t const rows = grid.nodes(0) * grid.nodes(1);
  parallel_for(rows, grid.nodes(2), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      for (std::int64_t z = 0; z < grid.nodes(2); ++z) {
        body(row / grid.nodes(1), row % grid.nodes(1), z, row * grid.nodes(2) + z);
      }
    }
  });
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

at::Tensor empty_nodes(Grid3 const& grid) {
  require_valid(grid);
  return at::empty({1, 1, grid.nodes(0), grid.nodes(1), grid.nodes(2)}, at::kDouble);
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
    char text[32] = "flux";
    if (face.kind == FaceKind::dirichlet) {
      *std::to_chars(text, text + sizeof text - 1, face.value).ptr = '\0';  // shortest exact text
    }
    entries.emplace_back(text);
  }
  return join(entries);
}

double datum_of(Boundary const& boundary) {
  std::optional<double> least;
  for (Face const& face : boundary.faces) {
    if (face.kind != FaceKind::dirichlet) continue;
    if (!least || std::abs(face.value) < std::abs(*least)) least = face.value;
  }
  return least.value_or(0.0);
}

Boundary measured_from(double datum, Boundary boundary) {
  for (Face& face : boundary.faces) {
    if (face.kind == FaceKind::dirichlet) face.value -= datum;
  }
  return boundary;
}

at::Tensor free_node_mask(Grid3 const& grid, Boundary const& boundary,
                          at::TensorOptions const& options) {
  require_valid(grid);
  at::Tensor mask = at::ones({1, 1, grid.nodes(0), grid.nodes(1), grid.nodes(2)}, options);
  fill_dirichlet_planes(mask, grid, boundary, [](Face const&) { return 0.0; });
  return mask;
}

at::Tensor lift(Grid3 const& grid, Boundary const& boundary, at::ScalarType dtype) {
  at::Tensor field = empty_nodes(grid);
  auto* const values = field.mutable_data_ptr<double>();
  double const datum = datum_of(boundary);  // equal values blend to themselves
  for_each_node(grid, [&](std::int64_t x, std::int64_t y, std::int64_t z, std::int64_t node) {
    std::int64_t const index[3] = {x, y, z};
    double weights = 0.0;
    double sum = 0.0;
    for (int axis = 0; axis < 3; ++axis) {
      for (int side = 0; side < 2; ++side) {
        Face const& face = boundary.face(axis, side);
        if (face.kind != FaceKind::dirichlet) {
          continue;
        }
        std::int64_t const steps = side == 0 ? index[axis] : grid.voxels[axis] - index[axis];
        if (steps == 0) {
          values[node] = face.value;
          return;
        }
        double const weight = 1.0 / (static_cast<double>(steps) * grid.spacing(axis));
        weights += weight;
        sum += weight * (face.value - datum);
      }
    }
    values[node] = weights > 0.0 ? datum + sum / weights : 0.0;
  });
  return field.to(dtype);
}

void set_dirichlet_values(at::Tensor& u, Grid3 const& grid, Boundary const& boundary) {
  std::int64_t const nodes[3] = {grid.nodes(0), grid.nodes(1), grid.nodes(2)};
  VOXCYCLE_REQUIRE(u.dim() == 5 && u.size(1) == 1 && u.sizes().slice(2) == at::IntArrayRef(nodes),
                   "u has shape " << u.sizes() << ", expected [B, 1, " << nodes[0] << ", "
                                  << nodes[1] << ", " << nodes[2] << "].");
  fill_dirichlet_planes(u, grid, boundary, [](Face const& face) { return face.value; });
}

}  // namespace voxcycle
