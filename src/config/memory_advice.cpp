// SPDX-License-Identifier: BSD-3-Clause
#include "config/memory_advice.hpp"

#include "voxcycle/config/memory_check.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/grid/micro_batches.hpp"
#include "voxcycle/network/conv.hpp"

#include <vector>

namespace voxcycle {
namespace {

constexpr std::size_t kMaxAdvice = 3;
constexpr int kMaxDoublings = 3;  ///< of processes

/// A stage with some changes.
struct Remedy {
  TrainOptions options;
  LevelPlan plan;
  MemoryOptions memory;
  std::vector<std::string> words = {};  ///< the changes as keys and values
};

bool use_bf16(Remedy& r) {
  bool const has_16_bits = r.options.dtype == at::kBFloat16 || r.options.dtype == at::kHalf;
  if (has_16_bits || r.plan.optimizer == kLbfgs) return false;
  r.options.dtype = at::kBFloat16;
  r.words.emplace_back("train.precision = bf16");
  return true;
}

bool recompute(Remedy& r) {
  if (r.plan.recompute) return false;
  r.plan.recompute = true;
  r.words.emplace_back("train.recompute = yes");
  return true;
}

/// Twice the processes: for the micro-batches, or where there are too few of them, for each sample.
bool add_processes(Remedy& r) {
  r.memory.ranks *= 2;
  int const groups = r.memory.ranks / r.options.slabs.processes(r.plan.grid);
  if (micro_batch_count(r.plan.batch, r.options.micro_batch_size) >= groups) {
    r.words = {std::to_string(r.memory.ranks) + " processes on more machines"};
    return true;
  }
  r.options.slabs.count *= 2;
  if (!r.options.slabs.cut(r.plan.grid)) return false;
  try {
    require_spatial(r.options, r.plan.grid, r.memory.ranks);
  } catch (Error const&) {
    return false;
  }
  r.words = {format("run.spatial_processes = %d with %d processes on more machines",
                    r.options.slabs.count, r.memory.ranks)};
  return true;
}

}  // namespace

std::string memory_advice(TrainOptions const& options, LevelPlan const& plan,
                          MemoryOptions const& memory, std::int64_t limit) {
  std::vector<std::string> advice;
  /// Whether the remedy is enough, and then said.
  auto const helps = [&](Remedy const& remedy) {
    auto const predicted = predict_memory(remedy.options, remedy.plan, remedy.memory);
    if (predicted.bytes > limit || predicted.largest.elements > kMaxElements) return false;
    advice.push_back(join(remedy.words, " and ") + " (" +
                     format_bytes(static_cast<double>(predicted.bytes)) + ")");
    return true;
  };
  /// The remedy with the largest half, quarter, ... of the batch that is enough.
  auto const with_smaller_batch = [&](Remedy remedy) {
    auto const words = remedy.words;
    while (remedy.plan.batch > 1) {
      remedy.plan.batch /= 2;
      remedy.words = words;
      remedy.words.push_back(format("cycle.batch = %ld", static_cast<long>(remedy.plan.batch)));
      if (helps(remedy)) return;
    }
  };
  Remedy const unchanged{options, plan, memory};
  Remedy all = unchanged;
  for (auto const change : {use_bf16, recompute}) {
    Remedy alone = unchanged;
    if (change(alone)) helps(alone);
    change(all);
  }
  bool const has_one = !advice.empty();
  bool const are_both = all.words.size() > 1;
  if (!has_one && !(are_both && helps(all)) && !all.words.empty()) with_smaller_batch(all);
  with_smaller_batch(unchanged);
  Remedy shared = unchanged;
  for (int k = 0; k < kMaxDoublings && advice.size() < kMaxAdvice; ++k) {
    if (!add_processes(shared) || helps(shared)) break;
  }
  if (advice.empty()) {
    return "Neither a smaller batch nor more processes would do. Use a coarser finest level in "
           "cycle.levels, or a machine with more memory.";
  }
  if (advice.size() > kMaxAdvice) advice.resize(kMaxAdvice);
  return "Each of these would fit: " + join(advice, ", or ") + ".";
}

}  // namespace voxcycle
