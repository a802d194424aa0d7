// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/dataset/prefetch.hpp"

#include "voxcycle/core/error.hpp"

#include <chrono>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "shards_on_disk.hpp"
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace prefetch_test {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr std::int64_t kSamples = 10;
constexpr std::uint64_t kSeed = 4;
constexpr std::int64_t kStage = 1;

Sampler const kSampler(kSeed, kStage, kSamples);

Mixture samples_of(std::string const& directory) {
  std::vector<std::unique_ptr<SampleSource>> sets;
  sets.push_back(stored_samples(directory));
  return Mixture(std::move(sets), {1.0}, {.seed = kSeed, .stage = kStage});
}

/// The field that shards_on_disk gave sample `index`.
at::Tensor expected_nu(std::int64_t index) {
  return at::arange(24, at::kFloat).view({1, 2, 3, 4}) + 100.0F * static_cast<float>(index + 1);
}

TEST(Prefetcher, TheRanksTogetherReadTheWholeBatch) {
  std::string const directory = shards_on_disk("ranks", kSamples);
  for (std::int64_t batch : {7, 8}) {
    for (int ranks : {1, 2, 3, 7}) {
      constexpr std::int64_t kSteps = 4;
      std::vector<std::vector<std::int64_t>> read(kSteps);
      std::vector<std::size_t> micro_batches(kSteps, 0);
      for (int rank = 0; rank < ranks; ++rank) {
        PrefetchOptions options;
        options.batch = batch;
        options.micro_batch_size = 2;
        options.steps = kSteps;
        options.ranks = ranks;
        options.rank = rank;
        Prefetcher prefetcher(samples_of(directory), options);
        for (std::size_t step = 0; step < kSteps; ++step) {
          LocalBatch const part = prefetcher.next();
          ASSERT_EQ(part.nu.size(), part.origin.size());
          micro_batches[step] += part.nu.size();
          for (std::size_t micro_batch = 0; micro_batch < part.nu.size(); ++micro_batch) {
            auto const count = static_cast<std::int64_t>(part.origin[micro_batch].size());
            ASSERT_EQ(part.nu[micro_batch].sizes(), (at::IntArrayRef{count, 1, 2, 3, 4}));
            ASSERT_EQ(part.nu[micro_batch].scalar_type(), at::kFloat);
            for (std::int64_t k = 0; k < count; ++k) {
              std::int64_t const index =
                  part.origin[micro_batch][static_cast<std::size_t>(k)].index;
              EXPECT_TRUE(at::equal(part.nu[micro_batch][k], expected_nu(index))) << index;
              read[step].push_back(index);
            }
          }
        }
      }
      for (std::size_t step = 0; step < kSteps; ++step) {
        std::vector<std::int64_t> whole;  // ranks own contiguous micro-batches: already in order
        for (std::int64_t place = 0; place < batch; ++place) {
          whole.push_back(kSampler(static_cast<std::int64_t>(step) * batch + place));
        }
        EXPECT_EQ(read[step], whole) << ranks << " ranks, step " << step;
        EXPECT_EQ(micro_batches[step], 4U);
      }
    }
  }
}

TEST(Prefetcher, ReadsReferencesIfAskedAndSourcesIfThere) {
  PrefetchOptions options;
  options.batch = 3;
  for (bool source : {false, true}) {
    std::string const directory = shards_on_disk("fields", kSamples, true, source);
    for (auto references : {ReadReference::no, ReadReference::yes}) {
      options.references = references;
      LocalBatch const batch = Prefetcher(samples_of(directory), options).next();
      ASSERT_EQ(batch.nu.size(), 2U);
      ASSERT_EQ(batch.f.size(), source ? 2U : 0U);
      ASSERT_EQ(batch.u_ref.size(), references == ReadReference::yes ? 2U : 0U);
      for (std::size_t micro_batch = 0; micro_batch < batch.nu.size(); ++micro_batch) {
        std::vector<double> indices;
        for (auto const& origin : batch.origin[micro_batch]) {
          indices.push_back(static_cast<double>(origin.index));
        }
        auto const index = at::tensor(indices, at::kDouble).view({-1, 1});
        if (source) {
          ASSERT_EQ(batch.f[micro_batch].sizes(), batch.nu[micro_batch].sizes());
          EXPECT_TRUE(at::equal(batch.f[micro_batch].flatten(1),
                                (index - at::arange(24, at::kDouble)).to(at::kFloat)));
        }
        if (references == ReadReference::yes) {
          ASSERT_EQ(batch.u_ref[micro_batch].sizes(), (at::IntArrayRef{index.size(0), 1, 3, 4, 5}));
          EXPECT_TRUE(at::equal(batch.u_ref[micro_batch].flatten(1),
                                -(index + 1) - at::arange(60, at::kDouble) / 100.0));
        }
      }
    }
  }
}

TEST(Prefetcher, ReadsSomePlanesOfEachSample) {
  PrefetchOptions options;
  options.references = ReadReference::yes;
  std::string const directory = shards_on_disk("planes", kSamples, true, true);
  LocalBatch const whole = Prefetcher(samples_of(directory), options).next();
  options.planes = {1, 1};
  LocalBatch const planes = Prefetcher(samples_of(directory), options).next();
  for (std::size_t k = 0; k < whole.nu.size(); ++k) {
    EXPECT_TRUE(at::equal(planes.nu[k], whole.nu[k].narrow(2, 1, 1)));
    EXPECT_TRUE(at::equal(planes.f[k], whole.f[k].narrow(2, 1, 1)));
    EXPECT_TRUE(at::equal(planes.u_ref[k], whole.u_ref[k].narrow(2, 1, 2)));
    EXPECT_EQ(planes.origin[k], whole.origin[k]);
  }
}

TEST(Prefetcher, RefusesToReadReferencesThatAreNotThere) {
  PrefetchOptions options;
  options.references = ReadReference::yes;
  Mixture samples = samples_of(shards_on_disk("none", kSamples));
  EXPECT_THAT([&] { Prefetcher(std::move(samples), options); },
              ThrowsMessage<Error>(HasSubstr("train shards of grid 2x3x4 hold no reference")));
}

TEST(Prefetcher, AResumedStageGoesOnWhereItStopped) {
  std::string const directory = shards_on_disk("resumed", kSamples);
  PrefetchOptions options;
  options.batch = 4;
  options.steps = 6;
  Prefetcher whole(samples_of(directory), options);
  for (int step = 0; step < 4; ++step) whole.next();
  options.first_step = 4;
  Prefetcher resumed(samples_of(directory), options);
  for (int step = 4; step < 6; ++step) {
    LocalBatch const expected = whole.next();
    LocalBatch const batch = resumed.next();
    EXPECT_EQ(batch.origin, expected.origin);
    for (std::size_t micro_batch = 0; micro_batch < batch.nu.size(); ++micro_batch) {
      EXPECT_TRUE(at::equal(batch.nu[micro_batch], expected.nu[micro_batch]));
    }
  }
  EXPECT_THAT([&] { resumed.next(); }, ThrowsMessage<Error>(HasSubstr("only 6 steps")));
  options.first_step = 6;
  EXPECT_THROW(Prefetcher(samples_of(directory), options).next(), Error);
}

TEST(Prefetcher, LosesNoStepWhenItReadsOneAhead) {
  std::string const directory = shards_on_disk("depth", kSamples);
  PrefetchOptions options;
  options.batch = 2;
  options.steps = 1000;
  options.depth = 1;
  Prefetcher prefetcher(samples_of(directory), options);
  for (int step = 0; step < 1000; ++step) {
    EXPECT_EQ(prefetcher.next().origin[0][1].index, kSampler(2 * step + 1));
  }
}

TEST(Prefetcher, StopsOnARankWithoutSamples) {
  // Its batches are empty: nothing but the wish to stop can end the thread before the last step.
  PrefetchOptions options;
  options.batch = 2;
  options.steps = std::numeric_limits<std::int64_t>::max();
  options.ranks = 3;
  auto const directory = shards_on_disk("no_units", kSamples);
  int without = 0;
  for (options.rank = 0; options.rank < options.ranks; ++options.rank) {
    Prefetcher prefetcher(samples_of(directory), options);
    without += prefetcher.next().nu.empty();
  }
  EXPECT_EQ(without, 2);
}

TEST(Prefetcher, AFailureOfReadingComesOutOfNext) {
  std::string const directory = shards_on_disk("failure", kSamples);
  Mixture shards = samples_of(directory);
  // Damage one sample (its nu begins with 100 (index + 1)) after the set was opened and checked.
  std::int64_t const bad = kSampler(5);
  float const values[] = {100.0F * static_cast<float>(bad + 1),
                          100.0F * static_cast<float>(bad + 1) + 1};
  std::string const mark(reinterpret_cast<char const*>(values), sizeof values);
  std::string const path = directory + "/" + shard_name(bad < kSamples / 2 ? 0 : 1, 2);
  std::ifstream in(path, std::ios::binary);
  std::string const bytes{std::istreambuf_iterator<char>(in), {}};
  auto const place = bytes.find(mark);
  ASSERT_NE(place, std::string::npos);
  std::fstream(path, std::ios::binary | std::ios::in | std::ios::out)
      .seekp(static_cast<std::streamoff>(place))
      .put(bytes[place] == 1 ? 2 : 1);

  PrefetchOptions options;
  options.batch = 2;
  options.steps = 5;
  Prefetcher prefetcher(std::move(shards), options);
  // Long enough for the thread to fail before the first call: what is in the queue comes first.
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_NO_THROW(prefetcher.next());
  EXPECT_NO_THROW(prefetcher.next()) << "batches read before the failure are good";
  for (int again = 0; again < 2; ++again) {
    EXPECT_THAT([&] { prefetcher.next(); }, ThrowsMessage<Error>(HasSubstr("checksum")));
  }
}

/// Samples of nu = 1 + index, read by as many threads as like to; each takes a while, the even ones
/// longer. Number `bad` is no sample.
class SlowSamples final : public SampleSource {
 public:
  SlowSamples(std::int64_t bad, std::set<std::thread::id>& readers) : bad_(bad), readers_(readers) {
    info_.grid = Grid3::cube(2);
    info_.samples = 64;
  }
  ShardInfo const& info() const override { return info_; }
  ShardSample read(std::int64_t index, ReadReference, Planes const&) override {
    {
      std::lock_guard const lock(mutex_);
      readers_.insert(std::this_thread::get_id());
    }
    std::this_thread::sleep_for(std::chrono::microseconds(index % 2 == 0 ? 800 : 100));
    VOXCYCLE_REQUIRE(index != bad_, "sample " << index << " is bad.");
    ShardSample sample;
    sample.nu.assign(8, static_cast<float>(1 + index));
    return sample;
  }

 private:
  std::int64_t bad_;
  std::mutex mutex_;
  std::set<std::thread::id>& readers_;
  ShardInfo info_;
};

Mixture slow_samples(std::int64_t bad, std::set<std::thread::id>& readers) {
  std::vector<std::unique_ptr<SampleSource>> sets;
  sets.push_back(std::make_unique<SlowSamples>(bad, readers));
  return Mixture(std::move(sets), {1.0}, {.seed = kSeed, .stage = kStage});
}

TEST(Prefetcher, HasTheSameBatchesForAnyNumberOfWorkers) {
  Sampler const sampler(kSeed, kStage, 64);
  for (int workers : {1, 3}) {
    PrefetchOptions options;
    options.batch = 5;
    options.steps = 20;
    options.workers = workers;
    std::set<std::thread::id> readers;
    {
      Prefetcher prefetcher(slow_samples(-1, readers), options);
      for (std::int64_t step = 0; step < options.steps; ++step) {
        LocalBatch const batch = prefetcher.next();
        ASSERT_EQ(batch.nu.size(), 3U);
        auto const nu = at::cat(batch.nu);
        for (std::int64_t k = 0; k < options.batch; ++k) {
          auto const index = sampler(step * options.batch + k);
          EXPECT_EQ(
              batch.origin[static_cast<std::size_t>(k / 2)][static_cast<std::size_t>(k % 2)].index,
              index);
          EXPECT_TRUE(nu[k].eq(static_cast<double>(1 + index)).all().item<bool>()) << index;
        }
      }
    }
    EXPECT_EQ(readers.size(), static_cast<std::size_t>(workers));
  }
}

TEST(Prefetcher, AFailureOfOneOfSeveralWorkersComesAfterTheBatchesBefore) {
  Sampler const sampler(kSeed, kStage, 64);
  std::set<std::thread::id> readers;
  PrefetchOptions options;
  options.batch = 4;
  options.steps = 10;
  options.depth = 4;
  options.workers = 3;
  Prefetcher prefetcher(slow_samples(sampler(9), readers), options);
  EXPECT_NO_THROW(prefetcher.next());
  EXPECT_NO_THROW(prefetcher.next());
  for (int again = 0; again < 2; ++again) {
    EXPECT_THAT([&] { prefetcher.next(); }, ThrowsMessage<Error>(HasSubstr("is bad")));
  }
}

TEST(Prefetcher, StopsAtOnceInTheMiddleOfAStage) {
  std::string const directory = shards_on_disk("stop", kSamples);
  PrefetchOptions options;
  options.workers = 2;
  options.batch = 8;
  options.steps = std::int64_t{1} << 40;
  for (int taken : {0, 1, 3}) {
    Prefetcher prefetcher(samples_of(directory), options);
    for (int step = 0; step < taken; ++step) prefetcher.next();
    if (taken == 1) std::this_thread::sleep_for(std::chrono::milliseconds(50));  // queue is full
  }  // hangs here if a thread does not stop

  // Its part of one batch alone would take minutes to read: it must stop within it, too.
  options.batch = std::int64_t{1} << 40;
  options.micro_batch_size = std::int64_t{1} << 20;
  options.ranks = 1 << 20;
  Prefetcher const prefetcher(samples_of(directory), options);
}

TEST(Prefetcher, RefusesImpossibleOptions) {
  std::string const directory = shards_on_disk("options", kSamples);
  auto const make = [&](auto change) {
    PrefetchOptions options;
    change(options);
    Prefetcher const prefetcher(samples_of(directory), options);
  };
  EXPECT_THROW(make([](auto& o) { o.batch = 0; }), Error);
  EXPECT_THROW(make([](auto& o) { o.micro_batch_size = 0; }), Error);
  EXPECT_THROW(make([](auto& o) { o.depth = 0; }), Error);
  EXPECT_THROW(make([](auto& o) { o.first_step = -1; }), Error);
  EXPECT_THROW(make([](auto& o) { o.rank = 1; }), Error);
  EXPECT_THROW(make([](auto& o) { o.workers = 0; }), Error);
}

}  // namespace prefetch_test
}  // namespace voxcycle
