// SPDX-License-Identifier: BSD-3-Clause
#include "train/start.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/log.hpp"
#include "voxcycle/core/text.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace voxcycle {
namespace {

/// Whether both are weights of a stem, the one with the input f and the other without.
bool differ_by_source(std::string const& name, at::Tensor const& a, at::Tensor const& b) {
  return name.ends_with("stem.weight") && a.dim() == 5 && b.dim() == 5 &&
         a.select(1, 0).sizes() == b.select(1, 0).sizes();
}

void take(std::string const& name, at::Tensor const& values, at::Tensor const& there,
          std::string const& start) {
  at::NoGradGuard const no_grad;
  if (values.sizes() == there.sizes()) {
    values.copy_(there);
    return;
  }
  VOXCYCLE_REQUIRE(differ_by_source(name, values, there),
                   "train.start = '" << start << "' has a network of other sizes (" << name
                                     << " is " << there.sizes() << " there, " << values.sizes()
                                     << " here). Let the section [network] be as it was there; "
                                        "levels may be left out or added.");
  auto const channels = std::min(values.size(1), there.size(1));
  values.zero_();
  values.narrow(1, 0, channels).copy_(there.narrow(1, 0, channels));
}

/// Takes what there is. @return the names of what there is not
std::set<std::string> take_all(CheckpointReader const& start, std::string const& from,
                               std::string const& prefix, Network const& network) {
  std::set<std::string> missing;
  auto values = network.named_parameters();
  for (auto& buffer : network.named_buffers()) values.push_back(std::move(buffer));
  for (auto const& [name, tensor] : values) {
    if (auto const there = start.find(prefix + name)) {
      take(name, tensor, *there, from);
    } else {
      missing.insert(name);
    }
  }
  return missing;
}

/// "level8.down.weight" is of the layer down.
std::string layer_of(std::string const& name) {
  auto const rest = name.substr(name.find('.') + 1);
  return rest.substr(0, rest.find('.'));
}

Grid3 finest_of(TrainOptions const& options) {
  Grid3 finest = options.levels.front().grid;
  for (auto const& plan : options.levels) {
    if (plan.grid.level() > finest.level()) finest = plan.grid;
  }
  return finest;
}

void log_differences(Fingerprint const& there, TrainOptions const& options) {
  std::vector<std::string> texts;
  for (auto const& one : differences(there, options.fingerprint)) {
    bool const of_problem = one.key.starts_with("problem.") || one.key.starts_with("network.") ||
                            one.key.starts_with("data.");
    if (of_problem) texts.push_back(one.text());
  }
  if (!texts.empty()) log_info("unlike the run that it starts from: " + join(texts, "; "));
}

void require_same_kind(Fingerprint const& there, TrainOptions const& options) {
  auto const name = there.value("network.name");
  VOXCYCLE_REQUIRE(!name || *name == options.network.name,
                   "train.start = '" << options.start << "' has the network " << *name
                                     << ", this run has " << options.network.name
                                     << ". Set network.name = " << *name
                                     << ", or start from another run.");
}

}  // namespace

std::vector<std::int64_t> begin_with(CheckpointReader const& start, TrainOptions const& options,
                                     Network& network, Network& average) {
  auto const& there = start.header().fingerprint;
  require_same_kind(there, options);
  auto const missing = take_all(start, options.start, "network/", network);
  take_all(start, options.start, "average/", average);
  std::vector<std::int64_t> taken;
  std::vector<std::string> texts;
  for (auto const& entry : network.levels(finest_of(options))) {
    std::set<std::string> anew;
    std::int64_t lacking = 0;
    for (auto const& name : entry.names) {
      if (missing.count(name) == 0) continue;
      anew.insert(layer_of(name));
      ++lacking;
    }
    bool const none = lacking == std::ssize(entry.names);
    VOXCYCLE_REQUIRE(none || lacking == 0 || options.network.name == "multigrid",
                     "train.start = '" << options.start << "' has a network without the layers "
                                       << join({anew.begin(), anew.end()})
                                       << ". Let the section [network] be as it was there.");
    bool const frozen = std::count(options.freeze.begin(), options.freeze.end(), entry.level) > 0;
    VOXCYCLE_REQUIRE(lacking == 0 || !frozen,
                     "train.freeze names grid "
                         << entry.level << ", of which train.start = '" << options.start << "' has "
                         << (none ? "no weights" : "not all weights") << ". Leave it out.");
    if (!none) taken.push_back(entry.level);
    auto text = std::to_string(entry.level) + (none     ? " begins anew"
                                               : frozen ? " frozen"
                                                        : " taken");
    if (!none && lacking > 0) text += " but for " + join({anew.begin(), anew.end()});
    texts.push_back(text);
  }
  VOXCYCLE_REQUIRE(!taken.empty(), "train.start = '" << options.start
                                                     << "' has weights of none of this network's "
                                                        "levels. Start from another run.");
  log_info("starting with the weights of " + options.start + "; levels: " + join(texts));
  log_differences(there, options);
  return taken;
}

NamedTensors warm_start_of(CheckpointReader const& start, Network const& network) {
  auto const parameters = network.named_parameters();
  std::map<std::string, at::Tensor> const own(parameters.begin(), parameters.end());
  auto all = start.warm_start();
  std::erase_if(all, [&](auto const& entry) {
    auto const found = own.find(entry.first);
    return found == own.end() || found->second.sizes() != entry.second.sizes();
  });
  return all;
}

}  // namespace voxcycle
