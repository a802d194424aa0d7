// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/train/loss_scale.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/log.hpp"
#include "voxcycle/core/text.hpp"

#include <ATen/ATen.h>

namespace voxcycle {

void LossScale::settle(bool is_finite) {
  if (is_finite && ++good_steps_ < options_.patience) return;
  VOXCYCLE_REQUIRE(is_finite || value_ > 1.0,
                   "a gradient exceeds float16 without a loss scale, too (no step can be made). "
                   "Lower the rate, or set train.precision = bf16 or f32.");
  good_steps_ = 0;
  value_ *= is_finite ? 2.0 : 0.5;
  if (!is_finite) ++skipped_;
  log_info(format("loss scale %g: ", value_) +
           (is_finite ? format("no gradient exceeded float16 in %ld steps",
                               static_cast<long>(options_.patience))
                      : "a gradient exceeded float16, and its step was skipped"));
}

at::Tensor LossScale::state() const {
  return at::tensor({value_, static_cast<double>(good_steps_)}, at::kDouble);
}

void LossScale::restore(at::Tensor const& state) {
  value_ = state[0].item<double>();
  good_steps_ = state[1].item<std::int64_t>();
}

}  // namespace voxcycle
