// SPDX-License-Identifier: BSD-3-Clause
// Arrays and groups that other programs wrote.
#include "voxcycle/core/error.hpp"

#include <algorithm>

#include "io/hdf5.hpp"

namespace voxcycle::hdf5 {

NumberArray File::open_numbers(std::string const& name) const {
  silence();
  NumberArray opened;
  opened.label_ = label_ + ": " + name;
  std::string const action = "cannot open the array";
  opened.handle_ = checked(H5Dopen2(handle_.get(), name.c_str(), H5P_DEFAULT), H5Dclose,
                           opened.label_, action, kDamageAdvice);
  Handle const type =
      checked(H5Dget_type(opened.handle_.get()), H5Tclose, opened.label_, action, kDamageAdvice);
  Handle const space =
      checked(H5Dget_space(opened.handle_.get()), H5Sclose, opened.label_, action, kDamageAdvice);
  auto const kind = H5Tget_class(type.get());
  VOXCYCLE_REQUIRE(kind == H5T_INTEGER || kind == H5T_FLOAT,
                   opened.label_ << ": holds no plain numbers (but texts, compounds or others). "
                                    "Store integers or floating-point numbers.");
  int const rank = H5Sget_simple_extent_ndims(space.get());
  if (rank < 0) fail(opened.label_, action, kDamageAdvice);
  std::vector<hsize_t> extents(static_cast<std::size_t>(rank));
  if (rank > 0) H5Sget_simple_extent_dims(space.get(), extents.data(), nullptr);
  opened.shape_.assign(extents.begin(), extents.end());
  return opened;
}

void NumberArray::read(std::span<double> values) const {
  silence();
  VOXCYCLE_REQUIRE(values.size() == element_count(shape_), label_ << ": " << values.size()
                                                                  << " values do not fit the shape "
                                                                  << to_string(shape_) << '.');
  if (values.empty()) return;
  if (H5Dread(handle_.get(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) < 0) {
    fail(label_, "cannot read", kDamageAdvice);
  }
}

void NumberArray::read_row(std::int64_t row, std::span<double> values) const {
  silence();
  VOXCYCLE_REQUIRE(!shape_.empty() && row >= 0 && row < shape_[0],
                   label_ << ": there is no entry " << row << " in the shape " << to_string(shape_)
                          << ". Entries count from 0.");
  std::vector<hsize_t> start(shape_.size(), 0);
  std::vector<hsize_t> extents(shape_.begin(), shape_.end());
  start[0] = static_cast<hsize_t>(row);
  extents[0] = 1;
  VOXCYCLE_REQUIRE(
      values.size() * static_cast<std::size_t>(shape_[0]) == element_count(shape_),
      label_ << ": " << values.size() << " values do not fit one of " << to_string(shape_) << '.');
  Handle const memory = make_space({static_cast<std::int64_t>(values.size())}, label_);
  Handle const file = make_space(shape_, label_);
  if (H5Sselect_hyperslab(file.get(), H5S_SELECT_SET, start.data(), nullptr, extents.data(),
                          nullptr) < 0) {
    fail(label_, "cannot select entry " + std::to_string(row), "");
  }
  if (H5Dread(handle_.get(), H5T_NATIVE_DOUBLE, memory.get(), file.get(), H5P_DEFAULT,
              values.data()) < 0) {
    fail(label_, "cannot read", kDamageAdvice);
  }
}

Group File::create_group(std::string const& name) {
  silence();
  make_groups(name + "/");
  return open_group(name);
}

Group File::open_group(std::string const& name) const {
  silence();
  Group group;
  group.label_ = label_ + ": " + name;
  group.handle_ = checked(H5Gopen2(handle_.get(), name.c_str(), H5P_DEFAULT), H5Gclose,
                          group.label_, "cannot open the group", kDamageAdvice);
  return group;
}

bool Group::has_attribute(std::string const& name) const {
  silence();
  htri_t const found = H5Aexists(handle_.get(), name.c_str());
  if (found < 0) fail(label_, "cannot look for the attribute " + name, kDamageAdvice);
  return found > 0;
}

}  // namespace voxcycle::hdf5
