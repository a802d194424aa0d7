// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/comm/watchdog.hpp"

#include "voxcycle/core/exit_status.hpp"
#include "voxcycle/core/host.hpp"
#include "voxcycle/core/log.hpp"
#include "voxcycle/core/stop_signal.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/core/timer.hpp"
#include "voxcycle/core/whereabouts.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <ctime>
#include <mutex>
#include <thread>
#include <vector>

#include "comm/beats.hpp"
#include <mpi.h>

namespace voxcycle {
namespace {

constexpr int kWatchers = 2;  ///< ranks 0 and 1: one of them may stand still itself

/// Seconds of all of this process's threads.
double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Several times within the patience, at most each 5 seconds.
double interval_of(double patience) {
  return std::clamp(patience / 10.0, 0.02, 5.0);
}

/// Beats on their way to a watcher: one at a time, so that none pile up where it stands still.
class Outbox {
 public:
  Outbox(MPI_Comm comm, int to) : comm_(comm), to_(to) {}

  void send(Beat const& beat) {
    if (!is_free()) return;
    *sent_ = beat;
    MPI_Isend(sent_.get(), sizeof(Beat), MPI_BYTE, to_, 0, comm_, &request_);
  }
  bool is_free() {
    int done = 1;
    if (request_ != MPI_REQUEST_NULL) MPI_Test(&request_, &done, MPI_STATUS_IGNORE);
    return done != 0;
  }
  /// MPI keeps what it could not send in this time.
  void leave(Beat const& beat, double seconds) {
    Timer const timer;
    auto const wait = [&] {
      while (!is_free() && timer.seconds() < seconds) std::this_thread::yield();
    };
    wait();
    send(beat);
    wait();
    if (!is_free()) static_cast<void>(sent_.release());
  }

 private:
  MPI_Comm comm_;
  int to_;
  MPI_Request request_ = MPI_REQUEST_NULL;
  std::unique_ptr<Beat> sent_ = std::make_unique<Beat>();
};

/// What this process says of itself.
class Pulse {
 public:
  Pulse(int rank, double interval) : interval_(interval) { beat_.rank = rank; }

  Beat take() {
    // Time in which the whole process was suspended is no time in which it stood still.
    double const passed = std::min(timer_.seconds(), 3.0 * interval_);
    timer_.restart();
    auto const now = whereabouts();
    double const used = cpu_seconds() - cpu_;
    cpu_ += used;
    constexpr double works = 0.05;  // of one core
    beat_.idle = used > works * passed ? 0.0 : beat_.idle + passed;
    beat_.unchanged = now.changes != changes_ ? 0.0 : beat_.unchanged + passed;
    changes_ = now.changes;
    beat_.waits = now.waits;
    beat_.on_gpu = now.on_gpu;
    beat_.step = now.step;
    copy(now.part, beat_.part);
    copy(now.call, beat_.call);
    return beat_;
  }

 private:
  template <class Text>
  static void copy(char const* from, Text& to) {
    std::strncpy(to.data(), from, to.size() - 1);
  }

  double interval_;
  Beat beat_;
  Timer timer_;
  double cpu_ = cpu_seconds();
  std::uint64_t changes_ = 0;
};

class MpiWatchdog final : public Watchdog {
 public:
  MpiWatchdog(Communicator const& comm, double patience)
      : comm_(comm),
        patience_(patience),
        interval_(interval_of(patience)),
        hosts_(comm.all_gather_text(host_name())),
        pulse_(comm.rank(), interval_),
        table_(comm.size(), interval_) {
    MPI_Comm_dup(MPI_COMM_WORLD, &beats_);  // never freed: beats may still be on their way
    for (int watcher = 0; watcher < std::min(kWatchers, comm.size()); ++watcher) {
      if (watcher != comm.rank()) to_.emplace_back(beats_, watcher);
    }
    thread_ = std::thread([this] { watch(); });
  }
  ~MpiWatchdog() override {
    {
      std::lock_guard const lock(mutex_);
      ends_ = true;
    }
    wake_.notify_all();
    thread_.join();
    Beat last = pulse_.take();
    last.leaves = true;
    for (auto& box : to_) box.leave(last, 1.0);
  }
  MpiWatchdog(MpiWatchdog const&) = delete;
  MpiWatchdog& operator=(MpiWatchdog const&) = delete;

 private:
  void watch() {
    auto const interval = std::chrono::duration<double>(interval_);
    for (std::unique_lock lock(mutex_); !ends_; wake_.wait_for(lock, interval)) {
      Beat const own = pulse_.take();
      for (auto& box : to_) box.send(own);
      if (comm_.rank() >= kWatchers) continue;
      listen();
      table_.tick(timer_.seconds());
      table_.hear(own, timer_.seconds());
      judge();
    }
  }

  void listen() {
    int arrived = 1;
    while (MPI_Iprobe(MPI_ANY_SOURCE, 0, beats_, &arrived, MPI_STATUS_IGNORE) == MPI_SUCCESS &&
           arrived != 0) {
      Beat beat;
      MPI_Recv(&beat, sizeof beat, MPI_BYTE, MPI_ANY_SOURCE, 0, beats_, MPI_STATUS_IGNORE);
      table_.hear(beat, timer_.seconds());
    }
  }

  void judge() {
    double const now = timer_.seconds();
    // Rank 0 speaks first, if it can.
    double const patience = patience_ + comm_.rank() * 3.0 * interval_;
    auto const absent = table_.absences(now, patience);
    if (!absent.empty()) {
      log_error(
          absence_text(absent, hosts_) +
          format(". Ending the job, which would wait for ever (run.patience = %g seconds). Look "
                 "at that machine; the same command goes on from the last checkpoint.",
                 patience_));
      comm_.abort(kStoodStill);
    }
    if (!StopSignal::asked() || told_) return;
    auto const late = table_.absences(now, std::min(patience_, 3.0 * interval_));
    if (late.empty() || comm_.rank() != 0) return;
    told_ = true;
    log_warning(
        "asked to stop, but " + absence_text(late, hosts_) +
        format(". The job ends when that has lasted run.patience = %g seconds.", patience_));
  }

  Communicator const& comm_;
  double patience_, interval_;
  std::vector<std::string> hosts_;
  Timer timer_;
  Pulse pulse_;
  BeatTable table_;
  MPI_Comm beats_ = MPI_COMM_NULL;
  std::vector<Outbox> to_;
  bool told_ = false;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<Watchdog> make_watchdog(Communicator const& comm, double patience) {
  int initialised = 0, level = MPI_THREAD_SINGLE;
  MPI_Initialized(&initialised);
  if (comm.size() == 1 || patience == 0.0 || initialised == 0) return nullptr;
  MPI_Query_thread(&level);
  if (level < MPI_THREAD_MULTIPLE) return nullptr;
  return std::make_unique<MpiWatchdog>(comm, patience);
}

}  // namespace voxcycle
