// SPDX-License-Identifier: BSD-3-Clause
#include "cli/verify_runs.hpp"

#include "voxcycle/comm/device_choice.hpp"
#include "voxcycle/config/options.hpp"
#include "voxcycle/core/atomic_file.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/log.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/train/agreement.hpp"

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include <ATen/Parallel.h>

namespace voxcycle {
namespace {

std::vector<StepRecord> read_records(std::string const& path) {
  std::istringstream in(read_file(path));
  std::vector<StepRecord> records;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    StepRecord record;
    std::string value;
    words >> record.place >> value >> record.weights >> record.statistics;
    record.value = std::strtod(value.c_str(), nullptr);
    record.loss = text_hash(value);
    records.push_back(record);
  }
  return records;
}

}  // namespace

int run_verify_worker(Invocation const& call) {
  require_started(call.comm.size(),
                  parse_number<std::int64_t>(call.flags.at("processes")).value_or(0));
  DeviceChoice place(device_options(call.config), call.comm);
  TrainOptions options = train_options(call.config);
  options.device = place.device();
  options.restart = call.has("fresh") ? Restart::fresh : Restart::resume;
  if (call.has("stop-after")) {
    auto const steps = parse_number<std::int64_t>(call.flags.at("stop-after"));
    VOXCYCLE_REQUIRE(steps > 0, "--stop-after " << call.flags.at("stop-after")
                                                << " is no number of steps. Give one from 1.");
    options.stop_after_steps = *steps;
  }
  std::string lines;
  options.after_step = [&](StepView const& view) {
    lines += format("%d.%ld %a %s %s\n", view.stage + 1, static_cast<long>(view.step), view.loss,
                    tensors_hash(view.network.parameters()).c_str(),
                    tensors_hash(view.network.buffers()).c_str());
  };
  train(options, place.comm());
  if (call.comm.rank() == 0) write_file_atomically(call.flags.at("worker"), lines);
  return 0;
}

VerifyRuns::VerifyRuns(Invocation const& call)
    : scratch_(call.config.text("run.directory") + "/.verify") {
  if (call.has("launcher")) launcher_ = call.flags.at("launcher");
  if (call.has("steps")) steps_ = call.flags.at("steps");
  VOXCYCLE_REQUIRE(!steps_.empty(), "--steps is empty. Give steps a visit, e.g. 5.");
  for (auto const& part : split_list(steps_)) {  // here, not in the log of a child
    VOXCYCLE_REQUIRE(parse_number<std::int64_t>(part) > 0,
                     "--steps: '" << part << "' is no number of steps. Give one from 1, e.g. 5.");
  }
  std::filesystem::remove_all(scratch_);
  write_file_atomically(scratch_ + "/config.cfg", call.config.dump());
}

std::vector<StepRecord> VerifyRuns::session(std::string const& name, std::int64_t processes,
                                            std::vector<std::string> const& more) const {
  auto const file =
      format("%s/%s-on-%ld", scratch_.c_str(), name.c_str(), static_cast<long>(processes));
  std::vector<std::string> arguments{"verify",
                                     "--worker",
                                     file + ".txt",
                                     "--processes",
                                     std::to_string(processes),
                                     "--config",
                                     scratch_ + "/config.cfg"};
  auto const set = [&](std::string const& key, std::string const& value) {
    arguments.push_back("--" + key);
    arguments.push_back(value);
  };
  set("cycle.steps", steps_);
  for (auto const* limit : {"cycle.epochs", "cycle.seconds", "cycle.patience"}) set(limit, "0");
  set("cycle.evaluations", "1");
  set("run.threads", std::to_string(at::get_num_threads()));
  arguments.insert(arguments.end(), more.begin(), more.end());
  log_info(format("%s on %ld %s", name.c_str(), static_cast<long>(processes),
                  processes == 1 ? "process" : "processes"));
  auto const command = own_command(launcher_, processes, at::get_num_threads(), arguments);
  int const status = ChildProcess(command, file + ".log").wait();
  VOXCYCLE_REQUIRE(status == 0, "the run on " << processes << " processes failed. If the launcher "
                                              << "is not mpirun, give it with --launcher 'srun "
                                              << "--mpi=pmix -n {}'. The end of " << file
                                              << ".log:\n"
                                              << last_lines(file + ".log"));
  return read_records(file + ".txt");
}

std::vector<StepRecord> VerifyRuns::run(std::int64_t processes,
                                        std::string const& reduction) const {
  auto const directory =
      format("%s/%s-%ld", scratch_.c_str(), reduction.c_str(), static_cast<long>(processes));
  return session(reduction + "-reduction", processes,
                 {"--train.reduction", reduction, "--run.directory", directory, "--fresh"});
}

std::vector<StepRecord> VerifyRuns::run_in_parts(std::vector<std::int64_t> const& processes,
                                                 std::int64_t steps) const {
  std::vector<StepRecord> records;
  auto const parts = static_cast<std::int64_t>(processes.size());
  for (std::int64_t k = 0; k < parts; ++k) {
    std::vector<std::string> more{"--train.reduction", "exact", "--run.directory",
                                  scratch_ + "/parted"};
    if (k + 1 < parts) {
      more.insert(more.end(),
                  {"--stop-after", std::to_string(std::max<std::int64_t>(1, steps / parts))});
    }
    auto const part =
        session("part-" + std::to_string(k + 1), processes[static_cast<std::size_t>(k)], more);
    records.insert(records.end(), part.begin(), part.end());
  }
  return records;
}

}  // namespace voxcycle
