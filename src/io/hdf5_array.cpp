// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/error.hpp"

#include <array>

#include "io/hdf5.hpp"

namespace voxcycle::hdf5 {
namespace {

/// The name and number of a filter that the dataset needs and this library has not; "" if none.
std::string missing_filter(hid_t dataset) {
  Handle const properties(H5Dget_create_plist(dataset), H5Pclose);
  int const filters = H5Pget_nfilters(properties.get());
  for (int k = 0; k < filters; ++k) {
    std::array<char, 64> name{};
    unsigned flags = 0, settings = 0;
    std::size_t values = 0;
    auto const number = H5Pget_filter2(properties.get(), static_cast<unsigned>(k), &flags, &values,
                                       nullptr, name.size(), name.data(), &settings);
    if (number < 0 || H5Zfilter_avail(number) > 0) continue;
    return std::string(name.data()) + " (number " + std::to_string(number) + ")";
  }
  return {};
}

}  // namespace

std::uint64_t Dataset::stored_bytes() const {
  auto const lock = enter();
  return H5Dget_storage_size(handle_.get());
}

Array::Selection Array::all(std::size_t count) const {
  auto const lock = enter();
  VOXCYCLE_REQUIRE(count == element_count(shape_), label_ << ": " << count
                                                          << " values do not fit the shape "
                                                          << to_string(shape_) << '.');
  return {make_spatial(shape_, label_), make_spatial(shape_, label_)};
}

Array::Selection Array::entry(std::int64_t row, std::size_t count) const {
  auto const lock = enter();
  VOXCYCLE_REQUIRE(!shape_.empty() && row >= 0 && row < shape_[0],
                   label_ << ": there is no entry " << row << " in the shape " << to_string(shape_)
                          << ". Entries count from 0.");
  Shape start(shape_.size(), 0), one = shape_;
  start[0] = row;
  one[0] = 1;
  VOXCYCLE_REQUIRE(count == element_count(one), label_ << ": " << count
                                                       << " values do not fit one entry of "
                                                       << to_string(shape_) << '.');
  return box(start, one);
}

Array::Selection Array::planes_of_entry(std::int64_t row, Planes const& planes,
                                        std::size_t count) const {
  auto const lock = enter();
  bool const there = shape_.size() > 1 && row >= 0 && row < shape_[0] && planes.begin >= 0 &&
                     planes.count > 0 && planes.begin + planes.count <= shape_[1];
  VOXCYCLE_REQUIRE(there, label_ << ": there are no planes " << planes.begin << " to "
                                 << planes.begin + planes.count << " of entry " << row
                                 << " in the shape " << to_string(shape_) << '.');
  Shape start(shape_.size(), 0), extents = shape_;
  start[0] = row, start[1] = planes.begin;
  extents[0] = 1, extents[1] = planes.count;
  VOXCYCLE_REQUIRE(count == element_count(extents),
                   label_ << ": " << count << " values do not fit " << to_string(extents) << '.');
  return box(start, extents);
}

Array::Selection Array::box(Shape const& start, Shape const& extents) const {
  auto const lock = enter();
  Selection selection{make_spatial({static_cast<std::int64_t>(element_count(extents))}, label_),
                      make_spatial(shape_, label_)};
  std::vector<hsize_t> const from(start.begin(), start.end());
  std::vector<hsize_t> const count(extents.begin(), extents.end());
  if (H5Sselect_hyperslab(selection.file.get(), H5S_SELECT_SET, from.data(), nullptr, count.data(),
                          nullptr) < 0 ||
      H5Sselect_valid(selection.file.get()) <= 0) {
    fail(label_, "cannot select " + to_string(extents) + " from " + to_string(start) + " on", "");
  }
  return selection;
}

void Array::read_as(hid_t type, Selection const& selection, void* to) const {
  auto const lock = enter();
  if (H5Dread(handle_.get(), type, selection.memory.get(), selection.file.get(), H5P_DEFAULT, to) <
      0) {
    auto const stack = H5Eget_current_stack();  // of this failure, which `fail` tells
    auto const filter = missing_filter(handle_.get());
    H5Eset_current_stack(stack);
    VOXCYCLE_REQUIRE(filter.empty(),
                     label_ << ": is compressed by the filter " << filter
                            << ", which this HDF5 does not have. Name the directory of its plug-in "
                               "in HDF5_PLUGIN_PATH, or store the data with gzip or as they are, "
                               "e.g. by h5repack -f GZIP=1.");
    fail(label_, "cannot read", kDamageAdvice);
  }
}

void Dataset::require_number(Number number) const {
  VOXCYCLE_REQUIRE(number == number_, label_ << ": holds " << to_string(number_) << ", not "
                                             << to_string(number) << ". " << kDamageAdvice);
}

void Dataset::put(Number number, Selection const& selection, void const* from) {
  auto const lock = enter();
  require_number(number);
  if (H5Dwrite(handle_.get(), memory_type(number), selection.memory.get(), selection.file.get(),
               H5P_DEFAULT, from) < 0) {
    fail(label_, "cannot write", kSpatialAdvice);
  }
  require_written(written_, label_);
}

void Dataset::get(Number number, Selection const& selection, void* to) const {
  auto const lock = enter();
  require_number(number);
  read_as(memory_type(number), selection, to);
}

void Dataset::write_bytes(std::span<std::uint8_t const> bytes) {
  auto const lock = enter();
  put(number_, all(bytes.size() / H5Tget_size(memory_type(number_))), bytes.data());
}

void NumberArray::read(std::span<double> values) const {
  auto const lock = enter();
  read_as(H5T_NATIVE_DOUBLE, all(values.size()), values.data());
}

void NumberArray::read(std::span<float> values) const {
  auto const lock = enter();
  read_as(H5T_NATIVE_FLOAT, all(values.size()), values.data());
}

void NumberArray::read_box(Shape const& start, Shape const& extents,
                           std::span<double> values) const {
  auto const lock = enter();
  VOXCYCLE_REQUIRE(values.size() == element_count(extents), label_ << ": " << values.size()
                                                                   << " values do not fit "
                                                                   << to_string(extents) << '.');
  read_as(H5T_NATIVE_DOUBLE, box(start, extents), values.data());
}

void NumberArray::read_box(Shape const& start, Shape const& extents,
                           std::span<float> values) const {
  auto const lock = enter();
  VOXCYCLE_REQUIRE(values.size() == element_count(extents), label_ << ": " << values.size()
                                                                   << " values do not fit "
                                                                   << to_string(extents) << '.');
  read_as(H5T_NATIVE_FLOAT, box(start, extents), values.data());
}

}  // namespace voxcycle::hdf5
