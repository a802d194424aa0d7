// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/network/script_module.hpp"

#include "voxcycle/core/error.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>

namespace voxcycle {
namespace script_module_test {

TEST(ScriptModule, ComputesWithItsAttributesAndParameters) {
  at::Tensor const weight = at::randn({3, 2, 2, 2, 2});
  auto conv = script_module({.name = "Conv",
                             .attributes = {{"stride", 2}, {"padding", 0}, {"transposed", false}},
                             .parameters = {{"weight", weight}}});
  at::Tensor const x = at::randn({1, 2, 4, 6, 8});
  at::Tensor const want = at::conv3d(x, weight, {}, 2);
  EXPECT_TRUE(at::equal(conv.forward({x}).toTensor(), want));
}

TEST(ScriptModule, RefusesAClassThatIsNotThere) {
  EXPECT_THROW(script_module({.name = "Nothing"}), Error);
}

}  // namespace script_module_test
}  // namespace voxcycle
