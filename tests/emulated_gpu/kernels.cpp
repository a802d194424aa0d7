// SPDX-License-Identifier: BSD-3-Clause
// The kernels of src/*/kernels/*.cu, played block by block, from the last block, thread and element
// to the first: the CPU's loops go the other way, so that results which depend on the order differ
// from theirs.
#include "voxcycle/core/block_program.hpp"

#include <memory>
#include <type_traits>

#include "comm/exact_sum_columns.hpp"
#include "comm/largest_launch.hpp"
#include "memory.hpp"
#include "network/layers/norm_channels.hpp"
#include "network/layers/norm_launch.hpp"
#include "poisson/operator/element_jobs.hpp"
#include "poisson/operator/launch.hpp"
#include "streams.hpp"

namespace voxcycle {
namespace {

/// Replaces addresses of GPU memory by those that kernels see.
template <class... T>
void open(DeviceStream const& queue, T*&... address) {
  ((address = static_cast<T*>(emulated_gpu::kernel_view(queue.device, address))), ...);
}

/// Plays blocks `blocks` - 1 to 0: body(block, shared, index).
template <class Shared, int threads = block_threads, class Body>
void play(char const* name, DeviceStream const& queue, std::int64_t blocks, Body body) {
  emulated_gpu::count_launch(name);
  emulated_gpu::enqueue(queue.stream, [blocks, body] {
    auto const shared = std::make_unique<Shared>();
    EmulatedBlock block(EmulatedBlock::Order::downwards, threads);
    for (std::int64_t i = blocks; i-- > 0;) body(block, *shared, i);
  });
}

/// Calls body(i) for every element.
template <class Body>
void play_elements(char const* name, DeviceStream const& queue, std::int64_t count, Body body) {
  emulated_gpu::count_launch(name);
  emulated_gpu::enqueue(queue.stream, [count, body] {
    for (std::int64_t i = count; i-- > 0;) body(i);
  });
}

struct RowShared {
  double sums[block_threads];
};

/// `values` as kernels see it, `sums` as tensors do.
void sum_rows(DeviceStream const& queue, double const* values, std::int64_t rows,
              std::int64_t count, double* sums) {
  open(queue, sums);
  play<RowShared>("row sums", queue, rows,
                  [=](EmulatedBlock& block, RowShared& shared, std::int64_t i) {
                    sum_row_block(block, shared.sums, values, count, sums, i);
                  });
}

template <class T>
void energy(DeviceStream const& queue, EnergyJob<T> job, double* sums) {
  open(queue, job.u, job.nu, job.b, job.gradient, job.partial);
  int const tiles = EnergyTiles(job.nx, job.ny, job.nz).per_sample();
  play<EnergyShared<T>, EnergyTiles::threads>(
      "energy", queue, static_cast<std::int64_t>(job.batch) * tiles,
      [=](EmulatedBlock& block, EnergyShared<T>& shared, std::int64_t i) {
        energy_block(block, shared, job, static_cast<int>(i));
      });
  if (sums != nullptr) sum_rows(queue, job.partial, job.batch, tiles, sums);
}

template <class T>
void dots(DeviceStream const& queue, DotJob<T> job, std::int64_t batch, double* sums) {
  double* const partial = job.partial;
  open(queue, job.a, job.b, job.partial);
  play<RowShared>("dot products", queue, batch * job.chunks(),
                  [=](EmulatedBlock& block, RowShared& shared, std::int64_t i) {
                    dot_block(block, shared.sums, job, i);
                  });
  if (sums != partial) sum_rows(queue, job.partial, batch, job.chunks(), sums);
}

template <class T>
NodeSumJob<T> opened(DeviceStream const& queue, NodeSumJob<T> job) {
  open(queue, job.voxels, job.nodes);
  return job;
}

template <class T>
ChebyshevJob<T> opened(DeviceStream const& queue, ChebyshevJob<T> job) {
  open(queue, job.weights, job.b, job.k_x, job.d, job.x);
  return job;
}

template <class T>
LanczosJob<T> opened(DeviceStream const& queue, LanczosJob<T> job) {
  open(queue, job.x_k_x, job.y_y, job.y_y_before);
  open(queue, job.scale, job.k_x, job.y, job.other, job.x);
  return job;
}

template <class T>
NoiseJob<T> opened(DeviceStream const& queue, NoiseJob<T> job) {
  open(queue, job.x);
  return job;
}

template <class T>
DivideJob<T> opened(DeviceStream const& queue, DivideJob<T> job) {
  open(queue, job.weights, job.x);
  return job;
}

template <class T>
RestrictJob<T> opened(DeviceStream const& queue, RestrictJob<T> job) {
  open(queue, job.r, job.out);
  return job;
}

template <class T>
ProlongJob<T> opened(DeviceStream const& queue, ProlongJob<T> job) {
  open(queue, job.e, job.x);
  return job;
}

template <class T>
AverageJob<T> opened(DeviceStream const& queue, AverageJob<T> job) {
  open(queue, job.nu, job.out);
  return job;
}

template <class T>
WeightedRestrictJob<T> opened(DeviceStream const& queue, WeightedRestrictJob<T> job) {
  open(queue, job.weights, job.r, job.out);
  return job;
}

template <class T>
WeightedProlongJob<T> opened(DeviceStream const& queue, WeightedProlongJob<T> job) {
  open(queue, job.weights, job.e, job.x);
  return job;
}

template <class T>
ApplyCouplingsJob<T> opened(DeviceStream const& queue, ApplyCouplingsJob<T> job) {
  open(queue, job.k.couplings, job.u, job.out);
  return job;
}

template <class T>
CouplingDiagonalJob<T> opened(DeviceStream const& queue, CouplingDiagonalJob<T> job) {
  open(queue, job.k.couplings, job.out);
  return job;
}

template <class T>
VoxelEntries<T> opened(DeviceStream const& queue, VoxelEntries<T> entries) {
  open(queue, entries.nu);
  return entries;
}

template <class T>
CouplingEntries<T> opened(DeviceStream const& queue, CouplingEntries<T> entries) {
  open(queue, entries.couplings);
  return entries;
}

template <class Entries>
DenseRowJob<Entries> opened(DeviceStream const& queue, DenseRowJob<Entries> job) {
  job.k = opened(queue, job.k);
  open(queue, job.matrices);
  return job;
}

template <class T, class Entries, int... odd>
BlackBoxWeightJob<T, Entries, odd...> opened(DeviceStream const& queue,
                                             BlackBoxWeightJob<T, Entries, odd...> job) {
  job.fine = opened(queue, job.fine);
  open(queue, job.weights);
  return job;
}

template <class T, class Entries>
BlackBoxCouplingJob<T, Entries> opened(DeviceStream const& queue,
                                       BlackBoxCouplingJob<T, Entries> job) {
  job.fine = opened(queue, job.fine);
  open(queue, job.weights, job.couplings);
  return job;
}

template <class T>
fixed_point::LargestJob<T> opened(DeviceStream const& queue, fixed_point::LargestJob<T> job) {
  open(queue, job.segments.table, job.rows, job.largest);
  return job;
}

template <class T>
fixed_point::SumJob<T> opened(DeviceStream const& queue, fixed_point::SumJob<T> job) {
  open(queue, job.segments.table, job.rows, job.sums);
  return job;
}

template <class T>
fixed_point::ToFloatingJob<T> opened(DeviceStream const& queue, fixed_point::ToFloatingJob<T> job) {
  open(queue, job.segments.table, job.sums, job.x);
  return job;
}

exact_columns::ExponentJob opened(DeviceStream const& queue, exact_columns::ExponentJob job) {
  open(queue, job.terms.values, job.exponent);
  return job;
}

exact_columns::LimbJob opened(DeviceStream const& queue, exact_columns::LimbJob job) {
  open(queue, job.terms.values, job.exponent, job.limbs);
  return job;
}

RunSumJob opened(DeviceStream const& queue, RunSumJob job) {
  open(queue, job.first, job.end, job.field, job.sums);
  return job;
}

PartSumJob opened(DeviceStream const& queue, PartSumJob job) {
  open(queue, job.begin, job.parts, job.sums);
  return job;
}

RunAddJob opened(DeviceStream const& queue, RunAddJob job) {
  open(queue, job.first, job.end, job.body, job.values, job.field);
  return job;
}

exact_columns::SumJob opened(DeviceStream const& queue, exact_columns::SumJob job) {
  open(queue, job.exponent, job.limbs, job.sums);
  return job;
}

norm_channels::BatchJob opened(DeviceStream const& queue, norm_channels::BatchJob job) {
  open(queue, job.sums, job.running_mean.values, job.running_var.values, job.mean, job.inverse_std);
  return job;
}

norm_channels::AffineJob opened(DeviceStream const& queue, norm_channels::AffineJob job) {
  open(queue, job.mean, job.inverse_std, job.gamma.values, job.beta.values, job.scale.values,
       job.shift.values, job.center.values);
  return job;
}

norm_channels::GradientsJob opened(DeviceStream const& queue, norm_channels::GradientsJob job) {
  open(queue, job.sums, job.mean, job.inverse_std, job.gamma.values, job.dgamma.values,
       job.dbeta.values, job.linear.values, job.constant.values);
  return job;
}

}  // namespace

void launch_energy(DeviceStream const& queue, EnergyJob<float> const& job, double* sums) {
  energy(queue, job, sums);
}
void launch_energy(DeviceStream const& queue, EnergyJob<double> const& job, double* sums) {
  energy(queue, job, sums);
}
void launch_dots(DeviceStream const& queue, DotJob<float> const& job, std::int64_t batch,
                 double* sums) {
  dots(queue, job, batch, sums);
}
void launch_dots(DeviceStream const& queue, DotJob<double> const& job, std::int64_t batch,
                 double* sums) {
  dots(queue, job, batch, sums);
}
template <class Job>
void launch_elements(char const* name, DeviceStream const& queue, std::int64_t count,
                     Job const& job) {
  play_elements(name, queue, count, opened(queue, job));
}

template struct ElementLaunches<NodeJobs<float>>;
template struct ElementLaunches<NodeJobs<double>>;
void launch_inverse(DeviceStream const& queue, InverseJob const& given, std::int64_t batch) {
  InverseJob job = given;
  open(queue, job.matrices);
  play<InverseShared>("inverse matrices", queue, batch,
                      [=](EmulatedBlock& block, InverseShared& shared, std::int64_t i) {
                        inverse_block(block, shared, job, i);
                      });
}

template struct ElementLaunches<DenseJobs<float>>;
template struct ElementLaunches<DenseJobs<double>>;
template struct ElementLaunches<MultigridJobs<float>>;
template struct ElementLaunches<MultigridJobs<double>>;
template struct ElementLaunches<BodyJobs>;
template struct ElementLaunches<BlackBoxJobs<float>>;
template struct ElementLaunches<BlackBoxJobs<double>>;
template struct ElementLaunches<fixed_point::ElementJobs<float>>;
template struct ElementLaunches<fixed_point::ElementJobs<double>>;
template struct ElementLaunches<exact_columns::Jobs>;
template struct ElementLaunches<norm_channels::Jobs>;

}  // namespace voxcycle

namespace voxcycle::norm_blocks {
namespace {

template <class T, class Compute>
Job<T, Compute> opened(DeviceStream const& queue, Job<T, Compute> job) {
  open(queue, job.x, job.dy, job.out, job.partial, job.a.values, job.b.values, job.mean.values,
       job.p.values, job.q.values);
  return job;
}

template <class T, class Compute, class Program>
void play_sums(DeviceStream const& queue, Job<T, Compute> const& job, double* sums,
               Program program) {
  auto const tiles = job.tiles();
  play<Shared>("sums of normalisation", queue, tiles.blocks(),
               [=](EmulatedBlock& block, Shared& shared, std::int64_t i) {
                 program(block, shared, job, i);
               });
  sum_rows(queue, job.partial, 2 * job.samples * job.channels, tiles.chunks, sums);
}

template <class T, class Compute, class Program>
void play_values(DeviceStream const& queue, Job<T, Compute> const& job, Program program) {
  play<Shared>(
      "normalisation", queue, job.tiles().blocks(),
      [=](EmulatedBlock& block, Shared& /*shared*/, std::int64_t i) { program(block, job, i); });
}

}  // namespace

template <class T, class Compute>
void Launch<T, Compute>::moments(DeviceStream const& queue, Job<T, Compute> const& job,
                                 double* sums) {
  play_sums(queue, opened(queue, job), sums,
            [](auto&... arguments) { norm_blocks::moments(arguments...); });
}

template <class T, class Compute>
void Launch<T, Compute>::backward_moments(DeviceStream const& queue, Job<T, Compute> const& job,
                                          double* sums) {
  play_sums(queue, opened(queue, job), sums,
            [](auto&... arguments) { norm_blocks::backward_moments(arguments...); });
}

template <class T, class Compute>
void Launch<T, Compute>::forward(DeviceStream const& queue, Job<T, Compute> const& job) {
  play_values(queue, opened(queue, job),
              [](auto&... arguments) { norm_blocks::forward(arguments...); });
}

template <class T, class Compute>
void Launch<T, Compute>::backward(DeviceStream const& queue, Job<T, Compute> const& job) {
  play_values(queue, opened(queue, job),
              [](auto&... arguments) { norm_blocks::backward(arguments...); });
}

template struct Launch<Bf16, float>;
template struct Launch<F16, float>;
template struct Launch<float, float>;
template struct Launch<double, double>;

}  // namespace voxcycle::norm_blocks

namespace voxcycle::fixed_point {
namespace {

struct LargestShared {
  std::int64_t patterns[block_threads];
};

}  // namespace

template <class T>
void launch_largest(DeviceStream const& queue, LargestJob<T> const& job) {
  play<LargestShared>(
      "largest gradients", queue, job.segments.count,
      [job = opened(queue, job)](EmulatedBlock& block, LargestShared& shared, std::int64_t array) {
        largest_block(block, shared.patterns, job, array);
      });
}

template void launch_largest(DeviceStream const&, LargestJob<float> const&);
template void launch_largest(DeviceStream const&, LargestJob<double> const&);

}  // namespace voxcycle::fixed_point
