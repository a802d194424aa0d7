// SPDX-License-Identifier: BSD-3-Clause
#include "cli/help.hpp"

#include "voxcycle/core/text.hpp"

#include <algorithm>
#include <sstream>

#include "cli/guide.hpp"

namespace voxcycle {
namespace {

constexpr std::size_t kWidth = 80;

/// A name and what it means: a list with the meanings below each other.
using Entry = std::pair<std::string, std::string>;

/// The words of `text` in lines that begin `indent` to the right; the first line has begun.
std::string wrapped(std::string const& text, std::size_t indent) {
  std::istringstream words(text);
  std::string lines;
  std::size_t at = indent;
  for (std::string word; words >> word;) {
    if (at > indent && at + 1 + word.size() > kWidth) {
      lines += '\n' + std::string(indent, ' ');
      at = indent;
    }
    if (at > indent) lines += ' ';
    at += word.size() + (at > indent ? 1 : 0);
    lines += word;
  }
  return lines + '\n';
}

std::string listed(std::vector<Entry> const& entries, std::size_t most_width) {
  std::size_t width = 0;
  for (auto const& [name, meaning] : entries) {
    if (name.size() <= most_width) width = std::max(width, name.size());
  }
  std::size_t const indent = width + 4;
  std::string text;
  for (auto const& [name, meaning] : entries) {
    text += "  " + name;
    text += name.size() <= width ? std::string(indent - 2 - name.size(), ' ')
                                 : '\n' + std::string(indent, ' ');
    text += wrapped(meaning, indent);
  }
  return text;
}

std::string flags_of(Command const& command) {
  std::vector<Entry> entries;
  for (auto const& flag : command.flags) {
    if (flag.meaning.empty()) continue;
    entries.emplace_back("--" + flag.name + (flag.argument.empty() ? "" : " " + flag.argument),
                         flag.meaning);
  }
  return listed(entries, 24);
}

/// Keys of the config, in their order, with their defaults.
std::string keys_text(std::vector<std::string> const& names) {
  Config const config;
  std::vector<Entry> entries;
  for (auto const& key : config.keys()) {
    if (std::find(names.begin(), names.end(), key.name) == names.end()) continue;
    auto const standard = key.value.empty() ? "" : " (" + key.value + ")";
    entries.emplace_back("--" + key.name, key.meaning + standard);
  }
  return listed(entries, 26);
}

std::vector<std::string> all_key_names() {
  Config const config;
  std::vector<std::string> names;
  for (auto const& key : config.keys()) names.push_back(key.name);
  return names;
}

constexpr char const* kMore =
    "\nvoxcycle COMMAND --help: its flags, keys and examples. --help --all: everything.\n"
    "voxcycle --dump-config: all keys as a file. --version. --completion bash|zsh.\n";

constexpr char const* kKeys = "keys, as flags or in a file of --config; defaults in brackets";

std::string words_of(Command const& command) {
  return command.subjects.empty() ? command.operands : join(command.subjects, "|");
}

std::string usage_line(std::string const& command) {
  return "usage: voxcycle " + command + " [--config FILE] [--section.key VALUE ...] [flags]\n\n";
}

}  // namespace

std::string help_text(std::vector<Command> const& commands, HelpDetail detail) {
  std::string text = "voxcycle solves -div(nu grad u) = f on voxels, and trains networks to.\n\n" +
                     usage_line("COMMAND");
  std::vector<Entry> lines;
  for (auto const& command : commands) {
    lines.emplace_back(command.name, command.meaning);
    if (detail == HelpDetail::all) {
      auto const words = words_of(command);
      text += command.name + (words.empty() ? "" : ' ' + words) + ": " + command.meaning + '\n' +
              flags_of(command) + '\n';
    }
  }
  if (detail == HelpDetail::all) {
    return text + kKeys + '\n' + keys_text(all_key_names()) + kMore;
  }
  text += listed(lines, kWidth) + "\nexamples\n";
  for (auto const* const command : {"solve", "conductivity", "train"}) {
    text += "  voxcycle " + guide_of(command).examples.front() + '\n';
  }
  return text + kMore;
}

std::string help_text(Command const& command, HelpDetail detail) {
  auto const& guide = guide_of(command.name);
  auto const words = words_of(command);
  auto const word = command.subjects.empty() ? command.operands : "SUBJECT";
  std::string text = usage_line(command.name + (word.empty() ? "" : ' ' + word)) +
                     wrapped((words.empty() ? "" : words + ": ") + command.meaning, 0);
  if (auto const flags = flags_of(command); !flags.empty()) text += "\nflags\n" + flags;
  bool const all = detail == HelpDetail::all;
  text += std::string("\n") + kKeys + (all ? "\n" : "; all: --help --all\n") +
          keys_text(all ? all_key_names() : guide.keys) + "\nexamples\n";
  for (auto const& example : guide.examples) text += "  voxcycle " + example + '\n';
  return text;
}

}  // namespace voxcycle
