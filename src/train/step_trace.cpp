// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/train/step_trace.hpp"

#include "voxcycle/core/atomic_file.hpp"
#include "voxcycle/core/host.hpp"
#include "voxcycle/core/json.hpp"
#include "voxcycle/core/text.hpp"

#include <algorithm>
#include <utility>

namespace voxcycle {
namespace {

/// Rows of a process.
enum class Row { steps, calls };

std::string named(char const* what, int rank, Row row, std::string const& name) {
  return line(Json::object({{"name", what},
                            {"ph", "M"},
                            {"pid", rank},
                            {"tid", static_cast<int>(row)},
                            {"args", Json::object({{"name", name}})}})) +
         ",\n";
}

/// @param begin, seconds  of the ranks' clock; the file counts in microseconds
std::string event(std::string const& name, int rank, Row row, double begin, double seconds) {
  return line(Json::object({{"name", name},
                            {"ph", "X"},
                            {"pid", rank},
                            {"tid", static_cast<int>(row)},
                            {"ts", 1e6 * begin},
                            {"dur", 1e6 * seconds}})) +
         ",\n";
}

}  // namespace

StepTrace::StepTrace(Communicator const& comm, std::int64_t steps, std::string file)
    : comm_(comm), steps_(steps), file_(std::move(file)) {
  if (steps_ == 0) return;
  int const rank = comm.rank();
  heading_ = named("process_name", rank, Row::steps, format("rank %d on ", rank) + host_name()) +
             named("thread_name", rank, Row::steps, "steps") +
             named("thread_name", rank, Row::calls, "collective calls");
  comm_.barrier();
  clock_.restart();
}

void StepTrace::add(std::string const& name, double seconds, StepTimes const& parts,
                    std::vector<CollectiveCall> const& calls) {
  if (left_ == 0) return;
  int const rank = comm_.rank();
  double const begin = std::max(0.0, clock_.seconds() - seconds);
  here_ += std::exchange(heading_, {}) + event(name, rank, Row::steps, begin, seconds);
  double at = begin;
  for (auto const& [part, taken] : parts.named()) {
    if (taken > 0.0) here_ += event(part, rank, Row::steps, at, taken);
    at += taken;
  }
  for (auto const& call : calls)
    here_ += event(call.name, rank, Row::calls, begin + call.begin, call.seconds);
  if (--left_ == 0) write();
}

void StepTrace::write() {
  if (steps_ == 0 || !comm_.any(!here_.empty())) return;
  auto const all = comm_.all_gather_text(here_);
  here_.clear();
  if (comm_.rank() != 0) return;
  for (auto const& events : all) written_ += events;
  // Without the last comma.
  write_file_atomically(file_, "{\"traceEvents\": [\n" + written_.substr(0, written_.size() - 2) +
                                   "\n], \"displayTimeUnit\": \"ms\"}\n");
}

}  // namespace voxcycle
