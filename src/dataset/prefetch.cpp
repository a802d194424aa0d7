// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/dataset/prefetch.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/timer.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include <ATen/ATen.h>

namespace voxcycle {

/// The thread and the queue between it and next(). Members below `mutex` are guarded by it.
struct Prefetcher::Impl {
  Impl(Mixture mixture, PrefetchOptions const& chosen)
      : samples(std::move(mixture)),
        options(chosen),
        units(units_of_rank(chosen.batch, chosen.unit_size, chosen.ranks, chosen.rank)),
        step(chosen.first_step),
        thread([this] { read_ahead(); }) {}

  ~Impl() {
    {
      std::scoped_lock const lock(mutex);
      stop = true;
    }
    changed.notify_all();
    thread.join();
  }

  void read_ahead();
  std::optional<LocalBatch> read_batch(std::int64_t number);
  std::optional<at::Tensor> read_unit(std::vector<SampleOrigin> const& origins);
  bool stopping();
  LocalBatch next();

  Mixture samples;
  PrefetchOptions const options;
  std::vector<Unit> const units;
  std::int64_t step;  ///< of the next call of next()
  double waited = 0.0;

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<LocalBatch> ready;
  std::exception_ptr failure;
  bool stop = false;

  std::thread thread;  ///< last: it uses all of the above
};

bool Prefetcher::Impl::stopping() {
  std::scoped_lock const lock(mutex);
  return stop;
}

/// @return nothing when told to stop.
std::optional<at::Tensor> Prefetcher::Impl::read_unit(std::vector<SampleOrigin> const& origins) {
  auto const& n = samples.info().grid.voxels;
  at::Tensor nu = at::empty({std::ssize(origins), 1, n[0], n[1], n[2]}, at::kFloat);
  auto* out = nu.mutable_data_ptr<float>();
  for (SampleOrigin const& origin : origins) {
    if (stopping()) return std::nullopt;
    std::vector<float> const values = samples.read(origin).nu;
    out = std::copy(values.begin(), values.end(), out);
  }
  return nu;
}

std::optional<LocalBatch> Prefetcher::Impl::read_batch(std::int64_t number) {
  LocalBatch batch;
  for (Unit const& unit : units) {
    std::vector<SampleOrigin> origins;
    for (std::int64_t place = unit.begin; place < unit.end; ++place) {
      origins.push_back(samples.at(number * options.batch + place));
    }
    auto nu = read_unit(origins);
    if (!nu) return std::nullopt;
    batch.nu.push_back(std::move(*nu));
    batch.origin.push_back(std::move(origins));
  }
  return batch;
}

void Prefetcher::Impl::read_ahead() {
  try {
    for (std::int64_t number = options.first_step; number < options.steps; ++number) {
      auto batch = read_batch(number);
      if (!batch) return;
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return stop || std::ssize(ready) < options.depth; });
      if (stop) return;
      ready.push_back(std::move(*batch));
      changed.notify_all();
    }
  } catch (...) {
    std::scoped_lock const lock(mutex);
    failure = std::current_exception();
    changed.notify_all();
  }
}

LocalBatch Prefetcher::Impl::next() {
  VOXCYCLE_REQUIRE(step < options.steps, "the stage has only " << options.steps << " steps.");
  Timer const timer;
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return !ready.empty() || failure; });
  waited += timer.seconds();
  if (ready.empty()) std::rethrow_exception(failure);
  LocalBatch batch = std::move(ready.front());
  ready.pop_front();
  ++step;
  changed.notify_all();
  return batch;
}

Prefetcher::Prefetcher(Mixture samples, PrefetchOptions const& options) {
  VOXCYCLE_REQUIRE(options.batch > 0 && options.depth > 0 && options.first_step >= 0,
                   "cannot read ahead batches of " << options.batch << " from step "
                                                   << options.first_step << ", " << options.depth
                                                   << " at a time.");
  impl_ = std::make_unique<Impl>(std::move(samples), options);
}

Prefetcher::~Prefetcher() = default;

LocalBatch Prefetcher::next() {
  return impl_->next();
}

double Prefetcher::seconds_waited() const {
  return impl_->waited;
}

}  // namespace voxcycle
