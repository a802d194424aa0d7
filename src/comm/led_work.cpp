// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/comm/led_work.hpp"

#include <algorithm>

#include <ATen/ATen.h>

namespace voxcycle {

void LedWork::lead(std::function<void()> const& work,
                   std::function<void(Numbers const&)> const& take_part) const {
  if (comm_ == nullptr) return work();
  // The last number says whether anything is announced.
  at::Tensor message = at::zeros({static_cast<std::int64_t>(count_) + 1}, at::kLong);
  std::string error;
  if (comm_->rank() == 0) {
    try {
      work();
    } catch (Error const& problem) {
      error = problem.what();
    }
    comm_->broadcast(message, 0);
  } else {
    for (;;) {
      comm_->broadcast(message, 0);
      auto const* const numbers = message.const_data_ptr<std::int64_t>();
      if (numbers[count_] == 0) break;
      take_part({numbers, numbers + count_});
    }
  }
  comm_->agree_on_error(error);
}

void LedWork::announce(Numbers const& numbers) const {
  if (comm_ == nullptr) return;
  at::Tensor message = at::ones({static_cast<std::int64_t>(count_) + 1}, at::kLong);
  std::copy(numbers.begin(), numbers.end(), message.mutable_data_ptr<std::int64_t>());
  comm_->broadcast(message, 0);
}

}  // namespace voxcycle
