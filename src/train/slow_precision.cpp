// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/train/slow_precision.hpp"

#include "voxcycle/core/instruction_set.hpp"
#include "voxcycle/core/log.hpp"

#include <algorithm>

namespace voxcycle {

void warn_of_slow_precision(TrainOptions const& options, Communicator const& comm) {
  bool const searches = std::any_of(options.levels.begin(), options.levels.end(),
                                    [](auto const& plan) { return plan.optimizer == kLbfgs; });
  bool const single = options.dtype == at::kFloat || (searches && options.dtype != at::kDouble);
  bool const reproducible = options.reduction == GradientMode::exact;
  if (comm.rank() == 0 && options.device.is_cuda() && single && reproducible) {
    log_warning(
        "in float32 cuDNN's reproducible weight gradients take up to 30 times as long as others. "
        "Set train.precision = bf16 (L-BFGS takes float32 all the same), or "
        "train.reduction = fast.");
  }
  if (comm.rank() == 0 && options.device.is_cpu() && options.dtype == at::kHalf) {
    log_warning(
        "on CPUs float16 is float32 whose results are rounded: as in tests of what a GPU computes, "
        "and slower. Set train.precision = bf16 or f32.");
  }
  bool const slow = options.device.is_cpu() && options.dtype == at::kBFloat16 && !has_bfloat16();
  auto const all = comm.all_gather_text(slow ? "slow" : "");
  if (comm.rank() != 0 || std::count(all.begin(), all.end(), "slow") == 0) return;
  log_warning(
      "a processor here does not multiply bf16 numbers: convolutions may take 3 (with AVX-512) to "
      "40 times as long as in float32. Set train.precision = f32.");
}

}  // namespace voxcycle
