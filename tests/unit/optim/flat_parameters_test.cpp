// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/optim/flat_parameters.hpp"

#include "voxcycle/core/error.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace flat_parameters_test {

class FlatParametersTest : public ::testing::Test {
 protected:
  FlatParametersTest() { at::manual_seed(1); }

  at::Tensor conv_ = at::randn({2, 3, 2, 2, 2}).contiguous(at::MemoryFormat::ChannelsLast3d);
  at::Tensor bias_ = at::randn({5});
  FlatParameters flat_{{{{conv_}, {"conv"}, 0.1}, {{bias_}, {"bias"}, 1.0}}};
};

TEST_F(FlatParametersTest, ValuesComeBackRoundedWhereTheyWere) {
  at::Tensor const conv = conv_.clone();
  at::Tensor const x = flat_.values();
  EXPECT_EQ(x.numel(), flat_.size());
  EXPECT_EQ(flat_.size(), 53);
  x.mul_(1.0 + 1e-9);
  at::Tensor const wanted = x.clone();
  flat_.set_values(x);
  EXPECT_TRUE(at::equal(x, wanted.to(at::kFloat).to(at::kDouble)));
  EXPECT_TRUE(at::equal(flat_.values(), x));
  EXPECT_TRUE(at::allclose(conv_, conv));
}

TEST_F(FlatParametersTest, GradientsOfAnyLayoutMeetTheirVariables) {
  // A sum of squares: its gradient is 2 x, whatever the layout.
  conv_.mutable_grad() = (2 * conv_).contiguous();
  EXPECT_NE(conv_.grad().strides(), conv_.strides());
  at::Tensor const gradient = flat_.gradient();
  EXPECT_TRUE(at::equal(gradient.narrow(0, 0, 48), 2 * flat_.values().narrow(0, 0, 48)));
  EXPECT_EQ(gradient.narrow(0, 48, 5).abs().sum().item<double>(), 0.0) << "bias has none";
}

TEST_F(FlatParametersTest, NamedTensorsAndFactorsMeetTheirVariables) {
  auto const flat =
      flat_.flatten({{"bias", bias_}, {"other", conv_}, {"conv", conv_.contiguous()}});
  EXPECT_TRUE(at::equal(flat, flat_.values()));
  EXPECT_FALSE(flat_.flatten({{"bias", bias_}}).defined());
  EXPECT_THROW(flat_.flatten({{"conv", bias_}, {"bias", bias_}}), Error);
  EXPECT_EQ(flat_.rate_factors()[0].item<double>(), 0.1);
  EXPECT_EQ(flat_.rate_factors()[52].item<double>(), 1.0);
}

}  // namespace flat_parameters_test
}  // namespace voxcycle
