// SPDX-License-Identifier: BSD-3-Clause
#include "solver/system.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/poisson/energy.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "solver/axis_modes.hpp"
#include "solver/field_sums.hpp"
#include "solver/periodic_field.hpp"
#include <ATen/ATen.h>

namespace voxcycle {
namespace {

// Of the terms of a residual, what rounding leaves of each.
constexpr double rounding_share = 2.0 * std::numeric_limits<double>::epsilon();

// A pure zero-flux load must sum to zero; this share of the sum of magnitudes is rounding, of a
// source that was stored in float32, and is taken off.
constexpr double compatibility_tolerance = 1e-6;

// Residuals between this and its inverse have room in float32, and their squares in float64.
constexpr double min_unscaled = 0x1p-40;

// A power of two near `size`; 1 where that is near enough, or nothing is.
double unit_near(double size) {
  bool const plain = size >= min_unscaled && size <= 1.0 / min_unscaled;
  if (plain || !(size > 0.0 && std::isfinite(size))) return 1.0;
  return std::exp2(std::floor(std::log2(size)));
}

// Of K's diagonal: eight voxels of the largest nu in a node.
double diagonal_bound(Grid3 const& grid, double largest_nu) {
  Grid3 const voxel{{1, 1, 1}, {grid.spacing(0), grid.spacing(1), grid.spacing(2)}};
  at::Tensor const nu = at::full({1, 1, 1, 1, 1}, largest_nu, at::kDouble);
  return 8.0 * stiffness_diagonal(nu, voxel).max().item<double>();
}

// The least number c with v^T K v >= c v^T v for nu = 1 and all v on free nodes (of zero mean if
// there is no Dirichlet face). K's modes are products of the axes' (see AxisModes), with
// eigenvalues k_x m_y m_z + m_x k_y m_z + m_x m_y k_z relative to the nodes' weights. m is a linear
// function of k, so that the least lies where each axis has its lowest or its highest mode.
double min_eigenvalue(Problem const& problem) {
  std::array<AxisModes, 3> axes;
  double min_weight = 1.0;
  for (int axis = 0; axis < 3; ++axis) {
    axes[axis] = axis_modes(problem, axis);
    if (axes[axis].half_first || axes[axis].half_last) min_weight /= 2.0;
  }
  double minimum = std::numeric_limits<double>::infinity();
  if (axes[0].count * axes[1].count * axes[2].count == 0) return minimum;  // no free nodes
  auto const look_from = [&](std::array<std::ptrdiff_t, 3> const& lowest) {
    // A periodic axis of one voxel has one mode.
    for (int axis = 0; axis < 3; ++axis) {
      if (lowest[axis] >= axes[axis].count) return;
    }
    for (std::size_t corner = 0; corner < 8; ++corner) {
      std::array<double, 3> k{}, m{};
      for (std::size_t axis = 0; axis < 3; ++axis) {
        bool const highest = (corner >> axis & 1) != 0;
        auto const& ks = axes[axis].k;
        auto const mode = highest
                              ? std::distance(ks.begin(), std::max_element(ks.begin(), ks.end()))
                              : lowest[axis];
        k[axis] = axes[axis].k[mode];
        m[axis] = axes[axis].m[mode];
      }
      minimum = std::min(minimum, k[0] * m[1] * m[2] + m[0] * k[1] * m[2] + m[0] * m[1] * k[2]);
    }
  };
  if (problem.boundary.has_dirichlet()) {
    look_from({0, 0, 0});
  } else {
    for (auto const& lowest : {std::array<std::ptrdiff_t, 3>{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}) {
      look_from(lowest);
    }
  }
  return minimum * min_weight;
}

double largest_magnitude(at::Tensor const& field) {
  auto const [minimum, maximum] = field.aminmax();
  return std::max(-minimum.item<double>(), maximum.item<double>());
}

double largest_value(Boundary const& boundary) {
  double largest = 0.0;
  for (Face const& face : boundary.faces) {
    if (face.kind == FaceKind::dirichlet) largest = std::max(largest, std::abs(face.value));
  }
  return largest;
}

void require_elliptic(double min_nu, double largest_nu) {
  VOXCYCLE_REQUIRE(min_nu >= 0 && std::isfinite(largest_nu),
                   "nu has values that are negative or not finite (the equation is not "
                   "elliptic). Check the coefficient.");
  VOXCYCLE_REQUIRE(largest_nu > 0.0,
                   "nu is 0 everywhere (nothing is left to solve for). Check the coefficient.");
}

// Calls body(axis, index of the node plane) for every Dirichlet face.
template <class Body>
void for_each_dirichlet_plane(Grid3 const& grid, Boundary const& boundary, Body const& body) {
  for (int axis = 0; axis < 3; ++axis) {
    for (int side = 0; side < 2; ++side) {
      if (boundary.face(axis, side).kind == FaceKind::dirichlet) {
        body(axis, side == 0 ? 0 : grid.voxels[axis]);
      }
    }
  }
}

}  // namespace

Grid3 Problem::unknowns() const {
  if (opposite == OppositeFaces::one) return without_upper_faces(grid);
  return scheme == Scheme::q1 ? grid : FiniteVolumePoints(grid, boundary).grid;
}

Problem periodic_problem(Grid3 const& grid) {
  Problem problem{.grid = grid, .boundary = {}, .opposite = OppositeFaces::one};
  problem.boundary.faces.fill(Face{});
  return problem;
}

System::System(Problem const& problem, at::Tensor const& nu, std::optional<at::Tensor> const& b)
    : space_(problem.here()),
      datum_(datum_of(problem.boundary)),
      boundary_(of_part(problem.boundary, space_.slab())),
      whole_{problem.grid, from_datum(problem.boundary), problem.scheme, problem.opposite},
      problem_(whole_),
      unknowns_(space_.slab().part()),
      nu_(nu),
      floating_(!problem.boundary.has_dirichlet()) {
  require_valid(problem.grid);
  if (!space_.is_whole()) problem_.grid = unknowns_;
  require_voxels();
  auto const [minimum, maximum] = nu_.aminmax();
  min_nu_ = space_.min(minimum.item<double>());
  double const max_nu = space_.max(maximum.item<double>());
  require_elliptic(min_nu_, max_nu);
  if (periodic()) require_periodic();
  require_can_share();
  if (problem_.scheme == Scheme::finite_volume) {
    couplings_ = finite_volume_couplings(problem_.grid, boundary_, nu_);
    diagonal_bound_ = diagonal().max().item<double>();
  } else {
    diagonal_bound_ = diagonal_bound(problem_.grid, max_nu);
  }
  if (min_nu_ == 0.0) live_ = diagonal().gt(0.0).to(at::kDouble);
  if (b) set_load(*b);
  double const of_load = b ? space_.max(largest_magnitude(load_)) : 0.0;
  unit_ = unit_near(std::max(of_load, diagonal_bound_ * largest_value(whole_.boundary)));
  if (unit_ != 1.0) {
    if (b) load_ = load_ / unit_;
    for (Face& face : whole_.boundary.faces) face.value /= unit_;
  }
  problem_.boundary = of_part(whole_.boundary, space_.slab());
}

void System::set_load(at::Tensor const& b) {
  auto const shape = unknowns_.node_shape();
  VOXCYCLE_REQUIRE(b.sizes() == at::IntArrayRef(shape) && b.scalar_type() == at::kDouble,
                   "load has shape " << b.sizes() << " and type " << b.scalar_type()
                                     << ", expected " << at::IntArrayRef(shape)
                                     << " in float64. Make it with load_of_source.");
  load_ = b.to(nu_.device()).contiguous();
  double const total = sum(load_);
  double const magnitude = sum(load_.abs());
  VOXCYCLE_REQUIRE(std::isfinite(magnitude),
                   "load has values that are not finite. Check the source.");
  VOXCYCLE_REQUIRE(!floating_ || std::abs(total) <= compatibility_tolerance * magnitude,
                   "load sums to " << total
                                   << " but all six faces are zero-flux, so no solution exists. "
                                      "Balance the source or fix a value on one face.");
}

at::Tensor System::in_units(at::Tensor const& u) const {
  return unit_ == 1.0 ? u.contiguous() : u.contiguous() / unit_;
}

at::Tensor System::shifted(at::Tensor const& u) const {
  return in_units(datum_ == 0.0 ? u : u - datum_);
}

void System::unshift(at::Tensor& u) const {
  if (datum_ == 0.0 && unit_ == 1.0) return;
  u.mul_(unit_).add_(datum_);
  if (!floating_) set_dirichlet_values(u, unknowns_, boundary_);
}

at::Tensor System::product(at::Tensor const& u) const {
  if (periodic()) return folded(apply_stiffness(wrapped(u), nu_, problem_.grid));
  if (!couplings_.defined()) return apply_stiffness(u, nu_, problem_.grid);
  return apply_couplings(unknowns_, couplings_, u);
}

at::Tensor System::diagonal() const {
  if (periodic()) return folded(stiffness_diagonal(nu_, problem_.grid));
  if (!couplings_.defined()) return stiffness_diagonal(nu_, problem_.grid);
  return coupling_diagonal(unknowns_, couplings_);
}

double System::energy(at::Tensor const& u) const {
  return 0.5 * dot(u, product(u));
}

at::Tensor System::apply(at::Tensor const& p) const {
  at::Tensor result = product(p);
  clear_dirichlet(result);
  return result;
}

at::Tensor System::residual(at::Tensor const& u) const {
  at::Tensor r = product(u).neg_();
  if (load_.defined()) {
    r.add_(load_);
  }
  project(r);
  return r;
}

// A row of K has 27 entries, whose magnitudes sum to about twice the diagonal. The diagonal is only
// made if its bound does not do: fields are dear.
double System::norm_of_terms(at::Tensor const& u, double enough) const {
  double const bound = diagonal_bound_ * std::sqrt(dot(u, u));
  if (bound < enough) return bound;
  at::Tensor const terms = diagonal().mul_(u);
  return std::sqrt(dot(terms, terms));
}

bool System::is_rounding(double residual_norm, at::Tensor const& u) const {
  constexpr double share = 16.0 * std::numeric_limits<double>::epsilon();
  return residual_norm <= share * norm_of_terms(u, residual_norm / share);
}

double System::ErrorBound::at(double residual_norm) const {
  double const of_u = factor * (residual_norm + rounding);
  return of_u < 1.0 ? of_u / (1.0 - of_u) : std::numeric_limits<double>::infinity();
}

double System::ErrorBound::residual_at(double error) const {
  return error / (1.0 + error) / factor - rounding;
}

System::ErrorBound System::error_bound(at::Tensor const& r, at::Tensor const& u) const {
  if (needs_tree()) return tree_bound(r, u);
  double const residual_norm = std::sqrt(dot(r, r));
  double const rounding = rounding_share * norm_of_terms(u, 0.1 * residual_norm / rounding_share);
  double const minimum = min_nu_ * min_eigenvalue(whole_);
  if (std::isinf(minimum) || residual_norm + rounding == 0.0) return {};
  return {rounding, 1.0 / std::sqrt(2.0 * energy(u) * minimum)};
}

bool System::needs_tree() const {
  return couplings_.defined() || min_nu_ == 0.0;
}

SpanningTree const& System::tree() const {
  if (!tree_) tree_.emplace(unknowns_, boundary_, network());
  return *tree_;
}

// An element matrix of Q1 is nu times a sum over the axes, of which that of x is V/h^2 K1 x M1 x
// M1. The least eigenvalue of M1 is 1/6: with V/(36 h^2) on the four edges along x there is not
// more.
at::Tensor System::network() const {
  if (couplings_.defined()) return couplings_.neg().cpu();
  Grid3 const& grid = problem_.grid;
  at::Tensor const nu = nu_.cpu()[0][0];
  double const volume = grid.spacing(0) * grid.spacing(1) * grid.spacing(2);
  at::Tensor result = at::zeros({1, 3, grid.nodes(0), grid.nodes(1), grid.nodes(2)}, at::kDouble);
  for (int axis = 0; axis < 3; ++axis) {
    double const of_edge = volume / (36.0 * grid.spacing(axis) * grid.spacing(axis));
    for (int corner = 0; corner < 4; ++corner) {
      at::Tensor edges = result[0][axis];
      int bit = 0;
      for (int a = 0; a < 3; ++a) {
        std::int64_t const from = a != axis && (corner >> bit++ & 1) != 0 ? 1 : 0;
        edges = edges.narrow(a, from, grid.voxels[a]);
      }
      edges.add_(nu, of_edge);
    }
  }
  return result;
}

// sqrt(r^T K^-1 r) is a norm: of what was computed and of its rounding it is at most the sum.
System::ErrorBound System::tree_bound(at::Tensor const& r, at::Tensor const& u) const {
  double const residual_norm = std::sqrt(dot(r, r));
  if (residual_norm == 0.0) return {};
  double const of_residual = std::sqrt(tree().bound(r));
  at::Tensor terms = diagonal().mul_(u).abs_().mul_(rounding_share);
  clear_dirichlet(terms);
  double const of_rounding = floating_ ? 0.0 : std::sqrt(tree().bound(terms));
  return {residual_norm * of_rounding / of_residual,
          of_residual / residual_norm / std::sqrt(2.0 * energy(u))};
}

void System::project(at::Tensor& r) const {
  clear_dirichlet(r);
  if (live_.defined()) r.mul_(live_);
  if (floating_) centre(r);
}

void System::centre(at::Tensor& field) const {
  if (!live_.defined()) {
    field.sub_(sum(field) / static_cast<double>(space_.slab().whole.node_count()));
    return;
  }
  field.mul_(live_);
  field.sub_(live_, sum(field) / sum(live_));
}

at::Tensor System::lifted() const {
  if (floating_) return at::zeros(unknowns_.node_shape(), nu_.options());
  return lift_of_part(space_.slab(), whole_.boundary, nu_.options());
}

void System::require_fits(char const* name, at::Tensor const& start,
                          at::Tensor const& lifted) const {
  bool fits = start.sizes() == lifted.sizes() && start.scalar_type() == at::kDouble;
  if (fits) {
    for_each_dirichlet_plane(unknowns_, boundary_, [&](int axis, std::int64_t index) {
      fits = fits && at::equal(start.select(2 + axis, index), lifted.select(2 + axis, index));
    });
  }
  VOXCYCLE_REQUIRE(fits, name << " does not have the boundary values of the problem (they would "
                                 "never change). Start from lift + mask * anything, in float64.");
}

void System::require_voxels() const {
  Grid3 const& grid = problem_.grid;
  at::IntArrayRef const voxels(grid.voxels.data(), 3);
  VOXCYCLE_REQUIRE(nu_.dim() == 5 && nu_.size(0) == 1 && nu_.size(1) == 1 &&
                       nu_.sizes().slice(2) == voxels && nu_.scalar_type() == at::kDouble,
                   "nu has shape " << nu_.sizes() << " and type " << nu_.scalar_type()
                                   << ", expected [1, 1, " << grid.name()
                                   << "] in float64. Reference solves take one sample.");
}

void System::require_can_share() const {
  bool const plain = min_nu_ > 0.0 && problem_.scheme == Scheme::q1 && !periodic();
  VOXCYCLE_REQUIRE(space_.is_whole() || plain,
                   "processes share out problems of trilinear elements (q1) with nu > 0. Take one "
                   "process for zeros in nu, finite volumes and periodic faces.");
}

bool System::periodic() const {
  return problem_.opposite == OppositeFaces::one;
}

void System::require_periodic() const {
  VOXCYCLE_REQUIRE(floating_ && problem_.scheme == Scheme::q1,
                   "a periodic problem has trilinear elements and no conditions on its faces. Make "
                   "it with periodic_problem.");
  VOXCYCLE_REQUIRE(min_nu_ > 0.0,
                   "nu is not positive in every voxel, and a periodic problem needs an equation on "
                   "every node. Raise it.");
}

void System::clear_dirichlet(at::Tensor& field) const {
  for_each_dirichlet_plane(unknowns_, boundary_, [&](int axis, std::int64_t index) {
    field.select(2 + axis, index).zero_();
  });
}

}  // namespace voxcycle
