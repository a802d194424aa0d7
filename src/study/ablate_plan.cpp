// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/study/ablate_plan.hpp"

#include "voxcycle/config/config_study.hpp"
#include "voxcycle/config/options.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/train/agreement.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>
#include <sstream>

namespace voxcycle {
namespace {

using Settings = std::vector<std::pair<std::string, std::string>>;

constexpr std::size_t kLongestName = 120;  // of a directory; file systems allow 255 bytes

/// "loss" for train.loss where no other varied key ends so, else "train.loss".
std::string short_name(std::string const& key, std::vector<ConfigAlternatives> const& vary) {
  auto const last = [](std::string const& name) { return name.substr(name.find('.') + 1); };
  auto const alike = std::count_if(vary.begin(), vary.end(),
                                   [&](auto const& other) { return last(other.key) == last(key); });
  return alike == 1 ? last(key) : key;
}

/// Every combination of alternatives, the last key fastest.
std::vector<Settings> cross_product(std::vector<ConfigAlternatives> const& vary) {
  std::vector<Settings> all{{}};
  for (auto const& [key, values] : vary) {
    std::vector<Settings> longer;
    for (auto const& settings : all) {
      for (auto const& value : values) {
        longer.push_back(settings);
        longer.back().emplace_back(key, value);
      }
    }
    all = std::move(longer);
  }
  return all;
}

enum class Seed { named, left_out };

std::string label_of(PlannedRun const& run, std::vector<ConfigAlternatives> const& vary,
                     Seed seed) {
  std::vector<std::string> parts;
  if (!run.case_name.empty()) parts.push_back(run.case_name);
  for (auto const& [key, value] : run.settings) {
    if (seed == Seed::left_out && key == "run.seed") continue;
    parts.push_back(short_name(key, vary) + " " + (value.empty() ? "(empty)" : value));
  }
  return join(parts);
}

/// Letters, digits and a few signs that no shell minds; others become a -.
std::string plain(std::string const& value) {
  std::string text;
  for (unsigned char c : value) {
    bool const kept = std::isalnum(c) != 0 || c == '_' || c == '.' || c == '-';
    if (kept) {
      text += static_cast<char>(c);
    } else if (!text.empty() && text.back() != '-') {
      text += '-';
    }
  }
  return text;
}

/// e.g. "half_v,loss=energy,seed=2": letters, digits and a few signs that no shell minds.
std::string directory_name(PlannedRun const& run, std::vector<ConfigAlternatives> const& vary) {
  std::vector<std::string> parts;
  if (!run.case_name.empty()) parts.push_back(run.case_name);
  for (auto const& [key, value] : run.settings) {
    parts.push_back(short_name(key, vary) + "=" + plain(value));
  }
  return join(parts, ",");
}

/// Names that are too long, or the same after the loss of their special characters, get a hash of
/// what they stand for.
void make_distinct(std::vector<PlannedRun>& runs, std::string const& root) {
  std::set<std::string> twice;
  std::set<std::string> seen;
  for (auto const& run : runs) {
    if (!seen.insert(run.directory).second) twice.insert(run.directory);
  }
  for (auto& run : runs) {
    if (run.directory.size() > kLongestName || twice.count(run.directory) == 1) {
      run.directory = run.directory.substr(0, kLongestName - 18) + "~" + text_hash(run.label);
    }
    run.directory = root + "/" + run.directory;
  }
}

/// Keys of [problem] and [data] that change what samples hold.
std::vector<std::pair<std::string, std::string>> settings_of_samples(Config const& config) {
  constexpr std::array others{"data.directory",
                              "data.more",
                              "data.augmentation",
                              "data.train_samples",
                              "data.on_the_fly",
                              "data.held_out_samples",
                              "data.shard_samples",
                              "data.train_references",
                              "data.workers",
                              "data.reference",
                              "data.reference_tolerance"};
  auto const values = config.values();
  std::vector<std::pair<std::string, std::string>> settings;
  for (auto const& [key, value] : values.entries()) {
    bool const of_samples = key.starts_with("problem.") || key.starts_with("data.");
    bool const other = std::find(others.begin(), others.end(), key) != others.end();
    if (of_samples && !other) settings.emplace_back(key, value);
  }
  return settings;
}

/// Runs with one data.directory whose samples differ get one each below it, named by what differs.
void give_own_data(std::vector<PlannedRun>& runs) {
  std::map<std::string, std::map<std::string, std::set<std::string>>> seen;  // directory, key
  for (auto const& run : runs) {
    auto& of_directory = seen[run.config.text("data.directory")];
    for (auto const& [key, value] : settings_of_samples(run.config))
      of_directory[key].insert(value);
  }
  for (auto& run : runs) {
    auto const root = run.config.text("data.directory");
    std::string name;
    std::string exact;
    for (auto const& [key, value] : settings_of_samples(run.config)) {
      if (seen.at(root).at(key).size() == 1) continue;
      auto const part = key.substr(key.find('.') + 1) + "=";
      name += (name.empty() ? "" : ",") + part + plain(value);
      exact += (exact.empty() ? "" : ",") + part + value;
    }
    if (name.empty()) continue;
    if (name != exact || name.size() > kLongestName) {
      name = name.substr(0, kLongestName - 18) + "~" + text_hash(exact);
    }
    run.config.set("data.directory", root + "/" + name);
  }
}

void require_distinct_keys(ConfigStudy const& study) {
  for (auto const& one : study.cases) {
    for (auto const& [key, value] : one.settings) {
      for (auto const& alternatives : study.vary) {
        VOXCYCLE_REQUIRE(key != alternatives.key,
                         key << " stands in [vary] and in [case." << one.name
                             << "] (only one of them could hold). Keep one.");
      }
    }
  }
}

/// A value given with the command would lose against those of the study.
void require_study_not_overridden(Config const& config) {
  for (auto const& alternatives : config.study().vary) {
    require_not_overridden(config, alternatives.key, "vary");
  }
  for (auto const& one : config.study().cases) {
    for (auto const& setting : one.settings) {
      require_not_overridden(config, setting.first, "case." + one.name);
    }
  }
}

void require_baseline(std::string const& baseline, std::vector<ConfigCase> const& cases) {
  if (baseline.empty()) return;
  std::vector<std::string> names;
  for (auto const& one : cases) names.push_back(one.name);
  VOXCYCLE_REQUIRE(std::find(names.begin(), names.end(), baseline) != names.end(),
                   "ablate.baseline = '" << baseline << "' is no case of this config. "
                                         << (names.empty() ? "Leave it empty: there are no cases"
                                                           : "Choose one of " + join(names))
                                         << '.');
}

}  // namespace

std::vector<PlannedRun> plan_study(Config const& config) {
  auto const& study = config.study();
  VOXCYCLE_REQUIRE(!study.vary.empty() || !study.cases.empty(),
                   "the config describes no study. Add a section [vary] with lines like "
                   "'run.seed = 1 | 2', or sections [case.NAME]; configs/ablation.cfg is one.");
  require_distinct_keys(study);
  require_study_not_overridden(config);
  require_baseline(config.text("ablate.baseline"), study.cases);
  auto const cases = study.cases.empty() ? std::vector<ConfigCase>{{}} : study.cases;
  auto const processes = config.integer("ablate.processes", 1, 1 << 20);
  std::vector<PlannedRun> runs;
  for (auto const& one : cases) {
    for (auto const& settings : cross_product(study.vary)) {
      PlannedRun run;
      run.number = static_cast<int>(runs.size()) + 1;
      run.case_name = one.name;
      run.settings = settings;
      run.config = config;
      run.config.forget_study();
      for (auto const& [key, value] : one.settings) run.config.set(key, value);
      for (auto const& [key, value] : settings) run.config.set(key, value);
      run.config = with_global_batches(run.config, processes);
      run.label = label_of(run, study.vary, Seed::named);
      run.group = label_of(run, study.vary, Seed::left_out);
      run.directory = directory_name(run, study.vary);
      runs.push_back(std::move(run));
    }
  }
  make_distinct(runs, config.text("ablate.directory"));
  give_own_data(runs);
  bool const spectra = config.text("ablate.spectrum_samples") != "0";
  for (auto& run : runs) {
    run.config.set("run.directory", run.directory);
    if (spectra) run.config.set("train.keep_stages", "yes");
  }
  return runs;
}

std::string data_fingerprint(Config const& config) {
  std::istringstream lines(config.dump());
  std::string section;
  std::string text;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("[")) section = line;
    bool const of_data = section == "[data]" || section == "[problem]" ||
                         (section == "[cycle]" && line.starts_with("levels ="));
    if (of_data && !line.starts_with("#")) text += line + "\n";
  }
  return text;
}

}  // namespace voxcycle
