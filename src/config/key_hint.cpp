// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/config/key_hint.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace voxcycle {
namespace {

/// What other programs call a key.
constexpr std::array kElsewhere{
    std::pair<std::string_view, std::string_view>{"learning_rate", "cycle.rate"},
    std::pair<std::string_view, std::string_view>{"lr", "cycle.rate"},
    std::pair<std::string_view, std::string_view>{"batch_size", "cycle.batch"},
    std::pair<std::string_view, std::string_view>{"epoch", "cycle.epochs"},
    std::pair<std::string_view, std::string_view>{"num_epochs", "cycle.epochs"},
    std::pair<std::string_view, std::string_view>{"max_epochs", "cycle.epochs"},
    std::pair<std::string_view, std::string_view>{"iterations", "cycle.steps"},
    std::pair<std::string_view, std::string_view>{"max_steps", "cycle.steps"},
    std::pair<std::string_view, std::string_view>{"resolution", "cycle.levels"},
    std::pair<std::string_view, std::string_view>{"grids", "cycle.levels"},
    std::pair<std::string_view, std::string_view>{"early_stopping", "cycle.patience"},
    std::pair<std::string_view, std::string_view>{"warmup", "cycle.warm_up"},
    std::pair<std::string_view, std::string_view>{"warmup_steps", "cycle.warm_up"},
    std::pair<std::string_view, std::string_view>{"scheduler", "train.decay"},
    std::pair<std::string_view, std::string_view>{"dtype", "train.precision"},
    std::pair<std::string_view, std::string_view>{"pretrained", "train.start"},
    std::pair<std::string_view, std::string_view>{"output_dir", "run.directory"},
    std::pair<std::string_view, std::string_view>{"log_dir", "run.directory"},
    std::pair<std::string_view, std::string_view>{"data_dir", "data.directory"},
    std::pair<std::string_view, std::string_view>{"dataset", "data.directory"},
    std::pair<std::string_view, std::string_view>{"num_workers", "data.workers"},
    std::pair<std::string_view, std::string_view>{"num_threads", "run.threads"},
    std::pair<std::string_view, std::string_view>{"gpu", "run.device"},
    std::pair<std::string_view, std::string_view>{"boundary_conditions", "problem.boundary"}};

/// What stands after the section.
std::string_view last_part(std::string_view name) {
  return name.substr(name.rfind('.') + 1);
}

}  // namespace

std::string key_meant(std::string const& name, std::vector<std::string> const& keys) {
  std::string word(last_part(name));
  std::replace(word.begin(), word.end(), '-', '_');
  for (auto const& [there, here] : kElsewhere) {
    if (there == word) return std::string(here);
  }
  auto const of_name = [&](auto const& key) { return last_part(key) == word; };
  auto const found = std::find_if(keys.begin(), keys.end(), of_name);
  bool const is_only = std::count_if(keys.begin(), keys.end(), of_name) == 1;
  return is_only ? *found : "";
}

}  // namespace voxcycle
