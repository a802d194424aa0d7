// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>

namespace voxcycle {

/// A function among options, which does not count when they are compared.
template <class Signature>
struct Callback : std::function<Signature> {
  using std::function<Signature>::function;
  bool operator==(Callback const& /*other*/) const { return true; }
};

}  // namespace voxcycle
