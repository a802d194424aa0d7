// SPDX-License-Identifier: BSD-3-Clause
// The sections of a configuration that make it a study: [vary] and [case.NAME].
#include "voxcycle/config/config_study.hpp"

#include "voxcycle/core/error.hpp"

#include <algorithm>
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

/// Every run has a directory of its own, and the study's own keys are common to all.
void require_of_a_run(std::string const& key, std::string const& section) {
  VOXCYCLE_REQUIRE(key != "run.directory" && !key.starts_with("ablate."),
                   key << " cannot stand in [" << section
                       << "] (it belongs to the study, not to one run). Set it once, outside.");
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
  for (auto const& one : study.cases) {
    text += "\n[" + std::string(kCase) + one.name + "]\n";
    for (auto const& [key, value] : one.settings) text += key + " = " + value + "\n";
  }
  return text;
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

ConfigCase& Config::add_case(std::string const& name) {
  bool const plain = !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-';
  });
  VOXCYCLE_REQUIRE(plain, "[case." << name << "]: '" << name
                                   << "' is no name of a case. Use letters, digits, _ and -.");
  auto const found = std::find_if(study_.cases.begin(), study_.cases.end(),
                                  [&](auto const& one) { return one.name == name; });
  if (found != study_.cases.end()) return *found;
  study_.cases.push_back({name, {}});
  return study_.cases.back();
}

void Config::set_in_case(std::string const& name_and_key, std::string const& value) {
  auto const dot = name_and_key.find('.');
  VOXCYCLE_REQUIRE(dot != std::string::npos, "case." << name_and_key
                                                     << " names no key. Write [case.NAME] and keys "
                                                        "as section.key = value below it.");
  auto& one = add_case(name_and_key.substr(0, dot));
  auto const current = current_key(name_and_key.substr(dot + 1), value);
  if (!current) return;
  auto const& key = *current;
  auto const section = std::string(kCase) + one.name;
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
    if (!line.starts_with("[" + std::string(kCase)) || !line.ends_with("]")) continue;
    auto const& name = add_case(line.substr(1 + kCase.size(), line.size() - 2 - kCase.size())).name;
    VOXCYCLE_REQUIRE(names.insert(name).second,
                     line << " stands there twice. Give one of them another name.");
  }
}

}  // namespace voxcycle
