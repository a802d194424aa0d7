// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/dataset/prefetch.hpp"

#include "voxcycle/core/error.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include <ATen/ATen.h>

namespace voxcycle {
int batches_ahead(Grid3 const& grid, PrefetchOptions const& options) {
  constexpr std::int64_t large = std::int64_t{256} << 20;
  std::int64_t const samples = (options.batch + options.ranks - 1) / options.ranks;
  bool const is_large = samples * grid.voxel_count() * std::int64_t{sizeof(float)} >= large;
  return is_large ? 1 : options.depth;
}

/// The thread and the queue between it and next(). Members below `mutex` are guarded by it.
struct Prefetcher::Impl {
  Impl(Mixture mixture, PrefetchOptions const& chosen)
      : samples(std::move(mixture)),
        options(chosen),
        depth(batches_ahead(samples.info().grid, chosen)),
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
  bool read_micro_batch(std::vector<SampleOrigin> const& origins, LocalBatch& batch);
  bool stopping();
  LocalBatch next();

  Mixture samples;
  PrefetchOptions const options;
  int const depth;    ///< most batches read ahead
  std::int64_t step;  ///< of the next call of next()

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

/// Appends a micro-batch to the batch. @return false when told to stop.
bool Prefetcher::Impl::read_micro_batch(std::vector<SampleOrigin> const& origins,
                                        LocalBatch& batch) {
  auto const& info = samples.info();
  Grid3 const& grid = info.grid;
  std::int64_t const count = std::ssize(origins);
  auto const of_type = [&](at::ScalarType type) {
    return at::TensorOptions(type).pinned_memory(options.pinned);
  };
  at::Tensor nu = at::empty(grid.voxel_shape(count), of_type(at::kFloat));
  at::Tensor f = at::empty(info.has_source ? nu.sizes() : at::IntArrayRef{0}, of_type(at::kFloat));
  at::Tensor u_ref = at::empty({0}, at::kDouble);
  if (options.references == ReadReference::yes) {
    u_ref = at::empty(grid.node_shape(count), of_type(at::kDouble));
  }
  auto* nu_out = nu.mutable_data_ptr<float>();
  auto* f_out = f.mutable_data_ptr<float>();
  auto* u_ref_out = u_ref.mutable_data_ptr<double>();
  for (SampleOrigin const& origin : origins) {
    if (stopping()) return false;
    ShardSample const sample = samples.read(origin, options.references);
    nu_out = std::copy(sample.nu.begin(), sample.nu.end(), nu_out);
    f_out = std::copy(sample.f.begin(), sample.f.end(), f_out);
    u_ref_out = std::copy(sample.u_ref.begin(), sample.u_ref.end(), u_ref_out);
  }
  batch.nu.push_back(std::move(nu));
  if (info.has_source) batch.f.push_back(std::move(f));
  if (options.references == ReadReference::yes) batch.u_ref.push_back(std::move(u_ref));
  batch.origin.push_back(origins);
  return true;
}

/// @return nothing when told to stop.
std::optional<LocalBatch> Prefetcher::Impl::read_batch(std::int64_t number) {
  std::int64_t begin = number * options.batch;
  std::int64_t count = options.batch;
  if (options.period > 0) {
    begin = number % micro_batch_count(options.period, options.batch) * options.batch;
    count = std::min(options.batch, options.period - begin);
  }
  LocalBatch batch;
  for (MicroBatch const& micro_batch :
       micro_batches_of_rank(count, options.micro_batch_size, options.ranks, options.rank)) {
    std::vector<SampleOrigin> origins;
    for (std::int64_t place = micro_batch.begin; place < micro_batch.end; ++place) {
      origins.push_back(samples.at(options.first_position + begin + place));
    }
    if (!read_micro_batch(origins, batch)) return std::nullopt;
  }
  return batch;
}

void Prefetcher::Impl::read_ahead() {
  try {
    for (std::int64_t number = options.first_step; number < options.steps; ++number) {
      {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return stop || std::ssize(ready) < depth; });
        if (stop) return;
      }
      auto batch = read_batch(number);
      if (!batch) return;
      std::scoped_lock const lock(mutex);
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
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return !ready.empty() || failure; });
  if (ready.empty()) std::rethrow_exception(failure);
  LocalBatch batch = std::move(ready.front());
  ready.pop_front();
  ++step;
  changed.notify_all();
  return batch;
}

Prefetcher::Prefetcher(Mixture samples, PrefetchOptions const& options) {
  VOXCYCLE_REQUIRE(options.batch > 0 && options.depth > 0 && options.first_step >= 0 &&
                       options.first_position >= 0 && options.period >= 0,
                   "cannot read ahead batches of " << options.batch << " from step "
                                                   << options.first_step << ", " << options.depth
                                                   << " at a time.");
  VOXCYCLE_REQUIRE(options.references == ReadReference::no || samples.info().has_reference,
                   "the " << samples.info().split << " shards of grid "
                          << samples.info().grid.name()
                          << " hold no reference solutions. Generate them with references.");
  // Refuses impossible micro-batches here rather than in the thread that reads.
  micro_batches_of_rank(options.batch, options.micro_batch_size, options.ranks, options.rank);
  impl_ = std::make_unique<Impl>(std::move(samples), options);
}

Prefetcher::~Prefetcher() = default;

LocalBatch Prefetcher::next() {
  return impl_->next();
}

}  // namespace voxcycle
