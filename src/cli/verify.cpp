// SPDX-License-Identifier: BSD-3-Clause
// voxcycle verify: the same short training on several numbers of processes, compared bit by bit.
#include "voxcycle/cli/command.hpp"
#include "voxcycle/core/atomic_file.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/log.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/train/agreement.hpp"

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "cli/child_process.hpp"
#include "cli/options.hpp"
#include <ATen/ATen.h>

namespace voxcycle {
namespace {

namespace fs = std::filesystem;

/// One step of one run: its place, loss, and hashes of loss, weights and running statistics.
struct StepRecord {
  std::string place;
  double loss = 0.0;
  std::string hashes;
};

std::string bytes_of(std::vector<at::Tensor> const& tensors) {
  std::string bytes;
  for (auto const& tensor : tensors) {
    at::Tensor const values = tensor.detach().contiguous();
    bytes.append(static_cast<char const*>(values.const_data_ptr()), values.nbytes());
  }
  return bytes;
}

/// A child process: trains a few steps and writes one line a step.
int run_worker(Invocation const& call) {
  TrainOptions options = train_options(call.config);
  options.restart = Restart::fresh;
  std::string lines;
  options.after_step = [&](StepView const& view) {
    lines += format("%d.%ld %a %s %s\n", view.stage + 1, static_cast<long>(view.step), view.loss,
                    text_hash(bytes_of(view.network.parameters())).c_str(),
                    text_hash(bytes_of(view.network.buffers())).c_str());
  };
  train(options, call.comm);
  if (call.comm.rank() == 0) write_file_atomically(call.flags.at("worker"), lines);
  return 0;
}

std::vector<StepRecord> read_records(std::string const& path) {
  std::istringstream in(read_file(path));
  std::vector<StepRecord> records;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    StepRecord record;
    std::string loss;
    std::string weights;
    std::string statistics;
    words >> record.place >> loss >> weights >> statistics;
    record.loss = std::strtod(loss.c_str(), nullptr);
    record.hashes = text_hash(loss) + " " + weights + " " + statistics;
    records.push_back(record);
  }
  return records;
}

/// Distance of two float64 in units in the last place.
double ulps_apart(double a, double b) {
  return std::abs(static_cast<double>(std::bit_cast<std::int64_t>(a)) -
                  static_cast<double>(std::bit_cast<std::int64_t>(b)));
}

class Verification {
 public:
  explicit Verification(Invocation const& call)
      : call_(call), scratch_(call.config.text("run.directory") + "/verify") {
    if (call.has("launcher")) launcher_ = call.flags.at("launcher");
    if (call.has("steps")) steps_ = call.flags.at("steps");
    fs::remove_all(scratch_);
    write_file_atomically(scratch_ + "/config.cfg", call.config.dump());
  }

  /// Runs `ranks` processes and returns what rank 0 recorded.
  std::vector<StepRecord> run(std::int64_t ranks, std::string const& reduction) const {
    auto const name = scratch_ + "/" + reduction + "-" + std::to_string(ranks);
    auto const command = own_command(launcher_, ranks, at::get_num_threads(),
                                     {"verify",
                                      "--worker",
                                      name + ".txt",
                                      "--config",
                                      scratch_ + "/config.cfg",
                                      "--run.directory",
                                      name,
                                      "--train.reduction",
                                      reduction,
                                      "--cycle.steps",
                                      steps_,
                                      "--cycle.epochs",
                                      "0",
                                      "--cycle.seconds",
                                      "0",
                                      "--cycle.patience",
                                      "0",
                                      "--cycle.evaluations",
                                      "1",
                                      "--run.threads",
                                      std::to_string(at::get_num_threads())});
    log_info(format("%s reduction on %ld %s", reduction.c_str(), static_cast<long>(ranks),
                    ranks == 1 ? "process" : "processes"));
    int const status = ChildProcess(command, name + ".log").wait();
    VOXCYCLE_REQUIRE(status == 0, "the run on " << ranks << " processes failed. Its output is in "
                                                << name << ".log. If the launcher is not mpirun, "
                                                << "give it with --launcher 'srun -n {}'.");
    return read_records(name + ".txt");
  }

 private:
  Invocation const& call_;
  std::string scratch_;
  std::string launcher_ = "mpirun -n {} --oversubscribe --bind-to none";
  std::string steps_ = "5";
};

int verify(Invocation const& call) {
  if (call.has("worker")) return run_worker(call);
  VOXCYCLE_REQUIRE(call.comm.size() == 1,
                   "verify starts its processes itself. Call it without mpirun.");
  std::vector<std::int64_t> ranks;
  for (auto const& part : split_list(call.has("ranks") ? call.flags.at("ranks") : "1,2,3")) {
    ranks.push_back(std::atoll(part.c_str()));
    VOXCYCLE_REQUIRE(ranks.back() > 0, "--ranks: '" << part << "' is no number of processes.");
  }
  Verification const verification(call);
  std::vector<std::vector<StepRecord>> exact;
  for (auto count : ranks) exact.push_back(verification.run(count, "exact"));

  std::string first_difference;
  std::printf("%-8s %-18s %-18s %-18s %s\n", "step", "loss", "weights", "statistics", "processes");
  for (std::size_t step = 0; step < exact[0].size(); ++step) {
    std::string differing;
    for (std::size_t k = 1; k < ranks.size(); ++k) {
      bool const same = step < exact[k].size() && exact[k][step].hashes == exact[0][step].hashes;
      if (!same) differing += " " + std::to_string(ranks[k]);
    }
    std::istringstream words(exact[0][step].hashes);
    std::string loss;
    std::string weights;
    std::string statistics;
    words >> loss >> weights >> statistics;
    std::printf("%-8s %-18s %-18s %-18s %s\n", exact[0][step].place.c_str(), loss.c_str(),
                weights.c_str(), statistics.c_str(),
                differing.empty() ? "all equal" : ("DIFFERENT on" + differing).c_str());
    if (!differing.empty() && first_difference.empty()) {
      first_difference = "step " + exact[0][step].place + " on" + differing + " processes";
    }
  }
  double drift = 0.0;
  for (auto count : ranks) {
    auto const fast = verification.run(count, "fast");
    for (std::size_t step = 0; step < std::min(fast.size(), exact[0].size()); ++step) {
      drift = std::max(drift, ulps_apart(fast[step].loss, exact[0][step].loss));
    }
  }
  bool const identical = first_difference.empty();
  std::printf("%s\nfast mode drifts by at most %.0f ulps of the loss (%.1e relative)\n",
              identical ? "identical: every step has the same bits on every number of processes"
                        : ("NOT identical, first difference: " + first_difference).c_str(),
              drift, drift * 0x1.0p-53);
  if (call.has("json")) {
    write_file_atomically(
        call.flags.at("json"),
        format("{\n  \"identical\": %s,\n  \"ranks\": [", identical ? "true" : "false") +
            [&] {
              std::vector<std::string> names;
              for (auto count : ranks) names.push_back(std::to_string(count));
              return join(names);
            }() +
            format("],\n  \"steps\": %zu,\n  \"first_difference\": %s,\n"
                   "  \"fast_drift_ulps\": %.0f\n}\n",
                   exact[0].size(), identical ? "null" : ("\"" + first_difference + "\"").c_str(),
                   drift));
  }
  return identical ? 0 : 1;
}

}  // namespace

Command verify_command() {
  return {"verify",
          "that a training has the same bits on any number of processes",
          {{"ranks", "LIST", "numbers of processes to compare (default: 1,2,3)"},
           {"steps", "N", "steps a visit (default: 5)"},
           {"launcher", "TEXT", "how to start {} processes (default: mpirun -n {} ...)"},
           {"json", "FILE", "where the result goes: identical, ranks, steps, first_difference"},
           {"worker", "FILE", "(used by verify itself)"}},
          verify};
}

}  // namespace voxcycle
