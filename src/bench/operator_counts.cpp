// SPDX-License-Identifier: BSD-3-Clause
#include "bench/operator_counts.hpp"

#include <atomic>
#include <string_view>

#include <ATen/record_function.h>

namespace voxcycle {
namespace {

/// Global, as callbacks of torch cannot carry anything.
std::atomic<std::int64_t> operators, copies, host_waits;

std::unique_ptr<at::ObserverContext> count(at::RecordFunction const& function) {
  std::string_view const name = function.name();
  ++operators;
  if (name == "aten::copy_") ++copies;
  if (name == "aten::_local_scalar_dense") ++host_waits;
  return nullptr;
}

}  // namespace

OperatorCounts count_operators(std::function<void()> const& work) {
  operators = copies = host_waits = 0;
  struct Callback {
    at::CallbackHandle handle = at::addGlobalCallback(
        at::RecordFunctionCallback(count).scopes({at::RecordScope::FUNCTION}));
    ~Callback() { at::removeCallback(handle); }
  };
  {
    Callback const counting;
    work();
  }
  return {operators, copies, host_waits};
}

}  // namespace voxcycle
