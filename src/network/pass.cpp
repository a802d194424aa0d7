// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/network/pass.hpp"

#include <ATen/core/ivalue.h>

namespace voxcycle {
namespace {

struct KeptPass : torch::CustomClassHolder {
  explicit KeptPass(Pass const& pass_in) : pass(pass_in) {}
  Pass pass;
};

}  // namespace

c10::IValue as_value(Pass const& pass) {
  return c10::IValue::make_capsule(c10::make_intrusive<KeptPass>(pass));
}

Pass const& pass_of(c10::IValue const& value) {
  return static_cast<KeptPass const&>(*value.toCapsule()).pass;
}

}  // namespace voxcycle
