// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/study/ensemble_plan.hpp"

#include "voxcycle/config/config_study.hpp"
#include "voxcycle/config/options.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/text.hpp"

namespace voxcycle {
namespace {

constexpr std::int64_t kMaxMembers = 1000;

std::int64_t member_count(Config const& config) {
  return config.integer("ensemble.members", 1, kMaxMembers);
}

void require_sections_of_members(Config const& config, std::int64_t count) {
  for (auto const& one : config.study().members) {
    VOXCYCLE_REQUIRE(count > 1 && *parse_number<std::int64_t>(one.name) <= count,
                     "[member." << one.name << "] has no effect: ensemble.members = " << count
                                << ". Raise that, or remove the section.");
    for (auto const& setting : one.settings) {
      require_not_overridden(config, setting.first, std::string(kMember) + one.name);
    }
  }
}

PlannedRun plan_member(Config const& config, int number) {
  PlannedRun run;
  run.number = number;
  run.label = format("member %d", number);
  run.directory = member_directory(config.text("run.directory"), number);
  run.config = config;
  run.config.forget_study();
  for (auto const* const key : {"ensemble.members", "ensemble.at_once"}) run.config.set(key, "1");
  run.config.set("run.directory", run.directory);
  auto const seed = config.integer("run.seed", 0, Config::kMaxInteger - kMaxMembers);
  run.config.set("run.seed", std::to_string(seed + number - 1));
  for (auto const& one : config.study().members) {
    if (one.name != std::to_string(number)) continue;
    run.settings = one.settings;
    for (auto const& [key, value] : one.settings) run.config.set(key, value);
  }
  return run;
}

Fingerprint fingerprint_of(PlannedRun const& run) {
  try {
    return settled(run.config).fingerprint();
  } catch (Error& problem) {
    problem.prepend(run.label + ": ");
    throw;
  }
}

void require_members_differ(std::vector<PlannedRun> const& runs) {
  std::vector<Fingerprint> known;
  for (auto const& run : runs) {
    auto const own = fingerprint_of(run);
    for (std::size_t other = 0; other < known.size(); ++other) {
      VOXCYCLE_REQUIRE(first_difference(known[other], own),
                       runs[other].label << " and " << run.label
                                         << " are the same training (their seeds and all other "
                                            "settings are equal). Give one of them another "
                                            "run.seed.");
    }
    known.push_back(own);
  }
}

}  // namespace

bool is_ensemble(Config const& config) {
  return member_count(config) > 1;
}

std::string member_directory(std::string const& directory, std::int64_t number) {
  return directory + "/member_" + std::to_string(number);
}

std::vector<PlannedRun> plan_ensemble(Config const& config) {
  auto const count = member_count(config);
  require_sections_of_members(config, count);
  auto const at_once = config.integer("ensemble.at_once", 1, kMaxMembers);
  VOXCYCLE_REQUIRE(at_once <= count,
                   "ensemble.at_once = " << at_once << " is more than ensemble.members = " << count
                                         << " (groups of processes would have nothing to train). "
                                            "Lower it.");
  std::vector<PlannedRun> runs;
  if (count == 1) {
    runs.emplace_back();
    runs.back().number = 1;
    runs.back().directory = config.text("run.directory");
    runs.back().config = config;
    return runs;
  }
  for (int number = 1; number <= count; ++number) runs.push_back(plan_member(config, number));
  require_members_differ(runs);
  return runs;
}

std::optional<std::string> why_no_mean(std::vector<PlannedRun> const& members, bool own_grids) {
  auto const& first = members.front();
  for (auto const& other : members) {
    auto const differ = [&](std::string const& name, std::string const& a, std::string const& b) {
      return "no mean: " + name + " is '" + a + "' for " + first.label + " and '" + b + "' for " +
             other.label + ", so that their solutions are of different problems.";
    };
    for (std::string const key :
         {"problem.boundary", "problem.box", "problem.source", "data.directory"}) {
      auto const& a = first.config.text(key);
      auto const& b = other.config.text(key);
      if (a != b) return differ(key, a, b);
    }
    auto const finest = [](PlannedRun const& run) {
      return level_grids(run.config).back().label();
    };
    if (own_grids && finest(first) != finest(other)) {
      return differ("the finest grid", finest(first), finest(other));
    }
  }
  return {};
}

}  // namespace voxcycle
