// SPDX-License-Identifier: BSD-3-Clause
// All parameters in a few kernels: there are dozens of them, and most are so small that a GPU takes
// longer to start a kernel than to run it.
#include "voxcycle/core/error.hpp"

#include <algorithm>
#include <map>
#include <utility>

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

  at::Tensor exponents(Parts const& parts) override {
    auto const options = options_.dtype(at::kLong);
    if (!rows_.defined()) return at::full({std::ssize(parts)}, min_exponent, options);
    at::Tensor const largest =
        magnitudes(fixed_point::on_gpu::largest_patterns(rows_, segments_of(parts)));
    at::Tensor const above = std::get<1>(at::frexp(largest)).to(at::kLong).clamp_min(min_exponent);
    return above.masked_fill(largest.eq(0.0), min_exponent)
        .masked_fill(largest.isfinite().logical_not(), not_finite);
  }

  at::Tensor sums(Parts const& parts, at::Tensor const& units) override {
    // A rank that owns no micro-batch has no rows.
    at::Tensor const rows = rows_.defined() ? rows_ : at::empty({0, row_size_}, options_);
    return fixed_point::on_gpu::sums(rows, in_units(parts, units));
  }

  std::vector<at::Tensor> gradients(at::Tensor const& sums, Parts const& parts,
                                    at::Tensor const& units) override {
    at::Tensor const values = fixed_point::on_gpu::to_floating(sums, in_units(parts, units),
                                                               options_.dtype().toScalarType());
    std::vector<at::Tensor> all;
    std::int64_t first = 0;
    for (auto const part : parts) {
      auto const& like = parameters()[part];
      all.push_back(values.as_strided(like.sizes(), like.strides(), first));
      first += like.numel();
    }
    return all;
  }

 private:
  /// Parts of the parameters and how many micro-batches each has.
  using Key = std::pair<Parts, std::vector<std::int64_t>>;

  /// Where the parts lie, on the GPU (fixed_point::Segments), without exponents. Kept for ever: the
  /// host brings them once, and what was recorded of a step goes on using them.
  fixed_point::SegmentTable const& segments_of(Parts const& parts) {
    std::vector<std::int64_t> counts;
    for (auto const part : parts) counts.push_back(micro_batches_[part]);
    auto& segments = segments_[{parts, counts}];
    if (segments.values.defined()) return segments;
    at::Tensor table = at::zeros({4, std::ssize(parts)}, at::kLong);
    auto rows = table.accessor<std::int64_t, 2>();
    std::int64_t end = 0;
    for (std::size_t k = 0; k < parts.size(); ++k) {
      auto const column = static_cast<std::int64_t>(k);
      end += parameters()[parts[k]].numel();
      rows[0][column] = end;
      rows[1][column] = first_[parts[k]];
      rows[2][column] = counts[k];
    }
    segments = {table.to(options_.device(), /*non_blocking=*/true), end};
    return segments;
  }

  fixed_point::SegmentTable in_units(Parts const& parts, at::Tensor const& units) {
    auto const& segments = segments_of(parts);
    segments.values.select(0, 3).copy_(units);
    return segments;
  }

  /// What the largest bit patterns are those of.
  at::Tensor magnitudes(at::Tensor const& patterns) const {
    return options_.dtype() == at::kDouble ? patterns.view(at::kDouble)
                                           : patterns.to(at::kInt).view(at::kFloat);
  }

  at::TensorOptions options_;
  std::int64_t row_size_ = 0;
  std::vector<std::int64_t> first_;  ///< of each parameter in a row
  std::int64_t max_micro_batches_ = 1;
  std::vector<std::int64_t> micro_batches_;  ///< added of each parameter
  std::map<Key, fixed_point::SegmentTable> segments_;
  at::Tensor rows_;  ///< [micro-batches, row_size], from the first gradient on
};

}  // namespace

std::unique_ptr<MicroBatchGradients> make_micro_batch_gradients_on_gpu(
    std::vector<at::Tensor> const& parameters) {
  return std::make_unique<MicroBatchGradientsOnGpu>(parameters);
}

}  // namespace voxcycle
