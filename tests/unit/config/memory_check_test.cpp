// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/config/memory_check.hpp"

#include "voxcycle/bench/step_trial.hpp"
#include "voxcycle/comm/communicator.hpp"
#include "voxcycle/config/options.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/train/loss.hpp"

#include <regex>
#include <vector>

#include "config/memory_advice.hpp"
#include "config_text.hpp"
#include "counting_allocator.hpp"
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace memory_check_test {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::ThrowsMessage;

constexpr std::int64_t kMebibyte = std::int64_t{1} << 20;

/// What the plan leaves out: sums of normalisations, small copies, alignment. Relative to the peak.
constexpr double kSmallThings = 0.04;

struct Case {
  std::string name;
  std::string config;
  std::int64_t grid = 32;
  std::int64_t batch = 4;
};

std::string const kNetwork =
    "[cycle]\nlevels = 8, 16, 32\n[network]\nchannels = 4:16, 8:16, 16:12, 32:8\n";

class PlannedStep : public ::testing::TestWithParam<Case> {
 protected:
  static CountingAllocator& tensors() {
    static CountingAllocator allocator;
    return allocator;
  }
};

/// The tensors of real steps, from the allocator.
TEST_P(PlannedStep, HoldsWhatTheAllocatorCounts) {
  auto const& c = GetParam();
  auto const options = train_options(config_of(c.config));
  Grid3 const grid = Grid3::cube(c.grid);
  LevelPlan level{.grid = grid, .batch = c.batch, .optimizer = options.levels.back().optimizer};
  level.recompute = options.levels.back().recompute;
  auto const comm = make_self_communicator();
  std::int64_t const planned =
      predict_memory(options, level, {.threads = at::get_num_threads()}).bytes;

  std::int64_t const before = tensors().live;
  StepTrial trial(options, grid,
                  {.batch = c.batch,
                   .optimizer = options.levels.back().optimizer,
                   .reduction = options.reduction,
                   .recompute = level.recompute},
                  *comm);
  tensors().restart_peak();
  trial.step();  // the first time, losses compute the scales of their samples, too
  trial.step();
  std::int64_t const counted = tensors().peak - before;
  double const ratio = static_cast<double>(planned) / static_cast<double>(counted);
  EXPECT_GE(ratio, 1.0 - kSmallThings) << planned << " planned, " << counted << " counted";
  // The plan knows oneDNN's workspaces on processors with AMX; without, some are smaller.
  double const too_much = __builtin_cpu_supports("amx-bf16") ? kSmallThings : 0.15;
  EXPECT_LE(ratio, 1.0 + too_much) << planned << " planned, " << counted << " counted";
}

INSTANTIATE_TEST_SUITE_P(
    , PlannedStep,
    ::testing::Values(Case{"default", kNetwork}, Case{"one_sample", kNetwork, 32, 1},
                      Case{"uneven_units", kNetwork, 16, 5},
                      Case{"averaged_without_block",
                           "[network]\nchannels = 4:16, 8:16, 16:12\ncoarse = averaged\n"},
                      Case{"subspace", "[network]\nsubspace = 5\n"},
                      Case{"subspace_of_one_sample",
                           "[network]\nchannels = 4:8, 8:8, 16:8, 32:4\nsubspace = 8\n"
                           "[train]\nprecision = f32\n",
                           32, 1},
                      Case{"directions_of_a_thin_network",
                           "[network]\nchannels = 4:4, 8:4, 16:4, 32:1\nsubspace = 16\n"
                           "[train]\nprecision = f32\n"},
                      Case{"units_of_one", kNetwork + "[train]\nmicro_batch_size = 1\n"},
                      Case{"recompute", kNetwork + "[train]\nrecompute = yes\n"},
                      Case{"recompute_unet",
                           "[network]\nname = unet\nbase_channels = 8\n[train]\nrecompute = yes\n"},
                      Case{"float32", kNetwork + "[train]\nprecision = f32\n"},
                      Case{"float64", kNetwork + "[train]\nprecision = f64\n"},
                      Case{"adam_fast", kNetwork + "[train]\noptimizer = adam\nreduction = fast\n"},
                      Case{"group_norm",
                           "[network]\nnorm = group\n[train]\nmicro_batch_size = 4\n"},
                      Case{"no_smoothing", "[network]\nsmoothing = 0\n"},
                      Case{"constant_source", kNetwork + "[problem]\nsource = 1\n"},
                      Case{"sampled_source", kNetwork + "[problem]\nsource = sampled\n"},
                      Case{"all_faces", kNetwork + "[problem]\nboundary = 1, 0, 2, 0, 0, 0\n"},
                      Case{"unet", "[network]\nname = unet\nbase_channels = 8\n"},
                      Case{"published", "[network]\nname = published\nbase_channels = 8\n"},
                      Case{"deepened",
                           "[network]\nname = published\ndepth = 2\nbase_channels = 8\n"
                           "adaptation = deepen\n[train]\nprecision = f32\n"},
                      Case{"recompute_deepened",
                           "[network]\nname = published\ndepth = 2\nbase_channels = 8\n"
                           "adaptation = deepen\n[train]\nrecompute = yes\n"}),
    [](auto const& tested) { return tested.param.name; });

/// Where the finest grid has no block, the loss has the peak.
std::vector<Case> cases_of_losses() {
  std::vector<Case> cases;
  for (auto const& loss : loss_names()) {
    cases.push_back(
        {loss,
         "[network]\nchannels = 4:16, 8:16\n[train]\nmicro_batch_size = 1\nloss = " + loss + '\n',
         64});
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Losses, PlannedStep, ::testing::ValuesIn(cases_of_losses()),
                         [](auto const& tested) { return tested.param.name; });

/// A training at one grid, and what is said of it within a limit.
struct Refused {
  std::string config;
  std::int64_t grid;
  std::int64_t batch = 1;
  int ranks = 1;

  MemoryPlan plan(std::int64_t limit) const {
    auto const options = train_options(config_of(config));
    return require_memory(options, {.grid = Grid3::cube(grid), .batch = batch, .optimizer = "muon"},
                          {.ranks = ranks}, limit, "stage 3");
  }
};

std::string const kFine =
    "[network]\nchannels = 4:8, 8:8, 16:8, 32:8, 64:8, 128:8, 256:8, 512:4, 1024:2\n";

TEST(RequireMemory, PassesWhatFits) {
  Refused const small{kFine, 64, 4};
  auto const planned = small.plan(4096 * kMebibyte);
  EXPECT_GT(planned.bytes, 0);
  EXPECT_EQ(small.plan(planned.bytes).bytes, planned.bytes);
  EXPECT_EQ(small.plan(0).bytes, planned.bytes);  // unknown limit
  EXPECT_THROW(small.plan(planned.bytes - 1), Error);
}

TEST(RequireMemory, NamesTheStageItsNeedTheLimitAndThreeChanges) {
  Refused const fine{kFine, 256, 4};
  EXPECT_THAT([&] { fine.plan(8192 * kMebibyte); },
              ThrowsMessage<Error>(AllOf(
                  HasSubstr("stage 3 needs"), HasSubstr("8.0 GiB are available"),
                  HasSubstr("run.memory_limit"),
                  ContainsRegex("would fit: [^,]+GiB\\), or [^,]+GiB\\), or [^,]+GiB\\)\\.$"))));
}

/// A piece of advice, "key = value and key = value (memory)", followed.
void follow(std::string const& advice, Refused base, std::int64_t limit) {
  Config config = config_of(base.config);
  std::regex const change("([a-z_.]+) = ([a-z0-9]+)");
  for (std::sregex_iterator at(advice.begin(), advice.end(), change), end; at != end; ++at) {
    std::string const key = (*at)[1];
    std::string const value = (*at)[2];
    if (key == "cycle.batch") {
      base.batch = std::stoll(value);
    } else {
      config.set(key, value);
    }
  }
  LevelPlan level{.grid = Grid3::cube(base.grid), .batch = base.batch, .optimizer = "muon"};
  level.recompute = config.text("train.recompute") == "yes";
  auto const plan = predict_memory(train_options(config), level, {});
  EXPECT_LE(plan.bytes, limit) << advice;
  EXPECT_THAT(advice, HasSubstr("(" + format_bytes(static_cast<double>(plan.bytes)) + ")"));
}

TEST(MemoryAdvice, FitsOnceItIsFollowed) {
  std::int64_t const limit = 1536 * kMebibyte;
  Refused const base{kFine + "[train]\nprecision = f32\n", 128, 4};
  ASSERT_THROW(base.plan(limit), Error);
  auto const options = train_options(config_of(base.config));
  std::string const text = memory_advice(
      options, {.grid = Grid3::cube(128), .batch = 4, .optimizer = "muon"}, {}, limit);
  std::regex const piece("[^,]+\\)");
  int followed = 0;
  for (std::sregex_iterator at(text.begin(), text.end(), piece), end; at != end; ++at) {
    std::string const advice = at->str();
    // Narrower levels and more processes have no key to set.
    if (advice.find("in network.channels") != std::string::npos) continue;
    if (advice.find("processes") != std::string::npos) continue;
    follow(advice, base, limit);
    ++followed;
  }
  EXPECT_GE(followed, 2) << text;
}

TEST(MemoryAdvice, NamesProcessesThatShareTheSpaceOfASample) {
  Refused const lone{kFine + "[train]\nmicro_batch_size = 1\nrecompute = yes\n", 256, 1};
  auto const options = train_options(config_of(lone.config));
  LevelPlan const level{
      .grid = Grid3::cube(256), .batch = 1, .optimizer = "muon", .recompute = true};
  std::int64_t const whole = predict_memory(options, level, {}).bytes;
  auto shared = options;
  shared.slabs.count = 2;
  std::int64_t const half = predict_memory(shared, level, {.ranks = 2}).bytes;
  EXPECT_LT(half, whole);
  EXPECT_THAT(memory_advice(options, level, {}, half),
              HasSubstr("run.spatial_processes = 2 with 2 processes on more machines (" +
                        format_bytes(static_cast<double>(half)) + ")"));
  EXPECT_THROW(predict_memory(shared, level, {.ranks = 3}), Error);
  auto other = options;
  other.network.name = "unet";
  EXPECT_THAT(memory_advice(other, level, {}, whole / 8), Not(HasSubstr("run.spatial_processes")));
}

TEST(MemoryAdvice, SaysWhenNothingHelps) {
  Refused const hopeless{kFine, 512, 1};
  EXPECT_THAT([&] { hopeless.plan(16 * kMebibyte); },
              ThrowsMessage<Error>(HasSubstr("coarser finest level")));
}

TEST(RequireMemory, TensorsBeyond32BitsAreRefusedWithTheLevel) {
  constexpr std::int64_t enough = std::int64_t{1} << 60;
  // 2 x 8 x 512^3 = 2^31 values: one too many.
  EXPECT_THAT(
      [&] {
        (Refused{"[network]\nchannels = 256:8, 512:8\n", 512, 2}.plan(enough));
      },
      ThrowsMessage<Error>(AllOf(HasSubstr("2 samples with 8 channels on 512^3"),
                                 HasSubstr("2147483648 values"),
                                 HasSubstr("Lower train.micro_batch_size to 1."))));
  EXPECT_NO_THROW((Refused{kFine, 512, 2}.plan(enough)));
  EXPECT_THAT(
      [&] {
        (Refused{"[network]\nchannels = 256:8, 512:16\n", 512, 2}.plan(enough));
      },
      ThrowsMessage<Error>(HasSubstr("Lower network.channels of level 512 to 15 with "
                                     "train.micro_batch_size = 1.")));
  EXPECT_THAT(
      [&] {
        (Refused{kFine, 1024, 1}.plan(enough));
      },
      ThrowsMessage<Error>(HasSubstr("Lower network.channels of level 1024 to 1.")));
  EXPECT_THAT(
      [&] {
        (Refused{"[network]\nchannels = 1024:1, 2048:1\n", 2048, 1}.plan(enough));
      },
      ThrowsMessage<Error>(AllOf(HasSubstr("2048^3"), HasSubstr("coarser finest level"))));
}

}  // namespace memory_check_test
}  // namespace voxcycle
