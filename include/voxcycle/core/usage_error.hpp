// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/core/error.hpp"

namespace voxcycle {

/// What was asked for cannot be meant: options, or what they say of the input. Nothing was done.
class UsageError : public Error {
 public:
  using Error::Error;
  /// The program's exit status then.
  static constexpr int status = 2;
};

/// Does `work`, whose errors are then those of usage.
template <class Work>
auto as_usage(Work const& work) {
  try {
    return work();
  } catch (Error const& problem) {
    throw UsageError(problem.what());
  }
}

}  // namespace voxcycle

/// As VOXCYCLE_REQUIRE, of what was asked for.
#define VOXCYCLE_REQUIRE_USAGE(condition, text) \
  ::voxcycle::as_usage([&] { VOXCYCLE_REQUIRE(condition, text); })
