// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/config/config.hpp"

#include "voxcycle/config/config_study.hpp"
#include "voxcycle/config/key_hint.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/per_level.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/core/usage_error.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "config/config_keys.hpp"
#include <boost/program_options/errors.hpp>
#include <boost/program_options/options_description.hpp>
#include <boost/program_options/parsers.hpp>

namespace voxcycle {
namespace {

namespace po = boost::program_options;

/// What some editors put before UTF-8.
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

template <class Number>
Number number_of(std::string const& name, std::string const& text, Number low, Number high) {
  auto const value = parse_number<Number>(text);
  std::string valid = format(std::is_integral_v<Number> ? "a whole number >= %g" : "a number >= %g",
                             static_cast<double>(low));
  if (static_cast<double>(high) < 1e18) valid += format(" and <= %g", static_cast<double>(high));
  if (value && *value >= low && *value <= high) return *value;
  throw UsageError(name + " = '" + text + "' is not valid. Give " + valid + '.');
}

template <class Number, class Parse>
std::vector<Number> parse_list(std::string const& text, Parse const& parse) {
  std::vector<Number> values;
  for (auto const& part : split_list(text)) values.push_back(parse(part));
  return values;
}

}  // namespace

Config::Config() : keys_(all_config_keys()) {}

ConfigKey const& Config::find(std::string const& name, std::string const& section) const {
  auto const found =
      std::find_if(keys_.begin(), keys_.end(), [&](auto const& key) { return key.name == name; });
  if (found != keys_.end()) return *found;
  std::vector<std::string> names;
  for (auto const& key : keys_) names.push_back(key.name);
  auto const meant = key_meant(name, names);
  throw UsageError("unknown config key '" + name + "'" +
                   (section.empty() ? "" : " in [" + section + "]") + ". Did you mean " +
                   (meant.empty() ? join(nearest_names(name, names), ", ") : meant) +
                   "? voxcycle --dump-config lists all keys.");
}

void Config::set(std::string const& name, std::string const& value) {
  assign(name, value, ConfigKey::Origin::call);
}

void Config::assign(std::string const& name, std::string const& value, ConfigKey::Origin origin) {
  VOXCYCLE_REQUIRE(
      value.find_first_of("#\n") == std::string::npos,
      name << " = '" << value
           << "' holds a # or a line break, which no config file can hold. Use another "
              "name.");
  if (name.starts_with(kVary)) {
    set_alternatives(name.substr(kVary.size()), value);
  } else if (name.starts_with(kCase)) {
    set_in_case(kCase, name.substr(kCase.size()), value);
  } else if (name.starts_with(kMember)) {
    set_in_case(kMember, name.substr(kMember.size()), value);
  } else if (auto const now = current_key(name, value)) {
    auto& key = const_cast<ConfigKey&>(find(*now));
    key.value = value;
    key.origin = origin;
    if (*now == "network.name") take_defaults_of_network(value);
  }
}

void Config::take_defaults_of_network(std::string const& name) {
  auto standard = all_config_keys();
  auto const own = defaults_of_network(name);
  for (std::size_t k = 0; k < keys_.size(); ++k) {
    if (keys_[k].origin != ConfigKey::Origin::standard) continue;
    auto const found = own.find(keys_[k].name);
    keys_[k].value = found != own.end() ? found->second : std::move(standard[k].value);
  }
}

void Config::read_file(std::string const& path) {
  auto const inside = path + "/config.cfg";
  std::error_code code;
  VOXCYCLE_REQUIRE(!std::filesystem::is_directory(path, code),
                   path << " is a directory, not a config. Name the file"
                        << (std::filesystem::exists(inside, code) ? ", " + inside + '.' : "."));
  std::ifstream in(path);
  VOXCYCLE_REQUIRE(in, "cannot read the config " << path << " (" << std::strerror(errno)
                                                 << "). Check the name and its permissions.");
  std::string text((std::istreambuf_iterator<char>(in)), {});  // once: it may be a pipe
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  bool const of_old_macs =
      text.find('\r') != std::string::npos && text.find('\n') == std::string::npos;
  if (of_old_macs) std::replace(text.begin(), text.end(), '\r', '\n');
  try {
    po::options_description const none;
    std::istringstream lines(text);
    auto const parsed = po::parse_config_file(lines, none, /*allow_unregistered=*/true);
    read_case_names(text);
    std::set<std::string> keys;
    for (auto const& option : parsed.options) {
      auto const& [name, value] = std::tie(option.string_key, option.value.front());
      auto const now = current_key(name, value).value_or(name);
      VOXCYCLE_REQUIRE(keys.insert(now).second, now << " stands there twice. Remove one.");
      assign(now, value, ConfigKey::Origin::file);
    }
  } catch (po::error const& problem) {
    throw Error("config " + path + ": " + problem.what() +
                ". Lines are [section], key = value or # comment.");
  } catch (Error const& problem) {
    throw Error("config " + path + ": " + problem.what());
  }
}

bool Config::given(std::string const& name) const {
  return find(name).origin != ConfigKey::Origin::standard;
}

bool Config::overridden(std::string const& name) const {
  return find(name).origin == ConfigKey::Origin::call;
}

std::string const& Config::text(std::string const& name) const {
  return find(name).value;
}

std::int64_t Config::integer(std::string const& name, std::int64_t low, std::int64_t high) const {
  return number_of(name, text(name), low, high);
}

double Config::real(std::string const& name, double low, double high) const {
  return number_of(name, text(name), low, high);
}

std::vector<std::int64_t> Config::integers(std::string const& name, std::int64_t low,
                                           std::int64_t high) const {
  return parse_list<std::int64_t>(
      text(name), [&](std::string const& part) { return number_of(name, part, low, high); });
}

std::array<double, 2> Config::range(std::string const& name, double low, double high) const {
  auto const ends = parse_list<double>(
      text(name), [&](std::string const& part) { return number_of(name, part, low, high); });
  bool const rises = !ends.empty() && ends.size() <= 2 && ends.front() <= ends.back();
  VOXCYCLE_REQUIRE(
      rises, name << " = '" << text(name) << "' is no range. Give two rising numbers, or one.");
  return {ends.front(), ends.back()};
}

std::vector<std::int64_t> Config::integers_a_level(std::string const& name, std::size_t levels,
                                                   std::int64_t low, std::int64_t high) const {
  return one_per_level(name, integers(name, low, high), levels);
}

std::vector<double> Config::reals_a_level(std::string const& name, std::size_t levels, double low,
                                          double high) const {
  return one_per_level(
      name,
      parse_list<double>(text(name),
                         [&](std::string const& part) { return number_of(name, part, low, high); }),
      levels);
}

std::vector<std::string> Config::texts_a_level(std::string const& name, std::size_t levels) const {
  return one_per_level(name, split_list(text(name)), levels);
}

std::map<std::int64_t, std::int64_t> Config::integer_map(std::string const& name) const {
  std::map<std::int64_t, std::int64_t> values;
  for (auto const& part : split_list(text(name))) {
    auto const colon = part.find(':');
    VOXCYCLE_REQUIRE(colon != std::string::npos,
                     name << ": '" << part << "' is not of the form voxels:channels.");
    std::int64_t const maximum = std::int64_t{1} << 20;
    auto const key = number_of<std::int64_t>(name, part.substr(0, colon), 1, maximum);
    values[key] = number_of<std::int64_t>(name, part.substr(colon + 1), 1, maximum);
  }
  return values;
}

double parse_real(std::string const& name, std::string const& text, double low, double high) {
  return number_of(name, text, low, high);
}

std::string Config::dump() const {
  std::string text;
  std::string section;
  for (auto const& key : keys_) {
    auto const dot = key.name.find('.');
    if (key.name.substr(0, dot) != section) {
      section = key.name.substr(0, dot);
      text += (text.empty() ? "[" : "\n[") + section + "]\n";
    }
    text += "# " + key.meaning + "\n" + key.name.substr(dot + 1) + " = " + key.value + "\n";
  }
  return text + dump_study(study_);
}

Fingerprint Config::values() const {
  Fingerprint all;
  for (auto const& key : keys_) all.set(key.name, key.value);
  return all;
}

Fingerprint Config::fingerprint() const {
  Fingerprint all;
  for (auto const& key : keys_) {
    if (is_fingerprint_key(key.name)) all.set(key.name, key.value);
  }
  return all;
}

}  // namespace voxcycle
