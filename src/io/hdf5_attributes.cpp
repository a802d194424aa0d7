// SPDX-License-Identifier: BSD-3-Clause
#include "io/hdf5_attributes.hpp"

#include "voxcycle/core/error.hpp"

#include <algorithm>
#include <cstring>

namespace voxcycle::hdf5 {
namespace {

/// An attribute opened for reading.
class Attribute {
 public:
  Attribute(Owner const& owner, std::string const& name)
      : label_(owner.label),
        name_(name),
        handle_(owned(open(owner, name), H5Aclose)),
        type_(owned(H5Aget_type(handle_.get()), H5Tclose)) {}

  hid_t type() const { return type_.get(); }
  std::size_t count() const {
    Handle const spatial = owned(H5Aget_space(handle_.get()), H5Sclose);
    return static_cast<std::size_t>(H5Sget_simple_extent_npoints(spatial.get()));
  }
  /// @throws Error that it is `what`, unless it is as it should be.
  void require(bool condition, std::string const& what) const {
    VOXCYCLE_REQUIRE(condition, label_ << ": the attribute " << name_ << " is " << what << ". "
                                       << kDamageAdvice);
  }
  void read(hid_t type, void* to) const {
    if (H5Aread(handle_.get(), type, to) < 0) fail(label_, action(), kDamageAdvice);
  }

 private:
  static hid_t open(Owner const& owner, std::string const& name) {
    return H5Aopen(owner.id, name.c_str(), H5P_DEFAULT);
  }
  std::string action() const { return "cannot read the attribute " + name_; }
  Handle owned(hid_t id, Handle::Close close) const {
    return checked(id, close, label_, action(), kDamageAdvice);
  }

  std::string const& label_;
  std::string const& name_;
  Handle handle_, type_;
};

}  // namespace

void write_text(Owner const& owner, std::string const& name, std::string const& text,
                Charset charset) {
  auto const lock = enter();
  Handle const type =
      checked(H5Tcopy(H5T_C_S1), H5Tclose, owner.label, "cannot make a text type", "");
  if (H5Tset_size(type.get(), std::max<std::size_t>(1, text.size())) < 0 ||
      H5Tset_strpad(type.get(), H5T_STR_NULLPAD) < 0 ||
      H5Tset_cset(type.get(), charset == Charset::ascii ? H5T_CSET_ASCII : H5T_CSET_UTF8) < 0) {
    fail(owner.label, "cannot make a text type", "");
  }
  Handle const spatial = make_spatial({}, owner.label);
  Handle const attribute = checked(
      H5Acreate2(owner.id, name.c_str(), type.get(), spatial.get(), H5P_DEFAULT, H5P_DEFAULT),
      H5Aclose, owner.label, "cannot make the attribute " + name, "");
  if (H5Awrite(attribute.get(), type.get(), text.c_str()) < 0) {
    fail(owner.label, "cannot write the attribute " + name, kSpatialAdvice);
  }
}

void write_numbers(Owner const& owner, std::string const& name, Number number, std::size_t count,
                   void const* from) {
  auto const lock = enter();
  Handle const spatial = make_spatial({static_cast<std::int64_t>(count)}, owner.label);
  Handle const attribute = checked(H5Acreate2(owner.id, name.c_str(), file_type(number),
                                              spatial.get(), H5P_DEFAULT, H5P_DEFAULT),
                                   H5Aclose, owner.label, "cannot make the attribute " + name, "");
  if (H5Awrite(attribute.get(), memory_type(number), from) < 0) {
    fail(owner.label, "cannot write the attribute " + name, kSpatialAdvice);
  }
}

bool has_attribute(Owner const& owner, std::string const& name) {
  auto const lock = enter();
  htri_t const found = H5Aexists(owner.id, name.c_str());
  if (found < 0) fail(owner.label, "cannot look for the attribute " + name, kDamageAdvice);
  return found > 0;
}

std::string read_text(Owner const& owner, std::string const& name) {
  auto const lock = enter();
  Attribute const attribute(owner, name);
  attribute.require(H5Tget_class(attribute.type()) == H5T_STRING &&
                        H5Tis_variable_str(attribute.type()) == 0 && attribute.count() == 1,
                    "not one text of fixed length");
  std::string text(H5Tget_size(attribute.type()), '\0');
  attribute.read(attribute.type(), text.data());
  text.resize(std::strlen(text.c_str()));
  return text;
}

void read_numbers(Owner const& owner, std::string const& name, Number number, std::size_t count,
                  void* to) {
  auto const lock = enter();
  Attribute const attribute(owner, name);
  attribute.require(H5Tequal(attribute.type(), file_type(number)) > 0 && attribute.count() == count,
                    "not " + std::to_string(count) + " times " + to_string(number));
  attribute.read(memory_type(number), to);
}

std::vector<double> read_any_numbers(Owner const& owner, std::string const& name,
                                     std::size_t count) {
  auto const lock = enter();
  Attribute const attribute(owner, name);
  auto const kind = H5Tget_class(attribute.type());
  attribute.require((kind == H5T_INTEGER || kind == H5T_FLOAT) && attribute.count() == count,
                    "not " + std::to_string(count) + " numbers");
  std::vector<double> values(count);
  attribute.read(H5T_NATIVE_DOUBLE, values.data());
  return values;
}

}  // namespace voxcycle::hdf5
