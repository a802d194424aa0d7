// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/dataset/sample_source.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/dataset/source_fields.hpp"

#include <filesystem>
#include <vector>

#include "shards_on_disk.hpp"
#include <gtest/gtest.h>

namespace voxcycle {
namespace sample_source_test {

Source const kSampled{.kind = SourceKind::sampled};

std::unique_ptr<CoefficientFamily> family_of(std::string const& name) {
  FamilyOptions options;
  options.name = name;
  options.grf.band = 8;
  return make_family(options);
}

ShardInfo info_of(CoefficientFamily const& family, std::int64_t samples) {
  ShardInfo info;
  info.family = family.signature();
  info.seed = 7;
  info.split = "train";
  info.grid = Grid3::cube(6);
  info.parameters = family.parameter_count();
  info.samples = samples;
  info.has_source = true;
  return info;
}

TEST(SampleSource, FreshSamplesHaveTheBytesOfStoredOnes) {
  auto const directory = std::filesystem::path(VOXCYCLE_TEST_SCRATCH) / "same_bytes";
  std::filesystem::remove_all(directory);
  auto family = family_of("grf");
  ShardInfo info = info_of(*family, 5);
  SourceFields const sources(kSampled);
  for (std::int64_t number : {0, 1}) {
    ShardInfo part = info;
    part.first_index = 3 * number;
    part.samples = number == 0 ? 3 : 2;
    write_shard((directory / shard_name(number, 2)).string(), part, [&](std::int64_t local) {
      auto sample = make_coefficient(*family, part, 11, part.first_index + local);
      sample.f = sources.of(part, part.first_index + local);
      return sample;
    });
  }
  auto const stored = stored_samples(directory.string());
  auto const fresh = fresh_samples(std::move(family), kSampled, info, 11);
  EXPECT_EQ(stored->info(), fresh->info());
  EXPECT_EQ(stored->samples(), 5);
  for (std::int64_t k : {4, 0, 2}) {
    auto const a = stored->read(k, ReadReference::no, {}),
               b = fresh->read(k, ReadReference::no, {});
    EXPECT_EQ(a.omega, b.omega) << k;
    EXPECT_EQ(a.nu, b.nu) << k;
    EXPECT_EQ(a.f, b.f) << k;
    EXPECT_FALSE(a.f.empty());
  }
}

TEST(SampleSource, AFormulaIsTheSameInAllSamples) {
  auto family = family_of("kl");
  ShardInfo const info = info_of(*family, 2);
  auto const samples = fresh_samples(std::move(family), parse_source("x + 2*y"), info, 0);
  auto const a = samples->read(0, ReadReference::no, {}),
             b = samples->read(1, ReadReference::no, {});
  EXPECT_NE(a.nu, b.nu);
  EXPECT_EQ(a.f, b.f);
  EXPECT_FLOAT_EQ(a.f[0], 3.0F / 12) << "at the first voxel's centre";
}

TEST(SampleSource, AFileIsReadOncePerGridAndTheSameInAllSamples) {
  int reads = 0;
  auto const source = source_in_file([&] {
    ++reads;
    return SourceField{"f.npy", Grid3::cube(12), std::vector<float>(12 * 12 * 12, 3.0F)};
  });
  auto family = family_of("kl");
  ShardInfo info = info_of(*family, 2);
  SourceFields const sources(source);
  reads = 0;
  for (std::int64_t n : {6, 4}) {
    info.grid = Grid3::cube(n);
    auto const wanted = std::vector<float>(static_cast<std::size_t>(n * n * n), 3.0F);
    for (std::int64_t k : {0, 1, 0}) EXPECT_EQ(sources.of(info, k), wanted) << n;
  }
  EXPECT_EQ(reads, 2);
  info.has_source = false;
  EXPECT_TRUE(sources.of(info, 0).empty());
}

TEST(SampleSource, PlanesAreThoseOfTheWholeSample) {
  auto const file = source_in_file([] {
    SourceField f{"f.npy", Grid3::cube(12), std::vector<float>(12 * 12 * 12)};
    for (std::size_t k = 0; k < f.values.size(); ++k) f.values[k] = static_cast<float>(k);
    return f;
  });
  for (auto const& source : {kSampled, parse_source("x + 2*y"), file}) {
    auto family = family_of("grf");
    auto const info = info_of(*family, 2);
    auto const samples = fresh_samples(std::move(family), source, info, 0);
    auto const whole = samples->read(1, ReadReference::no, {});
    for (Planes const& planes : {Planes{0, 2}, Planes{1, 4}, Planes{5, 1}}) {
      auto const part = samples->read(1, ReadReference::no, planes);
      auto const cut = on_planes(whole, info.grid, planes);
      EXPECT_EQ(part.nu, cut.nu) << to_string(source);
      EXPECT_EQ(part.f, cut.f) << to_string(source) << ", planes from " << planes.begin;
    }
  }
}

TEST(SampleSource, SamplesAndTheirSourcesDiffer) {
  auto family = family_of("kl");
  auto const info = info_of(*family, 2);
  auto const samples = fresh_samples(std::move(family), kSampled, info, 0);
  auto const a = samples->read(0, ReadReference::no, {}),
             b = samples->read(1, ReadReference::no, {});
  EXPECT_NE(a.nu, b.nu);
  EXPECT_NE(a.f, b.f);
}

TEST(SampleSource, TheOriginCountsInTheFamilyAlone) {
  auto family = family_of("kl");
  auto const info = info_of(*family, 4);
  auto const a = make_coefficient(*family, info, 2, 1), b = make_coefficient(*family, info, 0, 3);
  EXPECT_EQ(a.nu, b.nu);
  SourceFields const sources(kSampled);
  EXPECT_NE(sources.of(info, 1), sources.of(info, 3));
}

TEST(SampleSource, RefusesReferencesAndSamplesThatAreNotThere) {
  auto family = family_of("kl");
  ShardInfo info = info_of(*family, 2);
  auto const samples = fresh_samples(family_of("kl"), kSampled, info, 0);
  EXPECT_THROW(samples->read(2, ReadReference::no, {}), Error);
  EXPECT_THROW(samples->read(-1, ReadReference::no, {}), Error);
  info.has_reference = true;
  EXPECT_THROW(fresh_samples(std::move(family), kSampled, info, 0), Error);
}

}  // namespace sample_source_test
}  // namespace voxcycle
