// SPDX-License-Identifier: BSD-3-Clause
#include "study/verify_runs.hpp"

#include "voxcycle/core/atomic_file.hpp"
#include "voxcycle/core/log.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/train/agreement.hpp"

#include <algorithm>
#include <cstdlib>
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

void verify_worker(TrainOptions options, Communicator const& comm, std::string const& file) {
  std::string lines;
  options.after_step = [&](StepView const& view) {
    lines += format("%d.%ld %a %s %s\n", view.stage + 1, static_cast<long>(view.step), view.loss,
                    tensors_hash(view.network.parameters()).c_str(),
                    tensors_hash(view.network.buffers()).c_str());
  };
  train(options, comm);
  if (comm.rank() == 0) write_file_atomically(file, lines);
}

VerifyRuns::VerifyRuns(Config const& config, VerifyOptions const& options)
    : runs_(config, ".verify", options.launcher, at::get_num_threads()), steps_(options.steps) {}

std::vector<StepRecord> VerifyRuns::session(std::string const& name, std::int64_t processes,
                                            std::vector<std::string> const& more) const {
  auto const file = format("%s-on-%ld", name.c_str(), static_cast<long>(processes));
  auto const records = runs_.file(file + ".txt");
  std::vector<std::string> arguments{"verify",
                                     "--worker",
                                     records,
                                     "--processes",
                                     std::to_string(processes),
                                     "--cycle.steps",
                                     steps_,
                                     "--cycle.epochs",
                                     "0",
                                     "--cycle.seconds",
                                     "0",
                                     "--cycle.patience",
                                     "0",
                                     "--cycle.evaluations",
                                     "1"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  log_info(name + " on " + process_count_text(processes));
  runs_.run(file + ".log", processes, arguments);
  return read_records(records);
}

std::vector<StepRecord> VerifyRuns::run(std::int64_t processes,
                                        std::string const& reduction) const {
  auto const directory =
      runs_.file(format("%s-%ld", reduction.c_str(), static_cast<long>(processes)));
  return session(reduction + "-reduction", processes,
                 {"--train.reduction", reduction, "--run.directory", directory, "--fresh"});
}

std::vector<StepRecord> VerifyRuns::run_in_parts(std::vector<std::int64_t> const& processes,
                                                 std::int64_t steps) const {
  std::vector<StepRecord> records;
  auto const parts = static_cast<std::int64_t>(processes.size());
  for (std::int64_t k = 0; k < parts; ++k) {
    std::vector<std::string> more{"--train.reduction", "exact", "--run.directory",
                                  runs_.file("parted")};
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
