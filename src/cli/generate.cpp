// SPDX-License-Identifier: BSD-3-Clause
// voxcycle generate: samples of the coefficient family as shards, with references for held-out
// ones and, if asked for, training ones.
#include "voxcycle/dataset/generate.hpp"

#include "voxcycle/cli/command.hpp"
#include "voxcycle/comm/device_choice.hpp"
#include "voxcycle/config/memory_check.hpp"
#include "voxcycle/config/options.hpp"

namespace voxcycle {
namespace {

int generate(Invocation const& call) {
  DeviceChoice const place(device_options(call.config), call.comm);
  auto const data = dataset_options(call.config);
  auto const result =
      generate_shards(data, call.comm, place.device(), memory_frame(call.config, call.comm).limit);
  return status_of(result, data.directory, call.comm);
}

}  // namespace

Command generate_command() {
  return {"generate", "coefficient fields and reference solutions into shards", {}, generate};
}

}  // namespace voxcycle
