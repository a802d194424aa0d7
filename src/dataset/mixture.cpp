// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/dataset/mixture.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/random.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace voxcycle {
namespace {

/// Keep these hashes apart from each other and from the samplers'.
constexpr std::uint64_t kSetStream = 0x6d6978;
constexpr std::uint64_t kOrientationStream = 0x7475726e;

}  // namespace

Mixture::Mixture(std::vector<std::unique_ptr<SampleSource>> sets,
                 std::vector<double> const& weights, MixtureOptions const& options)
    : sets_(std::move(sets)), options_(options) {
  VOXCYCLE_REQUIRE(!sets_.empty() && sets_.size() == weights.size(),
                   "a mixture of " << sets_.size() << " data sets has " << weights.size()
                                   << " weights. Give one a set.");
  info_ = sets_.front()->info();
  double total = 0.0;
  for (double const weight : weights) {
    VOXCYCLE_REQUIRE(weight > 0 && std::isfinite(weight),
                     "a data set has the weight " << weight << ". Weights are positive.");
    total += weight;
  }
  double sum = 0.0;
  for (std::size_t k = 0; k < sets_.size(); ++k) {
    auto const& first = sets_.front()->info();
    auto const& info = sets_[k]->info();
    auto const require_same = [](char const* what, std::string const& a, std::string const& b) {
      VOXCYCLE_REQUIRE(a == b, "data sets of a mixture differ: "
                                   << what << " '" << a << "' in one, '" << b
                                   << "' in another. Generate all with one [problem] and the same "
                                      "levels.");
    };
    require_same("grid", first.grid.name(), info.grid.name());
    require_same("boundary", first.boundary, info.boundary);
    require_same("source", first.source, info.source);
    info_.has_reference = info_.has_reference && info.has_reference;
    sum += weights[k];
    upper_.push_back(sum / total);
    samplers_.emplace_back(options.seed, options.stage, sets_[k]->samples(), options.block);
  }
  upper_.back() = 1.0;
  orientations_ = orientations(options.augmentation, info_.grid);
}

SampleOrigin Mixture::at(std::int64_t position) const {
  auto const draw_of = [this](std::uint64_t stream, std::int64_t number) {
    return hash_uniform({stream, options_.seed, static_cast<std::uint64_t>(options_.stage),
                         static_cast<std::uint64_t>(number)});
  };
  std::size_t set = 0;
  if (sets_.size() > 1) {
    double const draw = draw_of(kSetStream, position / options_.block);
    set = static_cast<std::size_t>(std::upper_bound(upper_.begin(), upper_.end(), draw) -
                                   upper_.begin());
  }
  auto const count = static_cast<double>(orientations_.size());
  int const orientation = static_cast<int>(draw_of(kOrientationStream, position) * count);
  return {static_cast<int>(set), samplers_[set](position), orientation};
}

ShardSample Mixture::read(SampleOrigin const& origin, ReadReference reference,
                          Planes const& planes) {
  bool const is_turned = origin.orientation != 0;
  auto sample = sets_.at(static_cast<std::size_t>(origin.set))
                    ->read(origin.index, reference, is_turned ? Planes{} : planes);
  if (!is_turned) return sample;
  VOXCYCLE_REQUIRE(sample.u_ref.empty(), "a turned field has another solution than its reference.");
  auto const& orientation = orientations_.at(static_cast<std::size_t>(origin.orientation));
  sample.nu = turned(sample.nu, info_.grid, orientation);
  if (!sample.f.empty()) sample.f = turned(sample.f, info_.grid, orientation);
  return on_planes(std::move(sample), info_.grid, planes);
}

}  // namespace voxcycle
