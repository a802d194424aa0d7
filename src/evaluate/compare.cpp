// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/evaluate/compare.hpp"

#include "voxcycle/core/device_timer.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/median.hpp"
#include "voxcycle/network/predict.hpp"
#include "voxcycle/poisson/energy.hpp"
#include "voxcycle/poisson/errors.hpp"
#include "voxcycle/solver/full_multigrid.hpp"
#include "voxcycle/solver/multigrid_pcg.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <utility>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

namespace voxcycle {
namespace {

constexpr int kBatchRepeats = 5;

/// What a method made of one sample.
struct Solved {
  at::Tensor u;  ///< [1, 1, nx+1, ny+1, nz+1]
  double setup_seconds = 0.0;
  int iterations = 0;
  bool converged = true;
};

/// One sample, where the network is.
struct Sample {
  at::Tensor nu;             ///< [1, 1, nx, ny, nz] float32
  at::Tensor f;              ///< shape of nu, undefined unless each sample has its own
  at::Tensor u_ref;          ///< [1, 1, nx+1, ny+1, nz+1] float64
  int equal_iterations = 0;  ///< Methods::iterations_to_equal
};

/// The methods on one sample each; all start from nu and f as they are in the shards.
class Methods {
 public:
  Methods(Communicator const& comm, Network& network, Grid3 const& grid,
          CompareOptions const& options)
      : comm_(comm), network_(network), problem_{grid, options.boundary}, options_(options) {}

  at::Device device() const { return device_of(network_); }

  at::Tensor predicted(at::Tensor const& nu, at::Tensor const& f) const {
    return predict(comm_, network_, problem_.grid, nu, f, options_.dtype);
  }

  Solved network_alone(Sample const& s) const { return {predicted(s.nu, s.f)}; }

  Solved network_and_cycle(Sample const& s) const {
    at::Tensor const u = network_start(s);
    at::Tensor const nu = s.nu.to(at::kDouble);
    auto [hierarchy, seconds] = timed_hierarchy(nu);
    at::Tensor const gradient = energy_and_gradient(u, nu, problem_.grid, load(s)).gradient;
    return {u + hierarchy.cycle(gradient.neg()), seconds};
  }

  Solved full_cycle(Sample const& s) const {
    at::Tensor const nu = s.nu.to(at::kDouble);
    auto [hierarchy, seconds] = timed_hierarchy(nu);
    return {full_multigrid(problem_, nu, hierarchy, load(s)).u, seconds};
  }

  Solved pcg_from_lift(Sample const& s) const { return pcg(s, {}, to_tolerance()); }
  Solved pcg_from_network(Sample const& s) const {
    return pcg(s, network_start(s), to_tolerance());
  }
  Solved pcg_to_network_error(Sample const& s) const {
    Solved solved = pcg(s, {}, at_max(s.equal_iterations));
    solved.converged = true;  // it was asked for no more
    return solved;
  }

  /// Iterations from the lift that leave no more than the network's energy-norm error, at least
  /// one.
  int iterations_to_equal(Sample const& s) const {
    auto const error = [&](at::Tensor const& u) {
      return field_errors(u, s.u_ref, s.nu, problem_.grid).energy_norm_error.item<double>();
    };
    double const of_network = error(network_alone(s).u);
    for (int maximum = 1;; ++maximum) {
      Solved const solved = pcg(s, {}, at_max(maximum));
      if (solved.iterations < maximum || !(error(solved.u) > of_network)) return maximum;
    }
  }

 private:
  /// To the tolerance and no further: errors are measured here.
  SolveOptions to_tolerance() const {
    return {.tolerance = options_.tolerance,
            .energy_error = std::numeric_limits<double>::infinity()};
  }
  SolveOptions at_max(int iterations) const {
    auto options = to_tolerance();
    options.max_iterations = iterations;
    return options;
  }

  Solved pcg(Sample const& s, std::optional<at::Tensor> start, SolveOptions const& options) const {
    at::Tensor const nu = s.nu.to(at::kDouble);
    auto [hierarchy, seconds] = timed_hierarchy(nu);
    auto const result = solve_pcg(
        problem_, nu, [&](at::Tensor const& r) { return hierarchy.cycle(r); }, options, load(s),
        std::move(start));
    return {result.u, seconds, result.iterations, result.converged};
  }

  /// In float64, with Dirichlet values that are not rounded to float32.
  at::Tensor network_start(Sample const& s) const {
    at::Tensor u = predicted(s.nu, s.f).to(at::kDouble).contiguous();
    set_dirichlet_values(u, problem_.grid, problem_.boundary);
    return u;
  }

  std::pair<Multigrid, double> timed_hierarchy(at::Tensor const& nu) const {
    DeviceTimer const timer(nu.device().index());
    Multigrid hierarchy(problem_.grid, problem_.boundary, nu,
                        multigrid_options_for(problem_.grid, nu));
    return {std::move(hierarchy), timer.seconds()};
  }

  std::optional<at::Tensor> load(Sample const& s) const {
    if (s.f.defined()) return load_of_source(s.f.to(at::kDouble), problem_.grid);
    if (options_.source.is_zero()) return std::nullopt;
    return load_of_source(options_.source.value, problem_.grid).to(device());
  }

  Communicator const& comm_;
  Network& network_;
  Problem problem_;
  CompareOptions options_;
};

/// A method under measurement.
struct Row {
  ComparedMethod method;
  std::function<Solved(Sample const&)> solve;
  std::vector<double> seconds{}, setup_seconds{};
  std::vector<double> rel_l2{}, energy_norm_error{};
  double iterations = 0.0;

  void measure(Sample const& sample, Grid3 const& grid) {
    DeviceTimer const timer(sample.nu.device().index());
    Solved const solved = solve(sample);
    seconds.push_back(timer.seconds());
    setup_seconds.push_back(solved.setup_seconds);
    iterations += solved.iterations;
    method.converged = method.converged && solved.converged;
    auto const errors = field_errors(solved.u, sample.u_ref, sample.nu, grid);
    rel_l2.push_back(errors.rel_l2.item<double>());
    energy_norm_error.push_back(errors.energy_norm_error.item<double>());
  }

  ComparedMethod summary() const {
    auto const count = static_cast<double>(seconds.size());
    auto const mean = [&](std::vector<double> const& values) {
      double sum = 0.0;
      for (double const value : values) sum += value;
      return sum / count;
    };
    ComparedMethod result = method;
    result.rel_l2_mean = mean(rel_l2);
    result.rel_l2_max = *std::max_element(rel_l2.begin(), rel_l2.end());
    result.energy_norm_error_mean = mean(energy_norm_error);
    result.energy_norm_error_max =
        *std::max_element(energy_norm_error.begin(), energy_norm_error.end());
    result.seconds = median(seconds);
    result.setup_seconds = median(setup_seconds);
    result.iterations = iterations / count;
    return result;
  }
};

/// Median seconds a sample of the network on `batch` samples at once.
double seconds_batched(Methods const& methods, HeldOutSet const& set) {
  std::int64_t const batch = set.nu.size(0);
  at::Tensor const nu = set.nu.to(methods.device());
  at::Tensor const f = set.f.defined() ? set.f.to(methods.device()) : set.f;
  std::vector<double> seconds;
  for (int k = 0; k < kBatchRepeats + 1; ++k) {
    DeviceTimer const timer(methods.device().index());
    methods.predicted(nu, f);
    if (k > 0) seconds.push_back(timer.seconds() / static_cast<double>(batch));
  }
  return median(seconds);
}

}  // namespace

Comparison compare_methods(Communicator const& comm, Network& network,
                           HeldOutSamples const& samples, CompareOptions const& options) {
  at::NoGradGuard const no_grad;
  std::int64_t const count = std::min(samples.count, options.max_samples);
  VOXCYCLE_REQUIRE(count > 0, "compare: no held-out samples. Raise data.held_out_samples.");
  Methods const methods(comm, network, samples.grid, options);
  auto const row = [&](char const* key, char const* name, bool classical,
                       Solved (Methods::*solve)(Sample const&) const) {
    return Row{.method = {.key = key, .name = name, .classical = classical},
               .solve = [&methods, solve](Sample const& s) { return (methods.*solve)(s); }};
  };
  std::vector<Row> rows{
      row("network", "network", false, &Methods::network_alone),
      row("network_and_cycle", "network, then one V-cycle", false, &Methods::network_and_cycle),
      row("full_multigrid", "one full multigrid F-cycle", true, &Methods::full_cycle),
      row("pcg_to_network_error", "multigrid PCG to network's error", true,
          &Methods::pcg_to_network_error),
      row("pcg_from_lift", "multigrid PCG from the lift", true, &Methods::pcg_from_lift),
      row("pcg_from_network", "multigrid PCG from the network", false, &Methods::pcg_from_network),
  };
  auto const sample = [&](std::int64_t k) {
    HeldOutSet const set = samples.read(k, k + 1);
    auto const field = [&](at::Tensor const& one) {
      return one.defined() ? one.to(methods.device()) : one;
    };
    Sample s{field(set.nu), field(set.f), field(set.u_ref)};
    s.equal_iterations = methods.iterations_to_equal(s);
    return s;
  };
  for (std::int64_t k = 0; k < count; ++k) {
    Sample const s = sample(k);
    if (k == 0) {
      for (auto const& r : rows) r.solve(s);
    }
    for (auto& r : rows) r.measure(s, samples.grid);
    if (options.after_share)
      options.after_share(static_cast<double>(k + 1) / static_cast<double>(count));
  }

  Comparison result{.grid = samples.grid.label(),
                    .samples = count,
                    .batch = std::min(count, options.batch),
                    .threads = at::get_num_threads(),
                    .device = options.device,
                    .tolerance = options.tolerance,
                    .methods = {}};
  for (auto const& r : rows) result.methods.push_back(r.summary());
  ComparedMethod batched = result.methods.front();
  batched.key = "network_batched";
  batched.name = "network, " + std::to_string(result.batch) + " samples at once";
  batched.seconds = seconds_batched(methods, samples.read(0, result.batch));
  result.methods.insert(result.methods.begin() + 1, batched);
  return result;
}

}  // namespace voxcycle
