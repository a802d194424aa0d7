// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/optim/lbfgs.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/optim/multi_batch_lbfgs.hpp"

#include <cmath>
#include <sstream>
#include <string>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace lbfgs_test {

constexpr std::int64_t kSize = 5 * Shares::kChunk + 77;  // uneven shares on 2 and 3 ranks
constexpr int kIterations = 30;

/// Not convex and badly scaled: sum of c (1 - cos(x - m)) + (x[i+1] - x[i])^2 / 2, in float64 as
/// seen from variables of float32.
class Chain final : public Objective, public BatchObjective {
 public:
  std::int64_t size() const override { return kSize; }
  at::Tensor point() const override { return x_.clone(); }
  ObjectiveValue evaluate(at::Tensor const& x) override {
    auto const here = evaluate(0, x);
    return {here.value, here.gradient};
  }
  /// Batch k pulls towards a place of its own; half of the pull is common to neighbours.
  BatchEvaluation evaluate(std::int64_t number, at::Tensor const& x) override {
    auto const [value, g] = chain(number, x);
    at::Tensor const pull = 0.01 * at::sin(x);
    return {value, g, g + pull, g + pull};
  }
  double value(std::int64_t number, at::Tensor const& x) override { return chain(number, x).first; }

 private:
  std::pair<double, at::Tensor> chain(std::int64_t number, at::Tensor const& x) {
    x.copy_(x.to(at::kFloat));
    x_ = x.clone();
    at::Tensor const phase = x - target_ - 1e-3 * static_cast<double>(number);
    at::Tensor const step = x.narrow(0, 1, kSize - 1) - x.narrow(0, 0, kSize - 1);
    at::Tensor g = stiffness_ * at::sin(phase);
    g.narrow(0, 1, kSize - 1).add_(step);
    g.narrow(0, 0, kSize - 1).sub_(step);
    double const value = (stiffness_ * (1 - at::cos(phase))).sum().item<double>() +
                         0.5 * step.square().sum().item<double>();
    return {value, g};
  }

  at::Tensor target_ = at::sin(at::arange(kSize, at::kDouble));
  at::Tensor stiffness_ = at::logspace(-1, 2, kSize, 10.0, at::kDouble);
  at::Tensor x_ = at::zeros({kSize}, at::kDouble);
};

/// What a checkpoint would hold, on all ranks: rank 0's arrays, of one axis all.
NamedTensors as_from_file(Communicator const& comm, NamedTensors const& state) {
  std::string contents;
  for (auto const& [name, values] : state) {
    contents += name + " " + std::to_string(values.numel()) +
                (values.scalar_type() == at::kFloat ? " 1 " : " 0 ");
  }
  std::istringstream list(comm.all_gather_text(contents).front());
  NamedTensors read;
  std::string name;
  std::int64_t size = 0;
  bool single = false;
  while (list >> name >> size >> single) {
    at::Tensor values = at::zeros({size}, single ? at::kFloat : at::kDouble);
    if (comm.rank() == 0) values.copy_(state.at(read.size()).second);
    comm.broadcast(values, 0);
    read.emplace_back(name, values);
  }
  return read;
}

struct Trace {
  std::vector<double> figures;
  at::Tensor end;
};

/// @param restart  after so many iterations a new object goes on from the state
template <class Method>
Trace trace(Communicator const& comm, int restart = -1) {
  at::set_num_threads(1);
  Chain objective;
  at::Tensor const diagonal = 1 / at::logspace(-1, 2, kSize, 10.0, at::kDouble).sqrt();
  LbfgsOptions const options{.pairs = 8, .first_step = 0.01, .history = at::kFloat};
  auto method = std::make_unique<Method>(comm, objective, diagonal, options);
  Trace result;
  for (int k = 0; k < kIterations; ++k) {
    if (k == restart) {
      NamedTensors const kept = as_from_file(comm, method->state());
      method = std::make_unique<Method>(comm, objective, at::ones_like(diagonal), options);
      method->restore([&](std::string const& name) {
        for (auto const& entry : kept) {
          if (entry.first == name) return entry.second;
        }
        throw Error("no " + name);
      });
    }
    auto const report = method->iterate();
    for (double figure :
         {report.value, report.gradient_norm, report.step_length,
          static_cast<double>(report.all_evaluations), static_cast<double>(report.skipped)}) {
      result.figures.push_back(figure);
    }
  }
  result.end = static_cast<Objective&>(objective).point();
  return result;
}

class MpiLbfgs : public ::testing::Test {
 protected:
  std::unique_ptr<Communicator> comm_ = make_mpi_communicator();
  std::unique_ptr<Communicator> self_ = make_self_communicator();
};

TEST_F(MpiLbfgs, HasTheBitsOfOneRankOverThirtyIterations) {
  auto const together = trace<Lbfgs>(*comm_);
  auto const alone = trace<Lbfgs>(*self_);
  EXPECT_EQ(together.figures, alone.figures);
  EXPECT_TRUE(at::equal(together.end, alone.end));
  EXPECT_LT(alone.figures[5 * (kIterations - 1)], 0.5 * alone.figures[0]) << "it descends";
}

TEST_F(MpiLbfgs, GoesOnFromItsStateWithTheSameBits) {
  auto const whole = trace<Lbfgs>(*comm_);
  for (int restart : {0, 1, 17}) {
    auto const parted = trace<Lbfgs>(*comm_, restart == 0 ? 1 : restart);
    EXPECT_EQ(parted.figures, whole.figures) << restart;
    EXPECT_TRUE(at::equal(parted.end, whole.end));
  }
}

TEST_F(MpiLbfgs, BatchesHaveTheBitsOfOneRankToo) {
  auto const together = trace<MultiBatchLbfgs>(*comm_);
  auto const alone = trace<MultiBatchLbfgs>(*self_);
  EXPECT_EQ(together.figures, alone.figures);
  EXPECT_TRUE(at::equal(together.end, alone.end));
  auto const parted = trace<MultiBatchLbfgs>(*comm_, 11);
  EXPECT_TRUE(at::equal(parted.end, together.end));
}

TEST_F(MpiLbfgs, KeepsItsShareOfTheHistory) {
  Chain objective;
  Lbfgs const method(*comm_, objective, at::ones({kSize}, at::kDouble), {.pairs = 10});
  Lbfgs const alone(*self_, objective, at::ones({kSize}, at::kDouble), {.pairs = 10});
  double const whole = alone.history().bytes();
  EXPECT_EQ(whole, 10.0 * 2 * 8 * kSize);
  // Whole chunks: at most one more than a fair share.
  EXPECT_LE(method.history().bytes(), whole / comm_->size() + 10.0 * 2 * 8 * Shares::kChunk);
  at::Tensor total = at::full({1}, method.history().bytes(), at::kDouble);
  comm_->all_reduce(total, ReduceOperation::sum);
  EXPECT_EQ(total.item<double>(), whole);
}

}  // namespace lbfgs_test
}  // namespace voxcycle
