// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/comm/shared_fields.hpp"

#include <algorithm>
#include <utility>

#include <ATen/ATen.h>

namespace voxcycle {
namespace {

/// A field's place, and a box of it.
constexpr std::size_t kNumbers = 7;

at::Tensor box_of(at::Tensor const& field, Box const& box) {
  at::Tensor part = field;
  for (int axis = 0; axis < 3; ++axis) {
    part = part.narrow(axis, box.begin[axis], box.count[axis]);
  }
  return part;
}

}  // namespace

SharedFields::SharedFields(Space space, std::vector<at::Tensor> fields)
    : space_(std::move(space)), fields_(std::move(fields)), led_(space_.comm(), kNumbers) {}

void SharedFields::serve(std::function<void()> const& work) const {
  led_.lead(work, [this](LedWork::Numbers const& asked) {
    Box box;
    std::copy_n(asked.begin() + 1, 3, box.begin.begin());
    std::copy_n(asked.begin() + 4, 3, box.count.begin());
    own_part(static_cast<std::size_t>(asked[0]), box);
  });
}

at::Tensor SharedFields::read(std::size_t field, Box const& box) const {
  if (space_.is_whole()) return box_of(fields_.at(field), box);
  LedWork::Numbers numbers{static_cast<std::int64_t>(field)};
  numbers.insert(numbers.end(), box.begin.begin(), box.begin.end());
  numbers.insert(numbers.end(), box.count.begin(), box.count.end());
  led_.announce(numbers);
  return own_part(field, box);
}

/// The box on every process: each gives the planes that it owns.
at::Tensor SharedFields::own_part(std::size_t field, Box const& box) const {
  at::Tensor const& values = fields_.at(field);
  Slab const& slab = space_.slab();
  bool const on_nodes = values.size(0) != slab.part().voxels[0];
  Planes const own = on_nodes ? slab.own_nodes() : slab.own_voxels();
  std::int64_t const first = slab.first() + own.begin;
  std::int64_t const begin = std::max(box.begin[0], first);
  std::int64_t const end = std::min(box.begin[0] + box.count[0], first + own.count);

  auto sizes = values.sizes().vec();
  std::copy_n(box.count.begin(), 3, sizes.begin());
  at::Tensor part = at::zeros(sizes, values.options());
  if (begin < end) {
    Box mine = box;
    mine.begin[0] = begin - slab.first();
    mine.count[0] = end - begin;
    part.narrow(0, begin - box.begin[0], mine.count[0]).copy_(box_of(values, mine));
  }
  at::Tensor bits = part.view(at::kLong);  // whose sums with zeros are exact, of -0 and NaN too
  space_.comm()->all_reduce(bits, ReduceOperation::sum);
  return part;
}

}  // namespace voxcycle
