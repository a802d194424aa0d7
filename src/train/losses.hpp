// SPDX-License-Identifier: BSD-3-Clause
// Makers of the losses; each family lives in a file of its own.
#pragma once

#include "voxcycle/train/loss.hpp"

namespace voxcycle {

/// J(u) as published: samples with large coefficients rule the mean.
std::unique_ptr<Loss> make_energy_loss(LossProblem const& problem);

/// J(u) / J_scale (see EnergyScale): every sample counts alike.
std::unique_ptr<Loss> make_normalised_energy_loss(LossProblem const& problem);

/// Half the normalised energy, and half an estimate of the error's own energy for nu = 1, whose
/// gradient weighs errors where nu is small like errors where it is large:
///
///     1/2 J(u) / J_scale + 1/2 (1/2 e^T K(1) e) / (1/2 v^T K(1) v),
///     gradient 1/2 (K(nu) u - b) / J_scale - 1/2 K(1) e / (1/2 v^T K(1) v)
///
/// with e, one multigrid V-cycle on the residual b - K(nu) u, about u* - u, and v, about u*, the
/// field whose energy is J_scale. The gradient counts e as exact (d e / d u = -1), which it is to
/// the cycle's rate of convergence. For constant nu both halves have the same gradient.
std::unique_ptr<Loss> make_energy_multigrid_loss(LossProblem const& problem);

/// Least squares of the residual, what PINN-style codes minimise:
///
///     |K u - b|^2 over free nodes / (|K lift|^2 + |b|^2 over all nodes)
///
/// The scale is not the lift's own residual: that vanishes for constant nu (the lift then solves
/// the default problem), and samples near it would rule the mean.
std::unique_ptr<Loss> make_residual_loss(LossProblem const& problem);

/// |u - u*|^2 / |u*|^2 over nodes with u* the reference solution, both measured from the boundary's
/// datum: the squared relative L2 error.
std::unique_ptr<Loss> make_supervised_loss(LossProblem const& problem);

}  // namespace voxcycle
