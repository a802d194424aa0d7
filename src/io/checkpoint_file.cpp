// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/io/checkpoint_file.hpp"

#include "voxcycle/core/atomic_file.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/text.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "io/checksum.hpp"
#include "io/hdf5.hpp"

namespace voxcycle {

struct ArchiveWriter::Impl {
  struct Entry {
    hdf5::Number number;
    hdf5::Shape shape;
    std::span<std::uint8_t const> bytes;
    std::shared_ptr<void const> owner;  ///< of the bytes
  };

  template <class T>
  void add(std::string const& name, std::span<T const> values, hdf5::Shape shape,
           std::shared_ptr<void const> owner = {}) {
    VOXCYCLE_REQUIRE(!name.empty() && name.front() != '/' && name.back() != '/',
                     "'" << name << "' is no name of an array in a file.");
    bool const positive =
        std::all_of(shape.begin(), shape.end(), [](auto extent) { return extent >= 0; });
    VOXCYCLE_REQUIRE(positive && hdf5::element_count(shape) == values.size(),
                     name << ": " << values.size() << " values do not fit the shape "
                          << hdf5::to_string(shape) << '.');
    if (!owner) {
      auto const copy = std::make_shared<std::vector<T> const>(values.begin(), values.end());
      values = *copy;
      owner = copy;
    }
    std::span const bytes(reinterpret_cast<std::uint8_t const*>(values.data()),
                          values.size_bytes());
    Entry entry{hdf5::number_of<T>(), std::move(shape), bytes, std::move(owner)};
    bool const added = entries.emplace(name, std::move(entry)).second;
    VOXCYCLE_REQUIRE(added, name << ": is already in the archive. Use another name.");
  }

  ArchiveFormat format;
  std::map<std::string, Entry> entries;
};

ArchiveWriter::ArchiveWriter(ArchiveFormat format) : impl_(std::make_unique<Impl>()) {
  impl_->format = std::move(format);
}
ArchiveWriter::~ArchiveWriter() = default;
ArchiveWriter::ArchiveWriter(ArchiveWriter&&) noexcept = default;
ArchiveWriter& ArchiveWriter::operator=(ArchiveWriter&&) noexcept = default;

void ArchiveWriter::add(std::string const& name, std::span<float const> values,
                        std::vector<std::int64_t> shape, std::shared_ptr<void const> owner) {
  impl_->add(name, values, std::move(shape), std::move(owner));
}

void ArchiveWriter::add(std::string const& name, std::span<double const> values,
                        std::vector<std::int64_t> shape, std::shared_ptr<void const> owner) {
  impl_->add(name, values, std::move(shape), std::move(owner));
}

void ArchiveWriter::add(std::string const& name, std::span<std::int64_t const> values,
                        std::vector<std::int64_t> shape, std::shared_ptr<void const> owner) {
  impl_->add(name, values, std::move(shape), std::move(owner));
}

void ArchiveWriter::add_text(std::string const& name, std::string const& text) {
  std::span<std::uint8_t const> const bytes(reinterpret_cast<std::uint8_t const*>(text.data()),
                                            text.size());
  impl_->add(name, bytes, {std::ssize(text)});
}

void ArchiveWriter::save(std::string const& path) const {
  write_atomically(path, [&](std::string const& temporary) {
    hdf5::File file = hdf5::File::create(temporary, path);
    file.write_attribute("format", impl_->format.name);
    file.write_attribute<std::int64_t>("version", std::array{impl_->format.version});
    for (auto const& [name, entry] : impl_->entries) {
      hdf5::Dataset dataset = file.create_dataset(name, entry.number, entry.shape);
      dataset.write_bytes(entry.bytes);
      dataset.write_attribute("crc32", crc32_of(entry.bytes.data(), entry.bytes.size()));
    }
    file.close();
  });
}

struct ArchiveReader::Impl {
  Impl(std::string const& path, ArchiveFormat const& format)
      : file(hdf5::File::open(path, "Use another, or train again with --fresh.")) {
    hdf5::require_format(file, format.name, format.version);
    names = file.dataset_names();
  }

  hdf5::Dataset open(std::string const& name) const {
    VOXCYCLE_REQUIRE(std::binary_search(names.begin(), names.end(), name),
                     file.path() << ": holds no " << name << ". The nearest names are: "
                                 << join(nearest_names(name, names)) << '.');
    return file.open_dataset(name);
  }

  template <class T>
  std::vector<T> read(std::string const& name) const {
    hdf5::Dataset const dataset = open(name);
    auto const count = hdf5::element_count(dataset.shape());
    // A shape costs nothing in a file, but in memory.
    VOXCYCLE_REQUIRE(dataset.stored_bytes() / sizeof(T) >= count,
                     file.path() << ": " << name << ": holds " << dataset.stored_bytes()
                                 << " bytes, too few for its shape (the file is damaged). Use "
                                    "another checkpoint.");
    std::vector<T> values(count);
    dataset.read<T>(values);
    VOXCYCLE_REQUIRE(
        crc32_of(values.data(), values.size() * sizeof(T)) == dataset.read_attribute("crc32"),
        file.path() << ": " << name << ": its checksum does not fit (the file is damaged). Use "
                    << "another checkpoint.");
    return values;
  }

  hdf5::File file;
  std::vector<std::string> names;
};

ArchiveReader::ArchiveReader(std::string const& path, ArchiveFormat const& format)
    : impl_(std::make_unique<Impl>(path, format)) {}
ArchiveReader::~ArchiveReader() = default;
ArchiveReader::ArchiveReader(ArchiveReader&&) noexcept = default;
ArchiveReader& ArchiveReader::operator=(ArchiveReader&&) noexcept = default;

std::string const& ArchiveReader::path() const {
  return impl_->file.path();
}

std::vector<std::string> const& ArchiveReader::names() const {
  return impl_->names;
}

bool ArchiveReader::has(std::string const& name) const {
  return std::binary_search(impl_->names.begin(), impl_->names.end(), name);
}

std::vector<std::int64_t> ArchiveReader::shape(std::string const& name) const {
  return impl_->open(name).shape();
}

bool ArchiveReader::holds_double(std::string const& name) const {
  return impl_->open(name).number() == hdf5::Number::float64;
}

std::vector<float> ArchiveReader::read_float(std::string const& name) const {
  return impl_->read<float>(name);
}

std::vector<double> ArchiveReader::read_double(std::string const& name) const {
  return impl_->read<double>(name);
}

std::vector<std::int64_t> ArchiveReader::read_int64(std::string const& name) const {
  return impl_->read<std::int64_t>(name);
}

void ArchiveReader::require_sound() const {
  for (auto const& name : impl_->names) {
    switch (impl_->open(name).number()) {
      case hdf5::Number::float32:
        static_cast<void>(impl_->read<float>(name));
        break;
      case hdf5::Number::float64:
        static_cast<void>(impl_->read<double>(name));
        break;
      case hdf5::Number::int64:
        static_cast<void>(impl_->read<std::int64_t>(name));
        break;
      default:
        static_cast<void>(impl_->read<std::uint8_t>(name));
    }
  }
}

std::string ArchiveReader::read_text(std::string const& name) const {
  auto const bytes = impl_->read<std::uint8_t>(name);
  return {bytes.begin(), bytes.end()};
}

}  // namespace voxcycle
