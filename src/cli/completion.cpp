// SPDX-License-Identifier: BSD-3-Clause
// Completion in shells: what the tables of commands, flags and keys hold, as a function of bash,
// which zsh runs, too. Values are completed as names of files.
#include "voxcycle/core/text.hpp"
#include "voxcycle/core/usage_error.hpp"

#include "cli/help.hpp"

namespace voxcycle {
namespace {

constexpr char const* kForZsh = "autoload -Uz compinit bashcompinit && compinit && bashcompinit\n";

constexpr char const* kEnd = R"(  esac
  if ((COMP_CWORD == 1)); then
    options="$commands --help --version --dump-config"
  elif [[ $word == -* ]]; then
    options="$flags --config --help --dump-config $keys"
  elif ((COMP_CWORD == 2)); then
    options=$subjects
  fi
  COMPREPLY=($(compgen -W "$options" -- "$word"))
}
complete -o default -F _voxcycle voxcycle
)";

}  // namespace

std::string completion_script(std::vector<Command> const& commands, std::string const& shell) {
  if (shell != "bash" && shell != "zsh") {
    throw UsageError("--completion is for bash or zsh, not '" + shell +
                     "'. Write, e.g. in .bashrc, source <(voxcycle --completion bash).");
  }
  Config const config;
  std::vector<std::string> names, keys;
  for (auto const& command : commands) names.push_back(command.name);
  for (auto const& key : config.keys()) keys.push_back("--" + key.name);
  std::string text = shell == "zsh" ? kForZsh : "";
  text += "_voxcycle() {\n  local word=${COMP_WORDS[COMP_CWORD]} options= flags= subjects=\n";
  text += "  local commands='" + join(names, " ") + "'\n  local keys='" + join(keys, " ") + "'\n";
  text += "  case ${COMP_WORDS[1]} in\n";
  for (auto const& command : commands) {
    std::vector<std::string> flags;
    for (auto const& flag : command.flags) {
      if (!flag.meaning.empty()) flags.push_back("--" + flag.name);
    }
    text += "    " + command.name + ") flags='" + join(flags, " ") + "' subjects='" +
            join(command.subjects, " ") + "' ;;\n";
  }
  return text + kEnd;
}

}  // namespace voxcycle
