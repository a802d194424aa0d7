// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/train/memory.hpp"

#include "voxcycle/comm/rehearsed_communicator.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/dataset/held_out.hpp"
#include "voxcycle/grid/micro_batches.hpp"
#include "voxcycle/network/predict.hpp"
#include "voxcycle/poisson/errors.hpp"
#include "voxcycle/train/held_out.hpp"
#include "voxcycle/train/loss.hpp"
#include "voxcycle/train/parameter_groups.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "train/stepper.hpp"
#include <ATen/ATen.h>

namespace voxcycle {
namespace {

/// Of the rank with the most samples.
std::vector<MicroBatch> largest_share(std::int64_t batch, std::int64_t micro_batch_size,
                                      int ranks) {
  auto const samples = [](std::vector<MicroBatch> const& micro_batches) {
    return micro_batches.empty() ? 0 : micro_batches.back().end - micro_batches.front().begin;
  };
  std::vector<MicroBatch> largest;
  for (int rank = 0; rank < ranks; ++rank) {
    auto micro_batches = micro_batches_of_rank(batch, micro_batch_size, ranks, rank);
    if (samples(micro_batches) > samples(largest)) largest = std::move(micro_batches);
  }
  return largest;
}

/// On the meta device, and of what this optimiser computes in.
TrainOptions rehearsed(TrainOptions options, LevelPlan const& plan) {
  options.device = at::kMeta;
  bool const searches = plan.optimizer == kLbfgs;
  if (searches && options.dtype != at::kDouble) options.dtype = at::kFloat;
  options.optimizer.name = searches ? "sgd" : plan.optimizer;
  if (!options.slabs.cut(plan.grid)) options.slabs = {};
  return options;
}

std::shared_ptr<Network> in_type(std::shared_ptr<Network> network, TrainOptions const& options) {
  if (options.dtype == at::kDouble) network->to(at::kDouble);
  return network;
}

/// One stage on one rank.
class RehearsedStage {
 public:
  RehearsedStage(TrainOptions const& options, LevelPlan const& plan, MemoryOptions const& memory)
      : o_(rehearsed(options, plan)),
        plan_(plan),
        memory_(memory),
        comm_(memory.ranks, o_.slabs.count),
        process_grid_(comm_, o_.slabs),
        loss_(make_loss(o_.loss,
                        {process_grid_.space(plan.grid), o_.boundary, o_.source, o_.device})),
        network_(in_type(make_network(o_.network, o_.boundary, o_.source), o_)),
        averaged_(*network_, in_type(make_network(o_.network, network_->problems()), o_)) {
    freeze(*network_, o_);
    keep(memory.program_bytes);
  }

  void evaluate();
  void step(MemoryPlan& made);
  /// Rank 0 gathers the pairs that the ranks share out.
  void checkpoint();

 private:
  void keep(std::int64_t bytes) { kept_.push_back(at::empty({bytes}, of(at::kByte))); }
  at::TensorOptions of(at::ScalarType type) const { return at::device(o_.device).dtype(type); }
  bool has_source() const { return o_.source.varies(); }
  bool searches() const { return plan_.optimizer == kLbfgs; }
  std::int64_t pair_bytes() const { return o_.dtype == at::kDouble ? 16 : 8; }
  LocalBatch batch() const;

  TrainOptions const o_;
  LevelPlan const& plan_;
  MemoryOptions const& memory_;
  RehearsedCommunicator const comm_;
  ProcessGrid const process_grid_;
  std::unique_ptr<Loss> loss_;
  std::shared_ptr<Network> network_;
  AveragedWeights averaged_;
  std::vector<at::Tensor> kept_;
};

LocalBatch RehearsedStage::batch() const {
  LocalBatch batch;
  Grid3 const grid = process_grid_.space(plan_.grid).slab().part();
  for (auto const& part : largest_share(plan_.batch, o_.micro_batch_size, process_grid_.groups())) {
    batch.nu.push_back(at::empty(grid.voxel_shape(part.size()), of(at::kFloat)));
    if (has_source()) batch.f.push_back(at::empty_like(batch.nu.back()));
    if (needs_reference(o_.loss)) {
      batch.u_ref.push_back(at::empty(grid.node_shape(part.size()), of(at::kDouble)));
    }
  }
  return batch;
}

/// evaluate_held_out with the averaged weights, one micro-batch of it.
void RehearsedStage::evaluate() {
  Space const space = process_grid_.space(plan_.grid);
  Grid3 const grid = space.slab().part();
  auto const bytes = [&](std::int64_t samples) {
    return samples * held_out_bytes(grid, has_source());
  };
  std::int64_t const samples = std::min(o_.micro_batch_size, memory_.held_out);
  at::Tensor const nu = at::empty(grid.voxel_shape(samples), of(at::kFloat));
  at::Tensor const f = has_source() ? at::empty_like(nu) : at::Tensor();
  at::Tensor const u_ref = at::empty(grid.node_shape(samples), of(at::kDouble));
  if (held_out_is_kept(bytes(memory_.held_out))) {
    int const groups = process_grid_.groups();
    keep(bytes(std::max<std::int64_t>(0, (memory_.held_out + groups - 1) / groups - samples)));
    kept_.insert(kept_.end(), {nu, f, u_ref});
  }
  auto const type = evaluation_type(plan_.grid, o_.dtype);
  at::Tensor const u =
      predict_part(process_grid_.on(plan_.grid), averaged_.network(), space, nu, f, type);
  field_errors(u, u_ref, nu, space);
}

void RehearsedStage::step(MemoryPlan& made) {
  LocalBatch const now = batch();
  std::vector<LocalBatch> ahead;
  for (std::int64_t k = 0; k < memory_.batches_ahead; ++k) ahead.push_back(batch());
  auto const trained = parameter_groups(*network_, plan_.grid);
  // Gradients live from one step's sum to the next one's.
  for (auto& parameter : network_->parameters()) {
    if (parameter.requires_grad()) parameter.mutable_grad() = at::empty_like(parameter);
    made.parameters += parameter.numel();
  }
  RehearsedCommunicator const of_gradients(memory_.ranks);
  GradientReducer reducer(of_gradients, network_->parameters(), o_.reduction);
  auto const optimizer = make_optimizer(o_.optimizer, trained);
  if (searches()) {
    // Pairs are shared by the ranks. The method's vectors are float64: weights, gradient,
    // direction, diagonal, those of the line search's best point and of the point before.
    constexpr std::int64_t vectors = 8;
    keep(value_count(trained) * (o_.lbfgs.pairs * pair_bytes() / memory_.ranks + vectors * 8));
  }
  Traffic const all_before = comm_.traffic(), group_before = comm_.traffic_of_parts();
  BatchContext const context{.process_grid = process_grid_,
                             .network = *network_,
                             .loss = *loss_,
                             .reducer = reducer,
                             .grid = plan_.grid,
                             .dtype = o_.dtype,
                             .micro_batch_size = o_.micro_batch_size,
                             .source = o_.source.kind,
                             .layout = o_.layout,
                             .recompute = plan_.recompute};
  if (searches()) {
    batch_gradient(context, now, {.samples = plan_.batch});
  } else {
    train_step({context, *optimizer, averaged_, plan_.batch}, now, /*rate=*/0.0);
  }
  made.statistics_sums = comm_.traffic().sums - all_before.sums;
  made.gradient_sums = of_gradients.traffic().sums;
  made.in_group = comm_.traffic_of_parts() - group_before;
}

void RehearsedStage::checkpoint() {
  if (!searches() || memory_.ranks == 1) return;
  constexpr std::int64_t vectors = 3;    // diagonal, last step and last gradient, float64
  constexpr std::int64_t gathering = 2;  // of the vector on its way
  keep(value_count(parameter_groups(*network_, plan_.grid)) *
       (o_.lbfgs.pairs * pair_bytes() + (vectors + gathering) * 8));
}

}  // namespace

MemoryPlan predict_memory(TrainOptions const& options, LevelPlan const& plan,
                          MemoryOptions const& memory) {
  VOXCYCLE_REQUIRE(memory.ranks % options.slabs.processes(plan.grid) == 0,
                   "memory: " << memory.ranks << " ranks do not divide into groups of "
                              << options.slabs.processes(plan.grid) << '.');
  require_stepper_name(plan.optimizer);
  Rehearsal const rehearsal({.has_gpu = options.device.is_cuda(), .threads = memory.threads});
  RehearsedStage stage(options, plan, memory);
  if (memory.held_out > 0) stage.evaluate();
  MemoryPlan made;
  stage.step(made);
  stage.checkpoint();
  made.bytes = rehearsal.peak();
  made.largest = rehearsal.largest();
  return made;
}

bool needs_recomputing(TrainOptions const& options, LevelPlan plan, MemoryOptions const& memory,
                       std::int64_t limit) {
  plan.recompute = false;
  return predict_memory(options, plan, memory).bytes > limit;
}

}  // namespace voxcycle
