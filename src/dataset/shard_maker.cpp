// SPDX-License-Identifier: BSD-3-Clause
#include "dataset/shard_maker.hpp"

#include "voxcycle/comm/led_work.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/parallel.hpp"
#include "voxcycle/core/tensor_values.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/dataset/sample_source.hpp"
#include "voxcycle/io/shard.hpp"
#include "voxcycle/poisson/energy.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

namespace voxcycle {
namespace {

/// Of a second solve, so that it costs little beside a shard's others: at 32^3 FFTs need 24
/// iterations on kl, 70 on grf, and not all of these on inclusions of contrast 1e3.
constexpr std::int64_t kMaxVoxelsOfSecond = 32 * 32 * 32;
constexpr int kMaxIterationsOfSecond = 200;

/// |u - u_ref| / |u_ref|, sums over nodes.
double relative_difference(std::span<double const> u, std::vector<double> const& u_ref) {
  double difference = 0.0, norm = 0.0;
  for (std::size_t k = 0; k < u_ref.size(); ++k) {
    difference += (u[k] - u_ref[k]) * (u[k] - u_ref[k]);
    norm += u_ref[k] * u_ref[k];
  }
  return std::sqrt(norm > 0.0 ? difference / norm : difference);
}

/// Float64 nodal fields that a reference solve holds at its peak, and its sample: 12 were measured,
/// and its cycles may be in float64 instead of float32.
constexpr std::int64_t kSolveFields = 18;

/// Samples made together where they fit: one a thread of large ones; of small ones more, which last
/// differently long.
std::int64_t group_size(Grid3 const& grid) {
  constexpr std::int64_t voxels = 1 << 20;  // a thread
  return at::get_num_threads() *
         std::clamp(voxels / grid.voxel_count(), std::int64_t{1}, std::int64_t{64});
}

}  // namespace

bool ShardMaker::is_shared(ShardInfo const& info) const {
  return info.has_reference && process_grid_.spatial && device_.is_cpu() &&
         method_ == SolveMethod::multigrid && process_grid_.slabs.cut(info.grid);
}

/// What this process solves for.
Space ShardMaker::space_of(ShardInfo const& info) const {
  return is_shared(info) ? process_grid_.space(info.grid) : Space(info.grid);
}

/// Whether each thread may solve for a sample of its own at once.
bool ShardMaker::fits_one_a_thread(ShardInfo const& info) const {
  std::int64_t const all = at::get_num_threads() * kSolveFields * 8 * info.grid.node_count();
  return !info.has_reference || !device_.is_cpu() || memory_ == 0 || all <= memory_;
}

void ShardMaker::make(ShardJob const& job, StopSignal const& stop,
                      std::function<void(double)> const& after_share) {
  bool const shared = is_shared(job.info);
  LedWork const led(shared ? process_grid_.spatial.get() : nullptr, 2);
  std::int64_t const maximum =
      !shared && fits_one_a_thread(job.info) ? group_size(job.info.grid) : 1;
  std::vector<ShardSample> group;
  std::int64_t begin = 0;
  auto const next = [&](std::int64_t local) {
    if (local == begin + std::ssize(group)) {
      if (stop.requested()) throw StopRequested();
      after_share(static_cast<double>(local) / static_cast<double>(job.info.samples));
      begin = local;
      group.clear();  // before the next ones need room
      std::int64_t const end = std::min(begin + maximum, job.info.samples);
      led.announce({begin, end});
      group = make_group(job, begin, end);
    }
    return std::move(group[static_cast<std::size_t>(local - begin)]);
  };
  bool stopped = false;
  led.lead(
      [&] {
        try {
          write_shard(job.path, job.info, next);
        } catch (StopRequested const&) {
          stopped = true;
        }
      },
      [&](LedWork::Numbers const& range) { make_group(job, range[0], range[1]); });
  if (shared) stopped = process_grid_.spatial->any(stopped);
  if (stopped) throw StopRequested();
}

std::vector<ShardSample> ShardMaker::make_group(ShardJob const& job, std::int64_t begin,
                                                std::int64_t end) {
  auto const& info = job.info;
  Space const space = space_of(info);
  std::vector<ShardSample> samples(static_cast<std::size_t>(end - begin));
  std::vector<SolveResult> results(info.has_reference ? samples.size() : 0);
  auto const solve = [&](std::size_t k) {
    try {
      results[k] = this->solve(info, space, samples[k], method_, SolveOptions{}.max_iterations);
    } catch (Error& problem) {
      auto const index = info.first_index + begin + static_cast<std::int64_t>(k);
      problem.prepend(info.split + " sample " + std::to_string(index) + " of " +
                      family_.signature() + " at " + info.grid.label() + ": ");
      throw;
    }
    auto const values = values_of(results[k].u);
    samples[k].u_ref.assign(values.begin(), values.end());
    results[k].u.reset();
    if (begin == 0 && k == 0 && info.split == "held_out") solve_first_again(info, samples[0]);
  };
  // One sample a thread, if there are so many: the solver itself then runs serially and no thread
  // waits. Else one after the other, each with all threads, or on a GPU, which one keeps busy.
  bool const by_thread =
      space.is_whole() && device_.is_cpu() && end - begin >= at::get_num_threads();
  parallel_for(end - begin, info.grid.voxel_count(), [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t k = first; k < last; ++k) {
      auto const at = static_cast<std::size_t>(k);
      std::int64_t const index = info.first_index + begin + k;
      samples[at] = make_coefficient(family_, info, job.origin, index);
      samples[at].f = source_fields_.of(info, index);
      if (info.has_reference && by_thread) solve(at);
    }
  });
  if (!by_thread) {
    for (std::size_t k = 0; k < results.size(); ++k) solve(k);
  }
  for (std::size_t k = 0; k < results.size(); ++k) {
    count(results[k], info, info.first_index + begin + static_cast<std::int64_t>(k));
  }
  return samples;
}

/// @return with u on the CPU, where the method that is not data.reference computes
SolveResult ShardMaker::solve(ShardInfo const& info, Space const& space, ShardSample const& sample,
                              SolveMethod method, int max_iterations) const {
  Space const whole(info.grid);
  auto const voxels = [&](std::vector<float> const& values) {
    at::Tensor const all =
        at::from_blob(const_cast<float*>(values.data()), info.grid.voxel_shape(), at::kFloat);
    return whole.voxels_within(space, all).to(method == method_ ? device_ : at::kCPU, at::kDouble);
  };
  std::optional<at::Tensor> b;
  if (!source_.is_zero()) {
    b = sample.f.empty() ? load_of_source(source_.value, space.slab().part())
                         : load_of_source(voxels(sample.f), space);
  }
  Problem problem{info.grid, boundary_};
  if (!space.is_whole()) problem.space = std::make_shared<Space const>(space);
  auto result =
      solve_by(method, problem, voxels(sample.nu), {info.reference_tolerance, max_iterations}, b);
  result.u = space.nodes_on(whole, result.u).cpu().contiguous();
  return result;
}

/// By the other method, if that costs little.
void ShardMaker::solve_first_again(ShardInfo const& info, ShardSample& sample) {
  if (info.grid.voxel_count() > kMaxVoxelsOfSecond) return;
  auto const other = method_ == SolveMethod::fft ? SolveMethod::multigrid : SolveMethod::fft;
  auto const result = solve(info, Space(info.grid), sample, other, kMaxIterationsOfSecond);
  if (!result.converged) return;
  double const difference = relative_difference(values_of(result.u), sample.u_ref);
  sample.reference_difference = difference;
  auto& largest = differences_[info.grid.name()];
  largest = std::max(largest, difference);
}

void ShardMaker::count(SolveResult const& result, ShardInfo const& info, std::int64_t index) {
  VOXCYCLE_REQUIRE(result.converged,
                   "reference solution "
                       << index << " at " << info.grid.label() << " reached "
                       << result.relative_residual << " after " << result.iterations
                       << " iterations, not " << info.reference_tolerance
                       << ". Raise data.reference_tolerance"
                       << (method_ == SolveMethod::fft ? ", or take data.reference = multigrid."
                                                       : "."));
  if (is_shared(info) && !process_grid_.leads()) return;
  ++statistics_.solves;
  statistics_.max_iterations = std::max(statistics_.max_iterations, result.iterations);
  statistics_.largest_residual = std::max(statistics_.largest_residual, result.relative_residual);
  statistics_.largest_bound = std::max(statistics_.largest_bound, result.error_bound);
}

}  // namespace voxcycle
