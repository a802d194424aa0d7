// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/dataset/prefetch.hpp"

#include "voxcycle/core/error.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <numeric>
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

at::Tensor whole(std::vector<at::Tensor> const& micro_batches) {
  at::Tensor const& first = micro_batches.front();
  if (micro_batches.size() == 1) return first;
  auto sizes = first.sizes().vec();
  sizes.front() = 0;
  bool adjacent = true;
  for (auto const& micro_batch : micro_batches) {
    adjacent =
        adjacent && micro_batch.is_contiguous() && micro_batch.is_alias_of(first) &&
        micro_batch.storage_offset() == first.storage_offset() + c10::multiply_integers(sizes);
    sizes.front() += micro_batch.size(0);
  }
  if (adjacent) return first.as_strided(sizes, first.strides());
  bool const pinned = first.is_pinned();
  at::Tensor result = at::empty(sizes, first.options().pinned_memory(pinned));
  return at::cat_out(result, micro_batches);
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
  LocalBatch room_for(std::vector<MicroBatch> const& micro_batches) const;
  bool read_micro_batch(std::vector<SampleOrigin> const& origins, std::size_t k, LocalBatch& batch);
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

/// Room for the fields of some micro-batches, one after the other in memory, see whole().
LocalBatch Prefetcher::Impl::room_for(std::vector<MicroBatch> const& micro_batches) const {
  auto const& info = samples.info();
  std::vector<std::int64_t> sizes;
  for (auto const& micro_batch : micro_batches) sizes.push_back(micro_batch.size());
  std::int64_t const count = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
  auto const room = [&](at::IntArrayRef shape, at::ScalarType type) {
    return at::empty(shape, at::TensorOptions(type).pinned_memory(options.pinned))
        .split_with_sizes(sizes);
  };
  LocalBatch batch;
  if (count == 0) return batch;
  batch.nu = room(info.grid.voxel_shape(count), at::kFloat);
  if (info.has_source) batch.f = room(info.grid.voxel_shape(count), at::kFloat);
  if (options.references == ReadReference::yes)
    batch.u_ref = room(info.grid.node_shape(count), at::kDouble);
  return batch;
}

/// Fills micro-batch k of the batch. @return false when told to stop.
bool Prefetcher::Impl::read_micro_batch(std::vector<SampleOrigin> const& origins, std::size_t k,
                                        LocalBatch& batch) {
  auto* nu = batch.nu[k].mutable_data_ptr<float>();
  auto* f = batch.f.empty() ? nullptr : batch.f[k].mutable_data_ptr<float>();
  auto* u_ref = batch.u_ref.empty() ? nullptr : batch.u_ref[k].mutable_data_ptr<double>();
  for (SampleOrigin const& origin : origins) {
    if (stopping()) return false;
    ShardSample const sample = samples.read(origin, options.references);
    nu = std::copy(sample.nu.begin(), sample.nu.end(), nu);
    if (f != nullptr) f = std::copy(sample.f.begin(), sample.f.end(), f);
    if (u_ref != nullptr) u_ref = std::copy(sample.u_ref.begin(), sample.u_ref.end(), u_ref);
  }
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
  auto const micro_batches =
      micro_batches_of_rank(count, options.micro_batch_size, options.ranks, options.rank);
  LocalBatch batch = room_for(micro_batches);
  for (std::size_t k = 0; k < micro_batches.size(); ++k) {
    auto const& micro_batch = micro_batches[k];
    std::vector<SampleOrigin> origins;
    for (std::int64_t place = micro_batch.begin; place < micro_batch.end; ++place) {
      origins.push_back(samples.at(options.first_position + begin + place));
    }
    if (!read_micro_batch(origins, k, batch)) return std::nullopt;
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
