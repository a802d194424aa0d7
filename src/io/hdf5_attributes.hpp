// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "io/hdf5_types.hpp"

namespace voxcycle::hdf5 {

/// A file's root group or an array, and what errors call it.
struct Owner {
  hid_t id;
  std::string const& label;
};

enum class Charset { utf8, ascii };

/// Small values attached to an owner. All throw Error with HDF5's text; reading also if the
/// attribute has another type or count.
void write_text(Owner const& owner, std::string const& name, std::string const& text,
                Charset charset = Charset::utf8);
void write_numbers(Owner const& owner, std::string const& name, Number number, std::size_t count,
                   void const* from);
bool has_attribute(Owner const& owner, std::string const& name);
std::string read_text(Owner const& owner, std::string const& name);
void read_numbers(Owner const& owner, std::string const& name, Number number, std::size_t count,
                  void* to);
/// Integers or floating-point numbers of any width and byte order, as float64.
std::vector<double> read_any_numbers(Owner const& owner, std::string const& name,
                                     std::size_t count);

}  // namespace voxcycle::hdf5
