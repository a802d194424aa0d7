// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/error.hpp"

#include "io/hdf5.hpp"

namespace voxcycle::hdf5 {

void Dataset::transfer_all(Number number, std::size_t count, void const* from, void* to) const {
  VOXCYCLE_REQUIRE(count == element_count(shape_), label_ << ": " << count
                                                          << " values do not fit the shape "
                                                          << to_string(shape_) << '.');
  if (count == 0) return;
  transfer(number, H5S_ALL, H5S_ALL, from, to);
}

void Dataset::write_bytes(std::span<std::uint8_t const> bytes) {
  std::size_t const count = bytes.size() / H5Tget_size(memory_type(number_));
  transfer_all(number_, count, bytes.data(), nullptr);
}

void Dataset::transfer_row(Number number, std::int64_t row, std::size_t count, void const* from,
                           void* to) const {
  VOXCYCLE_REQUIRE(!shape_.empty() && row >= 0 && row < shape_[0],
                   label_ << ": row " << row << " of " << to_string(shape_) << " does not exist.");
  Shape row_shape = shape_;
  row_shape[0] = 1;
  VOXCYCLE_REQUIRE(count == element_count(row_shape), label_ << ": " << count
                                                             << " values do not fit a row of "
                                                             << to_string(shape_) << '.');
  Handle const memory = make_space({static_cast<std::int64_t>(count)}, label_);
  Handle const file = make_space(shape_, label_);
  std::vector<hsize_t> start(shape_.size(), 0);
  start[0] = static_cast<hsize_t>(row);
  std::vector<hsize_t> const extents(row_shape.begin(), row_shape.end());
  if (H5Sselect_hyperslab(file.get(), H5S_SELECT_SET, start.data(), nullptr, extents.data(),
                          nullptr) < 0) {
    fail(label_, "cannot select row " + std::to_string(row), "");
  }
  transfer(number, memory.get(), file.get(), from, to);
}

void Dataset::transfer(Number number, hid_t memory, hid_t file, void const* from, void* to) const {
  silence();
  VOXCYCLE_REQUIRE(number == number_, label_ << ": holds " << to_string(number_) << ", not "
                                             << to_string(number) << ". " << kDamageAdvice);
  hid_t const type = memory_type(number);
  if (from != nullptr) {
    if (H5Dwrite(handle_.get(), type, memory, file, H5P_DEFAULT, from) < 0) {
      fail(label_, "cannot write", kSpaceAdvice);
    }
    require_written(written_, label_);
  } else if (H5Dread(handle_.get(), type, memory, file, H5P_DEFAULT, to) < 0) {
    fail(label_, "cannot read", kDamageAdvice);
  }
}

}  // namespace voxcycle::hdf5
