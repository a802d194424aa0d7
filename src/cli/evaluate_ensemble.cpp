// SPDX-License-Identifier: BSD-3-Clause
#include "cli/evaluate_ensemble.hpp"

#include "voxcycle/comm/device_choice.hpp"
#include "voxcycle/config/options.hpp"
#include "voxcycle/core/atomic_file.hpp"
#include "voxcycle/core/build_info.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/printable.hpp"
#include "voxcycle/core/status_line.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/core/usage_error.hpp"
#include "voxcycle/evaluate/ensemble.hpp"

#include <cstdio>
#include <memory>
#include <utility>

#include "cli/evaluate_parts.hpp"
#include "cli/in_member.hpp"

namespace voxcycle {
namespace {

/// A member with its weights, and the samples that it is looked at with.
struct Member {
  Invocation call;  ///< as if it were evaluated alone
  TrainOptions options;
  Weights weights;
  HeldOutSamples samples;
};

Member read_member(Invocation const& call, PlannedRun const& run, at::ScalarType dtype) {
  Invocation alone{run.config, call.flags, call.comm};
  auto options = train_options(run.config);
  Weights weights(alone, options, dtype);
  Grid3 const grid = evaluated_grid(alone);
  require_fits(options.network, grid);
  auto const split = split_of(alone);
  auto const shards = shards_of(alone, split, grid);
  require_shards(dataset_options(run.config), split, grid);
  return {std::move(alone), std::move(options), std::move(weights), held_out_samples(shards)};
}

/// The members together, or each alone where a mean makes no sense.
EnsembleEvaluation evaluate_all(Invocation const& call, std::vector<Member> const& members,
                                std::string const& why_no_mean, HeldOutOptions const& options) {
  std::vector<std::shared_ptr<Network>> networks;
  for (auto const& member : members) networks.push_back(member.weights.network);
  EnsembleEvaluation result;
  if (why_no_mean.empty()) {
    result = evaluate_ensemble(call.comm, networks, members.front().samples, options);
    result.mean->weights = "mean";
  }
  for (std::size_t k = 0; k < members.size(); ++k) {
    if (!why_no_mean.empty()) {
      result.members.push_back(
          evaluate_network(call.comm, *networks[k], members[k].samples, options));
    }
    result.members[k].weights = members[k].weights.path;
    result.members[k].split = split_of(call);
  }
  result.why_no_mean = why_no_mean;
  return result;
}

void write_results(Outputs const& out, EnsembleEvaluation const& evaluation, Config const& config) {
  write_file_atomically(out.json, ensemble_json(evaluation));
  write_file_atomically(out.csv, ensemble_csv(evaluation));
  if (!out.report.empty()) {
    auto const& first = evaluation.members.front();
    std::vector<std::pair<std::string, std::string>> const summary{
        {"members", std::to_string(evaluation.members.size())},
        {"held-out samples", std::to_string(first.samples.size()) + " at " + first.grid +
                                 ", networks in " + first.precision},
        {"program",
         std::string("voxcycle ") + build_info::version + ", commit " + build_info::commit}};
    write_file_atomically(
        out.report,
        render_ensemble(evaluation, "voxcycle: ensemble " + config.text("run.directory"), summary,
                        config.dump()));
  }
  std::vector<std::string> files;
  for (auto const& file : out.all()) files.push_back(file.second);
  print("written: %s\n", join(files).c_str());
}

}  // namespace

int evaluate_members(Invocation const& call, at::ScalarType dtype, DeviceChoice const& place) {
  for (std::string const flag : {"checkpoint", "compare"}) {
    VOXCYCLE_REQUIRE_USAGE(!call.has(flag),
                           "--" << flag
                                << " is for one training, not for an ensemble. Give a "
                                   "member's config, "
                                << member_directory(call.config.text("run.directory"), 1)
                                << "/config.cfg.");
  }
  auto const runs = plan_ensemble(call.config);
  std::vector<Member> members;
  std::vector<std::string> checkpoints;
  for (auto const& run : runs) {
    in_member(run, [&] { members.push_back(read_member(call, run, dtype)); });
    members.back().weights.network->to(place.device());
    checkpoints.push_back(members.back().weights.path);
  }
  auto const& first = members.front();
  auto const out = outputs_of(first.call, call.config.text("run.directory"), checkpoints,
                              first.samples.grid, split_of(call) == "held_out");
  auto const why = why_no_mean(runs, !call.has("grid"));
  auto const visible = call.comm.rank() == 0 ? StatusLine::Visible::yes : StatusLine::Visible::no;
  auto const evaluation = [&] {
    ShareLine line(visible, "evaluating");
    return evaluate_all(call, members, why.value_or(""),
                        {.dtype = dtype,
                         .micro_batch_size = first.options.micro_batch_size,
                         .after_share = [&](double share) { line.show(share); }});
  }();
  if (call.comm.rank() != 0) return 0;
  print("%s, averaged weights, %s on %s\n%s", samples_of(split_of(call)).c_str(),
        precision_name(dtype).c_str(), place.name().c_str(), ensemble_table(evaluation).c_str());
  write_results(out, evaluation, call.config);
  return 0;
}

}  // namespace voxcycle
