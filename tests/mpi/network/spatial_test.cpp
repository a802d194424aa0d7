// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/network/spatial.hpp"

#include "voxcycle/comm/process_grid.hpp"
#include "voxcycle/grid/micro_batches.hpp"

#include <algorithm>

#include "../../unit/network/networks.hpp"
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

namespace voxcycle {
namespace spatial_test {

constexpr std::int64_t kSamples = 3;  // two micro-batches
Boundary const kBoundary = parse_boundary("1, flux, flux, 0.5, flux, 0");
constexpr double kRounding = 1e-11;  // float64 through some 30 layers

struct Outcome {
  at::Tensor u;  ///< of this rank's micro-batches
  std::vector<at::Tensor> gradients, statistics;
};

struct Options {
  Norm norm = Norm::sync_batch;
  bool recompute = false;
  at::MemoryFormat layout = at::MemoryFormat::ChannelsLast3d;
  std::int64_t finest_block = 24;  ///< 12: the finest grid has no features
  CoarseLevels coarse = CoarseLevels::averaged;
  int smoothing = 0;
  std::int64_t subspace = 0;
  bool residual_input = false;
  at::ScalarType dtype = at::kDouble;
};

/// Grids of 24 and perhaps 12 voxels in slabs, those of 6 and 3 whole; a source of its own for each
/// sample.
Outcome pass_over(ProcessGrid const& process_grid, Options const& options) {
  std::map<std::int64_t, std::int64_t> channels{{3, 8}, {6, 6}, {12, 4}, {24, 3}};
  channels.erase(channels.upper_bound(options.finest_block), channels.end());
  auto const network = make_network({.inputs = 2,
                                     .channels = channels,
                                     .norm = options.norm,
                                     .coarse = options.coarse,
                                     .subspace = options.subspace,
                                     .smoothing = options.smoothing,
                                     .residual_input = options.residual_input},
                                    kBoundary, {.kind = SourceKind::sampled});
  testing::perturb(*network);
  auto const type = options.dtype == at::kDouble ? at::kDouble : at::kFloat;
  network->to(type);
  at::manual_seed(4);
  Grid3 const grid = Grid3::cube(24);
  Space const all(grid), space = process_grid.space(grid);
  at::Tensor const x = all.voxels_within(space, at::randn({kSamples, 2, 24, 24, 24}, type));
  at::Tensor const du = all.nodes_within(
      space, at::randn({kSamples, 1, 25, 25, 25}, type) * free_node_mask(grid, kBoundary, type));
  MicroBatches micro_batches;
  std::vector<at::Tensor> gradients;
  for (auto const& micro_batch :
       micro_batches_of_rank(kSamples, 2, process_grid.groups(), process_grid.group())) {
    micro_batches.push_back(x.narrow(0, micro_batch.begin, micro_batch.size()).contiguous());
    gradients.push_back(du.narrow(0, micro_batch.begin, micro_batch.size()));
  }
  if (micro_batches.empty()) {
    micro_batches.push_back(x.narrow(0, 0, 0));
    gradients.push_back(du.narrow(0, 0, 0));
  }
  GradientReducer reducer(process_grid.all, network->parameters(), GradientMode::exact);
  ForwardContext const context{.comm = process_grid.all,
                               .spatial = process_grid.spatial.get(),
                               .slabs = process_grid.slabs,
                               .reducer = &reducer,
                               .dtype = options.dtype,
                               .layout = options.layout,
                               .total_micro_batches = micro_batch_count(kSamples, 2),
                               .total_samples = kSamples,
                               .recompute = options.recompute};
  reducer.begin(context.total_micro_batches * process_grid.slabs.parts_of_cut());
  auto const u = network->forward(context, grid, micro_batches);
  Outcome outcome;
  outcome.u = space.nodes_on(all, at::cat(u).detach());
  torch::autograd::backward(u, gradients);
  reducer.finish();
  for (auto const& p : network->parameters()) outcome.gradients.push_back(p.grad());
  outcome.statistics = network->buffers();
  return outcome;
}

void expect_close(std::vector<at::Tensor> const& found, std::vector<at::Tensor> const& expected,
                  std::string const& what) {
  EXPECT_EQ(found.size(), expected.size());
  for (std::size_t k = 0; k < std::min(found.size(), expected.size()); ++k) {
    EXPECT_TRUE(found[k].defined() && expected[k].defined()) << what << ' ' << k;
    if (!found[k].defined() || !expected[k].defined()) continue;
    double const scale = expected[k].abs().max().item<double>();
    EXPECT_LE((found[k] - expected[k]).abs().max().item<double>(), kRounding * (1.0 + scale))
        << what << ' ' << k;
  }
}

class SharedNetwork : public ::testing::Test {
 protected:
  /// All ranks in one group.
  Slabs together() const { return {.count = all_->size(), .above = all_->size() > 3 ? 12 : 6}; }

  std::unique_ptr<Communicator> all_ = make_mpi_communicator();
  std::unique_ptr<Communicator> self_ = make_self_communicator();
};

TEST_F(SharedNetwork, SharedOutASampleIsWhatOneProcessMakesOfIt) {
  ProcessGrid const process_grid(*all_, together());
  for (auto norm : {Norm::sync_batch, Norm::group, Norm::instance, Norm::none}) {
    for (bool recompute : {false, true}) {
      for (auto layout : {at::MemoryFormat::ChannelsLast3d, at::MemoryFormat::Contiguous}) {
        if (layout == at::MemoryFormat::Contiguous && (recompute || norm == Norm::none)) continue;
        Options const options{norm, recompute, layout};
        auto const shared = pass_over(process_grid, options);
        auto const alone = pass_over(*self_, options);
        auto const what = to_string(norm) + (recompute ? " recomputed" : "");
        expect_close({shared.u}, {alone.u}, what + " u");
        expect_close(shared.gradients, alone.gradients, what + " gradient");
        expect_close(shared.statistics, alone.statistics, what + " statistics");
      }
    }
  }
}

TEST_F(SharedNetwork, SmoothingCoarseGridsAndGridsWithoutBlocksAreSharedOutToo) {
  ProcessGrid const process_grid(*all_, together());
  constexpr auto nested = CoarseLevels::black_box;
  for (Options const& options :
       {Options{.smoothing = 6}, Options{.finest_block = 12, .smoothing = 6},
        Options{.coarse = nested, .smoothing = 6}, Options{.residual_input = true},
        Options{.finest_block = 12, .coarse = nested, .smoothing = 6},
        Options{.recompute = true, .coarse = nested, .smoothing = 6, .subspace = 2}}) {
    auto const shared = pass_over(process_grid, options);
    auto const alone = pass_over(*self_, options);
    auto const what =
        std::to_string(options.finest_block) + (options.coarse == nested ? " nested" : "") +
        (options.subspace > 0 ? " subspace" : "") + (options.residual_input ? " residual" : "");
    expect_close({shared.u}, {alone.u}, what + " u");
    expect_close(shared.gradients, alone.gradients, what + " gradient");
    expect_close(shared.statistics, alone.statistics, what + " statistics");
  }
}

void expect_same_bits(Outcome const& found, Outcome const& expected, std::string const& what) {
  EXPECT_TRUE(at::equal(found.u, expected.u)) << what << " u";
  for (std::size_t k = 0; k < expected.gradients.size(); ++k) {
    EXPECT_TRUE(at::equal(found.gradients[k], expected.gradients[k])) << what << " gradient " << k;
  }
  for (std::size_t k = 0; k < expected.statistics.size(); ++k) {
    EXPECT_TRUE(at::equal(found.statistics[k], expected.statistics[k]))
        << what << " statistics " << k;
  }
}

TEST_F(SharedNetwork, TheSamePartsGiveTheSameBitsOnAnyNumberOfProcesses) {
  constexpr auto nested = CoarseLevels::black_box;
  for (Slabs slabs : {Slabs{.above = 12, .parts = 4}, Slabs{.above = 6, .parts = 2}}) {
    Slabs alone = slabs;
    slabs.count = all_->size();
    if (slabs.count > slabs.parts) continue;
    ProcessGrid const process_grid(*all_, slabs);
    Options const kinds[] = {{.coarse = nested, .smoothing = 6, .subspace = 2},
                             {.norm = Norm::group, .recompute = true},
                             {.finest_block = 12, .coarse = nested, .smoothing = 6},
                             {.residual_input = true}};
    for (auto const dtype : {at::kDouble, at::kFloat, at::kBFloat16}) {
      for (Options options : kinds) {
        if (dtype == at::kDouble && options.subspace == 0) continue;  // as float32, and slower
        options.dtype = dtype;
        auto const what = std::to_string(slabs.parts) + " parts " + at::toString(dtype) + " " +
                          to_string(options.norm) + std::to_string(options.finest_block) +
                          std::to_string(options.subspace) +
                          (options.residual_input ? " residual" : "");
        expect_same_bits(pass_over(process_grid, options),
                         pass_over(ProcessGrid(*self_, alone), options), what);
      }
    }
  }
}

TEST_F(SharedNetwork, GroupsGiveTheSameBitsAsOneOfThem) {
  Slabs const parts{.count = all_->size() % 2 == 0 ? 2 : all_->size(), .above = 6};
  ProcessGrid const process_grid(*all_, parts);
  auto const group = all_->split(process_grid.group());
  auto const together = pass_over(process_grid, {});
  auto const alone = pass_over(ProcessGrid(*group, parts), {});
  for (std::size_t k = 0; k < alone.gradients.size(); ++k) {
    EXPECT_TRUE(at::equal(together.gradients[k], alone.gradients[k])) << k;
  }
  for (std::size_t k = 0; k < alone.statistics.size(); ++k) {
    EXPECT_TRUE(at::equal(together.statistics[k], alone.statistics[k])) << k;
  }
}

TEST_F(SharedNetwork, EveryRankOfAGroupHasTheSameSolution) {
  ProcessGrid const process_grid(*all_, together());
  auto const u = pass_over(process_grid, {}).u;
  auto const all = all_->all_gather(u);
  for (auto const& one : all.unbind(0)) EXPECT_TRUE(at::equal(one, u));
}

}  // namespace spatial_test
}  // namespace voxcycle
