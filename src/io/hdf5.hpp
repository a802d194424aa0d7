// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/io/field_file.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "io/hdf5_attributes.hpp"
#include "io/hdf5_types.hpp"
#include "io/hdf5_write_driver.hpp"

namespace voxcycle::hdf5 {

/// An array in a File, of any kind of numbers; errors name the file and the array.
class Array {
 public:
  Shape const& shape() const { return shape_; }

 protected:
  friend class File;
  /// Elements to transfer: where they are in memory, and in the file.
  struct Selection {
    Handle memory, file;
  };
  /// The whole array. @throws Error unless it has `count` elements.
  Selection all(std::size_t count) const;
  /// Entry `row` of the first axis. @throws Error unless it is there and has `count` elements.
  Selection entry(std::int64_t row, std::size_t count) const;
  Selection planes_of_entry(std::int64_t row, Planes const& planes, std::size_t count) const;
  /// @throws Error if that reaches beyond the array.
  Selection box(Shape const& start, Shape const& extents) const;
  /// @param type  of the numbers in memory, to which those in the file are converted
  void read_as(hid_t type, Selection const& selection, void* to) const;

  Handle handle_;
  std::string label_;  ///< "<path>: <name>"
  Shape shape_;
};

/// An array of one of the kinds that we write.
class Dataset : public Array {
 public:
  Number number() const { return number_; }
  /// What the file has of it, which may be less than its shape says.
  std::uint64_t stored_bytes() const;

  /// Writes or reads the whole array; `values` holds all its elements.
  template <class T>
  void write(std::span<T const> values) {
    put(number_of<T>(), all(values.size()), values.data());
  }
  /// The same for an array whose kind the caller need not know.
  void write_bytes(std::span<std::uint8_t const> bytes);
  template <class T>
  void read(std::span<T> values) const {
    get(number_of<T>(), all(values.size()), values.data());
  }
  /// Writes or reads entry `row` of the first axis.
  template <class T>
  void write_row(std::int64_t row, std::span<T const> values) {
    put(number_of<T>(), entry(row, values.size()), values.data());
  }
  template <class T>
  void read_row(std::int64_t row, std::span<T> values) const {
    get(number_of<T>(), entry(row, values.size()), values.data());
  }
  /// Entries [begin, begin + count) along the second axis of a row.
  template <class T>
  void read_planes(std::int64_t row, Planes const& planes, std::span<T> values) const {
    get(number_of<T>(), planes_of_entry(row, planes, values.size()), values.data());
  }
  /// One number attached to the array.
  void write_attribute(std::string const& name, std::uint32_t value) {
    write_numbers({handle_.get(), label_}, name, Number::uint32, 1, &value);
  }
  std::uint32_t read_attribute(std::string const& name) const {
    std::uint32_t value = 0;
    read_numbers({handle_.get(), label_}, name, Number::uint32, 1, &value);
    return value;
  }

 private:
  friend class File;
  void require_number(Number number) const;
  void put(Number number, Selection const& selection, void const* from);
  void get(Number number, Selection const& selection, void* to) const;

  WriteStatus written_;  ///< the file's; null if it was opened for reading
  Number number_ = Number::float32;
};

/// An array of integers or floating-point numbers of any width and byte order, read as float64.
class NumberArray : public Array {
 public:
  /// @param values  element_count(shape()) of them
  void read(std::span<double> values) const;
  void read(std::span<float> values) const;
  /// `extents` entries along each axis from `start` on.
  void read_box(Shape const& start, Shape const& extents, std::span<double> values) const;
  void read_box(Shape const& start, Shape const& extents, std::span<float> values) const;
};

/// A group below a file's root, for its attributes.
class Group {
 public:
  void write_attribute(std::string const& name, std::string const& text, Charset charset) {
    write_text({handle_.get(), label_}, name, text, charset);
  }
  template <class T>
  void write_attribute(std::string const& name, std::span<T const> values) {
    write_numbers({handle_.get(), label_}, name, number_of<T>(), values.size(), values.data());
  }
  bool has_attribute(std::string const& name) const {
    return voxcycle::hdf5::has_attribute({handle_.get(), label_}, name);
  }
  std::string read_text_attribute(std::string const& name) const {
    return read_text({handle_.get(), label_}, name);
  }
  /// Integers or floating-point numbers of any width.
  std::vector<double> read_number_attribute(std::string const& name, std::size_t count) const {
    return read_any_numbers({handle_.get(), label_}, name, count);
  }

 private:
  friend class File;
  Handle handle_;
  std::string label_;  ///< "<path>: <name>"
};

inline constexpr char const* kMakeAgain = "Make it again.";

/// One HDF5 file: attributes of its root group, and arrays below it. Metadata carry HDF5's own
/// checksums (format of 1.8 and later). Every failure throws Error with the path and HDF5's text.
class File {
 public:
  /// Makes or overwrites `path`; errors call it `label`.
  static File create(std::string const& path, std::string const& label);
  /// Opens for reading. The error tells missing, truncated and foreign files apart.
  /// @param advice    for the latter
  /// @param external  allowed: arrays and groups may lead into other files; else opening them
  /// throws
  static File open(std::string const& path, std::string const& advice = kMakeAgain,
                   External external = External::refused);
  /// Flushes and closes; needed after writing, as a full disk may show only here.
  void close();

  std::string const& path() const { return label_; }

  void write_attribute(std::string const& name, std::string const& text) {
    write_text(root(), name, text);
  }
  template <class T>
  void write_attribute(std::string const& name, std::span<T const> values) {
    write_numbers(root(), name, number_of<T>(), values.size(), values.data());
  }
  bool has_attribute(std::string const& name) const {
    return voxcycle::hdf5::has_attribute(root(), name);
  }
  std::string read_text_attribute(std::string const& name) const { return read_text(root(), name); }
  template <class T>
  std::vector<T> read_attribute(std::string const& name, std::size_t count) const {
    std::vector<T> values(count);
    read_numbers(root(), name, number_of<T>(), count, values.data());
    return values;
  }

  /// Makes an array (and the groups in its name, separated by '/').
  Dataset create_dataset(std::string const& name, Number number, Shape const& shape);
  /// Whether there is an array or group of that name, if the groups around it are there.
  bool has(std::string const& name) const;
  /// Whether `name`, without a leading slash, leads to a dataset, be it by links.
  bool has_dataset(std::string const& name) const;
  /// @return "/link leads to /target" for the first link on the way to `name` whose target is not
  /// there, else ""
  std::string dead_link(std::string const& name) const;
  Dataset open_dataset(std::string const& name) const;
  /// @throws Error for an array of anything but integers or floating-point numbers.
  NumberArray open_numbers(std::string const& name) const;
  Group create_group(std::string const& name);
  Group open_group(std::string const& name) const;
  /// Names of all arrays, sorted; those in groups as "group/name".
  std::vector<std::string> dataset_names() const;

 private:
  void make_groups(std::string const& name);
  Handle open_array(std::string const& name, Array& array) const;
  /// @throws Error where that is refused and a link on the way to `name` leads into another file.
  void require_inside(std::string const& name) const;
  Owner root() const { return {handle_.get(), label_}; }

  std::string label_;  ///< its path, for messages
  External external_ = External::allowed;
  WriteStatus written_;
  Handle handle_;
};

/// Checks the attributes `format` and `version`. @throws Error for a foreign file or a version that
/// this program does not know.
void require_format(File const& file, std::string const& format, std::int64_t version);

}  // namespace voxcycle::hdf5
