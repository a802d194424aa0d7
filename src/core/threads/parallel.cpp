// SPDX-License-Identifier: BSD-3-Clause
// The one file of core that sees torch, for its threads; it is compiled apart from the rest.
#include "voxcycle/core/parallel.hpp"

#include "voxcycle/core/rehearsal.hpp"

#include <algorithm>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/TensorIterator.h>

namespace voxcycle {
namespace {

// Waking a thread costs some microseconds, as long as touching this many values takes.
constexpr std::int64_t min_work = 1 << 13;

}  // namespace

void parallel_for(std::int64_t count, std::int64_t work,
                  std::function<void(std::int64_t begin, std::int64_t end)> const& body) {
  if (Rehearsal::current() != nullptr) return;
  std::int64_t const grain = std::max<std::int64_t>(min_work / std::max<std::int64_t>(work, 1), 1);
  if (count <= grain || at::get_num_threads() == 1 || at::in_parallel_region()) {
    if (count > 0) {
      body(0, count);
    }
    return;
  }
  // The iterator walks over bytes of a dummy tensor; an address is an index.
  at::Tensor const indices = at::empty({count}, at::kByte);
  auto const* base = static_cast<char const*>(indices.const_data_ptr());
  auto iterator = at::TensorIterator::borrowing_nullary_op(indices);
  iterator.for_each(
      [&](char** data, std::int64_t const* strides, std::int64_t size, std::int64_t repeats) {
        for (std::int64_t i = 0; i < repeats; ++i) {
          std::int64_t const begin = data[0] + i * strides[1] - base;
          body(begin, begin + size);
        }
      },
      grain);
}

}  // namespace voxcycle
