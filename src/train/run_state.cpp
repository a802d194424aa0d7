// SPDX-License-Identifier: BSD-3-Clause
#include "train/run_state.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/log.hpp"
#include "voxcycle/core/memory.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/train/agreement.hpp"
#include "voxcycle/train/parameter_groups.hpp"
#include "voxcycle/train/run_directory.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "train/start.hpp"
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace voxcycle {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

constexpr char const* kDoesNotFit =
    "checkpoint.h5: its position and metrics do not fit each other, or the path (the file is "
    "damaged). Use another checkpoint, or start over with --fresh.";

std::int64_t finest_level(std::vector<Stage> const& stages) {
  std::int64_t finest = 0;
  for (auto const& stage : stages) finest = std::max(finest, stage.level);
  return finest;
}

/// Steps between those whose gradient and change of weights are looked at: both cost as much as an
/// update.
constexpr std::int64_t kStepsBetweenLooks = 10;

/// Euclidean, of all values together; NaN of nothing.
double norm_of(std::vector<at::Tensor> const& tensors) {
  if (tensors.empty()) return kNan;
  std::vector<at::Tensor> norms;
  for (auto const& tensor : tensors) norms.push_back(tensor.norm().to(at::kDouble));
  return at::stack(norms).norm().item<double>();
}

}  // namespace

RunState::RunState(TrainOptions const& options, Communicator const& comm, std::vector<Stage> stages)
    : o_(options),
      comm_(comm),
      stages_(std::move(stages)),
      network_(make_network(options.network, options.boundary, options.source)),
      averaged_(*network_, make_network(options.network, network_->problems())),
      best_gap_(kInfinity) {
  for (auto const& stage : stages_) require_fits(o_.network, stage.plan.grid);
  if (o_.dtype == at::kDouble) {
    network_->to(at::kDouble);
    averaged_.network().to(at::kDouble);
  }
  network_->to(o_.device);
  averaged_.network().to(o_.device);
  freeze(*network_, o_);
  position_.fingerprint = o_.fingerprint;
}

void RunState::open() {
  if (resumes(o_)) {
    resumed_.emplace(checkpoint_path(o_.directory));
    require_same_run(o_, resumed_->header());
    position_ = resumed_->header();
    resumed_->restore_network(*network_);
    resumed_->restore_average(averaged_.network());
    warm_start_ = resumed_->warm_start();
    if (position_.finished) {
      log_info(o_.directory + " holds the finished run already. Start over with --fresh.");
    } else {
      log_info(format("going on with stage %d after %ld of its steps", position_.stage + 1,
                      static_cast<long>(position_.step)));
    }
  } else if (!o_.start.empty()) {
    require_start(o_);
    CheckpointReader const start(checkpoint_path(o_.start));
    position_.taken = begin_with(start, o_, *network_, averaged_.network());
    warm_start_ = warm_start_of(start, *network_);
    begin_levels(stages_.front().plan.grid, position_.taken.front());
  }
  auto rows = metrics_from_csv(position_.metrics);
  require_in_range(rows);
  for (auto const& row : rows) {
    if (!std::isnan(row.loss)) continue;  // of a step
    if (row.stage == position_.stage) gaps_.push_back(row.energy_gap_mean);
    bool const finest =
        stages_.at(static_cast<std::size_t>(row.stage)).level == finest_level(stages_);
    if (finest && row.step > 0) best_gap_ = std::min(best_gap_, row.energy_gap_mean);
  }
  VOXCYCLE_REQUIRE(position_.step == 0 || !gaps_.empty(), kDoesNotFit);
  if (comm_.rank() == 0)
    record_.emplace(o_.directory, std::move(rows), o_.summary, o_.fingerprint.entries());
}

/// Of a checkpoint that says it is sound.
void RunState::require_in_range(std::vector<MetricRow> const& rows) const {
  auto const count = static_cast<int>(stages_.size());
  VOXCYCLE_REQUIRE(position_.finished ? position_.stage == count : position_.stage < count,
                   kDoesNotFit);
  for (auto const& row : rows) VOXCYCLE_REQUIRE(row.stage >= 0 && row.stage < count, kDoesNotFit);
}

std::string RunState::place() const {
  return format("stage %d, step %ld%s, weights %s", position_.stage + 1,
                static_cast<long>(position_.step), position_.finished ? ", finished" : "",
                tensors_hash(all_values(*network_)).c_str());
}

std::vector<MetricRow> RunState::rows() const {
  return record_ ? record_->rows() : std::vector<MetricRow>{};
}

void RunState::begin_stage(std::function<void(CheckpointReader const&)> const& restore) {
  averaged_.begin_stage();
  if (resumed_ && position_.step > 0) {
    restore(*resumed_);
    averaged_.restore(position_.averaged_updates);
  }
  resumed_.reset();
}

void RunState::end_stage(NamedTensors warm_start) {
  if (o_.keep_stages && comm_.rank() == 0) {
    require_directory();
    write_averages(stage_path(o_.directory, position_.stage), position_with_metrics(),
                   averaged_.network());
  }
  ++position_.stage;
  position_.step = 0;
  position_.evaluation_due = true;
  position_.stage_seconds = 0.0;
  position_.finished = position_.stage == static_cast<int>(stages_.size());
  gaps_.clear();
  if (!position_.finished) {
    auto const& next = stages_.at(static_cast<std::size_t>(position_.stage));
    begin_levels(next.plan.grid, next.begin_above);
  }
  warm_start_ = std::move(warm_start);
  save({});
}

void RunState::begin_levels(Grid3 const& grid, std::int64_t above) {
  auto const& taken = position_.taken;
  for (Network* network : {network_.get(), &averaged_.network()}) {
    for (auto const& entry : network->levels(grid)) {
      bool const is_taken = std::count(taken.begin(), taken.end(), entry.level) > 0;
      if (entry.level > above && !is_taken) network->begin_level(entry.level);
    }
  }
}

MetricRow RunState::row() const {
  auto const& stage = stages_.at(static_cast<std::size_t>(position_.stage));
  return {position_.stage,
          stage.plan.grid.label(),
          position_.step,
          position_.seconds,
          position_.work,
          kNan,
          kNan,
          kNan,
          kNan,
          {}};
}

void RunState::before_step() {
  if (!record_ || position_.global_step % kStepsBetweenLooks != 0) return;
  at::NoGradGuard const no_grad;
  for (auto const& weight : network_->parameters()) weights_before_.push_back(weight.clone());
}

StepFigures RunState::figures_of(StepResult const& result, double seconds) {
  StepFigures figures{.rate = result.rate, .loss_scale = result.loss_scale};
  if (weights_before_.empty()) return figures;
  figures.samples_per_second = static_cast<double>(result.samples) / seconds;
  figures.memory = static_cast<double>(resident_bytes()) / kGib;
  at::NoGradGuard const no_grad;
  std::vector<at::Tensor> gradients, changes;
  auto const weights = network_->parameters();
  for (std::size_t k = 0; k < weights.size(); ++k) {
    if (weights[k].grad().defined()) gradients.push_back(weights[k].grad());
    changes.push_back(weights[k] - weights_before_[k]);
  }
  // A search for a minimum tells its own.
  if (std::isnan(result.search.gradient_norm)) figures.gradient_norm = norm_of(gradients);
  figures.update_ratio = norm_of(changes) / norm_of(weights_before_);
  weights_before_.clear();
  return figures;
}

void RunState::add_loss(StepResult const& result, double seconds) {
  if (!record_) return;
  MetricRow entry = row();
  entry.loss = result.loss;
  entry.search = result.search;
  record_->add(entry, position_.global_step);
  record_->add_figures(figures_of(result, seconds), position_.global_step);
}

/// Of files beside the checkpoint, which alone keeps the rows it was saved with.
CheckpointHeader RunState::position_with_metrics() const {
  CheckpointHeader header = position_;
  header.metrics = metrics_to_csv(record_->rows());
  return header;
}

bool RunState::best_so_far(double gap) {
  auto const& stage = stages_.at(static_cast<std::size_t>(position_.stage));
  if (stage.level != finest_level(stages_) || position_.step == 0 || !(gap < best_gap_)) {
    return false;
  }
  best_gap_ = gap;
  return true;
}

void RunState::add_errors(HeldOutErrors const& errors) {
  MetricRow entry = row();
  entry.rel_l2_mean = errors.rel_l2.mean().item<double>();
  entry.energy_gap_mean = errors.energy_gap.mean().item<double>();
  entry.energy_norm_error_mean = errors.energy_norm_error.mean().item<double>();
  gaps_.push_back(entry.energy_gap_mean);
  bool const best = best_so_far(entry.energy_gap_mean);
  if (!record_) return;
  record_->add(entry, position_.global_step);
  if (best) {
    require_directory();
    write_averages(best_path(o_.directory), position_with_metrics(), averaged_.network());
  }
}

void RunState::add_pictures(std::vector<std::pair<std::string, std::string>> const& pictures) {
  if (!record_) return;
  for (auto const& [name, png] : pictures) {
    record_->add_picture("held_out/" + name + "/" + row().grid, png, position_.global_step);
  }
}

void RunState::add_waiting(std::vector<double> const& shares) {
  if (record_) record_->add_waiting(shares, position_.global_step);
}

/// Of the rank that writes there.
void RunState::require_directory() const {
  if (o_.require_directory) o_.require_directory();
}

/// Ranks update their weights each for itself. **Collective**.
void RunState::tell_of_drift() {
  if (drift_told_) return;
  auto const ranks = ranks_that_differ(comm_, place());
  drift_told_ = !ranks.empty();
  if (!drift_told_ || comm_.rank() != 0) return;
  log_warning("the weights of rank " + join(ranks) +
              " differ from those of rank 0, which checkpoints hold: processors or libraries there "
              "round in another way. For the same bits on any number of processes start all on "
              "machines of one kind.");
}

void RunState::save(NamedTensors const& optimizer) {
  tell_of_drift();
  if (comm_.rank() != 0) return;
  require_directory();
  position_.metrics = record_->save();
  position_.averaged_updates = averaged_.updates();
  shift_checkpoints(o_.directory, o_.keep_checkpoints);
  write_checkpoint(checkpoint_path(o_.directory), position_, *network_, averaged_.network(),
                   optimizer, position_.step == 0 ? warm_start_ : NamedTensors{});
}

}  // namespace voxcycle
