// SPDX-License-Identifier: BSD-3-Clause
#include "io/hdf5_attributes.hpp"

#include "voxcycle/core/error.hpp"

#include <algorithm>
#include <cstring>

namespace voxcycle::hdf5 {

void write_text(Owner const& owner, std::string const& name, std::string const& text,
                Charset charset) {
  silence();
  Handle const type =
      checked(H5Tcopy(H5T_C_S1), H5Tclose, owner.label, "cannot make a text type", "");
  if (H5Tset_size(type.get(), std::max<std::size_t>(1, text.size())) < 0 ||
      H5Tset_strpad(type.get(), H5T_STR_NULLPAD) < 0 ||
      H5Tset_cset(type.get(), charset == Charset::ascii ? H5T_CSET_ASCII : H5T_CSET_UTF8) < 0) {
    fail(owner.label, "cannot make a text type", "");
  }
  Handle const space = make_space({}, owner.label);
  Handle const attribute =
      checked(H5Acreate2(owner.id, name.c_str(), type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT),
              H5Aclose, owner.label, "cannot make the attribute " + name, "");
  if (H5Awrite(attribute.get(), type.get(), text.c_str()) < 0) {
    fail(owner.label, "cannot write the attribute " + name, kSpaceAdvice);
  }
}

void write_numbers(Owner const& owner, std::string const& name, Number number, std::size_t count,
                   void const* from) {
  silence();
  Handle const space = make_space({static_cast<std::int64_t>(count)}, owner.label);
  Handle const attribute = checked(
      H5Acreate2(owner.id, name.c_str(), file_type(number), space.get(), H5P_DEFAULT, H5P_DEFAULT),
      H5Aclose, owner.label, "cannot make the attribute " + name, "");
  if (H5Awrite(attribute.get(), memory_type(number), from) < 0) {
    fail(owner.label, "cannot write the attribute " + name, kSpaceAdvice);
  }
}

std::string read_text(Owner const& owner, std::string const& name) {
  silence();
  std::string const action = "cannot read the attribute " + name;
  Handle const attribute = checked(H5Aopen(owner.id, name.c_str(), H5P_DEFAULT), H5Aclose,
                                   owner.label, action, kDamageAdvice);
  Handle const type =
      checked(H5Aget_type(attribute.get()), H5Tclose, owner.label, action, kDamageAdvice);
  VOXCYCLE_REQUIRE(H5Tget_class(type.get()) == H5T_STRING && H5Tis_variable_str(type.get()) == 0,
                   owner.label << ": the attribute " << name << " is no text of fixed length. "
                               << kDamageAdvice);
  std::string text(H5Tget_size(type.get()), '\0');
  if (H5Aread(attribute.get(), type.get(), text.data()) < 0)
    fail(owner.label, action, kDamageAdvice);
  text.resize(std::strlen(text.c_str()));
  return text;
}

void read_numbers(Owner const& owner, std::string const& name, Number number, std::size_t count,
                  void* to) {
  silence();
  std::string const action = "cannot read the attribute " + name;
  Handle const attribute = checked(H5Aopen(owner.id, name.c_str(), H5P_DEFAULT), H5Aclose,
                                   owner.label, action, kDamageAdvice);
  Handle const type =
      checked(H5Aget_type(attribute.get()), H5Tclose, owner.label, action, kDamageAdvice);
  Handle const space =
      checked(H5Aget_space(attribute.get()), H5Sclose, owner.label, action, kDamageAdvice);
  VOXCYCLE_REQUIRE(H5Tequal(type.get(), file_type(number)) > 0 &&
                       H5Sget_simple_extent_npoints(space.get()) == static_cast<hssize_t>(count),
                   owner.label << ": the attribute " << name << " is not " << count << " times "
                               << to_string(number) << ". " << kDamageAdvice);
  if (H5Aread(attribute.get(), memory_type(number), to) < 0)
    fail(owner.label, action, kDamageAdvice);
}

std::vector<double> read_any_numbers(Owner const& owner, std::string const& name,
                                     std::size_t count) {
  silence();
  std::string const action = "cannot read the attribute " + name;
  Handle const attribute = checked(H5Aopen(owner.id, name.c_str(), H5P_DEFAULT), H5Aclose,
                                   owner.label, action, kDamageAdvice);
  Handle const type =
      checked(H5Aget_type(attribute.get()), H5Tclose, owner.label, action, kDamageAdvice);
  Handle const space =
      checked(H5Aget_space(attribute.get()), H5Sclose, owner.label, action, kDamageAdvice);
  auto const kind = H5Tget_class(type.get());
  VOXCYCLE_REQUIRE((kind == H5T_INTEGER || kind == H5T_FLOAT) &&
                       H5Sget_simple_extent_npoints(space.get()) == static_cast<hssize_t>(count),
                   owner.label << ": the attribute " << name << " is not " << count << " numbers. "
                               << kDamageAdvice);
  std::vector<double> values(count);
  if (H5Aread(attribute.get(), H5T_NATIVE_DOUBLE, values.data()) < 0) {
    fail(owner.label, action, kDamageAdvice);
  }
  return values;
}

}  // namespace voxcycle::hdf5
