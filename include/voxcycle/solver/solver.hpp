// SPDX-License-Identifier: BSD-3-Clause
// voxcycle as a library: solves one problem at a time, with a trained network or without. Models
// come from voxcycle/config/load_model.hpp.
//
//     voxcycle::Solver const solver({.model = voxcycle::load_model("runs/hybrid/checkpoint.h5")});
//     voxcycle::Solution const solution = solver.solve(nu);        // nu: at::Tensor [64, 64, 64]
//     if (!solution.converged) return 1;
//     std::cout << solution.u.sizes() << ", error about " << solution.error_estimate << '\n';
#pragma once

#include "voxcycle/comm/communicator.hpp"
#include "voxcycle/grid/grid3.hpp"
#include "voxcycle/poisson/boundary.hpp"
#include "voxcycle/poisson/face_flow.hpp"
#include "voxcycle/poisson/finite_volume.hpp"
#include "voxcycle/solver/solve_method.hpp"

#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace voxcycle {

struct Model;

struct SolverOptions {
  std::shared_ptr<Model> model{};  ///< trained network; none: multigrid alone
  /// The other members of an ensemble with `model`: a solve starts from the mean of all members'
  /// solutions.
  std::vector<std::shared_ptr<Model>> more_members{};
  /// Conditions on the six faces; default: the model's, else 1 at x-, 0 at x+, zero flux elsewhere.
  std::optional<Boundary> boundary{};
  Scheme scheme = Scheme::q1;                   ///< finite_volume: without a model
  SolveMethod method = SolveMethod::multigrid;  ///< fft: without a model, see there
  /// Of u where nu is 0 all around, and there is no equation.
  double fill = std::numeric_limits<double>::quiet_NaN();
  /// Relative residual |b - K u| / |b - K lift|, [1e-14, 1). A solve goes on beyond it until its
  /// error is proven to be below SolveOptions::energy_error, or a larger tolerance, as far as
  /// rounding lets it.
  double tolerance = 1e-8;
  int max_iterations = 500;
  at::Device device = at::kCPU;  ///< where it computes; results come back to the CPU
  bool graph = false;            ///< see MultigridOptions
  /// Of the network's convolutions and activations, bfloat16, float16 or float32; default: as it
  /// was trained (float32 instead of float64, of float16 on CPUs, and of bfloat16 on CPUs without
  /// it; float16 on GPUs without bfloat16).
  std::optional<at::ScalarType> precision{};
  /// Processes that share out the grid of a solve: fields are those of a part (part_of_processes),
  /// and solves are **collective**. For multigrid on CPUs, trilinear elements and nu > 0, without a
  /// model. It must outlive the solver. Default: this process alone.
  Communicator const* comm = nullptr;
  /// Called before every iteration of a solve with its number, from 1; what it throws ends the
  /// solve.
  std::function<void(int)> before_iteration = [](int) {};
};

/// lower <= |u - u*|_K / |u*|_K <= upper, the relative energy-norm error against the exact solution
/// u* of the discrete equation.
struct ErrorBounds {
  double lower = 0.0;
  double upper = 0.0;
};

/// Seconds that each part of a solve took.
struct SolveSeconds {
  double network = 0.0;
  double setup = 0.0;      ///< of the multigrid hierarchy, or of FFTs
  double estimate = 0.0;   ///< of the errors
  double multigrid = 0.0;  ///< conjugate gradients
  double total() const { return network + setup + estimate + multigrid; }
};

/// What conjugate gradients started from.
struct SolveStart {
  bool from_network = false;              ///< else from the lift of the boundary values
  bool rejected = false;                  ///< the network's solution was worse than the lift,
  bool failed = false;                    ///< or there was none: float32 lacks values of nu or f
  std::optional<Grid3> network_grid{};    ///< that the network ran on, if one ran
  at::ScalarType precision = at::kFloat;  ///< that it ran in
  double relative_residual = 1.0;         ///< 1 for the lift
  /// Of the relative energy-norm error of the network's solution: measured against the solution
  /// found, or as one of certify.
  double error_estimate = 0.0;
  std::optional<double> spread{};  ///< of an ensemble's members: |deviation| / |mean|
  /// Of an ensemble: standard deviation over the members, [nx+1, ny+1, nz+1], float64.
  at::Tensor deviation{};
};

/// What takes no part in a solve.
struct EmptyPart {
  std::int64_t voxels = 0;  ///< whose nu is 0
  std::int64_t dropped_voxels =
      0;  ///< others that touch no Dirichlet face through voxels of nu > 0,
  std::int64_t dropped_bodies = 0;  ///< and the bodies that they make
};

/// A solution and what is known of it.
struct [[nodiscard]] Solution {
  Grid3 grid;
  /// [nx+1, ny+1, nz+1], of finite volumes [nx, ny, nz], float64; of a part where processes share
  /// out the grid
  at::Tensor u;
  Scheme scheme = Scheme::q1;
  EmptyPart empty;
  bool converged = false;
  int iterations = 0;
  double relative_residual = 0.0;
  /// Of the relative energy-norm error of u, as one multigrid cycle (or FFT) on its residual tells:
  /// good on smooth nu and cubic voxels, low elsewhere (at contrast 1e6 a hundredfold). No bound.
  double error_estimate = 0.0;
  /// That error, of the discrete equation, is not larger, however nu looks: wide at high contrast,
  /// infinity where nothing is proven. Of certify the upper one of its bounds.
  double error_bound = std::numeric_limits<double>::infinity();
  std::optional<ErrorBounds> bounds{};  ///< by certify
  FaceFlows flows;
  SolveStart start;
  SolveSeconds seconds;
};

/// Solves -div(nu grad u) = f on a box of voxels: the network's solution first (where there
/// is one), then multigrid-preconditioned conjugate gradients from there (float64). Of
/// network and lift it starts from the one with the smaller error: their energies tell (Ritz). A
/// network that has no level for a grid runs on the finest coarser one that it fits, and its
/// solution is interpolated. Threads may share one: the network then runs for one at a time.
class Solver {
 public:
  /// @throws Error if the model was trained for another boundary, the tolerance or the precision is
  ///         none of those above, or the device cannot be used, saying why.
  explicit Solver(SolverOptions options = {});
  ~Solver();
  Solver(Solver&&) noexcept;
  Solver& operator=(Solver&&) noexcept;

  /// @param nu    [nx, ny, nz], float32 or float64, >= 0 and finite; where it is 0 there is no
  ///              equation, and a network sees something small
  /// @param grid  its box; default: cubic voxels, longest edge 1; whole where nu is a part
  /// @param f     source, [nx, ny, nz] or one number; default 0
  /// @return also where the tolerance was not reached: look at `converged`
  /// @throws Error naming what does not fit, values of nu that are negative, a problem without
  ///         solution, a source that the model was not trained for.
  Solution solve(at::Tensor const& nu, std::optional<Grid3> const& grid = {},
                 std::optional<at::Tensor> const& f = {}) const;

  /// The start alone (the network's solution, without one the lift) with narrow bounds of its
  /// error: a dozen multigrid cycles or more, but no solve. Arguments as solve.
  /// @throws Error also where the method is fft
  Solution certify(at::Tensor const& nu, std::optional<Grid3> const& grid = {},
                   std::optional<at::Tensor> const& f = {}) const;

  /// The conditions that it solves for.
  Boundary const& boundary() const;
  /// e.g. "multigrid, channels 4:64, 8:64, coarse levels black_box, norm
  /// sync_batch, smoothing 16"; "none" without a model
  std::string const& model() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace voxcycle
