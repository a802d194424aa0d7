// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/train/memory.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/dataset/held_out.hpp"
#include "voxcycle/grid/micro_batches.hpp"
#include "voxcycle/optim/optimizer.hpp"
#include "voxcycle/train/frame.hpp"
#include "voxcycle/train/loss.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "train/stepper.hpp"

namespace voxcycle {
namespace {

using Held = Ledger::Held;

/// Of the rank with the most samples.
std::vector<MicroBatch> largest_share(LevelPlan const& plan, std::int64_t micro_batch_size,
                                      int ranks) {
  auto const samples = [](std::vector<MicroBatch> const& micro_batches) {
    return micro_batches.empty() ? 0 : micro_batches.back().end - micro_batches.front().begin;
  };
  std::vector<MicroBatch> largest;
  for (int rank = 0; rank < ranks; ++rank) {
    auto micro_batches = micro_batches_of_rank(plan.batch, micro_batch_size, ranks, rank);
    if (samples(micro_batches) > samples(largest)) largest = std::move(micro_batches);
  }
  return largest;
}

/// One stage on one rank, followed by a ledger.
class Follower {
 public:
  Follower(TrainOptions const& options, LevelPlan const& plan, MemoryOptions const& memory)
      : o_(options),
        plan_(plan),
        memory_(memory),
        grid_(plan.grid),
        slabs_(options.slabs.cut(grid_) ? options.slabs : Slabs{}),
        micro_batches_(largest_share(plan, options.micro_batch_size, groups())),
        samples_(micro_batches_.back().end - micro_batches_.front().begin),
        double_(options.dtype == at::kDouble),
        solution_(double_ ? 8 : 4),
        loss_(plan_loss(options.loss)) {}

  MemoryPlan plan() {
    keep("program and libraries", memory_.program_bytes);
    keep_weights();
    keep_data();
    if (memory_.held_out > 0) evaluate();
    step();
    checkpoint();
    plan_made_.bytes = ledger_.peak();
    plan_made_.account = ledger_.at_peak();
    return plan_made_;
  }

 private:
  void keep(std::string const& what, std::int64_t bytes) {
    kept_.push_back(ledger_.hold(what, bytes));
  }
  void keep_weights();
  void keep_data();
  void step();
  void evaluate();
  void checkpoint();
  Tape::Options tape_options() const;
  /// Ranks, or groups of them, that share out the micro-batches.
  int groups() const { return memory_.ranks / slabs_.count; }
  bool has_source() const { return o_.source.kind == SourceKind::sampled; }
  std::int64_t held_out_bytes_of(std::int64_t samples) const {
    return samples * held_out_bytes(grid_, has_source());
  }

  TrainOptions const& o_;
  LevelPlan const& plan_;
  MemoryOptions const& memory_;
  Grid3 const grid_;
  Slabs const slabs_;
  std::vector<MicroBatch> const micro_batches_;
  std::int64_t const samples_;
  bool const double_;
  std::int64_t const solution_;
  LossPlan const loss_;
  Ledger ledger_;
  std::vector<Held> kept_;
  std::optional<Tape> evaluation_;  ///< keeps the networks' level problems
  MemoryPlan plan_made_;
};

void Follower::keep_weights() {
  require_stepper_name(plan_.optimizer);
  std::int64_t const weights = weight_count(o_.network);
  keep("weights", weights * solution_);
  keep("averaged weights", weights * solution_);
  // Gradients live from one step's sum to the next one's.
  keep("gradients of weights", weights * solution_);
  if (plan_.optimizer == kLbfgs) {
    // Pairs are shared by the ranks. The method's vectors are float64: weights, gradient,
    // direction, diagonal, those of the line search's best point and of the point before.
    constexpr std::int64_t vectors = 8;
    keep("optimiser", weights * (2 * o_.lbfgs.pairs * solution_ / memory_.ranks + vectors * 8));
  } else {
    keep("optimiser", weights * solution_ * optimizer_state_copies(plan_.optimizer));
  }
}

void Follower::keep_data() {
  std::int64_t sample = 4 * (has_source() ? 2 : 1) * grid_.voxel_count();  // nu, f
  if (needs_reference(o_.loss)) sample += 8 * grid_.node_count();
  keep("batches", (1 + memory_.batches_ahead) * samples_ * sample);
  if (held_out_is_kept(held_out_bytes_of(memory_.held_out))) {
    auto const on_a_rank = (memory_.held_out + groups() - 1) / groups();
    keep("held-out samples", held_out_bytes_of(on_a_rank));
  }
  keep("boundary fields of the loss", 8 * loss_.lasting_fields * grid_.node_count());
}

Tape::Options Follower::tape_options() const {
  bool const lbfgs = plan_.optimizer == kLbfgs;  // computes in float32 instead of bf16
  Tape::Options tape{.samples = samples_,
                     .micro_batch = micro_batches_.front().size(),
                     .feature_bytes = o_.dtype == at::kBFloat16 && !lbfgs ? 2 : solution_,
                     .solution_bytes = solution_,
                     .weight_bytes = solution_,
                     .threads = memory_.threads,
                     .on_gpu = o_.device.is_cuda(),
                     .recompute = plan_.recompute,
                     .slabs = slabs_};
  // Exact sums need each micro-batch's gradient; buckets need the sum of the micro-batches and
  // their own copy.
  tape.gradient_copies = o_.reduction == GradientMode::exact ? std::ssize(micro_batches_) : 2;
  plan_frames(tape, o_.boundary, o_.source, o_.network);
  return tape;
}

void Follower::step() {
  auto options = tape_options();
  if (evaluation_) options.frame = {};  // the averaged network's are the same
  Tape tape(ledger_, options);
  std::int64_t const channels = o_.network.inputs;
  auto const voxels = samples_ * grid_.voxel_count();
  // The batch in the type of the solution, where shards have another.
  auto const copies = ledger_.hold(
      "batches",
      (double_ ? channels * 8 * voxels : 0) +
          (needs_reference(o_.loss) && !double_ ? 4 * samples_ * grid_.node_count() : 0));
  Field const x = tape.voxels(grid_, channels);
  Field u = plan_network(o_.network, tape, grid_, x);
  plan_made_.largest = tape.largest();

  auto const gradients = std::make_shared<std::vector<Held>>();
  for (auto const& micro_batch : micro_batches_) {
    gradients->push_back(
        loss_.evaluate({ledger_, grid_, micro_batch.size(), solution_}, o_.source));
  }
  u.memory.reset();
  tape.backward(u, gradients);

  std::int64_t const weights = tape.weight_count();
  bool const exact = o_.reduction == GradientMode::exact;
  auto const of_units = tape.take_gradients();
  auto const integers = ledger_.hold("gradients of weights", exact ? 8 * weights : 0);
  plan_made_.gradient_bytes = weights * (exact ? 8 : solution_);
  plan_made_.statistics_bytes = tape.sent_bytes();
}

/// evaluate_held_out with the averaged weights.
void Follower::evaluate() {
  auto options = tape_options();
  options.samples = options.micro_batch = std::min(o_.micro_batch_size, memory_.held_out);
  Held read_for_now;
  if (!held_out_is_kept(held_out_bytes_of(memory_.held_out))) {
    read_for_now = ledger_.hold("held-out samples", held_out_bytes_of(options.samples));
  }
  if (evaluation_type(grid_, o_.dtype) != at::kBFloat16) {
    options.feature_bytes = options.solution_bytes;
  }
  options.gradient = false;
  auto& tape = evaluation_.emplace(ledger_, options);
  Field const x = tape.voxels(grid_, o_.network.inputs);
  Field const u = plan_network(o_.network, tape, grid_, x);
  // field_errors: the error, nu and K times two fields, in float64; u itself where it has a datum.
  int const fields = datum_of(o_.boundary) == 0.0 ? 4 : 5;
  auto const errors = BookedFields{ledger_, grid_, options.samples, 8}.nodes(fields);
}

/// Rank 0 gathers the pairs that the ranks share out.
void Follower::checkpoint() {
  if (plan_.optimizer != kLbfgs || memory_.ranks == 1) return;
  constexpr std::int64_t vectors = 3;    // diagonal, last step and last gradient, float64
  constexpr std::int64_t gathering = 2;  // of the vector on its way
  auto const whole =
      ledger_.hold("checkpoint", weight_count(o_.network) *
                                     (2 * o_.lbfgs.pairs * solution_ + (vectors + gathering) * 8));
}

}  // namespace

MemoryPlan plan_memory(TrainOptions const& options, LevelPlan const& plan,
                       MemoryOptions const& memory) {
  VOXCYCLE_REQUIRE(memory.ranks % options.slabs.processes(plan.grid) == 0,
                   "memory: " << memory.ranks << " ranks do not divide into groups of "
                              << options.slabs.processes(plan.grid) << '.');
  return Follower(options, plan, memory).plan();
}

bool needs_recomputing(TrainOptions const& options, LevelPlan plan, MemoryOptions const& memory,
                       std::int64_t limit) {
  plan.recompute = false;
  return plan_memory(options, plan, memory).bytes > limit;
}

}  // namespace voxcycle
