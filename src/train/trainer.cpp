// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/train/trainer.hpp"

#include "voxcycle/comm/clocked_communicator.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/log.hpp"
#include "voxcycle/core/memory.hpp"
#include "voxcycle/core/status_line.hpp"
#include "voxcycle/core/stop_signal.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/core/timer.hpp"
#include "voxcycle/core/whereabouts.hpp"
#include "voxcycle/train/agreement.hpp"
#include "voxcycle/train/data_watch.hpp"
#include "voxcycle/train/held_out.hpp"
#include "voxcycle/train/progress.hpp"
#include "voxcycle/train/run_clock.hpp"
#include "voxcycle/train/run_directory.hpp"
#include "voxcycle/train/stage_budget.hpp"
#include "voxcycle/train/step_clock.hpp"
#include "voxcycle/train/step_trace.hpp"
#include "voxcycle/train/training_data.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "train/run_state.hpp"
#include "train/slice_pictures.hpp"
#include "train/stepper.hpp"
#include "train/votes.hpp"
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

/// Share of a stage limited in seconds that its first step counts for where no step before it tells
/// how long it will take: its rate is that early in the warm-up, and not 0.
constexpr double kUnknownShare = 0.01;

enum class MayStop { no, yes };

/// Adds the seconds that `work` takes to `sum`, and returns them.
template <class Work>
double clock(double& sum, Work const& work) {
  Timer const timer;
  work();
  double const seconds = timer.seconds();
  sum += seconds;
  return seconds;
}

class Trainer {
 public:
  Trainer(TrainOptions const& options, Communicator const& comm);
  TrainSummary run();

 private:
  void require_sound_options();
  StageSetup set_up(Stage const& stage);
  void enter(StageSetup const& setup, Stepper& stepper);
  void leave(StageSetup const& setup, Stepper& stepper);
  StepResult step(StageSetup const& setup, Stepper& stepper, double progress);
  void record(StageSetup const& setup, StepResult const& result);
  void look_back(StageSetup const& setup, StepResult const& result, double seconds);
  void look_ahead();
  void evaluate(StageSetup const& setup, MayStop may_stop);
  HeldOutErrors measure(HeldOutSamples const& samples, HeldOutOptions options, MayStop may_stop);
  void save(Stepper& stepper);

  double progress(Budget const& budget) const {
    return progress_of(budget, at_.step, at_.stage_seconds);
  }
  /// Whether this rank was.
  bool asked_to_stop() const {
    return stop_.requested() || (o_.stop_after_steps > 0 && session_steps_ >= o_.stop_after_steps);
  }
  Votes vote();
  void warn_of_slow_data(double share);
  Grid3 const& finest() const {
    return o_.levels[static_cast<std::size_t>(std::ranges::max(o_.path))].grid;
  }
  RunClock planned_clock(std::map<int, double> const& step_seconds) const;
  /// That this rank has of the grid.
  Planes planes(Grid3 const& grid) const { return process_grid_->planes(grid); }
  LossProblem loss_problem(Stage const& stage) const {
    return {process_grid_->space(stage.plan.grid), o_.boundary, o_.source, o_.device};
  }

  TrainOptions const& o_;
  ClockedCommunicator comm_;
  TrainingData data_;
  RunState state_;
  CheckpointHeader& at_;                     ///< where the run stands
  std::optional<ProcessGrid> process_grid_;  ///< once the ranks agree on the config
  GradientReducer reducer_;
  StatusLine progress_line_;
  StopSignal stop_;
  DataWatch data_watch_;
  StepClock step_clock_;
  std::optional<RunClock> run_clock_;  ///< once the data are known to fit
  WaitingCount waiting_;
  StepTrace trace_;
  Timer since_checkpoint_;
  std::int64_t session_steps_ = 0;
  bool gained_ = false;  ///< see TrainSummary
  StepTimes times_;
  double evaluation_ = 0.0;  ///< seconds
  double checkpoint_ = 0.0;  ///< seconds
};

Trainer::Trainer(TrainOptions const& options, Communicator const& comm)
    : o_(options),
      comm_(comm),
      data_(options),
      state_(options, comm_, plan_stages(options.path, options.levels)),
      at_(state_.position()),
      reducer_(comm_, state_.network().parameters(), options.reduction),
      progress_line_(comm.rank() == 0 ? StatusLine::Visible::yes : StatusLine::Visible::no),
      stop_(comm.rank() > 0    ? nullptr
            : comm.size() == 1 ? kStopAnswer
                               : kStopAnswerOfMany),
      data_watch_(static_cast<bool>(options.fresh_samples)),
      waiting_(comm_),
      trace_(comm_, options.trace_steps, options.directory + "/trace.json") {
  bool const finished = holds_finished_run(o_);
  require_agreement(comm_, {{"run directory", o_.directory},
                            {Fingerprint::kThreads, std::to_string(at::get_num_threads())},
                            {"program (hash)", program_hash()},
                            {"finished run there", finished ? "yes" : "no"}});
  require_same_options(comm_, o_.fingerprint);
  if (!finished) {
    require_agreement(comm_, {{"shards", data_.describe(state_.stages())}});
    process_grid_.emplace(comm_, o_.slabs);
    comm_.together([&] {
      require_sound_options();
      run_clock_ = planned_clock(o_.step_seconds);
    });
  }
  comm_.together([&] { state_.open(); });
  // A directory or a file's copy that not all machines share would let ranks go on from different
  // places, and add up gradients of different weights.
  require_agreement(comm_, {{"place in the run and weights to begin with", state_.place()}});
}

/// @throws Error for unknown names and data that do not fit together, before the first step.
void Trainer::require_sound_options() {
  for (auto const& stage : state_.stages()) {
    require_stepper(o_, stage, data_.training(stage));
    static_cast<void>(make_loss(o_.loss, loss_problem(stage)));
    data_.require_inputs(stage);
  }
}

TrainSummary Trainer::run() {
  bool stopped = false;
  look_ahead();
  while (!at_.finished && !stopped) {
    Stage const& stage = state_.stages().at(static_cast<std::size_t>(at_.stage));
    StageSetup const setup = set_up(stage);
    auto const stepper = make_stepper(setup);
    enter(setup, *stepper);
    try {
      if (at_.evaluation_due) evaluate(setup, MayStop::yes);
      while (progress(setup.budget) < 1.0 && !has_stalled(state_.gaps(), stage.plan.stall) &&
             stepper->stopped().empty()) {
        double const before = progress(setup.budget);
        comm_.start_clock();
        Timer const timer;
        StepResult const result = step(setup, *stepper, before);  // batch, gradient, update
        record(setup, result);
        Votes const votes = vote();
        look_back(setup, result, timer.seconds());
        bool const ended = !stepper->stopped().empty();  // no checkpoint knows that
        if (ended || evaluation_due(stage, before, progress(setup.budget))) {
          evaluate(setup, ended ? MayStop::no : MayStop::yes);
        }
        if (votes.stop && !ended) throw StopRequested();
        if (votes.since_checkpoint > o_.checkpoint_seconds) save(*stepper);
      }
      leave(setup, *stepper);
      stopped = comm_.any(asked_to_stop());
    } catch (StopRequested const&) {  // on all ranks, in a state that a checkpoint can hold
      progress_line_.finish();
      save(*stepper);
      stopped = true;
    }
  }
  trace_.write();
  return {at_.finished,  gained_,          at_.seconds,        times_, evaluation_, checkpoint_,
          state_.rows(), waiting_.total(), at_.untrained_error};
}

StageSetup Trainer::set_up(Stage const& stage) {
  auto const& plan = stage.plan;
  release_freed_memory(plan.grid.voxel_count());  // of coarser grids
  return {o_,
          stage,
          process_grid_->on(plan.grid),
          state_,
          reducer_,
          make_loss(o_.loss, loss_problem(stage)),
          stage_budget(o_, plan, data_.training(stage).samples()),
          data_.held_out(plan.grid, planes(plan.grid)),
          [&] { return data_.training(stage); },
          [&] { return comm_.any(stop_.requested()); }};
}

RunClock Trainer::planned_clock(std::map<int, double> const& step_seconds) const {
  std::vector<RunClock::Stage> stages;
  for (auto const& stage : state_.stages()) {
    auto const& plan = stage.plan;
    std::int64_t const samples = data_.training(stage).samples();
    auto const told = step_seconds.find(o_.path.at(static_cast<std::size_t>(stage.number)));
    stages.push_back({stage_budget(o_, plan, samples), plan.grid.voxel_count(),
                      samples_a_step(o_, plan, samples),
                      told == step_seconds.end() ? 0.0 : told->second, plan.evaluations,
                      data_.held_out(plan.grid).count});
  }
  return RunClock(std::move(stages));
}

/// Begins the stage, or goes on with it from a checkpoint.
void Trainer::enter(StageSetup const& setup, Stepper& stepper) {
  auto const& plan = setup.stage.plan;
  state_.begin_stage([&](CheckpointReader const& checkpoint) { stepper.restore(checkpoint); });
  step_clock_.begin_stage(plan.batch * plan.grid.voxel_count());
  if (at_.step > 0) step_clock_.agree_on(at_.stage_seconds / static_cast<double>(at_.step));
  data_watch_.begin_stage();
  trace_.begin_stage();
  since_checkpoint_.restart();
}

/// Closes the stage with a checkpoint, from which the next one begins.
void Trainer::leave(StageSetup const& setup, Stepper& stepper) {
  progress_line_.finish();
  if (!stepper.summary().empty()) log_info(stepper.summary());
  auto const next = static_cast<std::size_t>(setup.stage.number) + 1;
  bool const last = next == state_.stages().size();  // of a run that others may start from
  bool const wanted = last || state_.stages()[next].plan.optimizer == kLbfgs;
  run_clock_->add_checkpoint(clock(
      checkpoint_, [&] { state_.end_stage(wanted ? stepper.second_moments() : NamedTensors{}); }));
}

/// @param progress  of the stage, before the step
StepResult Trainer::step(StageSetup const& setup, Stepper& stepper, double progress) {
  double const known_share = progress_of(setup.budget, 1, step_clock_.expected());
  double const share = known_share > 0.0 ? known_share : kUnknownShare;
  state_.before_step();
  note_step(at_.global_step + 1);
  note_part("samples");
  Timer const timer;
  StepResult result;
  try {
    result = stepper.step({progress, share});
  } catch (Error& error) {
    error.prepend(format("stage %d (%s), step %ld: ", setup.stage.number + 1,
                         setup.stage.plan.grid.label().c_str(), static_cast<long>(at_.step)));
    throw;
  }
  double const seconds = timer.seconds();
  std::int64_t const voxels = result.samples * setup.stage.plan.grid.voxel_count();
  ++at_.step;
  ++at_.global_step;
  at_.work += voxels;
  at_.seconds += seconds;
  at_.stage_seconds += seconds;
  step_clock_.add(seconds, voxels);
  run_clock_->add_step(static_cast<std::size_t>(at_.stage), seconds);
  ++session_steps_;
  gained_ = true;
  return result;
}

/// Metrics, times and the progress line.
void Trainer::record(StageSetup const& setup, StepResult const& result) {
  auto const& stage = setup.stage;
  times_ += result.times;
  data_watch_.add(result.times);
  state_.add_loss(result, step_clock_.mean());
  if (o_.after_step) o_.after_step({stage.number, at_.step, result.loss, state_.network()});
  progress_line_.show([&] {
    double const left =
        run_clock_->left(static_cast<std::size_t>(stage.number), at_.step, at_.stage_seconds);
    double const spent = at_.seconds + evaluation_ + checkpoint_;
    return progress_text({stage.number, static_cast<int>(state_.stages().size()),
                          stage.plan.grid.label(), at_.step, setup.budget.steps,
                          spent / (spent + left), left, result.loss, state_.gaps().back(),
                          result.rate, step_clock_.mean(), result.samples, result.search});
  });
}

/// Who waited for whom. @param seconds  since the clock of collective calls was started
void Trainer::look_back(StageSetup const& setup, StepResult const& result, double seconds) {
  auto const calls = comm_.stop_clock();
  waiting_.add(seconds, calls);
  trace_.add(
      format("%s step %ld", setup.stage.plan.grid.label().c_str(), static_cast<long>(at_.step)),
      seconds, result.times, calls);
}

/// @return the votes of all ranks, whose clocks then are rank 0's
Votes Trainer::vote() {
  Votes const votes = count_votes(comm_, {.stop = asked_to_stop(),
                                          .data_share = data_watch_.share(),
                                          .seconds = at_.seconds,
                                          .stage_seconds = at_.stage_seconds,
                                          .step_seconds = step_clock_.mean(),
                                          .since_checkpoint = since_checkpoint_.seconds()});
  at_.seconds = votes.seconds;
  at_.stage_seconds = votes.stage_seconds;
  step_clock_.agree_on(votes.step_seconds);
  warn_of_slow_data(votes.data_share);
  return votes;
}

void Trainer::warn_of_slow_data(double share) {
  auto const warning = data_watch_.warning(share);
  if (comm_.rank() != 0 || warning.empty()) return;
  progress_line_.finish();
  log_warning(warning);
}

/// Measures the weights that a run begins with where it will end: what training was worth is known
/// by that, and how long the finest grid takes. A wish to stop is met by what comes next.
void Trainer::look_ahead() {
  if (at_.global_step > 0 || at_.finished) return;
  if (o_.time_steps) run_clock_ = planned_clock(o_.time_steps());
  if (!o_.start.empty() || finest() == state_.stages().front().plan.grid) return;
  log_info("evaluating the untrained weights at " + finest().label());
  try {
    auto const errors = measure(data_.held_out(finest(), planes(finest())), {}, MayStop::yes);
    at_.untrained_error = errors.energy_norm_error.mean().item<double>();
  } catch (StopRequested const&) {
  }
}

HeldOutErrors Trainer::measure(HeldOutSamples const& samples, HeldOutOptions options,
                               MayStop may_stop) {
  options.dtype = evaluation_type(samples.grid, o_.dtype);
  options.micro_batch_size = o_.micro_batch_size;
  if (may_stop == MayStop::yes) options.stop_wanted = [this] { return stop_.requested(); };
  HeldOutErrors errors;
  double const seconds = clock(evaluation_, [&] {
    errors = evaluate_held_out(*process_grid_, state_.averaged().network(), samples, options);
  });
  run_clock_->add_evaluation(samples.grid.voxel_count(), samples.count, seconds);
  return errors;
}

/// @throws StopRequested on all ranks if it was given up: it is due still.
void Trainer::evaluate(StageSetup const& setup, MayStop may_stop) {
  Grid3 const& grid = setup.stage.plan.grid;
  HeldOutOptions options;
  std::vector<std::pair<std::string, std::string>> pictures;
  options.with_first = [&](auto const& u, auto const& u_ref) {
    if (comm_.rank() == 0) pictures = slice_pictures(u, u_ref);
  };
  at_.evaluation_due = true;
  HeldOutErrors const errors = measure(setup.held_out, std::move(options), may_stop);
  require_finite(errors);
  gained_ = true;
  at_.evaluation_due = false;
  if (at_.global_step == 0 && o_.start.empty() && grid == finest()) {
    at_.untrained_error = errors.energy_norm_error.mean().item<double>();
  }
  clock(checkpoint_, [&] { state_.add_errors(errors); });  // may keep the best weights
  state_.add_pictures(pictures);
  state_.add_waiting(waiting_.recent());
  progress_line_.finish();
  log_info(format("%s after %ld steps: relative L2 %s, energy gap %s, energy-norm error %s",
                  grid.label().c_str(), static_cast<long>(at_.step),
                  format_percent(errors.rel_l2.mean().item<double>()).c_str(),
                  format_percent(errors.energy_gap.mean().item<double>()).c_str(),
                  format_percent(errors.energy_norm_error.mean().item<double>()).c_str()));
}

/// Leaves a checkpoint of the stage in progress.
void Trainer::save(Stepper& stepper) {
  // A method that has done nothing yet begins anew.
  clock(checkpoint_, [&] { state_.save(at_.step > 0 ? stepper.state() : NamedTensors{}); });
  since_checkpoint_.restart();
}

}  // namespace

TrainSummary train(TrainOptions const& options, Communicator const& comm) {
  return Trainer(options, comm).run();
}

}  // namespace voxcycle
