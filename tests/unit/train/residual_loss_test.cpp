// SPDX-License-Identifier: BSD-3-Clause
#include "loss_fields.hpp"
#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace residual_loss_test {

using testing::LossFields;

constexpr double kRounding = 1e-12;  // float64

TEST(ResidualLoss, IsTheDenseResidualOverTheForcesOfLiftAndSource) {
  at::manual_seed(1);
  LossFields const f({Grid3{{3, 4, 5}, {1.0, 0.7, 1.9}},
                      parse_boundary("2, 1, flux, flux, flux, 0"),
                      {.kind = SourceKind::sampled}});
  auto const found = make_loss("residual", f.problem)->evaluate(f.in).values;
  for (std::int64_t k : {0, 1}) {
    at::Tensor const matrix = f.stiffness(k);
    at::Tensor const r = f.mask.flatten() * (matrix.mv(f.in.u[k].flatten()) - f.load(k));
    at::Tensor const forces = matrix.mv(f.lifted.flatten());
    double const expected =
        (r.dot(r) / (forces.dot(forces) + f.load(k).dot(f.load(k)))).item<double>();
    EXPECT_NEAR(found[k].item<double>(), expected, kRounding * expected);
  }
}

TEST(ResidualLoss, IsFiniteWhereTheLiftIsTheSolution) {
  LossFields f({Grid3::cube(4), {}});
  f.in.nu = at::ones_like(f.in.nu);
  auto const found = make_loss("residual", f.problem)->evaluate(f.in);
  EXPECT_TRUE(found.values.isfinite().all().item<bool>());
  EXPECT_TRUE(found.gradient.isfinite().all().item<bool>());
}

}  // namespace residual_loss_test
}  // namespace voxcycle
