// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/solver/solver.hpp"

#include "voxcycle/core/device.hpp"
#include "voxcycle/core/device_timer.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/memory.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/core/timer.hpp"
#include "voxcycle/poisson/boundary.hpp"
#include "voxcycle/poisson/energy.hpp"
#include "voxcycle/solver/error_estimate.hpp"
#include "voxcycle/solver/fast_poisson.hpp"
#include "voxcycle/solver/member_spread.hpp"
#include "voxcycle/solver/multigrid_pcg.hpp"
#include "voxcycle/solver/quick_estimate.hpp"
#include "voxcycle/solver/residual.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "solver/equation.hpp"
#include "solver/network_start.hpp"
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace voxcycle {
namespace {

/// Residuals are rounded at about this share of their terms.
constexpr double kMinTolerance = 1e-14;
/// Bounds as narrow as a few more cycles make them.
constexpr ErrorEstimateOptions kNarrow{.width = 0.02, .max_cycles = 60};

/// error / norm of what an estimate says.
double relative(double error, ErrorEstimate const& estimate) {
  if (error == 0.0) return 0.0;
  return estimate.norm > 0.0 ? error / estimate.norm : std::numeric_limits<double>::infinity();
}

/// Bounds relative to |u*|_K, which is itself only known to lie within `left` of the norm of what
/// the estimate's cycles made of u: |e_0|^2 = lower^2 + |e_k|^2 and |e_0| <= upper.
ErrorBounds relative_bounds(ErrorEstimate const& e) {
  double const left = std::sqrt(std::max(0.0, e.upper * e.upper - e.lower * e.lower));
  if (e.upper == 0.0) return {};
  return {e.lower / (e.norm + left),
          e.norm > left ? e.upper / (e.norm - left) : std::numeric_limits<double>::infinity()};
}

}  // namespace

struct Solver::Impl {
  explicit Impl(SolverOptions options_in);
  at::Tensor lifted(Equation const& e) const;
  double shifted_energy(Equation const& e, at::Tensor const& u) const;
  at::Tensor predicted(Equation const& e, SolveStart& s) const;
  std::optional<at::Tensor> start(Equation const& e, Solution& s) const;
  void certify(Equation const& e, Multigrid const& cycle, at::Tensor const& u, Solution& s) const;
  void solve(Equation const& e, Preconditioner const& precondition, std::optional<at::Tensor> from,
             Solution& s) const;
  void solve_by_fft(Equation const& e, Solution& s) const;
  enum class Task { solve, certify };
  Solution run(Task task, Equation const& given) const;
  void finish(Equation const& e, Solution& s) const;

  SolverOptions options;
  Boundary boundary;
  std::vector<NetworkStart> networks;  ///< the members, where there are several
  std::string name = "none";
};

Solver::Impl::Impl(SolverOptions options_in) : options(std::move(options_in)) {
  VOXCYCLE_REQUIRE(options.tolerance >= kMinTolerance && options.tolerance < 1.0,
                   "tolerance " << options.tolerance
                                << " is not in [1e-14, 1) (rounding keeps float64 residuals above "
                                   "that). Give one that can be reached, e.g. 1e-8.");
  VOXCYCLE_REQUIRE(options.max_iterations > 0,
                   "a solver needs at least one iteration, not " << options.max_iterations << '.');
  VOXCYCLE_REQUIRE(options.device.is_cpu() || options.device.is_cuda(),
                   "a solver computes on the CPU or a GPU, not on " << options.device.str() << '.');
  if (options.device.is_cuda()) require_cuda();
  VOXCYCLE_REQUIRE(options.scheme == Scheme::q1 || options.model == nullptr,
                   "networks solve the equations of trilinear elements, not those of finite "
                   "volumes. Leave out the model, or take the scheme q1.");
  require_can_solve(options.method, options.scheme, options.device);
  VOXCYCLE_REQUIRE(options.method == SolveMethod::multigrid || options.model == nullptr,
                   "the solver fft starts from the lift, without a network. Leave out the model, "
                   "or take the solver multigrid.");
  if (options.comm != nullptr && options.comm->size() == 1) options.comm = nullptr;
  bool const can_share = options.method == SolveMethod::multigrid && options.device.is_cpu() &&
                         options.scheme == Scheme::q1 && options.more_members.empty();
  VOXCYCLE_REQUIRE(
      options.comm == nullptr || can_share,
      "processes share out solves by multigrid on CPUs, of trilinear elements and with "
      "one model at most. Take one process.");
  Boundary usual;
  VOXCYCLE_REQUIRE(options.model != nullptr || options.more_members.empty(),
                   "members without a model have no mean. Give the first one as the model.");
  std::vector<std::shared_ptr<Model>> models = options.more_members;
  if (options.model != nullptr) {
    models.insert(models.begin(), options.model);
    name = options.model->name;
    if (models.size() > 1) name = format("mean of %zu, the first: ", models.size()) + name;
    usual = options.model->boundary;
  }
  for (auto const& model : models) networks.emplace_back(model, options.device, options.precision);
  boundary = options.boundary.value_or(usual);
  for (Face const& face : boundary.faces) {
    VOXCYCLE_REQUIRE(face.kind != FaceKind::dirichlet || std::isfinite(face.value),
                     "the boundary '" << to_string(boundary) << "' has a value that is not finite. "
                                      << "Give numbers.");
  }
  for (auto const& model : models) {
    VOXCYCLE_REQUIRE(boundary == model->boundary,
                     model->file << " was trained for the boundary '" << to_string(model->boundary)
                                 << "', not for '" << to_string(boundary)
                                 << "'. Solve without a model, or train one for it.");
  }
}

at::Tensor Solver::Impl::lifted(Equation const& e) const {
  return lift_of_part(e.problem.here().slab(), boundary,
                      at::device(options.device).dtype(at::kDouble));
}

/// J of u measured from the boundary's datum, which changes J by the same for all u.
double Solver::Impl::shifted_energy(Equation const& e, at::Tensor const& u) const {
  return energy_of(e, from_datum(u, boundary));
}

/// The network's solution, of several members their mean, whose spread goes into `s`. Undefined
/// where one has none.
at::Tensor Solver::Impl::predicted(Equation const& e, SolveStart& s) const {
  s.precision = networks.front().precision();
  std::vector<at::Tensor> fields;
  for (auto const& network : networks) {
    Grid3 const grid = network.network_grid(e.problem.grid);
    if (!s.network_grid || grid.voxels < s.network_grid->voxels) s.network_grid = grid;
    fields.push_back(network(e));
    if (!fields.back().defined()) return {};
  }
  if (fields.size() == 1) return fields.front();
  auto together = spread_of_members(fields);
  set_dirichlet_values(together.mean, e.problem.grid, boundary);  // a mean is rounded
  s.spread = together.relative().item<double>();
  s.deviation = together.deviation.cpu()[0][0];
  return together.mean;
}

/// The network's solution if there is one that is better than the lift. By Ritz, of two fields the
/// one with the lower energy has the smaller energy-norm error.
std::optional<at::Tensor> Solver::Impl::start(Equation const& e, Solution& s) const {
  if (networks.empty()) return {};
  DeviceTimer const timer(e.nu.device().index());
  at::Tensor const u = predicted(e, s.start);
  s.start.failed = !u.defined();
  // By energies; false also for what is not a number.
  s.start.from_network = u.defined() && shifted_energy(e, u) < shifted_energy(e, lifted(e));
  s.start.rejected = !s.start.from_network;
  release_freed_memory(s.grid.voxel_count());  // its features are no nodal fields
  s.seconds.network = timer.seconds();
  if (s.start.rejected) return {};
  return u;
}

void Solver::Impl::certify(Equation const& e, Multigrid const& cycle, at::Tensor const& u,
                           Solution& s) const {
  s.relative_residual = s.start.relative_residual;
  s.converged = s.relative_residual <= options.tolerance;
  DeviceTimer const timer(e.nu.device().index());
  auto const estimate = estimate_error(e.problem, e.nu, u, cycle, kNarrow, e.b);
  s.seconds.estimate = timer.seconds();
  s.error_estimate = relative(estimate.estimate, estimate);
  s.bounds = relative_bounds(estimate);
  s.error_bound = s.bounds->upper;
  if (s.start.from_network) s.start.error_estimate = s.error_estimate;
  s.u = u;
}

void Solver::Impl::solve(Equation const& e, Preconditioner const& precondition,
                         std::optional<at::Tensor> from, Solution& s) const {
  DeviceTimer timer(e.nu.device().index());
  // By Ritz, |u - u*|_K^2 is twice the difference of the energies,
  double const of_start = from ? shifted_energy(e, *from) : 0.0;
  SolveOptions limits{options.tolerance, options.max_iterations};
  limits.energy_error = std::max(limits.energy_error, options.tolerance);
  int iteration = 0;
  auto const preconditioned = [&](at::Tensor const& r) {
    options.before_iteration(++iteration);
    return precondition(r);
  };
  auto const solved =
      solve_pcg(e.problem, e.nu, preconditioned, limits, e.b, std::exchange(from, std::nullopt));
  s.seconds.multigrid = timer.seconds();
  s.u = solved.u;
  s.iterations = solved.iterations;
  s.relative_residual = solved.relative_residual;
  s.converged = solved.converged;
  s.error_bound = solved.error_bound;
  timer.restart();
  s.error_estimate = quick_error_estimate(e.problem, e.nu, s.u, precondition, e.b);
  if (s.start.from_network) {
    double const square =
        2.0 * energy_and_gradient(from_datum(s.u, boundary), e.nu, e.problem.here())
                  .energy.item<double>();
    double const gap = std::max(0.0, of_start - shifted_energy(e, s.u));
    // and what is left of u's own error, orthogonal to the steps that were made.
    s.start.error_estimate = std::hypot(std::sqrt(2.0 * gap / square), s.error_estimate);
  }
  s.seconds.estimate += timer.seconds();
}

void Solver::Impl::solve_by_fft(Equation const& e, Solution& s) const {
  Timer const timer;
  FastPoisson const fast(e.problem);
  auto const precondition = fft_preconditioner(e.problem, e.nu, fast);
  s.seconds.setup = timer.seconds();
  solve(e, precondition, {}, s);
}

Equation on_device(Equation e, at::Device device) {
  e.nu = e.nu.to(device);
  if (e.f.defined()) e.f = e.f.to(device);
  if (e.b) e.b = e.b->to(device);
  return e;
}

Solution Solver::Impl::run(Task task, Equation const& given) const {
  at::NoGradGuard const no_grad;
  Equation e = on_device(given, options.device);
  Solution s;
  s.grid = e.problem.grid;
  s.scheme = options.scheme;
  s.empty = e.empty;
  std::optional<at::Tensor> from = start(e, s);
  if (!from && task == Task::certify) from = lifted(e);
  if (options.method == SolveMethod::fft) {
    solve_by_fft(e, s);
    finish(given, s);
    return s;
  }
  Space const space = e.problem.space ? *e.problem.space : Space(s.grid);
  fit_float32(space, e.nu, e.b);
  if (from) s.start.relative_residual = relative_residual(e.problem, e.nu, *from, e.b);
  {
    DeviceTimer const timer(e.nu.device().index());
    MultigridOptions cycles = multigrid_options_for(space, e.nu);
    cycles.graph = options.graph;
    // Bounds take the cycle for symmetric positive definite, whatever the contrast.
    if (task == Task::certify) cycles.dtype = at::kDouble;
    Multigrid const cycle = multigrid_for(e.problem, e.nu, cycles);
    s.seconds.setup = timer.seconds();
    if (task == Task::certify) {
      certify(e, cycle, *from, s);
    } else {
      solve(
          e, [&](at::Tensor const& r) { return cycle.cycle(r); }, std::move(from), s);
    }
  }
  finish(given, s);
  return s;
}

/// Its flows, and u as the caller gets it.
void Solver::Impl::finish(Equation const& e, Solution& s) const {
  s.u = s.u.cpu();
  if (options.scheme == Scheme::q1) {
    if (e.problem.space) e.problem.space->refresh_nodes(s.u);
    s.flows = face_flows(s.u, e.nu, e.problem.here(), boundary, e.b);
  } else {
    auto const couplings = finite_volume_couplings(s.grid, boundary, e.nu);
    s.flows = finite_volume_flows(s.grid, boundary, couplings, s.u, e.b);
    s.u = FiniteVolumePoints(s.grid, boundary).centres(s.u).contiguous();
  }
  bool const has_holes = e.empty.voxels + e.empty.dropped_voxels > 0;
  if (has_holes) s.u = at::where(live_unknowns(e), s.u, options.fill);
  s.u = s.u[0][0];
}

Solver::Solver(SolverOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Solver::~Solver() = default;
Solver::Solver(Solver&&) noexcept = default;
Solver& Solver::operator=(Solver&&) noexcept = default;

Solution Solver::solve(at::Tensor const& nu, std::optional<Grid3> const& grid,
                       std::optional<at::Tensor> const& f) const {
  return impl_->run(Impl::Task::solve, make_equation(impl_->boundary, impl_->options.scheme, nu,
                                                     grid, f, impl_->options.comm));
}

Solution Solver::certify(at::Tensor const& nu, std::optional<Grid3> const& grid,
                         std::optional<at::Tensor> const& f) const {
  VOXCYCLE_REQUIRE(impl_->options.method == SolveMethod::multigrid,
                   "certify bounds errors by multigrid cycles. Take the solver multigrid.");
  return impl_->run(Impl::Task::certify, make_equation(impl_->boundary, impl_->options.scheme, nu,
                                                       grid, f, impl_->options.comm));
}

Boundary const& Solver::boundary() const {
  return impl_->boundary;
}

std::string const& Solver::model() const {
  return impl_->name;
}

}  // namespace voxcycle
