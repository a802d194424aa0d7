// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/cli/error_words.hpp"

#include "voxcycle/core/error.hpp"

#include <exception>
#include <new>
#include <stdexcept>
#include <vector>

#include <c10/util/Exception.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace error_words_test {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

/// What people read of the error that `action` ends in.
template <class Action>
std::string words_after(Action const& action) {
  try {
    action();
  } catch (std::exception const& error) {
    return words_of(error);
  }
  return "no error";
}

TEST(ErrorWords, OurOwnAreComplete) {
  EXPECT_EQ(words_after([] { throw Error("a: is wrong. Correct it."); }),
            "a: is wrong. Correct it.");
}

TEST(ErrorWords, TheEndOfMemoryBringsAdvice) {
  auto const advises = [](char const* reason) {
    return AllOf(StartsWith("out of memory on this machine ("), HasSubstr(reason),
                 HasSubstr("a coarser or smaller field, a smaller batch"),
                 HasSubstr("train --dry-run"), EndsWith("."));
  };
  EXPECT_THAT(words_after([] { throw std::bad_alloc(); }), advises("std::bad_alloc"));
  EXPECT_THAT(words_after([] {
                std::vector<double> values;
                values.reserve(values.max_size() + 1);
              }),
              advises("vector"));
}

TEST(ErrorWords, TorchsComeWithoutItsStack) {
  EXPECT_THAT(
      words_after([] { TORCH_CHECK(false, "sizes differ"); }),
      AllOf(HasSubstr("sizes differ"), Not(HasSubstr("frame #")), Not(HasSubstr("nvidia-smi"))));
  EXPECT_THAT(words_after([] {
                TORCH_CHECK(false, "GET was unable to find an engine to execute this computation");
              }),
              HasSubstr("nvidia-smi"));
  EXPECT_THAT(words_after([] { TORCH_CHECK_WITH(OutOfMemoryError, false, "CUDA out of memory."); }),
              AllOf(HasSubstr("CUDA out of memory. Other"), HasSubstr("nvidia-smi"),
                    EndsWith("run.device = cpu.")));
}

}  // namespace error_words_test
}  // namespace voxcycle
