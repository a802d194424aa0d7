// SPDX-License-Identifier: BSD-3-Clause
// All parameters in a few kernels: there are dozens of them, and most are so small that a GPU takes
// longer to start a kernel than to run it.
#include "voxcycle/core/error.hpp"

#include <algorithm>

#include "comm/fixed_point_device.hpp"
#include "comm/micro_batch_gradients.hpp"
#include <ATen/ATen.h>

namespace voxcycle {
namespace {

class MicroBatchGradientsOnGpu final : public MicroBatchGradients {
 public:
  explicit MicroBatchGradientsOnGpu(std::vector<at::Tensor> parameters)
      : MicroBatchGradients(std::move(parameters)), options_(this->parameters().front().options()) {
    for (auto const& parameter : this->parameters()) {
      VOXCYCLE_REQUIRE(
          parameter.scalar_type() == options_.dtype() && parameter.device() == options_.device(),
          "gradient sums: the parameters on a GPU must have one dtype and one GPU.");
      first_.push_back(row_size_);
      row_size_ += parameter.numel();
    }
  }

  void begin(std::int64_t micro_batches) override {
    rows_.reset();
    max_micro_batches_ = std::max<std::int64_t>(1, micro_batches);
    micro_batches_.assign(parameters().size(), 0);
  }

  void add(std::size_t parameter, at::Tensor const& gradient) override {
    std::int64_t const micro_batch = micro_batches_[parameter]++;
    if (!rows_.defined()) rows_ = at::empty({max_micro_batches_, row_size_}, options_);
    if (micro_batch == rows_.size(0)) rows_ = at::cat({rows_, at::empty_like(rows_)});
    auto const& like = parameters()[parameter];
    rows_.as_strided(like.sizes(), like.strides(), micro_batch * row_size_ + first_[parameter])
        .copy_(gradient);
  }

  std::vector<std::int64_t> largest_patterns() override {
    std::vector<std::int64_t> patterns(parameters().size(), -1);
    std::vector<Part> parts;
    for (std::size_t k = 0; k < parameters().size(); ++k) {
      if (micro_batches_[k] > 0) parts.push_back({k, 0});
    }
    if (parts.empty()) return patterns;
    at::Tensor const found =
        fixed_point::on_gpu::largest_patterns(rows_, segments(parts)).cpu();  // waits
    auto const* const pattern = found.const_data_ptr<std::int64_t>();
    for (std::size_t k = 0; k < parts.size(); ++k) patterns[parts[k].parameter] = pattern[k];
    return patterns;
  }

  at::Tensor sums(std::vector<Part> const& parts) override {
    // A rank that owns no micro-batch has no rows.
    at::Tensor const rows = rows_.defined() ? rows_ : at::empty({0, row_size_}, options_);
    return fixed_point::on_gpu::sums(rows, segments(parts));
  }

  std::vector<at::Tensor> gradients(at::Tensor const& sums,
                                    std::vector<Part> const& parts) override {
    at::Tensor const values =
        fixed_point::on_gpu::to_floating(sums, segments(parts), options_.dtype().toScalarType());
    std::vector<at::Tensor> all;
    std::int64_t first = 0;
    for (auto const& part : parts) {
      auto const& like = parameters()[part.parameter];
      all.push_back(values.as_strided(like.sizes(), like.strides(), first));
      first += like.numel();
    }
    return all;
  }

 private:
  /// Where the parts lie, on the GPU (fixed_point::Segments).
  fixed_point::SegmentTable segments(std::vector<Part> const& parts) const {
    at::Tensor table = at::empty({4, std::ssize(parts)}, at::kLong);
    auto rows = table.accessor<std::int64_t, 2>();
    std::int64_t end = 0;
    for (std::int64_t k = 0; k < std::ssize(parts); ++k) {
      auto const& part = parts[static_cast<std::size_t>(k)];
      end += parameters()[part.parameter].numel();
      rows[0][k] = end;
      rows[1][k] = first_[part.parameter];
      rows[2][k] = micro_batches_[part.parameter];
      rows[3][k] = part.exponent;
    }
    return {table.to(options_.device(), /*non_blocking=*/true), end};
  }

  at::TensorOptions options_;
  std::int64_t row_size_ = 0;
  std::vector<std::int64_t> first_;  ///< of each parameter in a row
  std::int64_t max_micro_batches_ = 1;
  std::vector<std::int64_t> micro_batches_;  ///< added of each parameter
  at::Tensor rows_;  ///< [micro-batches, row_size], from the first gradient on
};

}  // namespace

std::unique_ptr<MicroBatchGradients> make_micro_batch_gradients_on_gpu(
    std::vector<at::Tensor> const& parameters) {
  return std::make_unique<MicroBatchGradientsOnGpu>(parameters);
}

}  // namespace voxcycle
