// SPDX-License-Identifier: BSD-3-Clause
#include "config/memory_advice.hpp"

#include "voxcycle/config/memory_check.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/grid/micro_batches.hpp"

#include <algorithm>
#include <cctype>
#include <functional>
#include <iterator>
#include <set>
#include <vector>

namespace voxcycle {
namespace {

constexpr std::size_t kMaxAdvice = 3;
/// Halvings of the batch, of held-out samples, of channels and of a process's share of the batch
/// that are looked at.
constexpr int kBatchHalvings = 4;
constexpr int kHeldOutHalvings = 4;
constexpr int kChannelHalvings = 2;
constexpr int kProcessDoublings = 3;

/// A stage with some changes.
struct Trial {
  TrainOptions options;
  LevelPlan plan;
  MemoryOptions memory;
  double cost = 1.0;               ///< training time relative to the unchanged, about
  std::vector<std::string> words;  ///< the changes as keys and values
};
using Change = std::function<bool(Trial&)>;  ///< false: nothing to change

/// About what each change costs in time until the same error is reached. They order the advice and
/// stand for: half the bytes and faster products, but a rounding of 2^-8; less certain errors;
/// smaller products; smoothing steps alone on the finest grid; the forward pass of blocks twice;
/// more noise in each step; a smaller network; more machines.
constexpr double kCostOfBf16 = 0.7;
constexpr double kCostOfHalfTheHeldOut = 1.06;
constexpr double kCostOfSmallMicroBatches = 1.1;
constexpr double kCostOfNoFinestBlock = 1.2;
constexpr double kCostOfRecomputing = 1.35;
constexpr double kCostOfHalfBatch = 1.4;
constexpr double kCostOfHalfChannels = 2.0;
constexpr double kCostOfMoreProcesses = 2.5;

constexpr char const* kMoreProcesses = " processes on more machines";

bool use_bf16(Trial& t) {
  if (t.options.dtype == at::kBFloat16 || t.plan.optimizer == kLbfgs) return false;
  t.options.dtype = at::kBFloat16;
  t.cost *= kCostOfBf16;
  t.words.emplace_back("train.precision = bf16");
  return true;
}

bool use_small_micro_batches(Trial& t) {
  if (t.options.micro_batch_size == 1) return false;
  t.options.micro_batch_size = 1;
  t.cost *= kCostOfSmallMicroBatches;
  t.words.emplace_back("train.micro_batch_size = 1");
  return true;
}

bool leave_out_finest_block(Trial& t) {
  auto& network = t.options.network;
  auto const here = network.channels.find(t.plan.grid.level());
  bool const has_others = here != network.channels.end() && here != network.channels.begin();
  if (network.name != "multigrid" || network.smoothing == 0 || !has_others) return false;
  auto const coarser = std::prev(here)->first;
  network.channels.erase(here, network.channels.end());
  t.cost *= kCostOfNoFinestBlock;
  t.words.push_back("network.channels up to " + std::to_string(coarser));
  return true;
}

bool recompute(Trial& t) {
  if (t.plan.recompute) return false;
  t.plan.recompute = true;
  t.cost *= kCostOfRecomputing;
  t.words.emplace_back("train.recompute = yes");
  return true;
}

bool lower_held_out(Trial& t, int halvings) {
  std::int64_t const samples = t.memory.held_out >> halvings;
  if (samples < 1) return false;
  t.memory.held_out = samples;
  for (int k = 0; k < halvings; ++k) t.cost *= kCostOfHalfTheHeldOut;
  t.words.push_back(format("data.held_out_samples = %ld", static_cast<long>(samples)));
  return true;
}

bool lower_batch(Trial& t, int halvings) {
  std::int64_t const batch = t.plan.batch >> halvings;
  if (batch < 1) return false;
  t.plan.batch = batch;
  for (int k = 0; k < halvings; ++k) t.cost *= kCostOfHalfBatch;
  t.words.push_back(format("cycle.batch = %ld", static_cast<long>(batch)));
  return true;
}

bool lower_channels(Trial& t, int halvings) {
  auto& network = t.options.network;
  bool const multigrid = network.name == "multigrid";
  std::int64_t level = t.plan.grid.level();
  if (multigrid) level = std::prev(network.channels.upper_bound(level))->first;
  std::int64_t& channels = multigrid ? network.channels.at(level) : network.base_channels;
  if (channels >> halvings < 1) return false;
  channels >>= halvings;
  for (int k = 0; k < halvings; ++k) t.cost *= kCostOfHalfChannels;
  t.words.push_back(multigrid ? format("%ld:%ld in network.channels", static_cast<long>(level),
                                       static_cast<long>(channels))
                              : format("network.base_channels = %ld", static_cast<long>(channels)));
  return true;
}

bool add_processes(Trial& t, int doublings) {
  auto const maximum = micro_batch_count(t.plan.batch, t.options.micro_batch_size);
  int const groups = t.memory.ranks / t.options.slabs.processes(t.plan.grid);
  if ((std::int64_t{groups} << doublings) > maximum) return false;
  t.memory.ranks <<= doublings;
  for (int k = 0; k < doublings; ++k) t.cost *= kCostOfMoreProcesses;
  t.words.push_back(std::to_string(t.memory.ranks) + kMoreProcesses);
  return true;
}

/// More processes that compute a sample together, where there are no micro-batches for them.
bool share_out_space(Trial& t, int doublings) {
  Slabs slabs = t.options.slabs;
  int const groups = t.memory.ranks / slabs.processes(t.plan.grid);
  slabs.count <<= doublings;
  bool const has_micro_batches =
      2 * groups <= micro_batch_count(t.plan.batch, t.options.micro_batch_size);
  if (has_micro_batches || !slabs.cut(t.plan.grid)) return false;
  TrainOptions shared = t.options;
  shared.slabs = slabs;
  try {
    require_spatial(shared, t.plan.grid, std::int64_t{t.memory.ranks} << doublings);
  } catch (Error const&) {
    return false;
  }
  t.options.slabs = slabs;
  t.memory.ranks <<= doublings;
  for (int k = 0; k < doublings; ++k) t.cost *= kCostOfMoreProcesses;
  std::erase_if(t.words, [](auto const& word) { return word.ends_with(kMoreProcesses); });
  t.words.push_back(format("run.spatial_processes = %d with %d", slabs.count, t.memory.ranks) +
                    kMoreProcesses);
  return true;
}

/// Every trial with each of the changes as well, and without.
std::vector<Trial> with_and_without(std::vector<Trial> trials, std::vector<Change> const& changes) {
  std::size_t const count = trials.size();
  for (std::size_t k = 0; k < count; ++k) {
    for (auto const& change : changes) {
      Trial changed = trials[k];
      if (change(changed)) trials.push_back(std::move(changed));
    }
  }
  return trials;
}

std::vector<Change> halvings(bool (*change)(Trial&, int), int maximum) {
  std::vector<Change> all;
  for (int k = 1; k <= maximum; ++k) {
    all.emplace_back([=](Trial& trial) { return change(trial, k); });
  }
  return all;
}

/// The changes without their numbers.
std::set<std::string> kinds_of(std::vector<std::string> const& words) {
  std::set<std::string> kinds;
  for (auto word : words) {
    std::erase_if(word, [](unsigned char c) { return std::isdigit(c) != 0; });
    kinds.insert(word);
  }
  return kinds;
}

}  // namespace

std::string memory_advice(TrainOptions const& options, LevelPlan const& plan,
                          MemoryOptions const& memory, std::int64_t limit) {
  std::vector<Trial> trials{{options, plan, memory, 1.0, {}}};
  trials = with_and_without(std::move(trials), {use_bf16});
  trials = with_and_without(std::move(trials), {use_small_micro_batches});
  trials = with_and_without(std::move(trials), {leave_out_finest_block});
  trials = with_and_without(std::move(trials), {recompute});
  trials = with_and_without(std::move(trials), halvings(lower_held_out, kHeldOutHalvings));
  trials = with_and_without(std::move(trials), halvings(lower_batch, kBatchHalvings));
  trials = with_and_without(std::move(trials), halvings(lower_channels, kChannelHalvings));
  trials = with_and_without(std::move(trials), halvings(add_processes, kProcessDoublings));
  trials = with_and_without(std::move(trials), halvings(share_out_space, kProcessDoublings));
  std::stable_sort(trials.begin(), trials.end(),
                   [](Trial const& a, Trial const& b) { return a.cost < b.cost; });
  std::vector<std::string> advice;
  std::vector<std::set<std::string>> taken;
  for (auto const& trial : trials) {
    std::set<std::string> const kinds = kinds_of(trial.words);
    // What fits already needs no more changes, nor the same ones by another number.
    bool const known = std::any_of(taken.begin(), taken.end(), [&](auto const& fewer) {
      return std::includes(kinds.begin(), kinds.end(), fewer.begin(), fewer.end());
    });
    if (known) continue;
    MemoryPlan const planned = plan_memory(trial.options, trial.plan, trial.memory);
    if (planned.bytes > limit || planned.largest.elements > kMaxElements) continue;
    taken.push_back(kinds);
    advice.push_back(join(trial.words, " and ") + " (" +
                     format_bytes(static_cast<double>(planned.bytes)) + ")");
    if (advice.size() == kMaxAdvice) break;
  }
  if (advice.empty()) {
    return "No smaller micro-batch, batch or network that was tried would fit. Use a coarser "
           "finest level "
           "in cycle.levels, or a machine with more memory.";
  }
  return "Each of these would fit: " + join(advice, ", or ") + ".";
}

}  // namespace voxcycle
