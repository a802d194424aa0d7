// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/error.hpp"

#include <list>

#include "network/layers/norm_device.hpp"
#include "network/layers/norm_launch.hpp"
#include <ATen/ATen.h>

namespace voxcycle::norm_loops::on_gpu {
namespace {

using norm_rows::Bf16;
using norm_rows::F16;

/// Calls body(element tag, compute tag) for the dtype of x.
template <class Body>
void dispatch(at::Tensor const& x, Body const& body) {
  switch (x.scalar_type()) {
    case at::kBFloat16:
      return body(Bf16{}, float{});
    case at::kHalf:
      return body(F16{}, float{});
    case at::kFloat:
      return body(float{}, float{});
    case at::kDouble:
      return body(double{}, double{});
    default:
      throw Error(std::string("normalisation: no kernel for ") + at::toString(x.scalar_type()) +
                  '.');
  }
}

/// A launch on x; keeps converted coefficients until it is under way.
template <class T, class Compute>
struct Work {
  explicit Work(at::Tensor const& x_in) : x(x_in) {
    VOXCYCLE_REQUIRE(x.is_contiguous(at::MemoryFormat::ChannelsLast3d),
                     "normalisation: channels-last tensors are needed.");
    job.samples = x.size(0);
    job.channels = x.size(1);
    job.rows = x.size(2) * x.size(3) * x.size(4);
    job.x = static_cast<T const*>(x.const_data_ptr());
  }

  norm_blocks::Coefficient<Compute> coefficient(at::Tensor const& values) {
    VOXCYCLE_REQUIRE(values.device() == x.device(), "normalisation: coefficients on "
                                                        << values.device() << ", x on "
                                                        << x.device() << ". Copy them there.");
    kept.push_back(values.to(c10::CppTypeToScalarType<Compute>::value).contiguous());
    return {kept.back().const_data_ptr<Compute>(), values.size(0) == 1 ? 0 : values.size(1)};
  }

  void require_like_x(char const* name, at::Tensor const& other) const {
    VOXCYCLE_REQUIRE(
        other.sizes() == x.sizes() && other.scalar_type() == x.scalar_type() &&
            other.device() == x.device() && other.is_contiguous(at::MemoryFormat::ChannelsLast3d),
        "normalisation: " << name << " must have shape, dtype, device and layout of x.");
  }

  /// y = leaky(scale x + shift)
  void affine(at::Tensor const& scale, at::Tensor const& shift, double leak) {
    job.a = coefficient(scale);
    job.b = coefficient(shift);
    job.leak = static_cast<Compute>(leak);
  }

  void gradients(at::Tensor const& dy) {
    require_like_x("dy", dy);
    job.dy = static_cast<T const*>(dy.const_data_ptr());
  }

  void output(at::Tensor const& out) {
    require_like_x("y", out);
    job.out = static_cast<T*>(out.mutable_data_ptr());
  }

  /// @return [samples, 2C] for sums, with room for those of chunks.
  at::Tensor sums() {
    auto const wide = x.options().dtype(at::kDouble);
    kept.push_back(at::empty({job.samples, 2 * job.channels, job.tiles().chunks}, wide));
    job.partial = kept.back().template mutable_data_ptr<double>();
    return at::empty({job.samples, 2 * job.channels}, wide);
  }

  DeviceStream queue() const { return current_queue(x.device().index()); }

  at::Tensor const& x;
  norm_blocks::Job<T, Compute> job{};
  std::list<at::Tensor> kept;
};

}  // namespace

at::Tensor moments(at::Tensor const& x) {
  at::Tensor result;
  dispatch(x, [&]<class T, class Compute>(T, Compute) {
    Work<T, Compute> work(x);
    result = work.sums();
    norm_blocks::Launch<T, Compute>::moments(work.queue(), work.job,
                                             result.mutable_data_ptr<double>());
  });
  return result;
}

void forward(at::Tensor const& x, at::Tensor const& scale, at::Tensor const& shift, double leak,
             at::Tensor const& y) {
  dispatch(x, [&]<class T, class Compute>(T, Compute) {
    Work<T, Compute> work(x);
    work.affine(scale, shift, leak);
    work.output(y);
    norm_blocks::Launch<T, Compute>::forward(work.queue(), work.job);
  });
}

at::Tensor backward_moments(at::Tensor const& dy, at::Tensor const& x, at::Tensor const& scale,
                            at::Tensor const& shift, at::Tensor const& mean, double leak) {
  at::Tensor result;
  dispatch(x, [&]<class T, class Compute>(T, Compute) {
    Work<T, Compute> work(x);
    work.gradients(dy);
    work.affine(scale, shift, leak);
    work.job.mean = work.coefficient(mean);
    result = work.sums();
    norm_blocks::Launch<T, Compute>::backward_moments(work.queue(), work.job,
                                                      result.mutable_data_ptr<double>());
  });
  return result;
}

at::Tensor backward(at::Tensor const& dy, at::Tensor const& x, at::Tensor const& scale,
                    at::Tensor const& shift, at::Tensor const& linear, at::Tensor const& constant,
                    double leak) {
  at::Tensor dx;
  dispatch(x, [&]<class T, class Compute>(T, Compute) {
    Work<T, Compute> work(x);
    work.gradients(dy);
    work.affine(scale, shift, leak);
    work.job.p = work.coefficient(linear);
    work.job.q = work.coefficient(constant);
    dx = at::empty_like(x, at::MemoryFormat::ChannelsLast3d);
    work.output(dx);
    norm_blocks::Launch<T, Compute>::backward(work.queue(), work.job);
  });
  return dx;
}

}  // namespace voxcycle::norm_loops::on_gpu
