// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/comm/gradient_reducer.hpp"

#include "voxcycle/core/error.hpp"

#include <string>
#include <utility>

#include "comm/gradient_sums.hpp"
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace voxcycle {
namespace {

/// Large enough that a message's start costs little, small enough that the first leaves early.
constexpr std::int64_t kBucketBytes = std::int64_t{1} << 20;

}  // namespace

struct GradientReducer::Impl {
  Communicator const& comm;
  std::vector<at::Tensor> parameters;
  std::unique_ptr<GradientSums> sums;
  std::int64_t total_micro_batches = 1;
  std::unordered_map<void const*, std::size_t> slot_of{};
  std::vector<at::Tensor> totals{};  ///< per slot: already summed over all ranks
  GradientSums::Parts bucket{};      ///< closed, not on their way
  std::int64_t bucket_bytes = 0;
  GradientSums::Parts order{};              ///< of the newest sums
  std::int64_t early_bytes = 0, bytes = 0;  ///< of them: sent before sum_up(), and all

  std::size_t slot(at::Tensor const& parameter) const {
    auto const found = slot_of.find(parameter.unsafeGetTensorImpl());
    VOXCYCLE_REQUIRE(found != slot_of.end(), "gradient reducer: an unknown parameter.");
    return found->second;
  }

  void send() {
    if (bucket.empty()) return;
    sums->start(bucket);
    order.insert(order.end(), bucket.begin(), bucket.end());
    bytes += std::exchange(bucket_bytes, 0);
    bucket.clear();
  }
};

GradientReducer::GradientReducer(Communicator const& comm, std::vector<at::Tensor> parameters,
                                 GradientMode mode)
    : impl_(std::make_unique<Impl>(Impl{comm, parameters,
                                        mode == GradientMode::exact
                                            ? make_exact_gradient_sums(comm, parameters)
                                            : make_float_gradient_sums(comm, parameters)})) {
  for (std::size_t s = 0; s < parameters.size(); ++s) {
    VOXCYCLE_REQUIRE(parameters[s].is_non_overlapping_and_dense(),
                     "gradient reducer: parameter " << s << " is strided.");
    impl_->slot_of[parameters[s].unsafeGetTensorImpl()] = s;
  }
  begin(1);
}

GradientReducer::~GradientReducer() = default;

void GradientReducer::begin(std::int64_t total_micro_batches) {
  impl_->total_micro_batches = total_micro_batches;
  impl_->sums->begin(total_micro_batches);
  impl_->totals.assign(impl_->parameters.size(), {});
  impl_->bucket.clear();
  impl_->bucket_bytes = 0;
  impl_->order.clear();
  impl_->bytes = 0;
}

void GradientReducer::add_micro_batch(at::Tensor const& parameter, at::Tensor const& gradient) {
  at::NoGradGuard const no_grad;
  impl_->sums->add(impl_->slot(parameter), gradient);
}

void GradientReducer::set_total(at::Tensor const& parameter, at::Tensor const& gradient) {
  impl_->totals[impl_->slot(parameter)] = gradient.to(parameter.options());
}

void GradientReducer::close(at::Tensor const& parameter) {
  at::NoGradGuard const no_grad;
  auto& bucket = impl_->bucket;
  bool const other_type =
      !bucket.empty() && impl_->parameters[bucket.back()].scalar_type() != parameter.scalar_type();
  if (other_type) impl_->send();
  bucket.push_back(impl_->slot(parameter));
  impl_->bucket_bytes += static_cast<std::int64_t>(parameter.nbytes());
  // One rank sends nothing: for a GPU all sums are a few kernels then.
  if (impl_->comm.size() > 1 && impl_->bucket_bytes >= kBucketBytes) impl_->send();
}

void GradientReducer::sum_up() {
  at::NoGradGuard const no_grad;
  for (std::size_t s = 0; s < impl_->parameters.size(); ++s) {
    impl_->parameters[s].mutable_grad() = impl_->totals[s];
  }
  impl_->early_bytes = impl_->comm.size() > 1 ? impl_->bytes : 0;
  impl_->send();
  impl_->sums->finish();
  impl_->sums->begin(impl_->total_micro_batches);  // lets the micro-batches go
}

at::Tensor GradientReducer::finite() const {
  at::NoGradGuard const no_grad;
  return impl_->sums->finite().all().view({1});
}

void GradientReducer::require_finite() const {
  at::Tensor const finite = impl_->sums->finite();
  if (finite.is_meta() || finite.all().item<bool>()) return;
  auto const first = finite.logical_not().nonzero()[0].item<std::int64_t>();
  throw NotFiniteGradient("the gradient of parameter " +
                          std::to_string(impl_->order[static_cast<std::size_t>(first)]) +
                          " is not finite. Lower the rate or look at the samples of this step.");
}

double GradientReducer::early_share() const {
  return impl_->bytes > 0
             ? static_cast<double>(impl_->early_bytes) / static_cast<double>(impl_->bytes)
             : 0.0;
}

void GradientReducer::finish() {
  sum_up();
  require_finite();
}

}  // namespace voxcycle
