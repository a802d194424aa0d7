// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/io/shard.hpp"

#include "voxcycle/core/atomic_file.hpp"
#include "voxcycle/core/error.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "io/checksum.hpp"
#include "io/hdf5.hpp"

namespace voxcycle {
namespace {

constexpr char const* kFormat = "voxcycle-shard";
constexpr std::int64_t kVersion = 2;

using hdf5::Number;
using hdf5::Shape;

Shape omega_shape(ShardInfo const& info) {
  return {info.samples, info.parameters};
}
Shape nu_shape(ShardInfo const& info) {
  auto const& n = info.grid.voxels;
  return {info.samples, n[0], n[1], n[2]};
}
Shape checksum_shape(ShardInfo const& info) {
  return {info.samples, 4};
}
Shape reference_shape(ShardInfo const& info) {
  return {info.samples, info.grid.nodes(0), info.grid.nodes(1), info.grid.nodes(2)};
}

/// Of omega, nu, f and u_ref: one each, so that a reader may leave u_ref where it is.
using Checksums = std::array<std::uint32_t, 4>;

template <class T>
std::uint32_t checksum(std::vector<T> const& values) {
  return crc32_of(values.data(), values.size() * sizeof(T), 0);
}

Checksums checksums(ShardSample const& sample) {
  return {checksum(sample.omega), checksum(sample.nu), checksum(sample.f), checksum(sample.u_ref)};
}

/// nu > 0 and finite, the rest finite: else training would end in NaN far from the cause.
void require_sound(ShardSample const& sample, std::string const& label) {
  auto const finite = [](double value) { return std::isfinite(value); };
  auto const positive = [](float value) { return value > 0 && std::isfinite(value); };
  VOXCYCLE_REQUIRE(std::all_of(sample.nu.begin(), sample.nu.end(), positive),
                   label << ": nu is not positive and finite everywhere (the equation has no "
                         << "solution then). Correct the coefficient.");
  VOXCYCLE_REQUIRE(std::all_of(sample.omega.begin(), sample.omega.end(), finite) &&
                       std::all_of(sample.f.begin(), sample.f.end(), finite) &&
                       std::all_of(sample.u_ref.begin(), sample.u_ref.end(), finite),
                   label << ": omega, f or u_ref is not finite. Generate the sample again.");
}

void require_sizes(ShardSample const& sample, ShardInfo const& info, std::string const& label) {
  std::int64_t const voxels = info.grid.voxel_count();
  std::int64_t const source = info.has_source ? voxels : 0;
  std::int64_t const nodes = info.has_reference ? info.grid.node_count() : 0;
  VOXCYCLE_REQUIRE(std::ssize(sample.omega) == info.parameters && std::ssize(sample.nu) == voxels &&
                       std::ssize(sample.f) == source && std::ssize(sample.u_ref) == nodes,
                   label << ": sizes " << sample.omega.size() << ", " << sample.nu.size() << ", "
                         << sample.f.size() << ", " << sample.u_ref.size()
                         << " of omega, nu, f, u_ref should be " << info.parameters << ", "
                         << voxels << ", " << source << ", " << nodes << '.');
}

void write_info(hdf5::File& file, ShardInfo const& info) {
  file.write_attribute("format", kFormat);
  file.write_attribute<std::int64_t>("version", std::array{kVersion});
  file.write_attribute("family", info.family);
  file.write_attribute<std::uint64_t>("seed", std::array{info.seed});
  file.write_attribute("split", info.split);
  file.write_attribute<std::int64_t>("voxels", info.grid.voxels);
  file.write_attribute<double>("lengths", info.grid.lengths);
  file.write_attribute("boundary", info.boundary);
  file.write_attribute("source", info.source);
  file.write_attribute<std::int64_t>("parameters", std::array{info.parameters});
  file.write_attribute<std::int64_t>("first_index", std::array{info.first_index});
  file.write_attribute<std::int64_t>("samples", std::array{info.samples});
  if (info.has_reference) {
    file.write_attribute<double>("reference_tolerance", std::array{info.reference_tolerance});
    file.write_attribute("reference_solver", info.reference_solver);
  }
}

std::int64_t read_integer(hdf5::File const& file, std::string const& name) {
  return file.read_attribute<std::int64_t>(name, 1)[0];
}

ShardInfo read_info(hdf5::File const& file) {
  hdf5::require_format(file, kFormat, kVersion);
  ShardInfo info;
  info.family = file.read_text_attribute("family");
  info.seed = file.read_attribute<std::uint64_t>("seed", 1)[0];
  info.split = file.read_text_attribute("split");
  auto const voxels = file.read_attribute<std::int64_t>("voxels", 3);
  auto const lengths = file.read_attribute<double>("lengths", 3);
  std::copy(voxels.begin(), voxels.end(), info.grid.voxels.begin());
  std::copy(lengths.begin(), lengths.end(), info.grid.lengths.begin());
  info.boundary = file.read_text_attribute("boundary");
  info.source = file.read_text_attribute("source");
  info.parameters = read_integer(file, "parameters");
  info.first_index = read_integer(file, "first_index");
  info.samples = read_integer(file, "samples");
  info.has_source = file.has("f");
  info.has_reference = file.has("u_ref");
  if (info.has_reference && file.has_attribute("reference_tolerance")) {
    info.reference_tolerance = file.read_attribute<double>("reference_tolerance", 1)[0];
  }
  if (file.has_attribute("reference_solver")) {
    info.reference_solver = file.read_text_attribute("reference_solver");
  }
  if (file.has_attribute("reference_difference")) {
    info.reference_difference = file.read_attribute<double>("reference_difference", 1)[0];
  }
  return info;
}

hdf5::Dataset open_checked(hdf5::File const& file, std::string const& name, Number number,
                           Shape const& shape) {
  hdf5::Dataset dataset = file.open_dataset(name);
  VOXCYCLE_REQUIRE(dataset.number() == number && dataset.shape() == shape,
                   file.path() << ": " << name << " is " << hdf5::to_string(dataset.number()) << ' '
                               << hdf5::to_string(dataset.shape()) << ", but should be "
                               << hdf5::to_string(number) << ' ' << hdf5::to_string(shape)
                               << ". Generate the shard again.");
  return dataset;
}

}  // namespace

ShardSample on_planes(ShardSample sample, Grid3 const& grid, Planes const& planes) {
  if (planes.count == 0) return sample;
  auto const cut = [&](auto& values, std::int64_t plane, std::int64_t count) {
    if (values.empty()) return;
    auto const begin = values.begin() + planes.begin * plane;
    values = std::decay_t<decltype(values)>(begin, begin + count * plane);
  };
  std::int64_t const plane = grid.voxels[1] * grid.voxels[2];
  cut(sample.nu, plane, planes.count);
  cut(sample.f, plane, planes.count);
  cut(sample.u_ref, grid.nodes(1) * grid.nodes(2), planes.count + 1);
  return sample;
}

void write_shard(std::string const& path, ShardInfo const& info,
                 std::function<ShardSample(std::int64_t local)> const& sample) {
  require_valid(info.grid);
  VOXCYCLE_REQUIRE(info.samples > 0 && info.parameters > 0 && info.first_index >= 0,
                   path << ": a shard needs samples and parameters, but has " << info.samples
                        << " and " << info.parameters << '.');
  write_atomically(path, [&](std::string const& temporary) {
    hdf5::File file = hdf5::File::create(temporary, path);
    write_info(file, info);
    auto omega = file.create_dataset("omega", Number::float64, omega_shape(info));
    auto nu = file.create_dataset("nu", Number::float32, nu_shape(info));
    auto sums = file.create_dataset("checksum", Number::uint32, checksum_shape(info));
    hdf5::Dataset f;
    if (info.has_source) f = file.create_dataset("f", Number::float32, nu_shape(info));
    hdf5::Dataset u_ref;
    if (info.has_reference) {
      u_ref = file.create_dataset("u_ref", Number::float64, reference_shape(info));
    }
    for (std::int64_t local = 0; local < info.samples; ++local) {
      ShardSample const made = sample(local);
      std::string const label = path + ": sample " + std::to_string(local);
      require_sizes(made, info, label);
      require_sound(made, label);
      omega.write_row<double>(local, made.omega);
      nu.write_row<float>(local, made.nu);
      if (info.has_source) f.write_row<float>(local, made.f);
      if (info.has_reference) u_ref.write_row<double>(local, made.u_ref);
      sums.write_row<std::uint32_t>(local, checksums(made));
      if (local == 0 && made.reference_difference) {
        file.write_attribute<double>("reference_difference",
                                     std::array{*made.reference_difference});
      }
    }
    file.close();
  });
}

struct ShardReader::Impl {
  explicit Impl(std::string const& path)
      : file(hdf5::File::open(path, "Remove it, then voxcycle generate makes it anew.")),
        info(read_info(file)),
        omega(open_checked(file, "omega", Number::float64, omega_shape(info))),
        nu(open_checked(file, "nu", Number::float32, nu_shape(info))),
        sums(open_checked(file, "checksum", Number::uint32, checksum_shape(info))) {
    if (info.has_source) f = open_checked(file, "f", Number::float32, nu_shape(info));
    if (info.has_reference) {
      u_ref = open_checked(file, "u_ref", Number::float64, reference_shape(info));
    }
  }

  hdf5::File file;
  ShardInfo info;
  hdf5::Dataset omega;
  hdf5::Dataset nu;
  hdf5::Dataset sums;
  hdf5::Dataset f;
  hdf5::Dataset u_ref;
};

ShardReader::ShardReader(std::string const& path) : impl_(std::make_unique<Impl>(path)) {}
ShardReader::~ShardReader() = default;
ShardReader::ShardReader(ShardReader&&) noexcept = default;
ShardReader& ShardReader::operator=(ShardReader&&) noexcept = default;

ShardInfo const& ShardReader::info() const {
  return impl_->info;
}

std::string const& ShardReader::path() const {
  return impl_->file.path();
}

ShardSample ShardReader::read(std::int64_t local, ReadReference reference,
                              Planes const& planes) const {
  ShardInfo const& info = impl_->info;
  VOXCYCLE_REQUIRE(local >= 0 && local < info.samples,
                   path() << ": sample " << local << " of " << info.samples << " does not exist.");
  bool const is_whole = planes.count == 0;
  Planes const voxels = or_all(planes, info.grid);
  Planes const nodes{voxels.begin, voxels.count + 1};
  auto const read = [&]<class T>(hdf5::Dataset const& from, Planes const& of, std::int64_t plane,
                                 std::vector<T>& values) {
    values.resize(static_cast<std::size_t>(of.count * plane));
    from.read_planes<T>(local, of, values);
  };
  ShardSample sample;
  sample.omega.resize(static_cast<std::size_t>(info.parameters));
  impl_->omega.read_row<double>(local, sample.omega);
  std::int64_t const plane = info.grid.voxels[1] * info.grid.voxels[2];
  read(impl_->nu, voxels, plane, sample.nu);
  if (info.has_source) read(impl_->f, voxels, plane, sample.f);
  bool const with_reference = info.has_reference && reference == ReadReference::yes;
  if (with_reference)
    read(impl_->u_ref, nodes, info.grid.nodes(1) * info.grid.nodes(2), sample.u_ref);
  std::string const label = path() + ": sample " + std::to_string(local);
  if (is_whole) {
    Checksums stored{};
    impl_->sums.read_row<std::uint32_t>(local, stored);
    if (!with_reference) stored[3] = checksum(sample.u_ref);  // not read, so not compared
    VOXCYCLE_REQUIRE(checksums(sample) == stored,
                     label << ": its checksum does not fit (the file is damaged). Run voxcycle "
                           << "generate, which makes shards with such damage anew.");
  }
  require_sound(sample, label);
  return sample;
}

std::uint32_t ShardReader::contents(std::uint32_t start) const {
  Checksums sums{};
  for (std::int64_t local = 0; local < info().samples; ++local) {
    impl_->sums.read_row<std::uint32_t>(local, sums);
    start = crc32_of(sums.data(), 3 * sizeof(sums[0]), start);
  }
  return start;
}

}  // namespace voxcycle
