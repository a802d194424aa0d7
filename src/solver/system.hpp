// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/solver/pcg.hpp"

#include <optional>

#include "solver/field_sums.hpp"
#include "solver/spanning_tree.hpp"
#include <ATen/core/Tensor.h>

namespace voxcycle {

/// The linear system of one sample on its free nodes, in float64: K(nu) p, loads and residuals with
/// zeros on Dirichlet nodes. Holds nu and the load. Of a grid that processes share out it has this
/// process' part: products of fields that are right one plane beyond the own ones are right there.
/// Its fields u are measured from the boundary's datum, so that large constants in the boundary
/// values cost no digits, and in units that bring residuals of any size to where squares and
/// float32 have room: `shifted` and `unshift` lead from the caller's fields to these and back.
class System {
 public:
  /// @param nu  [1, 1, nx, ny, nz], float64, contiguous, >= 0
  /// @param b   load, or empty
  /// @throws Error if shapes do not fit, nu is negative or not finite (0 if periodic), or a pure
  ///         zero-flux problem's load does not sum to zero (no solution exists).
  System(Problem const& problem, at::Tensor const& nu, std::optional<at::Tensor> const& b);

  /// a . b and the sum of a over the nodes of all processes.
  double dot(at::Tensor const& a, at::Tensor const& b) const { return field_dot(space_, a, b); }
  double sum(at::Tensor const& a) const { return field_sum(space_, a); }
  /// What this process has.
  Space const& space() const { return space_; }

  /// Whether all faces are zero-flux: constants are then in K's null space.
  bool floating() const { return floating_; }

  /// What its fields and residuals are in units of: a power of two, 1 for ordinary sizes.
  double unit() const { return unit_; }

  /// Whether `unshift` adds a datum, and rounds fields that are much smaller than it.
  bool has_datum() const { return datum_ != 0.0; }

  /// u / unit, contiguous; u itself where that is 1.
  at::Tensor in_units(at::Tensor const& u) const;
  /// (u - datum) / unit, contiguous; u itself, where the datum is 0 and the unit 1.
  at::Tensor shifted(at::Tensor const& u) const;
  /// The inverse of `shifted`, in place, with the exact Dirichlet values.
  void unshift(at::Tensor& u) const;

  /// K u on all nodes, K's diagonal, and 1/2 u^T K u.
  at::Tensor product(at::Tensor const& u) const;
  at::Tensor diagonal() const;
  double energy(at::Tensor const& u) const;

  /// K p for p that is zero on Dirichlet nodes; so is the result.
  at::Tensor apply(at::Tensor const& p) const;
  /// Conductors [1, 3, nodes] between neighbours with v^T L v <= v^T K v, = for finite volumes.
  at::Tensor network() const;
  SpanningTree const& tree() const;
  bool needs_tree() const;  ///< of its error bounds, which then hold for the residual given alone
  /// b - K u, zero on Dirichlet nodes (and of zero mean if floating).
  at::Tensor residual(at::Tensor const& u) const;
  /// Whether a residual of u of this norm is what rounding leaves of K u: u then solves the system.
  bool is_rounding(double residual_norm, at::Tensor const& u) const;
  /// A bound of the relative energy-norm error |u - u*|_K / |u*|_K of a u with the residual r, with
  /// room for what rounding does to the residual. It holds for any nu, and is the wider the more
  /// residuals and errors can differ, by as much as nu's largest and least values:
  ///
  ///     |e|_K^2 = r^T K^-1 r <= |r|^2 / (nu_min c),
  ///
  /// c the least eigenvalue of K for nu = 1, and |u*|_K >= |u|_K - |e|_K. Infinity where that says
  /// nothing. It holds for all residuals of about r's norm, and fields as large as u.
  ///
  /// Of finite volumes, and where nu is 0 somewhere, a SpanningTree bounds r^T K^-1 r, and for r
  /// alone: K is the matrix of a network, or not less than one (network()).
  struct ErrorBound {
    double rounding = 0.0;  ///< of the residual
    double factor = 0.0;    ///< 1 / (sqrt(nu_min c) |u|_K)
    double at(double residual_norm) const;
    double residual_at(double error) const;  ///< its inverse; negative for less than rounding's
  };
  ErrorBound error_bound(at::Tensor const& r, at::Tensor const& u) const;
  /// Sets Dirichlet nodes of r to zero, and those without an equation, and its mean if floating:
  /// what a residual must be.
  void project(at::Tensor& r) const;
  /// Takes its mean over the nodes with an equation from a field.
  void centre(at::Tensor& field) const;
  /// The lift of the boundary's values, shifted.
  at::Tensor lifted() const;
  /// @throws Error unless `start`, shifted, is a nodal float64 field with the values of `lifted` on
  ///         Dirichlet nodes.
  void require_fits(char const* name, at::Tensor const& start, at::Tensor const& lifted) const;

 private:
  void require_voxels() const;
  void require_can_share() const;
  void require_periodic() const;
  bool periodic() const;
  /// |diag K u|, or a bound of it that is below `enough`.
  double norm_of_terms(at::Tensor const& u, double enough) const;
  void set_load(at::Tensor const& b);
  void clear_dirichlet(at::Tensor& field) const;
  ErrorBound tree_bound(at::Tensor const& r, at::Tensor const& u) const;

  Space space_;
  double datum_;
  Boundary boundary_;  ///< as given, of this process' part
  Problem whole_;      ///< measured from the datum, in units
  Problem problem_;    ///< of this process' part
  Grid3 unknowns_;
  at::Tensor nu_;
  at::Tensor couplings_;  ///< of finite volumes
  at::Tensor live_;       ///< 1 on nodes with an equation, else 0; undefined: all have one
  mutable std::optional<SpanningTree> tree_;
  bool floating_;
  at::Tensor load_;
  double min_nu_ = 0.0;
  double diagonal_bound_ = 0.0;  ///< of K's entries
  double unit_ = 1.0;
};

}  // namespace voxcycle
