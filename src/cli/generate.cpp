// SPDX-License-Identifier: BSD-3-Clause
// voxcycle generate: samples of the coefficient family as shards, with references for held-out
// ones and, if asked for, training ones.
#include "voxcycle/dataset/generate.hpp"

#include "voxcycle/cli/command.hpp"
#include "voxcycle/comm/device_choice.hpp"
#include "voxcycle/config/memory_check.hpp"
#include "voxcycle/config/options.hpp"
#include "voxcycle/core/log.hpp"
#include "voxcycle/core/stop_signal.hpp"
#include "voxcycle/field/family.hpp"
#include "voxcycle/study/ensemble_plan.hpp"

#include <set>
#include <string>

#include <ATen/core/Tensor.h>

namespace voxcycle {
namespace {

/// Rank 0 looks through the user's files, before anything is written.
void look_through(FamilyOptions const& options, Communicator const& comm) {
  comm.together([&] {
    if (comm.rank() > 0) return;
    auto const doubt = make_family(options)->doubt();
    if (!doubt.empty()) log_warning(doubt);
  });
}

/// Of an ensemble what each of its members reads.
int generate(Invocation const& asked) {
  DeviceChoice const place(device_options(asked.config, at::kFloat), asked.comm);
  Invocation const call = with_spatial_processes(asked, place);
  auto const limit = memory_frame(call.config, call.comm).limit;
  StopSignal const stop;  // from the first shard to the last one
  GenerateResult all{.complete = true};
  std::set<std::string> done;
  for (auto const& run : plan_ensemble(call.config)) {
    if (!all.complete || !done.insert(data_fingerprint(run.config)).second) continue;
    auto const options = dataset_options(run.config);
    look_through(options.family, call.comm);
    auto const one =
        generate_shards(options, call.comm, place.device(), limit, slabs_of(run.config));
    all.made += one.made;
    all.complete = one.complete;
  }
  return status_of(all, call.config.text("data.directory"), call.comm);
}

}  // namespace

Command generate_command() {
  return {"generate", "coefficient fields and reference solutions into shards", {}, generate};
}

}  // namespace voxcycle
