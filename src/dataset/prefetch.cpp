// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/dataset/prefetch.hpp"

#include "voxcycle/core/error.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <numeric>
#include <thread>
#include <type_traits>
#include <utility>

#include <ATen/ATen.h>

namespace voxcycle {

int batches_ahead(Grid3 const& grid, PrefetchOptions const& options) {
  constexpr std::int64_t large = std::int64_t{256} << 20;
  std::int64_t const samples = (options.batch + options.ranks - 1) / options.ranks;
  std::int64_t const voxels = on_planes(grid, options.planes).voxel_count();
  bool const is_large = samples * voxels * std::int64_t{sizeof(float)} >= large;
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

namespace {

/// A batch that the threads fill, a sample at a time.
struct BatchUnderWay {
  LocalBatch batch;
  std::int64_t first = 0;    ///< position of its first sample
  std::int64_t samples = 0;  ///< of this rank
  std::int64_t begun = 0;    ///< of these, in their order
  std::int64_t done = 0;
  std::exception_ptr failure{};

  bool ready() const { return failure || done == samples; }
};

}  // namespace

/// The threads and the queue between them and next(). Members below `mutex` are guarded by it.
struct Prefetcher::Impl {
  Impl(Mixture mixture, PrefetchOptions const& chosen);
  ~Impl();

  void work();
  std::shared_ptr<BatchUnderWay> begin_batch(std::int64_t number) const;
  LocalBatch room_for(std::vector<MicroBatch> const& micro_batches) const;
  void read_sample(BatchUnderWay& into, std::int64_t number);
  std::shared_ptr<BatchUnderWay> unread() const;
  bool may_begin() const { return !beginning && std::ssize(ahead) < depth && number < last; }
  LocalBatch next();

  Mixture samples;
  PrefetchOptions const options;
  int const depth;          ///< most batches read ahead
  std::int64_t const last;  ///< number after the last batch
  std::int64_t step;        ///< of the next call of next()

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::shared_ptr<BatchUnderWay>> ahead;  ///< in their order
  std::int64_t number;                               ///< of the batch after these
  bool beginning = false;                            ///< a thread makes room for that one
  bool stop = false;                                 ///< also after a failure

  std::vector<std::thread> threads;  ///< last: they use all of the above
};

Prefetcher::Impl::Impl(Mixture mixture, PrefetchOptions const& chosen)
    : samples(std::move(mixture)),
      options(chosen),
      depth(batches_ahead(samples.info().grid, chosen)),
      last(chosen.steps),
      step(chosen.first_step),
      number(chosen.first_step) {
  for (int k = 0; k < options.workers; ++k) threads.emplace_back([this] { work(); });
}

Prefetcher::Impl::~Impl() {
  {
    std::scoped_lock const lock(mutex);
    stop = true;
  }
  changed.notify_all();
  for (auto& thread : threads) thread.join();
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
  Grid3 const grid = on_planes(info.grid, options.planes);
  batch.nu = room(grid.voxel_shape(count), at::kFloat);
  if (info.has_source) batch.f = room(grid.voxel_shape(count), at::kFloat);
  if (options.references == ReadReference::yes)
    batch.u_ref = room(grid.node_shape(count), at::kDouble);
  return batch;
}

std::shared_ptr<BatchUnderWay> Prefetcher::Impl::begin_batch(std::int64_t batch) const {
  std::int64_t begin = batch * options.batch;
  std::int64_t count = options.batch;
  if (options.period > 0) {
    begin = batch % micro_batch_count(options.period, options.batch) * options.batch;
    count = std::min(options.batch, options.period - begin);
  }
  auto const micro_batches =
      micro_batches_of_rank(count, options.micro_batch_size, options.ranks, options.rank);
  auto const made = std::make_shared<BatchUnderWay>();
  if (micro_batches.empty()) return made;
  made->batch = room_for(micro_batches);
  made->first = options.first_position + begin + micro_batches.front().begin;
  made->samples = micro_batches.back().end - micro_batches.front().begin;
  for (auto const& part : micro_batches) {
    made->batch.origin.emplace_back(static_cast<std::size_t>(part.size()));
  }
  return made;
}

/// Puts a sample of the batch where its fields go.
void Prefetcher::Impl::read_sample(BatchUnderWay& into, std::int64_t sample) {
  auto const k = static_cast<std::size_t>(sample / options.micro_batch_size);
  auto const place = sample % options.micro_batch_size;
  auto const origin = samples.at(into.first + sample);
  auto const read = samples.read(origin, options.references, options.planes);
  auto const put = [&](auto const& values, std::vector<at::Tensor>& field) {
    using Value = typename std::decay_t<decltype(values)>::value_type;
    if (field.empty()) return;
    std::copy(values.begin(), values.end(),
              field[k].mutable_data_ptr<Value>() + place * std::ssize(values));
  };
  put(read.nu, into.batch.nu);
  put(read.f, into.batch.f);
  put(read.u_ref, into.batch.u_ref);
  into.batch.origin[k][static_cast<std::size_t>(place)] = origin;
}

/// The first batch with a sample that no thread has begun; null if there is none.
std::shared_ptr<BatchUnderWay> Prefetcher::Impl::unread() const {
  auto const found = std::find_if(ahead.begin(), ahead.end(),
                                  [](auto const& batch) { return batch->begun < batch->samples; });
  return found == ahead.end() ? nullptr : *found;
}

/// What each thread does. Samples are begun in their order: where one fails, all of the batches
/// before are read or under way.
void Prefetcher::Impl::work() {
  std::unique_lock lock(mutex);
  auto const fail = [&](BatchUnderWay& batch) {
    if (!batch.failure) batch.failure = std::current_exception();
    stop = true;
  };
  for (;;) {
    changed.wait(lock, [&] { return stop || unread() || may_begin(); });
    if (stop) return;
    if (auto const batch = unread()) {
      std::int64_t const sample = batch->begun++;
      lock.unlock();
      try {
        read_sample(*batch, sample);
        lock.lock();
        ++batch->done;
      } catch (...) {
        if (!lock.owns_lock()) lock.lock();
        fail(*batch);
      }
    } else {
      beginning = true;
      std::int64_t const own = number++;
      lock.unlock();
      auto made = std::make_shared<BatchUnderWay>();
      try {
        made = begin_batch(own);
        lock.lock();
      } catch (...) {
        lock.lock();
        fail(*made);
      }
      ahead.push_back(made);
      beginning = false;
    }
    changed.notify_all();
  }
}

LocalBatch Prefetcher::Impl::next() {
  VOXCYCLE_REQUIRE(step < options.steps, "the stage has only " << options.steps << " steps.");
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return !ahead.empty() && ahead.front()->ready(); });
  if (ahead.front()->failure) std::rethrow_exception(ahead.front()->failure);
  LocalBatch batch = std::move(ahead.front()->batch);
  ahead.pop_front();
  ++step;
  changed.notify_all();
  return batch;
}

Prefetcher::Prefetcher(Mixture samples, PrefetchOptions const& options) {
  VOXCYCLE_REQUIRE(options.batch > 0 && options.depth > 0 && options.first_step >= 0 &&
                       options.first_position >= 0 && options.period >= 0 && options.workers > 0,
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
