// SPDX-License-Identifier: BSD-3-Clause
// voxcycle ablate: all runs of a study, several at once, and one report over them.
#include "voxcycle/study/ablate.hpp"

#include "voxcycle/cli/command.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/usage_error.hpp"

#include <utility>

namespace voxcycle {
namespace {

int run_ablate(Invocation const& call) {
  VOXCYCLE_REQUIRE_USAGE(call.comm.size() == 1,
                         "ablate starts its processes itself. Call it without mpirun; see "
                         "ablate.processes.");
  constexpr std::pair<char const*, AblatePart> parts[] = {{"list", AblatePart::list},
                                                          {"data", AblatePart::data},
                                                          {"run", AblatePart::run},
                                                          {"report", AblatePart::report}};
  auto chosen = AblatePart::all;
  for (auto const& [flag, part] : parts) {
    if (!call.has(flag)) continue;
    VOXCYCLE_REQUIRE_USAGE(chosen == AblatePart::all,
                           "--list, --data, --run and --report exclude each other. Choose one.");
    chosen = part;
  }
  return ablate(call.config, chosen, call.text("run"), call.comm);
}

}  // namespace

Command ablate_command() {
  return {"ablate",
          "a study: each case of a config as a run of its own, and a report",
          {{"list", "", "print the runs: number, state, directory, label"},
           {"data", "", "only generate the data that is missing"},
           {"run", "K",
            "only run number K, with all cores and memory of this job, without the report (for job "
            "arrays)"},
           {"report", "", "only write the report, from the runs that are there"}},
          run_ablate};
}

}  // namespace voxcycle
