// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/study/scale.hpp"

#include "voxcycle/config/memory_check.hpp"
#include "voxcycle/config/options.hpp"
#include "voxcycle/core/atomic_file.hpp"
#include "voxcycle/core/build_info.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/json.hpp"
#include "voxcycle/core/log.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/grid/micro_batches.hpp"
#include "voxcycle/study/runner.hpp"
#include "voxcycle/study/scale_model.hpp"
#include "voxcycle/train/memory.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>

#include "study/scale_report.hpp"
#include "study/scale_study.hpp"
#include "study/scale_submit.hpp"
#include <ATen/Parallel.h>

namespace voxcycle {
namespace {

/// Of each process: run.threads, else this machine's cores shared out to the most processes; with a
/// launcher of the user's, who knows the machines, this process's own number.
int threads_of(Config const& config, ScaleOptions const& options, std::int64_t most) {
  if (options.launcher || config.integer("run.threads", 0, 4096) != 0) {
    return at::get_num_threads();
  }
  return static_cast<int>(std::max<std::int64_t>(1, options.cores / most));
}

/// Steps of one size, timed by `voxcycle bench step`.
class TimedSteps {
 public:
  TimedSteps(Config const& config, ScalePlan const& plan, std::string launcher, int threads)
      : runs_(config, ".scale-" + std::to_string(plan.counts.front()), std::move(launcher),
              threads),
        plan_(plan),
        threads_(threads) {}

  /// Adds a turn to what was measured.
  void time(ScaleRun const& run, MeasuredRun& measured) const {
    auto const name = format("%ld-processes-batch-%ld", static_cast<long>(run.processes),
                             static_cast<long>(run.batch));
    auto const json = runs_.file(name + ".json");
    std::vector<std::string> arguments{"bench",
                                       "step",
                                       "--grid",
                                       std::to_string(plan_.level.grid.level()),
                                       "--batch",
                                       std::to_string(run.batch),
                                       "--no-baseline",
                                       "--run.spatial_processes",
                                       std::to_string(run.together),
                                       "--json",
                                       json};
    if (plan_.reads_samples) arguments.emplace_back("--read");
    runs_.run(name + ".log", run.processes, arguments);
    auto const step = Json::parse(read_file(json));
    require_started(step.at("processes").get<std::int64_t>(), run.processes);
    auto const number = [&](char const* member) { return step.at(member).get<double>(); };
    measured.turns.push_back({number("seconds_median"), number("waiting_share"),
                              number("exchange_share"), number("data_share")});
    measured.settings.insert(step.at("device").get<std::string>() +
                             format(", %s per process, voxcycle %s, commit %s",
                                    counted(threads_, "thread", "threads").c_str(),
                                    build_info::version, build_info::commit));
  }

 private:
  ScratchRuns runs_;
  ScalePlan const& plan_;
  int threads_;
};

std::size_t turns_of(std::map<ScaleRun, MeasuredRun> const& measured, ScaleRun const& run) {
  auto const found = measured.find(run);
  return found == measured.end() ? 0 : found->second.turns.size();
}

/// By turns, so that what else the machine does meets all runs alike. Each is kept at once, and
/// what is there already is not measured again.
void measure(std::vector<ScaleRun> const& wanted, Config const& config, ScalePlan const& plan,
             ScaleOptions const& options, std::map<ScaleRun, MeasuredRun>& measured) {
  auto const turns = static_cast<std::size_t>(options.repeats);
  std::size_t there = 0;
  for (auto const& run : wanted) there += std::min(turns, turns_of(measured, run));
  if (there > 0) {
    log_info(format("%zu of %zu measurements are in %s already; --fresh makes all anew", there,
                    turns * wanted.size(), plan.directory.c_str()));
  }
  TimedSteps const steps(config, plan, options.launcher.value_or(kLauncher),
                         threads_of(config, options, plan.counts.back()));
  for (std::size_t turn = 1; turn <= turns; ++turn) {
    for (auto const& run : wanted) {
      if (turns_of(measured, run) >= turn) continue;
      log_info(format("turn %zu of %zu: %s, batch %ld", turn, turns,
                      process_count_text(run.processes).c_str(), static_cast<long>(run.batch)));
      steps.time(run, measured[run]);
      write_measured(plan.directory, run, measured[run]);
    }
  }
}

/// A job for each number of processes that lacks turns. @return a line a job
std::string submit(std::vector<ScaleRun> const& wanted, Config const& config, ScalePlan const& plan,
                   ScaleOptions const& options, std::map<ScaleRun, MeasuredRun> const& measured) {
  auto const path = plan.directory + "/config.cfg";
  write_file_atomically(path, config.dump());
  std::vector<std::string> arguments{path, "--repeats", std::to_string(options.repeats)};
  if (options.in_space) arguments.emplace_back("--space");
  if (options.network) arguments.insert(arguments.end(), {"--model", *options.network});
  std::string text;
  for (auto const count : plan.counts) {
    bool const lacks = std::any_of(wanted.begin(), wanted.end(), [&](ScaleRun const& run) {
      return run.processes == count &&
             turns_of(measured, run) < static_cast<std::size_t>(options.repeats);
    });
    if (!lacks) continue;
    text += process_count_text(count) + ": job " + submit_scale(plan.directory, count, arguments) +
            "\n";
  }
  return text.empty()
             ? text
             : text + "when they have ended, --report instead of --submit makes the page\n\n";
}

/// What processes that compute samples together in slabs compute, by their number.
std::map<std::int64_t, double> shared_seconds(ScalePlan const& plan, ScaleTimes const& times) {
  std::map<std::int64_t, double> seconds;
  for (auto const& [run, turns] : times) {
    if (run.batch != plan.batch || run.together != run.processes) continue;
    auto const row = scale_rows({run}, times).front();
    seconds[run.together] = row.seconds.mean * row.mean.computing();
  }
  return seconds;
}

/// What a step sends where `together` processes compute a sample together.
StepTraffic traffic_of(ScalePlan const& plan, std::int64_t together, ScaleTimes const& times) {
  TrainOptions training = plan.training;
  auto level = plan.level;
  level.batch = plan.batch;
  StepTraffic traffic;
  if (together > 1) {
    training.slabs.count = static_cast<int>(together);
    level.batch = training.micro_batch_size;
    auto const planes = [&](std::int64_t count) -> double {
      if (count == 1) return static_cast<double>(level.grid.voxels[0]);
      Slabs const slabs{static_cast<int>(count), training.slabs.above};
      return static_cast<double>(slabs.of(level.grid, slabs.count / 2).planes().count);
    };
    traffic.computing = relative_computing(shared_seconds(plan, times), planes, together);
  }
  auto const sent = predict_memory(
      training, level, {.ranks = static_cast<int>(std::max<std::int64_t>(2, together))});
  traffic.sums = {sent.gradient_sums, sent.statistics_sums};
  traffic.in_group = sent.in_group;
  return traffic;
}

/// The first number of processes computing, and what a step sends.
/// @param tables  whose runs are to be predicted
std::optional<StepModel> model_of(ScalePlan const& plan, ScaleOptions const& options,
                                  std::vector<PlannedTable> const& tables,
                                  std::vector<ScaleRun> const& computing, ScaleTimes const& times) {
  if (!options.network) return {};
  StepModel model{.network = parse_network(*options.network),
                  .micro_batch_size = plan.training.micro_batch_size};
  model.seconds = computing_seconds(computing, times, model.micro_batch_size);
  if (model.seconds.empty()) return {};
  for (auto const& table : tables) {
    for (auto const& run : table.runs) {
      if (!model.traffic.contains(run.together))
        model.traffic[run.together] = traffic_of(plan, run.together, times);
    }
  }
  return model;
}

std::vector<std::string> warnings_of(ScalePlan const& plan, ScaleOptions const& options,
                                     ScaleStudy const& study) {
  std::vector<std::string> warnings;
  if (options.part == ScalePart::measure && !options.launcher &&
      plan.counts.back() > options.cores) {
    warnings.push_back(
        format("%ld processes share %d cores of this machine: their efficiency says "
               "nothing of machines with a core each.",
               static_cast<long>(plan.counts.back()), options.cores));
  }
  if (study.settings.size() > 1) {
    warnings.emplace_back(
        "Not everything was measured alike: efficiencies compare machines, threads or programs, "
        "too (see \"on\").");
  }
  if (options.network && !study.model) {
    warnings.push_back("There is no prediction: not all that " + process_count_text(plan.first) +
                       " must compute for it is measured yet.");
  }
  auto const micro = plan.training.micro_batch_size;
  auto const micro_batches = micro_batch_count(plan.batch, micro);
  std::int64_t largest = 0;
  for (auto const& table : study.tables) {
    for (auto const& row : table.rows) {
      largest = std::max(largest, row.run.processes / row.run.together);
    }
  }
  if (micro_batches < largest) {
    warnings.push_back(format(
        "A batch of %ld has %ld micro-batches of %ld samples (train.micro_batch_size): in strong "
        "scaling more processes than micro-batches have nothing to do.",
        static_cast<long>(plan.batch), static_cast<long>(micro_batches), static_cast<long>(micro)));
  }
  return warnings;
}

/// All that is measured.
ScaleStudy study_of(Config const& config, ScalePlan const& plan, ScaleOptions const& options,
                    std::vector<PlannedTable> const& tables, std::vector<ScaleRun> const& computing,
                    std::map<ScaleRun, MeasuredRun> const& measured) {
  ScaleStudy study{.grid = plan.level.grid.label(),
                   .level = plan.level.grid.level(),
                   .repeats = options.repeats,
                   .input = *plan.study.value("samples"),
                   .config = config.dump()};
  ScaleTimes times;
  for (auto const& [run, what] : measured) {
    times[run] = what.turns;
    study.settings.insert(what.settings.begin(), what.settings.end());
  }
  std::vector<PlannedTable> more, all = tables;
  if (options.network) more = predicted_tables(plan, options.in_space);
  all.insert(all.end(), more.begin(), more.end());
  study.model = model_of(plan, options, all, computing, times);
  for (auto const& planned : tables) {
    ScaleTable table{planned.title, planned.name, scale_rows(planned.runs, times), {}, {}};
    if (study.model) {
      std::vector<ScaleRun> runs;
      for (auto const& row : table.rows) runs.push_back(row.run);
      table.beside = predict(runs, *study.model);
    }
    study.tables.push_back(std::move(table));
  }
  for (std::size_t k = 0; study.model && k < more.size(); ++k) {
    if (k == study.tables.size()) study.tables.push_back({more[k].title, more[k].name, {}, {}, {}});
    study.tables[k].predicted = predict(more[k].runs, *study.model);
  }
  study.warnings = warnings_of(plan, options, study);
  return study;
}

/// @throws Error unless there is room for the processes.
void require_places(ScalePlan const& plan, ScaleOptions const& options) {
  auto const most = plan.counts.back();
  require_room(options.launcher.value_or(kLauncher), most);
  auto const* const tasks = std::getenv("SLURM_NTASKS");
  auto const slots = parse_number<std::int64_t>(tasks == nullptr ? "" : tasks);
  VOXCYCLE_REQUIRE(!options.launcher || !slots || most <= *slots,
                   "--processes: this job has " << *slots << " tasks, too few for " << most
                                                << " processes. Submit it with --ntasks=" << most
                                                << '.');
}

/// @throws Error for a prediction of what it knows nothing of.
void require_predictable(ScalePlan const& plan, ScaleOptions const& options) {
  if (!options.network) return;
  bool const shared = plan.training.slabs.processes(plan.level.grid) > 1;
  VOXCYCLE_REQUIRE(!shared || options.in_space,
                   "--model predicts processes that share out samples from --space, which measures "
                   "groups of any size. Add --space, or leave out run.spatial_processes.");
  VOXCYCLE_REQUIRE(
      !options.in_space || plan.first == 1,
      "--model --space begins with one process, and --processes does not. Let it begin "
      "with 1.");
}

}  // namespace

ScaleReport scale(Config const& config, ScaleOptions const& options) {
  if (options.network) parse_network(*options.network);
  auto const plan = plan_of(config, options);
  require_predictable(plan, options);
  auto const computing =
      options.network ? computing_runs(plan.first, plan.batch, plan.training.micro_batch_size)
                      : std::vector<ScaleRun>{};
  auto measured = options.fresh ? std::map<ScaleRun, MeasuredRun>{} : read_measured(plan.directory);
  auto const tables = [&] { return tables_of(plan, options.in_space, all_counts(plan, measured)); };
  auto const wanted = wanted_runs(plan, tables(), computing);
  if (options.part == ScalePart::measure) require_places(plan, options);
  if (options.fresh) std::filesystem::remove_all(plan.directory);
  begin_scale_study(plan.directory, plan.study);
  std::string text;
  if (options.part == ScalePart::measure) {
    measure(wanted, config, plan, options, measured);
    measured = read_measured(plan.directory);  // and what others did meanwhile
  } else if (options.part == ScalePart::submit) {
    text = submit(wanted, config, plan, options, measured);
  }
  auto const study = study_of(config, plan, options, tables(), computing, measured);
  for (auto const& warning : study.warnings) log_warning(warning);
  auto const json = scale_json(study);
  write_file_atomically(plan.directory + "/scale.html", render_scale(study));
  write_file_atomically(plan.directory + "/scale.json", json);
  return {text + scale_text(study) + "written: " + plan.directory + "/scale.html, scale.json\n",
          json};
}

}  // namespace voxcycle
