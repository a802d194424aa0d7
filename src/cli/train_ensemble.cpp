// SPDX-License-Identifier: BSD-3-Clause
#include "cli/train_ensemble.hpp"

#include "voxcycle/config/memory_check.hpp"
#include "voxcycle/config/options.hpp"
#include "voxcycle/core/atomic_file.hpp"
#include "voxcycle/core/directory_lock.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/log.hpp"
#include "voxcycle/core/memory.hpp"
#include "voxcycle/core/printable.hpp"
#include "voxcycle/core/stop_signal.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/train/run_directory.hpp"
#include "voxcycle/train/slow_precision.hpp"

#include <cstdio>
#include <filesystem>
#include <memory>
#include <utility>

#include "cli/in_member.hpp"
#include "cli/train_run.hpp"

namespace voxcycle {
namespace {

namespace fs = std::filesystem;

/// A group of the processes, and the members that it trains: every `count`-th one from its own
/// number on.
class Group {
 public:
  /// **Collective**.
  Group(Invocation const& call, DeviceChoice& place)
      : count_(static_cast<int>(call.config.integer("ensemble.at_once", 1))) {
    int const processes = call.comm.size();
    VOXCYCLE_REQUIRE(count_ <= processes,
                     "ensemble.at_once = " << count_ << " needs as many processes or more, not "
                                           << processes
                                           << ". Start them with mpirun or srun, or lower it.");
    if (count_ > 1) {
      number_ = static_cast<int>(std::int64_t{call.comm.rank()} * count_ / processes);
      part_ = place.comm().split(number_);
      log_set_group_rank(part_->rank());
    }
    comm_ = part_ ? part_.get() : &place.comm();
  }

  Communicator const& comm() const { return *comm_; }

  std::vector<PlannedRun const*> of(std::vector<PlannedRun> const& members) const {
    std::vector<PlannedRun const*> own;
    for (auto const& member : members) {
      if ((member.number - 1) % count_ == number_) own.push_back(&member);
    }
    return own;
  }

 private:
  int count_;
  int number_ = 0;
  std::unique_ptr<Communicator> part_;
  Communicator const* comm_ = nullptr;
};

struct Member {
  PlannedRun const& run;
  Training training;
};

/// With what a process may hold beside those of other groups on its machine.
Config limited(Config config, std::int64_t bytes) {
  config.set("run.memory_limit", shortest_text(static_cast<double>(bytes) / kGib));
  return config;
}

/// What else can be told before the first step; on one rank.
void require_shards_and_run(Member const& member) {
  auto const& [config, options, log, memory] = member.training;
  if (resumes(options)) require_same_run(options, readable_header(options.directory));
  if (!holds_finished_run(options)) {
    require_training_shards(dataset_options(config), grids_of(options));
  }
}

std::vector<Member> look_at_members(Invocation const& call, std::vector<PlannedRun> const& members,
                                    DeviceChoice const& place, Group const& group) {
  auto const& comm = group.comm();
  auto const bytes = memory_frame(call.config, call.comm, place.memory()).limit;
  std::vector<Member> all;
  for (auto const* const run : group.of(members)) {
    in_member(*run, [&] {
      Member member{*run, training_of(run->config, call, place, comm)};
      require_sound(member.training, limited(member.training.config, bytes), place, comm);
      comm.together([&] {
        if (comm.rank() == 0) require_shards_and_run(member);
      });
      all.push_back(std::move(member));
    });
  }
  call.comm.barrier();  // all groups have looked at theirs
  return all;
}

/// @return on rank 0: the directory is this ensemble's alone
std::unique_ptr<DirectoryLock> prepare_directory(Invocation const& call,
                                                 std::vector<PlannedRun> const& members) {
  std::unique_ptr<DirectoryLock> lock;
  if (call.comm.rank() == 0) {
    auto const& directory = call.config.text("run.directory");
    VOXCYCLE_REQUIRE(!fs::exists(checkpoint_path(directory)),
                     directory << " holds a run, and no ensemble. Choose another run.directory.");
    lock = std::make_unique<DirectoryLock>(directory, "run.directory");
    write_file_atomically(directory + "/config.cfg", call.config.dump());
    fs::remove(directory + "/DONE");
    for (auto const& member : members) {
      if (!call.has("fresh") || !fs::exists(member.directory)) continue;
      DirectoryLock const of_member(member.directory, "run.directory");
      forget_run(member.directory);
    }
  }
  call.comm.barrier();
  return lock;
}

/// One after the other. @return how they ended
TrainEnd train_in_turn(std::vector<Member> const& members, DeviceChoice const& place,
                       Communicator const& comm, std::size_t count, StopSignal const& stop) {
  TrainEnd end{.finished = true, .gained = false};
  for (auto const& member : members) {
    end.finished = !comm.any(stop.requested());
    if (!end.finished) break;
    in_member(member.run, [&] {
      log_info(member.run.label + format(" of %zu, in ", count) + member.run.directory);
      auto const summary = carry_out(member.training, place, comm);
      end.gained = end.gained || summary.gained;
      end.finished = summary.finished;
    });
    if (!end.finished) break;
  }
  return end;
}

void dry_runs(Invocation const& call, std::vector<PlannedRun const*> const& members,
              DeviceChoice const& place, Communicator const& comm) {
  auto const bytes = memory_frame(call.config, call.comm, place.memory()).limit;
  for (auto const* const run : members) {
    in_member(*run, [&] {
      auto const training = training_of(run->config, call, place, comm);
      auto const text = dry_run(training, limited(training.config, bytes), place, comm);
      if (comm.rank() == 0) print("%s\n%s\n", run->label.c_str(), text.c_str());
    });
  }
}

}  // namespace

TrainEnd train_ensemble(Invocation const& call, std::vector<PlannedRun> const& members,
                        DeviceChoice& place) {
  Group const group(call, place);
  if (call.has("dry-run")) {
    dry_runs(call, group.of(members), place, group.comm());
    return {.finished = true, .gained = false};
  }
  auto const own = look_at_members(call, members, place, group);
  warn_of_slow_precision(own.front().training.options, call.comm);
  auto const lock = prepare_directory(call, members);
  StopSignal const stop;  // from the first step to the last one of all groups
  auto end = train_in_turn(own, place, group.comm(), members.size(), stop);
  end.finished = !call.comm.any(!end.finished);
  end.gained = call.comm.any(end.gained);
  if (end.finished && call.comm.rank() == 0) {
    write_file_atomically(call.config.text("run.directory") + "/DONE",
                          resources_text(own.front().training.options, call.comm) + "\n");
  }
  return end;
}

}  // namespace voxcycle
