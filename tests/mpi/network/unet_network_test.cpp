// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/network/unet_network.hpp"

#include "voxcycle/grid/micro_batches.hpp"

#include "../../unit/network/networks.hpp"
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

namespace voxcycle {
namespace unet_network_test {

constexpr std::int64_t kSamples = 7;  // four micro-batches of two; of 3 ranks one owns two of them

struct Outcome {
  std::vector<at::Tensor> gradients;   ///< undefined where no rank touched the parameter
  std::vector<at::Tensor> statistics;  ///< running statistics
};

/// One training pass over kSamples samples spread over the ranks of `comm`.
Outcome pass_over(Communicator const& comm, std::string const& name, Norm norm,
                  at::ScalarType dtype) {
  auto const network =
      testing::bare_network({.name = name,
                             .norm = norm,
                             .depth = name == "unet" ? 2 : 1,
                             .base_channels = 4,
                             .adaptation = name == "unet" ? Adaptation::no : Adaptation::deepen,
                             .cycle_levels = {4, 8}});
  testing::perturb(*network);
  if (dtype == at::kDouble) network->to(at::kDouble);
  at::manual_seed(4);
  auto const type = dtype == at::kDouble ? at::kDouble : at::kFloat;
  at::Tensor const log_nu = at::randn({kSamples, 1, 8, 8, 8}, type);
  at::Tensor const du = at::randn({kSamples, 1, 9, 9, 9}, type);
  MicroBatches x;
  std::vector<at::Tensor> gradients;
  for (auto const& micro_batch : micro_batches_of_rank(kSamples, 2, comm.size(), comm.rank())) {
    x.push_back(log_nu.narrow(0, micro_batch.begin, micro_batch.size()));
    gradients.push_back(du.narrow(0, micro_batch.begin, micro_batch.size()));
  }
  GradientReducer reducer(comm, network->parameters(), GradientMode::exact);
  ForwardContext const context{.comm = comm,
                               .reducer = &reducer,
                               .dtype = dtype,
                               .total_micro_batches = micro_batch_count(kSamples, 2),
                               .total_samples = kSamples};
  reducer.begin(context.total_micro_batches);
  torch::autograd::backward(network->forward(context, Grid3::cube(8), x), gradients);
  reducer.finish();
  Outcome outcome;
  for (auto const& p : network->parameters()) outcome.gradients.push_back(p.grad());
  outcome.statistics = network->buffers();
  return outcome;
}

TEST(UnetNetwork, GradientsHaveTheSameBitsHoweverUnitsAreSpread) {
  auto const all = make_mpi_communicator();
  auto const self = make_self_communicator();
  for (auto const& [name, norm] :
       std::vector<std::pair<std::string, Norm>>{{"unet", Norm::sync_batch},
                                                 {"unet", Norm::group},
                                                 {"unet", Norm::instance},
                                                 {"unet", Norm::none},
                                                 {"published", Norm::sync_batch},
                                                 {"published", Norm::instance}}) {
    for (auto dtype : {at::kBFloat16, at::kFloat, at::kDouble}) {
      auto const together = pass_over(*all, name, norm, dtype);
      auto const alone = pass_over(*self, name, norm, dtype);
      auto const what = name + " " + to_string(norm) + " " + at::toString(dtype);
      for (std::size_t k = 0; k < alone.gradients.size(); ++k) {
        EXPECT_TRUE(alone.gradients[k].defined() && together.gradients[k].defined()) << what;
        EXPECT_TRUE(at::equal(together.gradients[k], alone.gradients[k])) << what << ' ' << k;
      }
      for (std::size_t k = 0; k < alone.statistics.size(); ++k) {
        EXPECT_TRUE(at::equal(together.statistics[k], alone.statistics[k])) << what << ' ' << k;
      }
    }
  }
}

}  // namespace unet_network_test
}  // namespace voxcycle
