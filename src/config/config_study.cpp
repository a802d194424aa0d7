// SPDX-License-Identifier: BSD-3-Clause
// The sections of a configuration that make it a study or an ensemble: [vary], [case.NAME] and
// [member.K].
#include "voxcycle/config/config_study.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <sstream>

namespace voxcycle {
namespace {

std::string trimmed(std::string const& text) {
  auto const blank = " \t\r";
  auto const begin = text.find_first_not_of(blank);
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(blank) + 1 - begin);
}

/// Every run has a directory of its own, and the study's own keys are common to all. Members are
/// trained by the same processes, which begin to compute before the first of them.
void require_of_a_run(std::string const& key, std::string const& section) {
  constexpr std::array common{"run.threads",  "run.device",      "run.memory_limit",
                              "train.layout", "train.precision", "train.reduction"};
  VOXCYCLE_REQUIRE(
      !section.starts_with(kMember) || std::find(common.begin(), common.end(), key) == common.end(),
      key << " cannot stand in [" << section
          << "] (it says how the processes compute, which train all members). Set it "
             "once, outside.");
  bool const of_study = key.starts_with("ablate.") || key.starts_with("ensemble.");
  VOXCYCLE_REQUIRE(key != "run.directory" && !of_study,
                   key << " cannot stand in [" << section
                       << "] (it belongs to the study, not to one run). Set it once, outside.");
}

bool is_name_of_case(std::string const& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-';
  });
}

/// As dump writes it: no two names are one number.
bool is_number_of_member(std::string const& name) {
  auto const number = parse_number<std::int64_t>(name);
  return number && *number >= 1 && std::to_string(*number) == name;
}

std::string dump_sections(std::string_view kind, std::vector<ConfigCase> const& sections) {
  std::string text;
  for (auto const& one : sections) {
    text += "\n[" + std::string(kind) + one.name + "]\n";
    for (auto const& [key, value] : one.settings) text += key + " = " + value + "\n";
  }
  return text;
}

}  // namespace

std::vector<std::string> split_alternatives(std::string const& text) {
  std::vector<std::string> values;
  std::size_t begin = 0;
  for (auto bar = text.find('|'); bar != std::string::npos; bar = text.find('|', begin)) {
    values.push_back(trimmed(text.substr(begin, bar - begin)));
    begin = bar + 1;
  }
  values.push_back(trimmed(text.substr(begin)));
  return values;
}

std::string dump_study(ConfigStudy const& study) {
  std::string text;
  if (!study.vary.empty()) {
    text += "\n[" + std::string(kVary.substr(0, kVary.size() - 1)) + "]\n";
    for (auto const& [key, values] : study.vary) {
      text += key + " =";
      for (std::size_t k = 0; k < values.size(); ++k) text += (k == 0 ? " " : " | ") + values[k];
      text += "\n";
    }
  }
  return text + dump_sections(kCase, study.cases) + dump_sections(kMember, study.members);
}

void require_not_overridden(Config const& config, std::string const& key,
                            std::string const& section) {
  VOXCYCLE_REQUIRE(!config.overridden(key), "--" << key << " has no effect: " << key
                                                 << " stands in [" << section << "]. Give --"
                                                 << section << '.' << key << " instead.");
}

void Config::set_alternatives(std::string const& written, std::string const& values) {
  auto const current = current_key(written, values);
  if (!current) return;
  auto const& name = *current;
  find(name, "vary");
  require_of_a_run(name, "vary");
  ConfigAlternatives alternatives{name, split_alternatives(values)};
  for (auto const& value : alternatives.values) {
    VOXCYCLE_REQUIRE(std::count(alternatives.values.begin(), alternatives.values.end(), value) == 1,
                     name << " = '" << values << "' in [vary] has '" << value
                          << "' twice (two runs would be the same). Remove one.");
  }
  auto const same = std::find_if(study_.vary.begin(), study_.vary.end(),
                                 [&](auto const& other) { return other.key == name; });
  if (same != study_.vary.end()) {
    *same = alternatives;
  } else {
    study_.vary.push_back(alternatives);
  }
}

ConfigCase& Config::add_case(std::string_view kind, std::string const& name) {
  bool const is_case = kind == kCase;
  VOXCYCLE_REQUIRE(!is_case || is_name_of_case(name),
                   "[case." << name << "]: '" << name
                            << "' is no name of a case. Use letters, digits, _ and -.");
  VOXCYCLE_REQUIRE(
      is_case || is_number_of_member(name),
      "[member." << name << "]: '" << name
                 << "' is no number of a member. Give one from 1 to ensemble.members.");
  auto& all = is_case ? study_.cases : study_.members;
  auto const found =
      std::find_if(all.begin(), all.end(), [&](auto const& one) { return one.name == name; });
  if (found != all.end()) return *found;
  all.push_back({name, {}});
  return all.back();
}

void Config::set_in_case(std::string_view kind, std::string const& name_and_key,
                         std::string const& value) {
  auto const dot = name_and_key.find('.');
  VOXCYCLE_REQUIRE(dot != std::string::npos, kind << name_and_key << " names no key. Write ["
                                                  << (kind == kCase ? "case.NAME" : "member.K")
                                                  << "] and keys as section.key = value below it.");
  auto& one = add_case(kind, name_and_key.substr(0, dot));
  auto const current = current_key(name_and_key.substr(dot + 1), value);
  if (!current) return;
  auto const& key = *current;
  auto const section = std::string(kind) + one.name;
  find(key, section);
  require_of_a_run(key, section);
  auto const same = std::find_if(one.settings.begin(), one.settings.end(),
                                 [&](auto const& setting) { return setting.first == key; });
  if (same != one.settings.end()) {
    same->second = value;
  } else {
    one.settings.emplace_back(key, value);
  }
}

/// A case without settings (the config as it is) counts, too; the parser of lines leaves it out.
void Config::read_case_names(std::string const& text) {
  std::istringstream in(text);
  std::set<std::string> names;
  for (std::string line; std::getline(in, line);) {
    line = trimmed(line.substr(0, line.find('#')));
    for (auto const kind : {kCase, kMember}) {
      if (!line.starts_with("[" + std::string(kind)) || !line.ends_with("]")) continue;
      add_case(kind, line.substr(1 + kind.size(), line.size() - 2 - kind.size()));
      VOXCYCLE_REQUIRE(names.insert(line).second,
                       line << " stands there twice. Give one of them another name.");
    }
  }
}

}  // namespace voxcycle
