// SPDX-License-Identifier: BSD-3-Clause
// voxcycle export: a trained network as a file that Python runs without voxcycle.
#include "voxcycle/evaluate/export.hpp"

#include "voxcycle/cli/command.hpp"
#include "voxcycle/config/load_model.hpp"
#include "voxcycle/config/options.hpp"
#include "voxcycle/core/atomic_file.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/printable.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/core/usage_error.hpp"
#include "voxcycle/dataset/held_out.hpp"
#include "voxcycle/network/predict.hpp"
#include "voxcycle/solver/model.hpp"
#include "voxcycle/train/held_out.hpp"
#include "voxcycle/train/run_directory.hpp"

#include <algorithm>
#include <cstdio>

#include "cli/output_files.hpp"

namespace voxcycle {
namespace {

/// Held-out samples in a --sample file.
constexpr std::int64_t kSamples = 3;

/// The network's solutions of the first held-out samples, one at a time, at the finest level of
/// the cycle.
void write_sample(std::string const& path, Invocation const& call, Model const& model) {
  Grid3 const grid = model.grids.back();
  ShardSet shards(shard_directory(call.config.text("data.directory"), "held_out", grid));
  HeldOutSet const set = read_held_out(shards, 0, std::min(kSamples, shards.samples()));
  bool const sampled = model.source.varies();
  VOXCYCLE_REQUIRE(set.f.defined() == sampled,
                   "the shards in " << call.config.text("data.directory")
                                    << (sampled ? " lack" : " have")
                                    << " a source of each sample, unlike the model's training "
                                       "data. Set data.directory to these.");
  at::Tensor const u = predict(call.comm, *model.network, grid, set.nu, set.f, at::kFloat);
  write_file_atomically(path, export_sample(set.nu, set.f, u));
  print("written: %s, %ld held-out samples at %s\n", path.c_str(),
        static_cast<long>(set.nu.size(0)), grid.label().c_str());
}

int export_model(Invocation const& call) {
  VOXCYCLE_REQUIRE_USAGE(call.has("out"),
                         "export needs a file to write. Name it with --out, e.g. --out "
                         "model.pt.");
  if (call.comm.rank() != 0) return 0;
  auto const checkpoint = checkpoint_of(call, call.config.text("run.directory"));
  require_outputs_of(call, {"out", "sample"}, {{"the checkpoint", checkpoint}});
  auto const loaded = load_model(checkpoint);
  Model const& model = *loaded;
  auto const archive = export_network(*model.network, export_options(model));
  auto const& out = call.flags.at("out");
  write_file_atomically(out, archive);
  print("written: %s (%s), TorchScript: u = model(%s)\n", out.c_str(),
        format_bytes(static_cast<double>(archive.size())).c_str(),
        model.source.varies() ? "nu, f" : "nu");
  if (call.has("sample")) write_sample(call.flags.at("sample"), call, model);
  return 0;
}

}  // namespace

Command export_command() {
  return {"export",
          "a trained network as TorchScript, for Python with torch alone",
          {{"out", "FILE", "the model (needed)"},
           {"checkpoint", "FILE", "averaged weights to export (default: run.directory's)"},
           {"sample", "FILE", "held-out inputs and the network's u, for torch.load: a self-check"}},
          export_model};
}

}  // namespace voxcycle
