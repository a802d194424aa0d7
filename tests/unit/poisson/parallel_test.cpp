// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/poisson/parallel.hpp"

#include <array>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace parallel_test {

class Parallel : public ::testing::Test {
 protected:
  ~Parallel() override { at::set_num_threads(threads_); }

 private:
  int threads_ = at::get_num_threads();
};

TEST_F(Parallel, CoversEveryIndexOnce) {
  for (int threads : {1, 2, 3}) {
    at::set_num_threads(threads);
    for (auto [count, work] : std::vector<std::array<std::int64_t, 2>>{
             {0, 1}, {1, 1 << 20}, {2, 1 << 20}, {7, 1 << 20}, {1000, 1}, {20000, 1}}) {
      std::vector<int> visits(count);
      parallel_for(count, work, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          ++visits[i];
        }
      });
      EXPECT_EQ(visits, std::vector<int>(count, 1)) << threads << " threads";
    }
  }
}

// at::parallel_for, instantiated in our code, would use one.
TEST_F(Parallel, UsesSeveralThreads) {
  at::set_num_threads(2);
  std::mutex mutex;
  std::set<std::thread::id> ids;
  parallel_for(2, 1 << 20, [&](std::int64_t, std::int64_t) {
    std::lock_guard const lock(mutex);
    ids.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(ids.size(), 2u);
}

TEST_F(Parallel, SumsHaveTheSameBitsForAnyNumberOfThreads) {
  at::manual_seed(1);
  at::Tensor const a = at::randn({100'003}, at::kDouble), b = at::randn({100'003}, at::kDouble);
  auto dot = [&] {
    return ordered_dot(a.const_data_ptr<double>(), b.const_data_ptr<double>(), a.numel());
  };
  auto sum = [&] { return ordered_sum(a.const_data_ptr<double>(), a.numel()); };
  at::set_num_threads(1);
  double const dot_alone = dot(), sum_alone = sum();
  at::set_num_threads(3);
  EXPECT_EQ(dot(), dot_alone);
  EXPECT_EQ(sum(), sum_alone);
  double const rounding = 1e-10;  // 1e5 terms near 1, of either sign
  EXPECT_NEAR(dot_alone, a.dot(b).item<double>(), rounding);
  EXPECT_NEAR(sum_alone, a.sum().item<double>(), rounding);
}

}  // namespace parallel_test
}  // namespace voxcycle
