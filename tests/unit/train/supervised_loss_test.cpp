// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/poisson/errors.hpp"

#include "loss_fields.hpp"
#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace supervised_loss_test {

using testing::LossFields;

constexpr double kRounding = 1e-12;  // float64

TEST(SupervisedLoss, IsTheSquaredRelativeL2Error) {
  at::manual_seed(1);
  LossFields const f({Grid3{{3, 4, 5}, {1.0, 0.7, 1.9}}, {}});
  auto const found = make_loss("supervised", f.problem)->evaluate(f.in).values;
  auto const expected = field_errors(f.in.u, f.in.u_ref, f.in.nu, f.grid).rel_l2.square();
  EXPECT_TRUE(at::allclose(found, expected, kRounding, 0.0));
}

}  // namespace supervised_loss_test
}  // namespace voxcycle
