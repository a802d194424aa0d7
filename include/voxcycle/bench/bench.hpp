// SPDX-License-Identifier: BSD-3-Clause
// What `voxcycle bench` measures: medians of repeated runs, and ratios of what takes turns.
#pragma once

#include "voxcycle/comm/communicator.hpp"
#include "voxcycle/config/config.hpp"
#include "voxcycle/core/json.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// What is measured, and where. Each bench has defaults of its own for sizes that are not given.
struct BenchOptions {
  Config const& config;
  Communicator const& comm;         ///< the launcher's
  Communicator const& device_comm;  ///< what connects the processes where they compute
  at::Device device = at::kCPU;
  std::string device_name = "the CPU";  ///< for people
  std::int64_t device_memory = 0;       ///< of a GPU for this process alone, bytes
  std::optional<std::int64_t> grid{};   ///< voxels an axis
  std::optional<std::int64_t> batch{};
  std::optional<std::int64_t> channels{};
  std::optional<std::int64_t> samples{};  ///< of a shard
  std::optional<std::int64_t> repeats{};  ///< rounds, in each of which all that is compared runs
  std::vector<std::string> reductions{"exact"};  ///< of the step: "exact", "fast" or both
  bool with_baseline = true;                     ///< of the step
  bool reads_samples = false;  ///< of the step: the training samples, instead of random fields
  std::string profile{};       ///< file for events of one more step; "": none
  std::string field{};         ///< only fields whose names begin so
};

/// One line for other programs, and what went wrong after everything in it was measured: "" or a
/// problem of this rank, on which the ranks are yet to agree.
struct BenchResult {
  Json members;
  std::string problem{};
  std::string table{};  ///< for people, above the line
};

/// Energy and gradient against a copy of the same bytes, u and nu read, gradient written, on the
/// CPU or a GPU.
BenchResult bench_energy(BenchOptions const& options);

/// Whole training steps on random fields, in turns with the same in float32 and, on a CPU, torch's
/// default layout, with exact or fast reduction or both. **Collective**.
BenchResult bench_step(BenchOptions const& options);

/// The network's convolutions in bf16 and float32, channels last, against torch's default layout in
/// float32, on the CPU or a GPU.
BenchResult bench_conv(BenchOptions const& options);

/// Each loss on random fields, micro-batch by micro-batch as the step does, against
/// energy_normalised, on the CPU or a GPU.
BenchResult bench_loss(BenchOptions const& options);

/// Iterations, seconds and cost in applications of K of multigrid PCG on smooth and rough fields.
BenchResult bench_reference(BenchOptions const& options);

/// Writing one shard of noise, reading it with its checksums, and prefetching it as training does,
/// against writing and reading a file of the same bytes plainly. The files are in the page cache by
/// then: reading shows what the program adds, not what the disk gives.
BenchResult bench_io(BenchOptions const& options);

/// All-reduces of 8 B to 64 MiB over what connects the processes in training, against copies in the
/// memory where the messages are and, between machines, the fastest link of rank 0's.
/// **Collective**.
BenchResult bench_network(BenchOptions const& options);

}  // namespace voxcycle
