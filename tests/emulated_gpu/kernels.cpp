// SPDX-License-Identifier: BSD-3-Clause
// The kernels of src/*/kernels/*.cu, played block by block.
#include "voxcycle/core/block_program.hpp"

#include <memory>
#include <type_traits>

#include "comm/fixed_point_launch.hpp"
#include "memory.hpp"
#include "network/norm_launch.hpp"
#include "poisson/launch.hpp"
#include "streams.hpp"

namespace voxcycle {
namespace {

/// Replaces addresses of GPU memory by those that kernels see.
template <class... T>
void open(DeviceQueue const& queue, T*&... address) {
  ((address = static_cast<T*>(emulated_gpu::kernel_view(queue.device, address))), ...);
}

/// Plays blocks 0 .. blocks: body(block, shared, index).
template <class Shared, class Body>
void play(DeviceQueue const& queue, std::int64_t blocks, Body body) {
  emulated_gpu::enqueue(queue.stream, [blocks, body] {
    auto const shared = std::make_unique<Shared>();
    EmulatedBlock block(EmulatedBlock::Order::upwards);
    for (std::int64_t i = 0; i < blocks; ++i) body(block, *shared, i);
  });
}

/// Calls body(i) for every element.
template <class Body>
void play_elements(DeviceQueue const& queue, std::int64_t count, Body body) {
  emulated_gpu::enqueue(queue.stream, [count, body] {
    for (std::int64_t i = 0; i < count; ++i) body(i);
  });
}

struct RowShared {
  double sums[block_threads];
};

/// `values` as kernels see it, `sums` as tensors do.
void sum_rows(DeviceQueue const& queue, double const* values, std::int64_t rows, std::int64_t count,
              double* sums) {
  open(queue, sums);
  play<RowShared>(queue, rows, [=](EmulatedBlock& block, RowShared& shared, std::int64_t i) {
    sum_row_block(block, shared.sums, values, count, sums, i);
  });
}

template <class T>
void energy(DeviceQueue const& queue, EnergyJob<T> job, double* sums) {
  open(queue, job.u, job.nu, job.b, job.gradient, job.partial);
  int const tiles = EnergyTiles(job.nx, job.ny, job.nz).per_sample();
  play<EnergyShared<T>>(queue, static_cast<std::int64_t>(job.batch) * tiles,
                        [=](EmulatedBlock& block, EnergyShared<T>& shared, std::int64_t i) {
                          energy_block(block, shared, job, static_cast<int>(i));
                        });
  if (sums != nullptr) sum_rows(queue, job.partial, job.batch, tiles, sums);
}

template <class T>
void node_sum(DeviceQueue const& queue, NodeSumJob<T> job) {
  open(queue, job.voxels, job.nodes);
  play_elements(queue, job.count(), [=](std::int64_t i) { sum_at_node(job, i); });
}

template <class T>
void chebyshev(DeviceQueue const& queue, ChebyshevJob<T> job) {
  open(queue, job.inverse, job.b, job.k_x, job.d, job.x);
  play_elements(queue, job.count, [=](std::int64_t i) { chebyshev_at(job, i); });
}

template <class T>
void divide(DeviceQueue const& queue, DivideJob<T> job) {
  open(queue, job.inverse, job.x);
  play_elements(queue, job.count, [=](std::int64_t i) { divide_at(job, i); });
}

}  // namespace

void launch_energy(DeviceQueue const& queue, EnergyJob<float> const& job, double* sums) {
  energy(queue, job, sums);
}
void launch_energy(DeviceQueue const& queue, EnergyJob<double> const& job, double* sums) {
  energy(queue, job, sums);
}
void launch_node_sum(DeviceQueue const& queue, NodeSumJob<float> const& job) {
  node_sum(queue, job);
}
void launch_node_sum(DeviceQueue const& queue, NodeSumJob<double> const& job) {
  node_sum(queue, job);
}
void launch_chebyshev(DeviceQueue const& queue, ChebyshevJob<float> const& job) {
  chebyshev(queue, job);
}
void launch_chebyshev(DeviceQueue const& queue, ChebyshevJob<double> const& job) {
  chebyshev(queue, job);
}
void launch_divide(DeviceQueue const& queue, DivideJob<float> const& job) {
  divide(queue, job);
}
void launch_divide(DeviceQueue const& queue, DivideJob<double> const& job) {
  divide(queue, job);
}

}  // namespace voxcycle

namespace voxcycle::norm_blocks {
namespace {

template <class T, class Compute>
Job<T, Compute> opened(DeviceQueue const& queue, Job<T, Compute> job) {
  open(queue, job.x, job.dy, job.out, job.partial, job.a.values, job.b.values, job.mean.values,
       job.p.values, job.q.values);
  return job;
}

template <class T, class Compute, class Program>
void play_sums(DeviceQueue const& queue, Job<T, Compute> const& job, double* sums,
               Program program) {
  auto const tiles = job.tiles();
  play<Shared>(queue, tiles.blocks(), [=](EmulatedBlock& block, Shared& shared, std::int64_t i) {
    program(block, shared, job, i);
  });
  sum_rows(queue, job.partial, 2 * job.samples * job.channels, tiles.chunks, sums);
}

template <class T, class Compute, class Program>
void play_values(DeviceQueue const& queue, Job<T, Compute> const& job, Program program) {
  play<Shared>(
      queue, job.tiles().blocks(),
      [=](EmulatedBlock& block, Shared& /*shared*/, std::int64_t i) { program(block, job, i); });
}

}  // namespace

template <class T, class Compute>
void Launch<T, Compute>::moments(DeviceQueue const& queue, Job<T, Compute> const& job,
                                 double* sums) {
  play_sums(queue, opened(queue, job), sums,
            [](auto&... arguments) { norm_blocks::moments(arguments...); });
}

template <class T, class Compute>
void Launch<T, Compute>::backward_moments(DeviceQueue const& queue, Job<T, Compute> const& job,
                                          double* sums) {
  play_sums(queue, opened(queue, job), sums,
            [](auto&... arguments) { norm_blocks::backward_moments(arguments...); });
}

template <class T, class Compute>
void Launch<T, Compute>::forward(DeviceQueue const& queue, Job<T, Compute> const& job) {
  play_values(queue, opened(queue, job),
              [](auto&... arguments) { norm_blocks::forward(arguments...); });
}

template <class T, class Compute>
void Launch<T, Compute>::backward(DeviceQueue const& queue, Job<T, Compute> const& job) {
  play_values(queue, opened(queue, job),
              [](auto&... arguments) { norm_blocks::backward(arguments...); });
}

template struct Launch<Bf16, float>;
template struct Launch<float, float>;
template struct Launch<double, double>;

}  // namespace voxcycle::norm_blocks

namespace voxcycle::fixed_point {
namespace {

struct LargestShared {
  std::int64_t patterns[block_threads];
};

template <class T>
void play_largest(DeviceQueue const& queue, LargestJob<T> const& job) {
  play<LargestShared>(queue, job.chunks(),
                      [=](EmulatedBlock& block, LargestShared& shared, std::int64_t i) {
                        largest_block(block, shared.patterns, job, i);
                      });
}

}  // namespace

template <class T>
void Launch<T>::largest(DeviceQueue const& queue, LargestJob<T> const& job, std::int64_t* all) {
  auto opened = job;
  open(queue, opened.x, opened.largest, all);
  play_largest(queue, opened);
  play_largest(queue, LargestJob<std::int64_t>{opened.largest, job.chunks(), job.chunks(), all});
}

template <class T>
void Launch<T>::add(DeviceQueue const& queue, AddJob<T> const& job) {
  auto opened = job;
  open(queue, opened.x, opened.fixed);
  play_elements(queue, job.count, [=](std::int64_t i) { add_at(opened, i); });
}

template <class T>
void Launch<T>::to_floating(DeviceQueue const& queue, ToFloatingJob<T> const& job) {
  auto opened = job;
  open(queue, opened.fixed, opened.x);
  play_elements(queue, job.count, [=](std::int64_t i) { to_floating_at(opened, i); });
}

template struct Launch<float>;
template struct Launch<double>;

}  // namespace voxcycle::fixed_point
