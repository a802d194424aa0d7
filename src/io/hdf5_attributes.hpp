// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "io/hdf5_types.hpp"

namespace voxcycle::hdf5 {

/// A file's root group or an array, and what errors call it.
struct Owner {
  hid_t id;
  std::string const& label;
};

/// Small values attached to an owner. All throw Error with HDF5's text; reading also if the
/// attribute has another type or count.
void write_text(Owner const& owner, std::string const& name, std::string const& text);
void write_numbers(Owner const& owner, std::string const& name, Number number, std::size_t count,
                   void const* from);
std::string read_text(Owner const& owner, std::string const& name);
void read_numbers(Owner const& owner, std::string const& name, Number number, std::size_t count,
                  void* to);

}  // namespace voxcycle::hdf5
