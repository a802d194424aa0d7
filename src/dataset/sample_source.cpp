// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/dataset/sample_source.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/dataset/source_fields.hpp"

#include <mutex>
#include <utility>

namespace voxcycle {
namespace {

class StoredSamples final : public SampleSource {
 public:
  explicit StoredSamples(ShardList const& list) : shards_(list), info_(shards_.info()) {
    info_.samples = shards_.samples();
  }
  ShardInfo const& info() const override { return info_; }
  ShardSample read(std::int64_t index, ReadReference reference, Planes const& planes) override {
    std::lock_guard const lock(one_at_a_time_);  // the set opens and closes its files
    return shards_.read(index, reference, planes);
  }

 private:
  std::mutex one_at_a_time_;
  ShardSet shards_;
  ShardInfo info_;
};

class FreshSamples final : public SampleSource {
 public:
  FreshSamples(std::unique_ptr<CoefficientFamily const> family, Source const& source,
               ShardInfo const& info, std::int64_t origin)
      : family_(std::move(family)), sources_(source), info_(info), origin_(origin) {
    VOXCYCLE_REQUIRE(!info_.has_reference,
                     "samples made on the fly have no reference solutions. Set data.on_the_fly = "
                     "no and run voxcycle generate.");
  }
  ShardInfo const& info() const override { return info_; }
  ShardSample read(std::int64_t index, ReadReference, Planes const& planes) override {
    VOXCYCLE_REQUIRE(index >= 0 && index < info_.samples,
                     "sample " << index << " of " << info_.samples << " does not exist.");
    auto sample = make_coefficient(*family_, info_, origin_, index, planes);
    sample.f = sources_.of(info_, index, planes);
    return sample;
  }

 private:
  std::unique_ptr<CoefficientFamily const> family_;
  SourceFields sources_;
  ShardInfo info_;
  std::int64_t origin_;
};

}  // namespace

std::unique_ptr<SampleSource> stored_samples(ShardList const& list) {
  return std::make_unique<StoredSamples>(list);
}

ShardSample make_coefficient(CoefficientFamily const& family, ShardInfo const& info,
                             std::int64_t origin, std::int64_t index, Planes const& planes) {
  ShardSample sample;
  sample.omega = family.omega(info.seed, origin + index);
  sample.nu.resize(static_cast<std::size_t>(on_planes(info.grid, planes).voxel_count()));
  family.evaluate(sample.omega, info.grid, planes, sample.nu);
  return sample;
}

std::unique_ptr<SampleSource> fresh_samples(std::unique_ptr<CoefficientFamily const> family,
                                            Source const& source, ShardInfo const& info,
                                            std::int64_t origin) {
  return std::make_unique<FreshSamples>(std::move(family), source, info, origin);
}

}  // namespace voxcycle
