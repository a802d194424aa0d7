// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/bench/step_trial.hpp"

#include "voxcycle/comm/device_choice.hpp"
#include "voxcycle/core/memory.hpp"
#include "voxcycle/core/timer.hpp"
#include "voxcycle/grid/micro_batches.hpp"
#include "voxcycle/network/network.hpp"
#include "voxcycle/train/held_out.hpp"
#include "voxcycle/train/parameter_groups.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

namespace voxcycle {
namespace {

TrainOptions timed(TrainOptions options, StepTrial::Variant const& variant) {
  bool const searches = variant.optimizer == kLbfgs;
  options.optimizer.name = searches ? "sgd" : variant.optimizer;
  if (searches && options.dtype != at::kDouble) options.dtype = at::kFloat;
  options.reduction = variant.reduction;
  return options;
}

std::shared_ptr<Network> network_on_device(TrainOptions const& options, Grid3 const& grid) {
  require_fits(options.network, grid);
  auto network = make_network(options.network, options.boundary, options.source);
  network->to(options.device);
  freeze(*network, options);
  return network;
}

}  // namespace

StepTrial::StepTrial(TrainOptions const& options, Grid3 const& grid, Variant const& variant,
                     Communicator const& comm)
    : options_(timed(options, variant)),
      grid_(grid),
      batch_(variant.batch),
      process_grid_(ProcessGrid(comm, options.slabs).on(grid)),
      network_(network_on_device(options, grid)),
      averaged_(*network_, make_network(options.network, network_->problems())),
      reducer_(comm, network_->parameters(), variant.reduction),
      optimizer_(make_optimizer(options_.optimizer, parameter_groups(*network_, grid))),
      loss_(make_loss(options.loss, {process_grid_.space(grid), options.boundary, options.source,
                                     options.device})),
      loss_scale_(options_.loss_scale),
      steps_({{.process_grid = process_grid_,
               .network = *network_,
               .loss = *loss_,
               .reducer = reducer_,
               .grid = grid,
               .dtype = options_.dtype,
               .micro_batch_size = options.micro_batch_size,
               .source = options.source.kind,
               .layout = options.layout,
               .recompute = variant.recompute},
              *optimizer_,
              averaged_,
              variant.batch,
              options_.dtype == at::kHalf ? &loss_scale_ : nullptr},
             options.graph) {
  averaged_.network().to(options.device);
  release_freed_memory(grid.voxel_count());
  Space const whole(grid), space = process_grid_.space(grid);
  auto const pinned = [&](at::Tensor const& field) {  // as the batches of training
    return options.device.is_cuda() ? field.pin_memory() : field;
  };
  auto const voxels = [&](at::Tensor const& all) {
    return pinned(whole.voxels_within(space, all));
  };
  at::Generator const random = at::detail::createCPUGenerator(options.seed);
  for (auto const& micro_batch :
       micro_batches_of_rank(variant.batch, options.micro_batch_size, process_grid_.groups(),
                             process_grid_.group())) {
    data_.nu.push_back(voxels(at::exp(at::randn(grid.voxel_shape(micro_batch.size()), random))));
    if (options.source.varies()) {
      data_.f.push_back(voxels(at::randn(grid.voxel_shape(micro_batch.size()), random)));
    }
    if (needs_reference(options.loss)) {
      data_.u_ref.push_back(pinned(whole.nodes_within(
          space, at::rand(grid.node_shape(micro_batch.size()), random, at::kDouble))));
    }
    data_.origin.emplace_back();
    for (std::int64_t k = micro_batch.begin; k < micro_batch.end; ++k)
      data_.origin.back().push_back({.index = k});
  }
}

void StepTrial::read(Mixture samples) {
  prefetch_.emplace(
      std::move(samples),
      PrefetchOptions{
          .batch = batch_,
          .micro_batch_size = options_.micro_batch_size,
          .steps = std::numeric_limits<std::int64_t>::max(),
          .ranks = process_grid_.groups(),
          .rank = process_grid_.group(),
          .references = needs_reference(options_.loss) ? ReadReference::yes : ReadReference::no,
          .workers = options_.workers,
          .planes = process_grid_.planes(grid_),
          .pinned = options_.device.is_cuda()});
}

StepResult StepTrial::step() {
  use_reproducible_convolutions(options_.reduction == GradientMode::exact);
  Timer const timer;
  if (prefetch_) data_ = prefetch_->next();
  double const waited = timer.seconds();
  StepResult result = steps_.step(data_, 1e-4);
  if (prefetch_) result.times.data = waited;
  return result;
}

void StepTrial::evaluate() {
  Space const space = process_grid_.space(grid_);
  // Of each group, whether it has a sample of the batch or not.
  std::int64_t const size = std::min(options_.micro_batch_size, batch_);
  Grid3 const part = space.slab().part();
  HeldOutSamples const samples{
      grid_, planes_of(space), size * process_grid_.groups(),
      [&](std::int64_t begin, std::int64_t end) {
        at::Tensor const ones = at::ones(part.voxel_shape(end - begin), at::kFloat);
        return HeldOutSet{grid_,
                          {},
                          ones,
                          options_.source.varies() ? ones : at::Tensor(),
                          at::rand(part.node_shape(end - begin), at::kDouble)};
      }};
  evaluate_held_out(process_grid_, averaged_.network(), samples,
                    {.dtype = evaluation_type(grid_, options_.dtype), .micro_batch_size = size});
}

std::int64_t StepTrial::parameters() const {
  return value_count(parameter_groups(*network_, grid_));
}

}  // namespace voxcycle
