// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/train/fingerprint.hpp"

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace voxcycle {

/// One key of the configuration.
struct ConfigKey {
  std::string name;  ///< "section.key"
  std::string
      value;  ///< default, which the network may change, then what file and command line made of it
  std::string meaning;  ///< with unit and valid values, for --dump-config
  /// What set it last.
  enum class Origin { standard, file, call } origin = Origin::standard;
};

/// One line of the section [vary]: a key and the values that runs of a study try in turn.
struct ConfigAlternatives {
  std::string key;
  std::vector<std::string> values;
};

/// One section [case.NAME] of a study, or [member.K] of an ensemble: settings that belong together.
struct ConfigCase {
  std::string name;
  std::vector<std::pair<std::string, std::string>> settings;  ///< key, value
};

/// What a study varies (see plan_study in include/voxcycle/study/ablate_plan.hpp), and what members
/// of an ensemble have of their own (plan_ensemble in include/voxcycle/study/ensemble_plan.hpp).
struct ConfigStudy {
  std::vector<ConfigAlternatives> vary;
  std::vector<ConfigCase> cases;
  std::vector<ConfigCase> members;  ///< named by their numbers
};

/// The resolved configuration: defaults, then an INI file, then `--section.key value` pairs. Values
/// are text until asked for; the typed readers check ranges and name the key in their errors, which
/// are of usage.
class Config {
 public:
  static constexpr std::int64_t kMaxInteger = std::numeric_limits<std::int64_t>::max();

  Config();

  /// Reads an INI file ([section], key = value, # comments). @throws Error for a missing file, a
  /// line that is none of these, or an unknown key, naming the nearest valid ones.
  void read_file(std::string const& path);
  /// As on the command line. Sets one key; "vary.KEY", "case.NAME.KEY" and "member.K.KEY" add to
  /// the study instead.
  /// @throws Error for an unknown key, naming the nearest valid ones.
  void set(std::string const& name, std::string const& value);

  /// All keys with their values and meanings, in the order of --dump-config.
  std::vector<ConfigKey> const& keys() const { return keys_; }
  /// Whether a file or `set` gave the key a value, be it its default.
  bool given(std::string const& name) const;
  /// Whether `set` did, after all files.
  bool overridden(std::string const& name) const;
  std::string const& text(std::string const& name) const;
  std::int64_t integer(std::string const& name, std::int64_t low = 0,
                       std::int64_t high = kMaxInteger) const;
  double real(std::string const& name, double low, double high) const;
  std::vector<std::int64_t> integers(std::string const& name, std::int64_t low,
                                     std::int64_t high = kMaxInteger) const;
  /// Two numbers "low, high", or one for both. @throws Error unless they rise.
  std::array<double, 2> range(std::string const& name, double low, double high) const;
  /// A list with one entry a level; a single value stands for all. @throws Error on another length.
  std::vector<std::int64_t> integers_a_level(std::string const& name, std::size_t levels,
                                             std::int64_t low,
                                             std::int64_t high = kMaxInteger) const;
  std::vector<double> reals_a_level(std::string const& name, std::size_t levels, double low,
                                    double high) const;
  std::vector<std::string> texts_a_level(std::string const& name, std::size_t levels) const;
  /// "4:64, 8:64" as a map.
  std::map<std::int64_t, std::int64_t> integer_map(std::string const& name) const;

  /// Empty unless the config has the sections [vary], [case.NAME] or [member.K].
  ConfigStudy const& study() const { return study_; }
  void forget_study() { study_ = {}; }

  /// The whole configuration as an INI file with a comment (meaning) above each key; a study's
  /// sections come last.
  std::string dump() const;
  /// All keys with their values, a study's aside.
  Fingerprint values() const;
  /// All keys that a run's result depends on: everything but places, threads, memory and intervals
  /// of saving.
  Fingerprint fingerprint() const;

 private:
  /// In keys that nothing has set.
  void take_defaults_of_network(std::string const& name);
  void assign(std::string const& name, std::string const& value, ConfigKey::Origin origin);
  /// @param section  where the key was read if not at its own place, e.g. "vary"
  ConfigKey const& find(std::string const& name, std::string const& section = "") const;
  void set_alternatives(std::string const& name, std::string const& values);
  /// @param kind  kCase or kMember
  ConfigCase& add_case(std::string_view kind, std::string const& name);
  void set_in_case(std::string_view kind, std::string const& name_and_key,
                   std::string const& value);
  void read_case_names(std::string const& text);

  std::vector<ConfigKey> keys_;
  ConfigStudy study_;
};

/// @throws UsageError naming the key `name` unless the text is a number in [low, high].
double parse_real(std::string const& name, std::string const& text, double low, double high);

}  // namespace voxcycle
