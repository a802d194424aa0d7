// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/train/trainer.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/log.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/core/timer.hpp"
#include "voxcycle/grid/units.hpp"
#include "voxcycle/train/agreement.hpp"
#include "voxcycle/train/checkpoint.hpp"
#include "voxcycle/train/held_out.hpp"
#include "voxcycle/train/progress.hpp"
#include "voxcycle/train/stop_signal.hpp"

#include <filesystem>
#include <limits>
#include <memory>
#include <optional>

#include <ATen/Parallel.h>
#include <torch/torch.h>

namespace voxcycle {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
/// Weight of the newest step in the mean that the progress line shows.
constexpr double kStepMeanWeight = 0.1;

/// First line in which two resolved configs differ.
std::string first_difference(std::string const& a, std::string const& b) {
  std::size_t begin = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()) && a[i] == b[i]; ++i) {
    if (a[i] == '\n') begin = i + 1;
  }
  auto const line = [&](std::string const& text) {
    return text.substr(begin, text.find('\n', begin) - begin);
  };
  return format("'%s' there, '%s' now", line(a).c_str(), line(b).c_str());
}

/// @throws Error unless training shards hold what the loss looks at.
void require_inputs(std::string const& name, Loss const& loss, ShardInfo const& info) {
  VOXCYCLE_REQUIRE(info.split != "train" || info.has_reference || !loss.needs_reference(),
                   "loss " << name << " compares with reference solutions, but the training shards "
                           << "of grid " << info.grid.name() << " hold none. Set "
                           << "data.train_references = yes and another data.directory, and run "
                              "voxcycle generate.");
}

class Trainer {
 public:
  Trainer(TrainOptions const& options, Communicator const& comm)
      : o_(options),
        comm_(comm),
        stages_(plan_stages(options.path, options.levels)),
        network_(make_network(options.network, frame_of(options.boundary))),
        averaged_(*network_, make_network(options.network, frame_of(options.boundary))),
        reducer_(comm, network_->parameters(), options.reduction),
        progress_(comm.rank() == 0 ? ProgressLine::Visible::yes : ProgressLine::Visible::no) {
    for (auto const& stage : stages_) network_->require_fits(stage.plan.grid);
    if (o_.dtype == at::kDouble) {
      network_->to(at::kDouble);
      averaged_.network().to(at::kDouble);
    }
    position_.identity = o_.identity;
    require_agreement(comm_, {{"config", text_hash(o_.identity)},
                              {"run directory", o_.directory},
                              {"threads a process", std::to_string(at::get_num_threads())},
                              {"program (hash)", program_hash()},
                              {"shards", describe_shards()}});
    open_checkpoint();
    if (comm_.rank() == 0) {
      record_.emplace(o_.directory, position_.metrics.empty()
                                        ? std::vector<MetricRow>{}
                                        : metrics_from_csv(position_.metrics));
    }
  }

  TrainSummary run() {
    TrainSummary summary;
    summary.finished = true;
    for (int k = position_.stage; k < static_cast<int>(stages_.size()); ++k) {
      if (position_.finished) break;
      if (!run_stage(stages_[static_cast<std::size_t>(k)])) {
        summary.finished = false;
        break;
      }
    }
    if (summary.finished && !position_.finished) {
      position_.finished = true;
      save(nullptr);
    }
    summary.seconds = position_.seconds;
    summary.times = times_;
    if (record_) summary.rows = record_->rows();
    return summary;
  }

 private:
  std::string describe_shards() const;
  void open_checkpoint();
  bool run_stage(Stage const& stage);
  void evaluate(Stage const& stage, HeldOutSet const& held_out);
  void save(Optimizer* optimizer);
  std::vector<ParameterGroup> groups_of(Stage const& stage) const;
  void add_row(Stage const& stage, double loss, HeldOutErrors const* errors);

  TrainOptions const& o_;
  Communicator const& comm_;
  std::vector<Stage> stages_;
  std::shared_ptr<Network> network_;
  AveragedWeights averaged_;
  GradientReducer reducer_;
  ProgressLine progress_;
  StopSignal stop_;
  std::optional<CheckpointReader> resumed_;
  CheckpointHeader position_;
  std::optional<RunRecord> record_;
  StepTimes times_;
  double gap_ = kNan;
  std::int64_t session_steps_ = 0;
};

/// What this rank's shards say of themselves, for the comparison with other ranks.
std::string Trainer::describe_shards() const {
  std::string text;
  for (auto const& stage : stages_) {
    for (auto const* split : {"train", "held_out"}) {
      ShardSet const shards(shard_directory(o_.data, split, stage.plan.grid));
      auto const& info = shards.info();
      require_inputs(o_.loss, *make_loss(o_.loss, {stage.plan.grid, o_.boundary, o_.source}), info);
      text +=
          format("%s %s %s seed %llu samples %ld; ", info.split.c_str(), info.grid.label().c_str(),
                 info.family.c_str(), static_cast<unsigned long long>(info.seed),
                 static_cast<long>(shards.samples()));
    }
  }
  return text;
}

void Trainer::open_checkpoint() {
  std::string const path = checkpoint_path(o_.directory);
  if (o_.restart == Restart::fresh || !std::filesystem::exists(path)) return;
  resumed_.emplace(path);
  VOXCYCLE_REQUIRE(resumed_->header().identity == o_.identity,
                   o_.directory << " holds a run of another config ("
                                << first_difference(resumed_->header().identity, o_.identity)
                                << "). Choose another run.directory, or start over with --fresh.");
  position_ = resumed_->header();
  resumed_->restore_network(*network_);
  resumed_->restore_average(averaged_.network());
  if (position_.finished) {
    log_info(o_.directory + " holds the finished run already. Start over with --fresh.");
  } else {
    log_info(format("going on with stage %d after %ld of its steps", position_.stage + 1,
                    static_cast<long>(position_.step)));
  }
}

std::vector<ParameterGroup> Trainer::groups_of(Stage const& stage) const {
  std::vector<ParameterGroup> groups;
  for (auto const& level : network_->levels(stage.plan.grid)) {
    groups.push_back({level.parameters, level.names, level_rate_factor(stage, level.level)});
  }
  return groups;
}

void Trainer::add_row(Stage const& stage, double loss, HeldOutErrors const* errors) {
  if (!record_) return;
  MetricRow row{
      stage.number, stage.plan.grid.label(), position_.step, position_.seconds, loss, kNan, kNan,
      kNan};
  if (errors != nullptr) {
    row.rel_l2_mean = errors->rel_l2.mean().item<double>();
    row.energy_gap_mean = errors->energy_gap.mean().item<double>();
    row.energy_norm_error_mean = errors->energy_norm_error.mean().item<double>();
  }
  record_->add(row, position_.global_step);
}

void Trainer::evaluate(Stage const& stage, HeldOutSet const& held_out) {
  auto const errors =
      evaluate_held_out(comm_, averaged_.network(), held_out, {.unit_size = o_.unit_size});
  gap_ = errors.energy_gap.mean().item<double>();
  add_row(stage, kNan, &errors);
  progress_.finish();
  log_info(format("%s after %ld steps: relative L2 %s, energy gap %s, energy-norm error %s",
                  stage.plan.grid.label().c_str(), static_cast<long>(position_.step),
                  format_percent(errors.rel_l2.mean().item<double>()).c_str(),
                  format_percent(gap_).c_str(),
                  format_percent(errors.energy_norm_error.mean().item<double>()).c_str()));
}

void Trainer::save(Optimizer* optimizer) {
  if (comm_.rank() != 0) return;
  record_->save();
  position_.metrics = metrics_to_csv(record_->rows());
  position_.averaged_updates = averaged_.updates();
  write_checkpoint(checkpoint_path(o_.directory), position_, *network_, averaged_.network(),
                   optimizer);
}

/// @return whether the stage ended (false: a stop was requested)
bool Trainer::run_stage(Stage const& stage) {
  auto const& plan = stage.plan;
  auto const optimizer = make_optimizer(o_.optimizer, groups_of(stage));
  auto const loss = make_loss(o_.loss, {plan.grid, o_.boundary, o_.source});
  averaged_.begin_stage(o_.average_horizon * static_cast<double>(plan.steps));
  if (resumed_ && position_.step > 0) {
    resumed_->restore_optimizer(*optimizer);
    averaged_.restore(position_.averaged_updates);
  }
  resumed_.reset();

  ShardSet held_out_shards(shard_directory(o_.data, "held_out", plan.grid));
  HeldOutSet const held_out = read_held_out(held_out_shards);
  ShardSet shards(shard_directory(o_.data, "train", plan.grid));
  Sampler const sampler(o_.seed, stage.number, shards.samples(), o_.sample_block);
  Prefetcher prefetch(
      std::move(shards), sampler,
      {.batch = plan.batch,
       .unit_size = o_.unit_size,
       .steps = plan.steps,
       .first_step = position_.step,
       .ranks = comm_.size(),
       .rank = comm_.rank(),
       .references = loss->needs_reference() ? ReadReference::yes : ReadReference::no});
  StepContext const context{comm_,      *network_,    *loss,         reducer_,
                            *optimizer, averaged_,    plan.grid,     o_.dtype,
                            plan.batch, o_.unit_size, o_.source.kind};
  if (position_.step == 0) evaluate(stage, held_out);

  double mean_seconds = 0.0;
  Timer since_checkpoint;
  while (position_.step < plan.steps) {
    Timer step_timer;
    LocalBatch const batch = prefetch.next();
    double const waited = step_timer.seconds();
    double const rate = plan.rate * cosine_rate(position_.step, plan.steps, plan.warm_up);
    StepResult result;
    try {
      result = train_step(context, batch, rate);
    } catch (Error const& error) {
      throw Error(format("stage %d (%s), step %ld: ", stage.number + 1, plan.grid.label().c_str(),
                         static_cast<long>(position_.step)) +
                  error.what());
    }
    result.times.data = waited;
    times_ += result.times;
    ++position_.step;
    ++position_.global_step;
    position_.seconds += step_timer.seconds();
    mean_seconds = mean_seconds == 0.0 ? step_timer.seconds()
                                       : (1 - kStepMeanWeight) * mean_seconds +
                                             kStepMeanWeight * step_timer.seconds();
    add_row(stage, result.loss, nullptr);
    if (o_.after_step) o_.after_step({stage.number, position_.step, result.loss, *network_});
    progress_.show({stage.number, static_cast<int>(stages_.size()), plan.grid.label(),
                    position_.step, plan.steps, result.loss, gap_, rate, mean_seconds, plan.batch});
    if (evaluation_due(stage, position_.step)) evaluate(stage, held_out);
    ++session_steps_;
    if (session_steps_ == o_.stop_after_steps || stop_.requested(comm_)) {
      progress_.finish();
      save(optimizer.get());
      return false;
    }
    if (since_checkpoint.seconds() > o_.checkpoint_seconds) {
      save(optimizer.get());
      since_checkpoint.restart();
    }
  }
  progress_.finish();
  ++position_.stage;
  position_.step = 0;
  save(nullptr);
  return true;
}

}  // namespace

FrameOfGrid frame_of(Boundary const& boundary) {
  return [boundary](Grid3 const& grid) {
    return NodalFrame{lift(grid, boundary, at::kFloat), free_node_mask(grid, boundary, at::kFloat)};
  };
}

std::string checkpoint_path(std::string const& directory) {
  return directory + "/checkpoint.h5";
}

TrainSummary train(TrainOptions const& options, Communicator const& comm) {
  return Trainer(options, comm).run();
}

}  // namespace voxcycle
