// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/dataset/sample_source.hpp"

#include "voxcycle/core/error.hpp"

#include <filesystem>

#include "shards_on_disk.hpp"
#include <gtest/gtest.h>

namespace voxcycle {
namespace {

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
  for (std::int64_t number : {0, 1}) {
    ShardInfo part = info;
    part.first_index = 3 * number;
    part.samples = number == 0 ? 3 : 2;
    write_shard((directory / shard_name(number, 2)).string(), part, [&](std::int64_t local) {
      return make_sample(*family, part, 11, part.first_index + local);
    });
  }
  auto const stored = stored_samples(directory.string());
  auto const fresh = fresh_samples(std::move(family), info, 11);
  EXPECT_EQ(stored->info(), fresh->info());
  EXPECT_EQ(stored->samples(), 5);
  for (std::int64_t k : {4, 0, 2}) {
    auto const a = stored->read(k, ReadReference::no), b = fresh->read(k, ReadReference::no);
    EXPECT_EQ(a.omega, b.omega) << k;
    EXPECT_EQ(a.nu, b.nu) << k;
    EXPECT_EQ(a.f, b.f) << k;
    EXPECT_FALSE(a.f.empty());
  }
}

TEST(SampleSource, AFormulaIsTheSameInAllSamples) {
  auto family = family_of("kl");
  ShardInfo info = info_of(*family, 2);
  info.source = "x + 2*y";
  auto const samples = fresh_samples(std::move(family), info, 0);
  auto const a = samples->read(0, ReadReference::no), b = samples->read(1, ReadReference::no);
  EXPECT_NE(a.nu, b.nu);
  EXPECT_EQ(a.f, b.f);
  EXPECT_FLOAT_EQ(a.f[0], 3.0F / 12) << "at the first voxel's centre";
}

TEST(SampleSource, SamplesAndTheirSourcesDiffer) {
  auto family = family_of("kl");
  auto const info = info_of(*family, 2);
  auto const samples = fresh_samples(std::move(family), info, 0);
  auto const a = samples->read(0, ReadReference::no), b = samples->read(1, ReadReference::no);
  EXPECT_NE(a.nu, b.nu);
  EXPECT_NE(a.f, b.f);
}

TEST(SampleSource, TheOriginCountsInTheFamilyAlone) {
  auto family = family_of("kl");
  auto const info = info_of(*family, 4);
  auto const a = make_sample(*family, info, 2, 1), b = make_sample(*family, info, 0, 3);
  EXPECT_EQ(a.nu, b.nu);
  EXPECT_NE(a.f, b.f);
}

TEST(SampleSource, RefusesReferencesAndSamplesThatAreNotThere) {
  auto family = family_of("kl");
  ShardInfo info = info_of(*family, 2);
  auto const samples = fresh_samples(family_of("kl"), info, 0);
  EXPECT_THROW(samples->read(2, ReadReference::no), Error);
  EXPECT_THROW(samples->read(-1, ReadReference::no), Error);
  info.has_reference = true;
  EXPECT_THROW(fresh_samples(std::move(family), info, 0), Error);
}

}  // namespace
}  // namespace voxcycle
