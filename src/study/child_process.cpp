// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/study/child_process.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/host.hpp"
#include "voxcycle/core/memory.hpp"
#include "voxcycle/core/text.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace voxcycle {
namespace {

/// What a process holds that has only loaded its libraries and met the others.
constexpr std::int64_t kMinOfProcess = std::int64_t{128} << 20;

/// Options of env for variables by which a launcher tells this process which of its processes it
/// is: what it starts itself must not take itself for that. Settings stay.
std::vector<std::string> without_identity() {
  using Prefixes = std::vector<std::string_view>;
  Prefixes tell{"WORLD_SIZE", "SLURM_STEP_NUM_TASKS"};
  if (has_launcher()) {
    tell.insert(tell.end(), {"PMIX_", "PMI_", "OMPI_COMM_WORLD_", "OMPI_UNIVERSE_SIZE", "OMPI_APP_",
                             "OMPI_MCA_orte_", "OMPI_MCA_ess", "OMPI_MCA_pmix"});
  }
  Prefixes const set{"PMIX_LIBDIR", "PMIX_MCA_"};
  std::vector<std::string> options;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    std::string_view const variable(*entry);
    auto const name = variable.substr(0, variable.find('='));
    auto const is_among = [&](Prefixes const& prefixes) {
      return std::any_of(prefixes.begin(), prefixes.end(),
                         [&](auto const prefix) { return name.starts_with(prefix); });
    };
    if (is_among(tell) && !is_among(set)) options.insert(options.end(), {"-u", std::string(name)});
  }
  return options;
}

/// What env and shells report for a command that they cannot start.
constexpr int kNotStarted = 127;
/// Between two looks at a child that is waited for; a signal handler's work is seen as fast.
constexpr std::chrono::milliseconds kPollInterval{20};

/// The child's side of the fork: only calls that are safe there.
[[noreturn]] void become_command(char* const* words, int log, pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGUSR1);
  if (::getppid() != parent) ::_exit(kNotStarted);  // it died before it could be watched
  ::signal(SIGPIPE, SIG_DFL);
  int const empty = ::open("/dev/null", O_RDONLY);
  ::dup2(empty, STDIN_FILENO);
  ::dup2(log, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  ::execvp(words[0], words);
  ::_exit(kNotStarted);
}

}  // namespace

ChildProcess::ChildProcess(std::vector<std::string> command, std::string const& log) {
  std::vector<char*> words;
  for (auto& word : command) words.push_back(word.data());
  words.push_back(nullptr);
  int const file = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  VOXCYCLE_REQUIRE(file >= 0, "cannot write " << log << " (" << std::strerror(errno)
                                              << "). Choose another directory.");
  pid_t const parent = ::getpid();
  pid_ = ::fork();
  int const problem = errno;
  if (pid_ == 0) become_command(words.data(), file, parent);
  ::close(file);
  VOXCYCLE_REQUIRE(
      pid_ > 0, "no process can be started (" << std::strerror(problem) << "). Run fewer at once.");
  ::setpgid(pid_, pid_);  // whichever of the two is first
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), status_(other.status_) {}

ChildProcess::~ChildProcess() {
  if (pid_ < 0) return;
  request_stop();
  wait();
}

std::optional<int> ChildProcess::poll() {
  int status = 0;
  if (!status_ && ::waitpid(pid_, &status, WNOHANG) == pid_) {
    status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  return status_;
}

int ChildProcess::wait() {
  while (!poll()) std::this_thread::sleep_for(kPollInterval);
  return *status_;
}

void ChildProcess::request_stop() {
  if (!poll()) ::kill(pid_, SIGUSR1);
}

std::vector<std::int64_t> parse_process_counts(std::string const& name, std::string const& list) {
  std::vector<std::int64_t> counts;
  for (auto const& part : split_list(list)) {
    auto const count = parse_number<std::int64_t>(part);
    VOXCYCLE_REQUIRE(count > 0, name << ": '" << part
                                     << "' is no number of processes. Give whole numbers from 1, "
                                        "e.g. 1,2,3.");
    counts.push_back(*count);
  }
  VOXCYCLE_REQUIRE(!counts.empty(), name << " is empty. Give numbers of processes, e.g. 1,2,3.");
  return counts;
}

std::vector<std::string> launcher_words(std::string const& text) {
  std::vector<std::string> words;
  char quote = 0;  // the one that is open
  bool in_word = false;
  for (std::size_t k = 0; k < text.size(); ++k) {
    char const c = text[k];
    if (quote == 0 && std::isspace(static_cast<unsigned char>(c)) != 0) {
      in_word = false;
      continue;
    }
    if (!in_word) words.emplace_back();
    in_word = true;
    if (c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
    } else if (c == '\\' && quote != '\'' && k + 1 < text.size()) {
      words.back() += text[++k];
    } else {
      words.back() += c;
    }
  }
  VOXCYCLE_REQUIRE(quote == 0, "the launcher '" << text << "' has a quote that does not end. Add "
                                                << quote << " where it should.");
  return words;
}

void require_started(std::int64_t started, std::int64_t wanted) {
  VOXCYCLE_REQUIRE(started == wanted, "the launcher started "
                                          << started << " processes that know "
                                          << "of each other instead of " << wanted
                                          << ". Give one that starts MPI programs, with {} for "
                                             "their number.");
}

void require_room(std::string const& launcher, std::int64_t processes) {
  std::int64_t const maximum = std::max(std::int64_t{1}, machine_memory_bytes() / kMinOfProcess);
  VOXCYCLE_REQUIRE(launcher != kLauncher || processes <= maximum,
                   processes << " processes need more memory before their first step than the "
                             << format_bytes(static_cast<double>(machine_memory_bytes()))
                             << " of this machine. Ask for at most " << maximum
                             << ", or name a launcher that uses several machines (--launcher, "
                                "ablate.launcher), e.g. 'srun --mpi=pmix -n {}'.");
}

std::vector<std::string> own_command(std::string launcher, std::int64_t processes, int threads,
                                     std::vector<std::string> const& arguments) {
  require_room(launcher, processes);
  VOXCYCLE_REQUIRE(
      !launcher.empty() || processes == 1,
      "no launcher is given for " << processes << " processes. Give one, e.g. 'mpirun -n {}'.");
  std::vector<std::string> command{"env"};
  auto const add = [&](std::vector<std::string> const& words) {
    command.insert(command.end(), words.begin(), words.end());
  };
  add(without_identity());
  command.push_back("OMP_NUM_THREADS=" + std::to_string(threads));
  if (!launcher.empty()) {
    auto const place = launcher.find("{}");
    VOXCYCLE_REQUIRE(place != std::string::npos,
                     "the launcher '" << launcher << "' has no {} for the number of processes.");
    add(launcher_words(launcher.replace(place, 2, std::to_string(processes))));
  }
  command.push_back(std::filesystem::read_symlink("/proc/self/exe").string());
  add(arguments);
  return command;
}

std::string last_lines(std::string const& path, std::size_t maximum) {
  std::ifstream in(path);
  std::deque<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    lines.push_back(line);
    if (lines.size() > maximum) lines.pop_front();
  }
  std::string text;
  for (auto const& line : lines) text += line + '\n';
  return text;
}

}  // namespace voxcycle
