// SPDX-License-Identifier: BSD-3-Clause
#include "cli/hints.hpp"

#include "voxcycle/config/key_hint.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/io/field_file.hpp"

#include <algorithm>
#include <filesystem>

namespace voxcycle {
namespace {

/// Flags of the command that help shows, and --config.
std::vector<std::string> option_names(Command const& command) {
  std::vector<std::string> names{"config"};
  for (auto const& flag : command.flags) {
    if (!flag.meaning.empty()) names.push_back(flag.name);
  }
  return names;
}

/// A flag or key that --name stands for, without the dashes; "" if none is near.
std::string option_meant(Command const& command, std::string const& name) {
  if (auto const flag = mistyped_name(name, option_names(command))) return *flag;
  Config const config;
  std::vector<std::string> keys;
  for (auto const& key : config.keys()) keys.push_back(key.name);
  return key_meant(name, keys);
}

/// The option that takes such a value, with it: a config, a run directory, a field, a checkpoint.
std::string with_its_option(Command const& command, std::string const& word) {
  auto const takes = [&](char const* name) {
    auto const names = option_names(command);
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  std::filesystem::path const path(word);
  auto const config_inside = path / "config.cfg";
  if (path.extension() == ".cfg" || path.extension() == ".ini") return "--config " + word;
  if (std::filesystem::exists(config_inside)) return "--config " + config_inside.string();
  if (takes("nu") && is_field_location(word)) return "--nu " + word;
  if (takes("checkpoint") && path.extension() == ".h5") return "--checkpoint " + word;
  return "";
}

std::string help_of(Command const& command) {
  return " voxcycle " + command.name + " --help lists them.";
}

}  // namespace

UsageError unknown_command(std::vector<Command> const& commands, std::string const& name) {
  std::vector<std::string> names;
  for (auto const& command : commands) names.push_back(command.name);
  auto const meant = mistyped_name(name, names);
  return UsageError("unknown command '" + name + "'. " +
                    (meant ? "Did you mean " + *meant + "? voxcycle --help lists all."
                           : "Choose one of " + join(names) + '.'));
}

UsageError unknown_option(Command const& command, std::string const& name) {
  auto const meant = option_meant(command, name);
  return UsageError("unknown option --" + name + " of " + command.name + '.' +
                    (meant.empty() ? "" : " Did you mean --" + meant + '?') + help_of(command));
}

UsageError unexpected_word(Command const& command, std::string const& word) {
  std::string meant;
  if (word.starts_with('-') && word.size() > 1) {  // -c, -config
    auto const letters = word.substr(1);
    for (auto const& name : option_names(command)) {
      if (meant.empty() && name.starts_with(letters)) meant = name;
    }
    if (meant.empty()) meant = option_meant(command, letters);
    if (!meant.empty()) meant = "--" + meant;
  } else {
    meant = with_its_option(command, word);
  }
  return UsageError("unexpected argument '" + word + "'. Options start with --." +
                    (meant.empty() ? "" : " Did you mean " + meant + '?') + help_of(command));
}

}  // namespace voxcycle
