// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/optim/flat_parameters.hpp"

#include "voxcycle/core/error.hpp"

#include <map>

#include "optim/parameter_lists.hpp"
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace voxcycle {
namespace {

/// Calls body(parameter, group, place in the group, its part of `flat`) for all parameters.
template <class Body>
void each_part(std::vector<ParameterGroup> const& groups, at::Tensor const& flat,
               Body const& body) {
  at::NoGradGuard const no_grad;
  std::int64_t begin = 0;
  for (auto const& group : groups) {
    for (std::size_t k = 0; k < group.parameters.size(); ++k) {
      auto const& parameter = group.parameters[k];
      body(parameter, group, k, flat.narrow(0, begin, parameter.numel()));
      begin += parameter.numel();
    }
  }
}

}  // namespace

FlatParameters::FlatParameters(std::vector<ParameterGroup> groups) : groups_(std::move(groups)) {
  for (auto const& group : groups_) {
    for (auto const& parameter : group.parameters) size_ += parameter.numel();
  }
}

at::Tensor FlatParameters::values() const {
  at::Tensor flat = at::empty({size_}, at::kDouble);
  each_part(groups_, flat, [](auto const& p, auto const&, auto, at::Tensor const& part) {
    part.copy_(in_memory_order(p));
  });
  return flat;
}

void FlatParameters::set_values(at::Tensor const& values) const {
  each_part(groups_, values, [](auto const& p, auto const&, auto, at::Tensor const& part) {
    in_memory_order(p).copy_(part);
    part.copy_(in_memory_order(p));
  });
}

at::Tensor FlatParameters::gradient() const {
  at::Tensor flat = at::zeros({size_}, at::kDouble);
  each_part(groups_, flat, [](auto const& p, auto const&, auto, at::Tensor const& part) {
    if (p.grad().defined()) part.copy_(in_memory_order(gradient_of(p)));
  });
  return flat;
}

at::Tensor FlatParameters::rate_factors() const {
  at::Tensor flat = at::empty({size_}, at::kDouble);
  each_part(groups_, flat, [](auto const&, auto const& group, auto, at::Tensor const& part) {
    part.fill_(group.rate_factor);
  });
  return flat;
}

at::Tensor FlatParameters::flatten(NamedTensors const& named) const {
  std::map<std::string, at::Tensor> const by_name(named.begin(), named.end());
  at::Tensor flat = at::empty({size_}, at::kDouble);
  bool complete = true;
  each_part(groups_, flat, [&](auto const& p, auto const& group, auto k, at::Tensor const& part) {
    auto const found = by_name.find(group.names[k]);
    complete = complete && found != by_name.end();
    if (!complete) return;
    VOXCYCLE_REQUIRE(found->second.sizes() == p.sizes(),
                     group.names[k] << ": the values kept for it have another shape. Use the "
                                       "config they were written with.");
    part.copy_(in_memory_order(at::empty_like(p).copy_(found->second)));
  });
  return complete ? flat : at::Tensor();
}

}  // namespace voxcycle
