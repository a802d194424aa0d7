// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/cli/command.hpp"

#include "voxcycle/comm/device_choice.hpp"
#include "voxcycle/comm/launcher.hpp"
#include "voxcycle/comm/threads.hpp"
#include "voxcycle/comm/watchdog.hpp"
#include "voxcycle/config/config_study.hpp"
#include "voxcycle/config/options.hpp"
#include "voxcycle/config/spatial_choice.hpp"
#include "voxcycle/core/build_info.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/log.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/core/usage_error.hpp"
#include "voxcycle/study/ensemble_plan.hpp"
#include "voxcycle/train/agreement.hpp"
#include "voxcycle/train/run_directory.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <string_view>

#include "cli/help.hpp"
#include "cli/hints.hpp"

namespace voxcycle {
namespace {

Command const& find_command(std::vector<Command> const& commands, std::string const& name) {
  for (auto const& command : commands) {
    if (command.name == name) return command;
  }
  throw unknown_command(commands, name);
}

/// A misspelt case of a study would be one more run.
void require_known_case(ConfigStudy const& study, std::string const& key) {
  if (study.cases.empty() || !key.starts_with(kCase)) return;
  std::vector<std::string> names;
  for (auto const& one : study.cases) names.push_back(one.name);
  auto const name = key.substr(kCase.size(), key.find('.', kCase.size()) - kCase.size());
  VOXCYCLE_REQUIRE(std::find(names.begin(), names.end(), name) != names.end(),
                   "--" << key << ": the study has no case '" << name << "'. Its cases are "
                        << join(names) << '.');
}

/// What stands on the command line beside the command's own flags.
struct ConfigWords {
  std::vector<std::string> files;                         ///< of --config
  std::vector<std::pair<std::string, std::string>> keys;  ///< --section.key VALUE
};

/// Splits the arguments after the command into its own flags and operands, and the rest.
ConfigWords split_arguments(std::vector<std::string> const& arguments, Command const& command,
                            Invocation& invocation) {
  ConfigWords found;
  for (std::size_t k = 1; k < arguments.size(); ++k) {
    auto const& word = arguments[k];
    if (k == 1 && !command.subjects.empty() && word.rfind("--", 0) != 0) {
      invocation.flags["subject"] = word;
      continue;
    }
    if (!command.operands.empty() && !word.starts_with('-')) {
      invocation.operands.push_back(word);
      continue;
    }
    if (!word.starts_with("--")) throw unexpected_word(command, word);
    auto const equals = word.find('=');
    std::string const name = word.substr(2, equals == std::string::npos ? equals : equals - 2);
    auto const value = [&] {
      if (equals != std::string::npos) return word.substr(equals + 1);
      VOXCYCLE_REQUIRE(k + 1 < arguments.size(), "--" << name << " needs a value.");
      auto const& next = arguments[++k];
      VOXCYCLE_REQUIRE(next.rfind("--", 0) != 0, "--" << name << " needs a value, but " << next
                                                      << " follows. If that is the value, write --"
                                                      << name << '=' << next << '.');
      return next;
    };
    auto const flag = std::find_if(command.flags.begin(), command.flags.end(),
                                   [&](auto const& f) { return f.name == name; });
    if (flag != command.flags.end()) {
      bool const takes_value = !flag->argument.empty();
      VOXCYCLE_REQUIRE(takes_value || equals == std::string::npos,
                       "--" << name << " takes no value. Leave it out where it is not wanted.");
      auto const text = takes_value ? value() : "";
      bool const may_be_empty = !takes_value || flag->empty == Empty::allowed;
      VOXCYCLE_REQUIRE(may_be_empty || !text.empty(), "--" << name << " is empty. Give it a value ("
                                                           << flag->argument
                                                           << "), or leave it out.");
      invocation.flags[name] = text;
    } else if (name == "config") {
      invocation.flags[name] = value();
      found.files.push_back(invocation.flags[name]);
    } else if (name == "dump-config") {
      invocation.flags[name] = "";
    } else {
      if (name.find('.') == std::string::npos) throw unknown_option(command, name);
      found.keys.emplace_back(name, value());
    }
  }
  return found;
}

/// @throws Error for one of many runs that the command does not know.
void require_kind_of_config(Command const& command, Config const& config) {
  auto const& study = config.study();
  VOXCYCLE_REQUIRE(command.name == "ablate" || (study.vary.empty() && study.cases.empty()),
                   command.name << " cannot use a config with [vary] or [case.NAME] (they describe "
                                   "many runs). Use voxcycle ablate, or remove these sections.");
  constexpr std::array of_ensembles{"generate", "train", "evaluate", "solve", "info"};
  bool const knows_ensembles =
      std::find(of_ensembles.begin(), of_ensembles.end(), command.name) != of_ensembles.end();
  VOXCYCLE_REQUIRE(knows_ensembles || (!is_ensemble(config) && study.members.empty()),
                   command.name << " is for one training, and this config describes an ensemble "
                                   "(ensemble.members, [member.K]). Use a member's own, "
                                << member_directory(config.text("run.directory"), 1)
                                << "/config.cfg, or leave these out.");
}

void parse_arguments(std::vector<std::string> const& arguments, Command const& command,
                     Invocation& invocation) {
  auto const words = split_arguments(arguments, command, invocation);
  for (auto const& file : words.files) invocation.config.read_file(file);
  // The command line wins over the file, wherever --config stands.
  auto const study = invocation.config.study();
  for (auto const& [name, value] : words.keys) {
    require_known_case(study, name);
    invocation.config.set(name, value);
  }
  for (char const* key : {"run.directory", "data.directory", "ablate.directory"}) {
    VOXCYCLE_REQUIRE(!invocation.config.text(key).empty(),
                     key << " is empty. Name a directory, e.g. " << Config().text(key) << '.');
  }
  require_kind_of_config(command, invocation.config);
}

/// @throws Error where each of several processes would do the whole work of the command, which they
/// are meant to share out. Warns where that may be meant.
void require_acquaintance(Command const& command) {
  auto const started = strangers();
  if (!started) return;
  auto const count = static_cast<long>(started->processes);
  auto const what = format("%s started %ld processes that do not know of each other",
                           started->launcher.c_str(), count);
  auto const how = format("mpirun -n %ld voxcycle %s ..., or in Slurm srun --mpi=pmix -n %ld.",
                          count, command.name.c_str(), count);
  bool const shares = command.name == "generate" || command.name == "train";
  VOXCYCLE_REQUIRE(!shares, what << " (voxcycle's meet through MPI): each would " << command.name
                                 << " all of it alone. Start them with " << how);
  if (started->is_first) {
    log_warning(what + ": each works alone. If they are to work together, start them with " + how);
  }
}

/// Options of their own would let processes wait for each other in different places.
/// **Collective**.
/// @throws Error naming the first option that differs.
void require_same_call(Invocation const& call, Command const& command) {
  Fingerprint options;
  auto const settings = call.config.values();
  for (auto const& [key, value] : settings.entries()) {
    // Machines may have less memory, and the same data elsewhere; threads are compared by train.
    bool const of_machine = key == "run.memory_limit" || key == "run.threads" ||
                            (key == "data.directory" && command.name != "generate");
    if (!of_machine) options.set(key, value);
  }
  for (auto const& [flag, value] : call.flags) {
    if (flag != "config") options.set("--" + flag, value.empty() ? "yes" : value);
  }
  require_same_options(call.comm, options);
}

}  // namespace

std::optional<std::int64_t> Invocation::count(std::string const& flag) const {
  if (!has(flag)) return {};
  auto const value = parse_number<std::int64_t>(flags.at(flag));
  if (value > 0) return value;
  throw UsageError("--" + flag + " '" + flags.at(flag) +
                   "' is no positive number. Give a whole number from 1.");
}

Invocation with_spatial_processes(Invocation const& asked, DeviceChoice const& place) {
  return {with_spatial_processes(asked.config, asked.comm, place.memory()), asked.flags, asked.comm,
          asked.operands};
}

std::string checkpoint_of(Invocation const& call, std::string const& directory) {
  return call.has("checkpoint") ? checkpoint_at(call.flags.at("checkpoint"))
                                : checkpoint_path(directory);
}

std::vector<Command> all_commands() {
  return {generate_command(),     train_command(),  evaluate_command(), solve_command(),
          conductivity_command(), export_command(), ablate_command(),   scale_command(),
          verify_command(),       bench_command(),  info_command()};
}

namespace {

bool asks_for(std::vector<std::string> const& arguments, char const* word) {
  return std::find(arguments.begin(), arguments.end(), word) != arguments.end();
}

/// What is printed instead of a command's work; nothing if that is wanted.
std::optional<std::string> answer(std::vector<std::string> const& arguments,
                                  std::vector<Command> const& commands) {
  auto const detail = asks_for(arguments, "--all") ? HelpDetail::all : HelpDetail::brief;
  bool const asks_for_help = asks_for(arguments, "--help") || asks_for(arguments, "-h");
  if (arguments.empty()) return help_text(commands, detail);
  auto const& first = arguments.front();
  if (first == "help" || (asks_for_help && first.starts_with('-'))) {
    return help_text(commands, detail);
  }
  if (first == "--dump-config") return Config().dump();
  if (first == "--version") {
    return format("voxcycle %s, commit %s\n", build_info::version, build_info::commit);
  }
  if (first == "--completion") {
    return completion_script(commands, arguments.size() > 1 ? arguments[1] : "");
  }
  auto const& command = find_command(commands, first);
  return asks_for_help ? std::optional(help_text(command, detail)) : std::nullopt;
}

}  // namespace

int run_command_line(std::vector<std::string> const& arguments, Communicator const& comm) {
  bool const speaks = comm.rank() == 0;
  auto const commands = all_commands();
  if (auto const text = answer(arguments, commands)) {
    if (speaks) std::fputs(text->c_str(), stdout);
    return arguments.empty() ? UsageError::status : 0;
  }
  auto const& command = find_command(commands, arguments.front());
  require_agreement(
      comm, {{"build", format("voxcycle %s, commit %s", build_info::version, build_info::commit)},
             {"command", command.name}});
  Invocation invocation{Config(), {}, comm};
  comm.together([&] { as_usage([&] { parse_arguments(arguments, command, invocation); }); });
  require_same_call(invocation, command);
  if (invocation.has("dump-config")) {
    if (speaks) std::fputs(invocation.config.dump().c_str(), stdout);
    return 0;
  }
  require_acquaintance(command);
  set_threads(invocation.config.integer("run.threads", 0, 4096), comm);
  auto const watchdog = make_watchdog(comm, invocation.config.real("run.patience", 0.0, 1e9));
  return command.run(invocation);
}

}  // namespace voxcycle
