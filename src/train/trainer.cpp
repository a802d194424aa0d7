// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/train/trainer.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/log.hpp"
#include "voxcycle/core/memory.hpp"
#include "voxcycle/core/status_line.hpp"
#include "voxcycle/core/stop_signal.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/core/timer.hpp"
#include "voxcycle/train/agreement.hpp"
#include "voxcycle/train/data_watch.hpp"
#include "voxcycle/train/held_out.hpp"
#include "voxcycle/train/progress.hpp"
#include "voxcycle/train/step_clock.hpp"

#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <optional>

#include "train/run_state.hpp"
#include "train/stepper.hpp"
#include <ATen/ATen.h>
#include <ATen/Parallel.h>

namespace voxcycle {
namespace {

constexpr char kStopAnswer[] =
    "\nstopping with a checkpoint after this step; Ctrl-C again ends it at once, without one\n";
// Launchers also ask the others to stop where a process has died.
constexpr char kStopAnswerOfMany[] =
    "\nstopping with a checkpoint after this step, if all processes are alive and the launcher "
    "waits\n";

/// Share of a visit limited in seconds that its first step counts for where no step before it tells
/// how long it will take: its rate is that early in the warm-up, and not 0.
constexpr double kUnknownShare = 0.01;

/// @throws Error unless training shards hold what the loss looks at.
void require_inputs(TrainOptions const& options, ShardInfo const& info) {
  auto const& name = options.loss;
  VOXCYCLE_REQUIRE(!needs_reference(name) || options.augmentation == Augmentation::none,
                   "loss " << name << " compares with reference solutions, and those of turned "
                           << "fields are others. Set data.augmentation = none.");
  VOXCYCLE_REQUIRE(
      info.has_reference || !needs_reference(name),
      "loss " << name << " compares with reference solutions, but the training shards "
              << "of grid " << info.grid.name() << " hold none"
              << (options.more_data.empty() ? "" : " (in data.directory or in data.more)")
              << ". Set data.train_references = yes and another data.directory, and run "
                 "voxcycle generate.");
}

/// What is due after a step, on all ranks.
struct Wishes {
  bool stop = false;
  bool checkpoint = false;
};

enum class MayStop { no, yes };

class Trainer {
 public:
  Trainer(TrainOptions const& options, Communicator const& comm)
      : o_(options),
        comm_(comm),
        state_(options, comm, plan_stages(options.path, options.levels)),
        reducer_(comm, state_.network().parameters(), options.reduction),
        progress_(comm.rank() == 0 ? StatusLine::Visible::yes : StatusLine::Visible::no),
        stop_(comm.rank() > 0    ? nullptr
              : comm.size() == 1 ? kStopAnswer
                                 : kStopAnswerOfMany),
        data_watch_(static_cast<bool>(options.fresh_samples)) {
    require_agreement(comm_, {{"config", text_hash(o_.identity)},
                              {"run directory", o_.directory},
                              {"threads a process", std::to_string(at::get_num_threads())},
                              {"program (hash)", program_hash()},
                              {"finished run there", holds_finished_run(o_) ? "yes" : "no"}});
    if (!holds_finished_run(o_)) {
      require_agreement(comm_, {{"shards", describe_shards()}});
      process_grid_.emplace(comm_, o_.slabs);
      for (auto const& stage : state_.stages()) {
        // Refuse unknown names and data that do not fit together before the first step.
        require_stepper(o_, stage, samples_of(stage));
        static_cast<void>(make_loss(o_.loss, loss_problem(stage)));
        require_inputs(o_, samples_of(stage).info());
      }
    }
    state_.open();
    // A directory or a file's copy that not all machines share would let ranks go on from different
    // places, and add up gradients of different weights.
    require_agreement(comm_, {{"place in the run and weights to begin with", state_.place()}});
  }

  TrainSummary run() {
    auto const& at = state_.position();
    while (!at.finished) {
      if (!run_stage(state_.stages().at(static_cast<std::size_t>(at.stage)))) break;
    }
    return {at.finished, gained_, at.seconds, times_, evaluation_, checkpoint_, state_.rows()};
  }

 private:
  /// Read once a training.
  ShardList const& shards_of(std::string const& data, char const* split, Grid3 const& grid) const;
  std::string describe_shards() const;
  /// Those of data.directory, or made on the fly.
  std::unique_ptr<SampleSource> training_samples(Grid3 const& grid) const;
  Mixture samples_of(Stage const& stage) const;
  LossProblem loss_problem(Stage const& stage) const {
    return {stage.plan.grid, o_.boundary, o_.source, o_.device};
  }
  bool run_stage(Stage const& stage);
  void take_steps(Stage const& stage, Budget const& budget, HeldOutSamples const& held_out,
                  Stepper& stepper);
  void step(Stage const& stage, Budget const& budget, Stepper& stepper);
  void evaluate(Stage const& stage, HeldOutSamples const& held_out, MayStop may_stop);
  /// Adds the seconds that `work` takes to `sum`.
  template <class Work>
  static void clock(double& sum, Work const& work);
  /// Whether this rank was.
  bool asked_to_stop() const;
  Wishes agree();
  /// Leaves a checkpoint of the stage in progress.
  void save(Stepper& stepper);

  TrainOptions const& o_;
  Communicator const& comm_;
  std::optional<ProcessGrid> process_grid_;         ///< once the ranks agree on the config
  mutable std::map<std::string, ShardList> lists_;  ///< by directory
  RunState state_;
  GradientReducer reducer_;
  StatusLine progress_;
  StopSignal stop_;
  StepTimes times_;
  double evaluation_ = 0.0;  ///< seconds
  double checkpoint_ = 0.0;  ///< seconds
  DataWatch data_watch_;
  Timer since_checkpoint_;
  StepClock step_clock_;
  std::int64_t session_steps_ = 0;
  bool gained_ = false;  ///< see TrainSummary
};

ShardList const& Trainer::shards_of(std::string const& data, char const* split,
                                    Grid3 const& grid) const {
  auto const directory = shard_directory(data, split, grid);
  return lists_.try_emplace(directory, directory).first->second;
}

/// What this rank's shards say of themselves, for the comparison with other ranks.
std::string Trainer::describe_shards() const {
  std::string text;
  auto const add = [&](std::unique_ptr<SampleSource> const& source) {
    auto const& info = source->info();
    text += format("%s %s %s seed %llu samples %ld; ", info.split.c_str(),
                   info.grid.label().c_str(), info.family.c_str(),
                   static_cast<unsigned long long>(info.seed), static_cast<long>(info.samples));
  };
  for (auto const& stage : state_.stages()) {
    Grid3 const& grid = stage.plan.grid;
    add(stored_samples(shards_of(o_.data, "held_out", grid)));
    add(training_samples(grid));
    for (auto const& other : o_.more_data) {
      add(stored_samples(shards_of(other.directory, "train", grid)));
    }
  }
  return text;
}

std::unique_ptr<SampleSource> Trainer::training_samples(Grid3 const& grid) const {
  return o_.fresh_samples ? o_.fresh_samples(grid)
                          : stored_samples(shards_of(o_.data, "train", grid));
}

Mixture Trainer::samples_of(Stage const& stage) const {
  std::vector<std::unique_ptr<SampleSource>> sets;
  std::vector<double> weights{1.0};
  sets.push_back(training_samples(stage.plan.grid));
  for (auto const& other : o_.more_data) {
    sets.push_back(stored_samples(shards_of(other.directory, "train", stage.plan.grid)));
    weights.push_back(other.weight);
  }
  return {std::move(sets),
          weights,
          {.seed = o_.seed,
           .stage = stage.number,
           .block = o_.sample_block,
           .augmentation = o_.augmentation}};
}

template <class Work>
void Trainer::clock(double& sum, Work const& work) {
  Timer const timer;
  work();
  sum += timer.seconds();
}

/// @throws Error on all ranks.
void require_finite(HeldOutErrors const& errors) {
  std::int64_t const sound = errors.rel_l2.isfinite().sum().item<std::int64_t>();
  VOXCYCLE_REQUIRE(
      sound == errors.rel_l2.numel(),
      "the network has no finite solution for "
          << errors.rel_l2.numel() - sound << " of " << errors.rel_l2.numel()
          << " held-out samples: its weights diverged. Lower the rate (cycle.rate) and "
             "train again with --fresh.");
}

/// @throws StopRequested on all ranks if it was given up: it is due still.
void Trainer::evaluate(Stage const& stage, HeldOutSamples const& held_out, MayStop may_stop) {
  HeldOutErrors errors;
  HeldOutOptions options{.dtype = evaluation_type(stage.plan.grid, o_.dtype),
                         .micro_batch_size = o_.micro_batch_size};
  if (may_stop == MayStop::yes) options.stop_wanted = [this] { return stop_.requested(); };
  state_.position().evaluation_due = true;
  clock(evaluation_, [&] {
    errors = evaluate_held_out(*process_grid_, state_.averaged().network(), held_out, options);
  });
  require_finite(errors);
  gained_ = true;
  state_.position().evaluation_due = false;
  clock(checkpoint_, [&] { state_.add_errors(errors); });  // may keep the best weights
  progress_.finish();
  log_info(format("%s after %ld steps: relative L2 %s, energy gap %s, energy-norm error %s",
                  stage.plan.grid.label().c_str(), static_cast<long>(state_.position().step),
                  format_percent(errors.rel_l2.mean().item<double>()).c_str(),
                  format_percent(errors.energy_gap.mean().item<double>()).c_str(),
                  format_percent(errors.energy_norm_error.mean().item<double>()).c_str()));
}

bool Trainer::asked_to_stop() const {
  return stop_.requested() || (o_.stop_after_steps > 0 && session_steps_ >= o_.stop_after_steps);
}

/// Whether any rank was asked to stop, and whether any waits for data. All ranks take rank 0's
/// clock, so that budgets in seconds end, rates fall and checkpoints are written at the same step
/// everywhere.
Wishes Trainer::agree() {
  auto& at = state_.position();
  double const never = -std::numeric_limits<double>::infinity();
  bool const leads = comm_.rank() == 0;
  at::Tensor vote =
      at::tensor({asked_to_stop() ? 1.0 : 0.0, leads ? at.seconds : never,
                  leads ? at.stage_seconds : never, leads ? step_clock_.mean() : never,
                  leads ? since_checkpoint_.seconds() : never, data_watch_.share()},
                 at::kDouble);
  comm_.all_reduce(vote, ReduceOperation::max);
  auto const* value = vote.const_data_ptr<double>();
  at.seconds = value[1];
  at.stage_seconds = value[2];
  step_clock_.agree_on(value[3]);
  auto const slow_data = data_watch_.warning(value[5]);
  if (leads && !slow_data.empty()) {
    progress_.finish();
    log_warning(slow_data);
  }
  return {value[0] > 0.0, value[4] > o_.checkpoint_seconds};
}

/// One step of the stage.
void Trainer::step(Stage const& stage, Budget const& budget, Stepper& stepper) {
  auto& at = state_.position();
  double const progress = progress_of(budget, at.step, at.stage_seconds);
  double const known_share = progress_of(budget, 1, step_clock_.expected());
  double const share = known_share > 0.0 ? known_share : kUnknownShare;
  Timer timer;
  StepResult result;
  try {
    result = stepper.step({progress, share});
  } catch (Error const& error) {
    throw Error(format("stage %d (%s), step %ld: ", stage.number + 1,
                       stage.plan.grid.label().c_str(), static_cast<long>(at.step)) +
                error.what());
  }
  times_ += result.times;
  data_watch_.add(result.times);
  ++at.step;
  ++at.global_step;
  std::int64_t const voxels = result.samples * stage.plan.grid.voxel_count();
  at.work += voxels;
  at.seconds += timer.seconds();
  at.stage_seconds += timer.seconds();
  step_clock_.add(timer.seconds(), voxels);
  state_.add_loss(result);
  if (o_.after_step) o_.after_step({stage.number, at.step, result.loss, state_.network()});
  progress_.show([&] {
    return progress_text({stage.number, static_cast<int>(state_.stages().size()),
                          stage.plan.grid.label(), at.step, budget.steps,
                          seconds_left(budget, at.step, at.stage_seconds, step_clock_.mean()),
                          result.loss, state_.gaps().back(), result.rate, step_clock_.mean(),
                          result.samples, result.search});
  });
}

void Trainer::save(Stepper& stepper) {
  // A method that has done nothing yet begins anew.
  bool const has_state = state_.position().step > 0;
  clock(checkpoint_, [&] { state_.save(has_state ? stepper.state() : NamedTensors{}); });
}

/// From where the stage stands to its end. @throws StopRequested on all ranks, with a state that a
/// checkpoint can hold.
void Trainer::take_steps(Stage const& stage, Budget const& budget, HeldOutSamples const& held_out,
                         Stepper& stepper) {
  auto& at = state_.position();
  if (at.evaluation_due) evaluate(stage, held_out, MayStop::yes);
  double progress = progress_of(budget, at.step, at.stage_seconds);
  while (progress < 1.0 && !has_stalled(state_.gaps(), stage.plan.stall) &&
         stepper.stopped().empty()) {
    step(stage, budget, stepper);
    ++session_steps_;
    gained_ = true;
    Wishes const wishes = agree();
    double const before = progress;
    progress = progress_of(budget, at.step, at.stage_seconds);
    bool const ended = !stepper.stopped().empty();  // no checkpoint knows that
    if (ended || evaluation_due(stage, before, progress)) {
      evaluate(stage, held_out, ended ? MayStop::no : MayStop::yes);
    }
    if (wishes.stop && !ended) throw StopRequested();
    if (wishes.checkpoint) {
      save(stepper);
      since_checkpoint_.restart();
    }
  }
}

/// @return whether to go on with the next stage (false: a stop was requested)
bool Trainer::run_stage(Stage const& stage) {
  auto const& plan = stage.plan;
  release_freed_memory(plan.grid.voxel_count());  // of coarser grids
  auto const loss = make_loss(o_.loss, loss_problem(stage));
  auto const held_out = held_out_samples(shards_of(o_.data, "held_out", plan.grid));
  Budget const budget = stage_budget(o_, plan, samples_of(stage).samples());
  StageSetup const setup{o_,
                         stage,
                         process_grid_->on(plan.grid),
                         state_,
                         reducer_,
                         *loss,
                         budget,
                         [&] { return samples_of(stage); },
                         [&] { return comm_.any(stop_.requested()); }};
  auto const stepper = make_stepper(setup);
  state_.begin_stage([&](CheckpointReader const& checkpoint) { stepper->restore(checkpoint); });
  step_clock_.begin_stage(plan.batch * plan.grid.voxel_count());
  if (auto const& at = state_.position(); at.step > 0) {
    step_clock_.agree_on(at.stage_seconds / static_cast<double>(at.step));
  }
  data_watch_.begin_stage();
  since_checkpoint_.restart();
  try {
    take_steps(stage, budget, held_out, *stepper);
  } catch (StopRequested const&) {
    progress_.finish();
    save(*stepper);
    return false;
  }
  progress_.finish();
  if (!stepper->summary().empty()) log_info(stepper->summary());
  auto const next = static_cast<std::size_t>(stage.number) + 1;
  bool const last = next == state_.stages().size();  // of a run that others may start from
  bool const wanted = last || state_.stages()[next].plan.optimizer == kLbfgs;
  clock(checkpoint_,
        [&] { state_.end_stage(wanted ? stepper->second_moments() : NamedTensors{}); });
  return !comm_.any(asked_to_stop());
}

}  // namespace

std::string checkpoint_path(std::string const& directory) {
  return directory + "/checkpoint.h5";
}

bool holds_finished_run(TrainOptions const& options) {
  auto const path = checkpoint_path(options.directory);
  return options.restart == Restart::resume && std::filesystem::exists(path) &&
         CheckpointReader(path).header().finished;
}

std::string best_path(std::string const& directory) {
  return directory + "/best.h5";
}

std::string stage_path(std::string const& directory, int stage) {
  return directory + format("/stages/%02d.h5", stage + 1);
}

TrainSummary train(TrainOptions const& options, Communicator const& comm) {
  return Trainer(options, comm).run();
}

}  // namespace voxcycle
