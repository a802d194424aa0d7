// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/network/network_input.hpp"

#include "voxcycle/field/source.hpp"

#include <ATen/ATen.h>

namespace voxcycle {

at::Tensor network_input(at::Tensor const& nu, at::Tensor const& f) {
  return f.defined() ? at::cat({nu.log(), f.to(nu.scalar_type()).div(source_rms)}, 1) : nu.log();
}

InputFields fields_of(at::Tensor const& x, at::ScalarType dtype) {
  auto const channel = [&](int k) { return x.narrow(1, k, 1).to(dtype); };
  return {channel(0).exp().contiguous(),
          x.size(1) > 1 ? channel(1).mul(source_rms).contiguous() : at::Tensor()};
}

}  // namespace voxcycle
