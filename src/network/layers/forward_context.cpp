// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/network/forward_context.hpp"

#include <ATen/core/ivalue.h>

namespace voxcycle {
namespace {

struct KeptContext : torch::CustomClassHolder {
  explicit KeptContext(ForwardContext const& context_in) : context(context_in) {}
  ForwardContext context;
};

}  // namespace

c10::IValue as_value(ForwardContext const& context) {
  return c10::IValue::make_capsule(c10::make_intrusive<KeptContext>(context));
}

ForwardContext const& context_of(c10::IValue const& value) {
  return static_cast<KeptContext const&>(*value.toCapsule()).context;
}

}  // namespace voxcycle
