// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/comm/gradient_reducer.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/grid/micro_batches.hpp"

#include <limits>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace gradient_reducer_test {

constexpr std::int64_t kUnits = 5;

/// Gradient of micro-batch `index` for a parameter of 3 x 4 entries, spread over 12 orders of
/// magnitude.
at::Tensor unit_gradient(std::int64_t index) {
  at::Tensor const steps = at::arange(12, at::kFloat).view({3, 4});
  return at::sin(steps + 3.0 * static_cast<double>(index)) * at::pow(10.0, steps - 6.0);
}

at::Tensor reduced(Communicator const& comm, GradientMode mode) {
  at::Tensor const parameter = at::zeros({3, 4});
  at::Tensor const untouched = at::zeros({2});
  GradientReducer reducer(comm, {parameter, untouched}, mode);
  reducer.begin(kUnits);
  for (auto const& micro_batch : micro_batches_of_rank(kUnits, 1, comm.size(), comm.rank())) {
    reducer.add_micro_batch(parameter, unit_gradient(micro_batch.index));
  }
  reducer.close(parameter);
  reducer.finish();
  EXPECT_FALSE(untouched.grad().defined());
  return parameter.grad();
}

TEST(GradientReducer, ExactSumsDoNotDependOnTheNumberOfRanks) {
  auto const comm = make_mpi_communicator();
  auto const self = make_self_communicator();
  EXPECT_TRUE(at::equal(reduced(*comm, GradientMode::exact), reduced(*self, GradientMode::exact)));
}

TEST(GradientReducer, EqualsTheSumInDoublePrecision) {
  auto const comm = make_mpi_communicator();
  at::Tensor expected = at::zeros({3, 4}, at::kDouble);
  for (std::int64_t k = 0; k < kUnits; ++k) expected += unit_gradient(k).to(at::kDouble);
  // Exact mode keeps 59 bits below the largest entry, here 1e5: 2e-13; then rounds to float32.
  EXPECT_TRUE(at::allclose(reduced(*comm, GradientMode::exact).to(at::kDouble), expected,
                           /*rtol=*/6e-8, /*atol=*/1e-12));
  // Fast mode rounds each of the five additions to float32.
  EXPECT_TRUE(at::allclose(reduced(*comm, GradientMode::fast).to(at::kDouble), expected, 1e-5));
}

TEST(GradientReducer, RefusesGradientsThatAreNotFinite) {
  auto const comm = make_mpi_communicator();
  for (auto mode : {GradientMode::exact, GradientMode::fast}) {
    at::Tensor const parameter = at::zeros({2});
    GradientReducer reducer(*comm, {parameter}, mode);
    reducer.begin(comm->size());
    float const value = comm->rank() == 0 ? std::numeric_limits<float>::infinity() : 1.0F;
    reducer.add_micro_batch(parameter, at::full({2}, value));
    reducer.close(parameter);
    EXPECT_THROW(reducer.finish(), Error);
    reducer.begin(1);  // the next pass, of totals alone, has nothing of it
    EXPECT_NO_THROW(reducer.finish());
  }
}

/// Twelve parameters in two passes: half a mebibyte or two mebibytes each, so that some share a
/// bucket and others fill their own.
void expect_sums_of_many_parameters(GradientMode mode) {
  auto const comm = make_mpi_communicator();
  std::vector<at::Tensor> parameters;
  for (int k = 0; k < 12; ++k) {
    std::int64_t const size = (k % 3 == 0 ? 1 : 4) << 17;
    parameters.push_back(at::zeros({size}, k % 4 == 3 ? at::kDouble : at::kFloat));
  }
  GradientReducer reducer(*comm, parameters, mode);
  for (int context = 1; context <= 2; ++context) {
    reducer.begin(2 * comm->size());
    for (std::size_t k = parameters.size(); k-- > 0;) {  // backward goes from last to first
      // Small integers: their sums are exact. The last rank owns nothing.
      bool const owns = comm->size() == 1 || comm->rank() + 1 < comm->size();
      for (int micro_batch = 0; owns && micro_batch < 2; ++micro_batch) {
        reducer.add_micro_batch(parameters[k],
                                at::full_like(parameters[k], context * (double(k) + micro_batch)));
      }
      reducer.close(parameters[k]);
    }
    reducer.finish();
    int const owners = std::max(1, comm->size() - 1);
    for (std::size_t k = 0; k < parameters.size(); ++k) {
      at::Tensor const expected =
          at::full_like(parameters[k], context * owners * (2.0 * double(k) + 1));
      EXPECT_TRUE(at::equal(parameters[k].grad(), expected)) << k;
    }
    // The last parameter, half a mebibyte of 22.5, does not fill a bucket.
    EXPECT_DOUBLE_EQ(reducer.early_share(), comm->size() == 1 ? 0.0 : 1.0 - 0.5 / 22.5);
  }
}

TEST(GradientReducer, FastModeSumsManyParametersOfSeveralTypesInBuckets) {
  expect_sums_of_many_parameters(GradientMode::fast);
}

TEST(GradientReducer, ExactModeSumsManyParametersOfSeveralTypesInBuckets) {
  expect_sums_of_many_parameters(GradientMode::exact);
}

TEST(GradientReducer, TakesTotalsAsTheyAre) {
  auto const comm = make_mpi_communicator();
  at::Tensor const parameter = at::zeros({2});
  GradientReducer reducer(*comm, {parameter}, GradientMode::exact);
  reducer.begin(1);
  reducer.set_total(parameter, at::full({2}, 0.5));
  reducer.finish();
  EXPECT_TRUE(at::equal(parameter.grad(), at::full({2}, 0.5F)));
}

}  // namespace gradient_reducer_test
}  // namespace voxcycle
