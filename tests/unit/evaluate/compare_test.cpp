// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/evaluate/compare.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/poisson/energy.hpp"
#include "voxcycle/solver/fast_poisson.hpp"

#include <memory>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace compare_test {

constexpr std::int64_t kVoxels = 16;

/// "Predicts" a stored field, whatever it is given; its values are as good as float32 is.
class StoredField : public Network {
 public:
  explicit StoredField(at::Tensor u)
      : Network(std::make_shared<LevelProblems>()), u_(u.to(at::kFloat)) {}
  MicroBatches forward(ForwardContext const&, Grid3 const&, MicroBatches const& x) override {
    inputs = x.front().size(1);
    largest_batch = std::max(largest_batch, x.front().size(0));
    return {u_.expand({x.front().size(0), -1, -1, -1, -1}).contiguous()};
  }
  std::vector<LevelParameters> levels(Grid3 const&) const override { return {}; }
  Script script() const override { return {.name = ""}; }

  std::int64_t inputs = 0;
  std::int64_t largest_batch = 0;

 private:
  at::Tensor u_;
};

/// Smooth samples with references by another solver than multigrid.
HeldOutSet held_out(Boundary const& boundary, Source const& source, std::int64_t samples) {
  Grid3 const grid = Grid3::cube(kVoxels);
  Problem const problem{grid, boundary};
  FastPoisson const fast(problem);
  at::Tensor const s = (at::arange(kVoxels, at::kDouble) + 0.5) / kVoxels;
  HeldOutSet set{.grid = grid, .omega = {}, .nu = {}, .f = {}, .u_ref = {}};
  std::vector<at::Tensor> nu, f, u;
  for (std::int64_t k = 0; k < samples; ++k) {
    at::Tensor const wave = at::cos((k + 2) * s);
    nu.push_back(
        (wave.view({-1, 1, 1}) * wave.view({1, -1, 1}) + wave).exp().unsqueeze(0).unsqueeze(0));
    nu.back() = nu.back().to(at::kFloat).to(at::kDouble);
    f.push_back(source.kind == SourceKind::sampled ? 8 * at::sin((k + 1) * nu.back())
                                                   : at::full_like(nu.back(), source.value));
    auto const result =
        solve_fft_pcg(problem, nu.back().contiguous(), fast, {.tolerance = 1e-12},
                      load_of_source(f.back().to(at::kFloat).to(at::kDouble), grid));
    EXPECT_TRUE(result.converged);
    u.push_back(result.u);
  }
  set.nu = at::cat(nu).to(at::kFloat);
  if (source.kind == SourceKind::sampled) set.f = at::cat(f).to(at::kFloat);
  set.u_ref = at::cat(u);
  return set;
}

ComparedMethod const& method(Comparison const& comparison, std::string const& key) {
  for (auto const& m : comparison.methods) {
    if (m.key == key) return m;
  }
  throw Error("no " + key);
}

struct Equation {
  char const* boundary;
  Source source;
};

std::vector<Equation> equations() {
  return {{"1, 0, flux, flux, flux, flux", {}},
          {"0.1, flux, 0.3, flux, flux, flux", {SourceKind::constant, 5.0}},
          {"0, 0, flux, flux, flux, flux", {SourceKind::sampled, 0.0}}};
}

TEST(Compare, EverySolverSolvesTheEquationOfTheReferences) {
  auto const comm = make_self_communicator();
  for (auto const& [text, source] : equations()) {
    SCOPED_TRACE(std::string(text) + ", f " + to_string(source));
    Boundary const boundary = parse_boundary(text);
    auto const set = held_out(boundary, source, 3);
    StoredField network(lift(set.grid, boundary, at::kDouble));
    auto const c = compare_methods(*comm, network, held_out_samples(set),
                                   {.boundary = boundary, .source = source});
    EXPECT_EQ(network.inputs, source.kind == SourceKind::sampled ? 2 : 1);
    EXPECT_EQ(network.largest_batch, 3);
    EXPECT_EQ(c.samples, 3);
    EXPECT_EQ(c.batch, 3);
    EXPECT_EQ(c.grid, "16^3");
    ASSERT_EQ(c.methods.size(), 7U);

    // The lift is the network here, and what PCG starts from.
    double mean = 0.0;
    double max = 0.0;
    for (std::int64_t k = 0; k < 3; ++k) {
      at::Tensor const u = set.u_ref[k];
      at::Tensor const e = lift(set.grid, boundary, at::kDouble)[0] - u;
      double const l2 = (e.norm() / u.norm()).item<double>();
      mean += l2 / 3;
      max = std::max(max, l2);
    }
    auto const& alone = method(c, "network");
    EXPECT_NEAR(alone.rel_l2_mean, mean, 1e-6);  // the lift is rounded to float32
    EXPECT_NEAR(alone.rel_l2_max, max, 1e-6);
    EXPECT_EQ(method(c, "network_batched").rel_l2_mean, alone.rel_l2_mean);

    // One V-cycle on smooth nu contracts the error at least fivefold, an F-cycle beats it.
    auto const& cycle = method(c, "network_and_cycle");
    EXPECT_LT(cycle.energy_norm_error_mean, alone.energy_norm_error_mean / 5);
    auto const& full = method(c, "full_multigrid");
    EXPECT_LT(full.energy_norm_error_max, 0.1);

    // As the network is the lift, one iteration is enough.
    auto const& equal = method(c, "pcg_to_network_error");
    EXPECT_EQ(equal.iterations, 1);
    EXPECT_TRUE(equal.converged && equal.classical);
    EXPECT_LE(equal.energy_norm_error_max, alone.energy_norm_error_max);

    auto const& lifted = method(c, "pcg_from_lift");
    auto const& started = method(c, "pcg_from_network");
    EXPECT_EQ(lifted.iterations, started.iterations);
    for (auto const* pcg : {&lifted, &started}) {
      EXPECT_TRUE(pcg->converged);
      // A residual of 1e-8 leaves an error of 1e-8 times the square root of K's condition, < 1e3.
      EXPECT_LT(pcg->energy_norm_error_max, 1e-5);
      EXPECT_GT(pcg->iterations, 2);
    }
    for (auto const& m : c.methods) {
      bool const multigrid = m.key != "network" && m.key != "network_batched";
      EXPECT_EQ(m.setup_seconds > 0.0, multigrid) << m.key;
      EXPECT_GT(m.seconds, m.setup_seconds) << m.key;
      EXPECT_LE(m.rel_l2_mean, m.rel_l2_max) << m.key;
      EXPECT_LE(m.energy_norm_error_mean, m.energy_norm_error_max) << m.key;
    }
  }
}

TEST(Compare, AGoodNetworkSavesIterations) {
  auto const comm = make_self_communicator();
  for (auto const& [text, source] : equations()) {
    Boundary const boundary = parse_boundary(text);
    auto const set = held_out(boundary, source, 1);
    StoredField network(set.u_ref);
    auto const c = compare_methods(*comm, network, held_out_samples(set),
                                   {.boundary = boundary, .source = source});
    // Right to float32, whose rounding leaves a rough error of 1e-7: some steps to 1e-8 remain.
    EXPECT_LT(method(c, "network").rel_l2_max, 1e-6);
    EXPECT_LT(method(c, "pcg_from_network").iterations, method(c, "pcg_from_lift").iterations - 1);
    EXPECT_LT(method(c, "pcg_from_network").energy_norm_error_max, 1e-5);
    auto const& equal = method(c, "pcg_to_network_error");
    EXPECT_LE(equal.energy_norm_error_max, method(c, "network").energy_norm_error_max);
    EXPECT_GT(equal.iterations, 3);
    EXPECT_LE(equal.iterations, method(c, "pcg_from_lift").iterations);
  }
}

TEST(Compare, TakesNoMoreSamplesThanAskedFor) {
  auto const comm = make_self_communicator();
  auto set = held_out({}, {}, 3);
  StoredField network(set.u_ref.narrow(0, 0, 1));
  auto const c =
      compare_methods(*comm, network, held_out_samples(set), {.max_samples = 2, .batch = 1});
  EXPECT_EQ(c.samples, 2);
  EXPECT_EQ(network.largest_batch, 1);
  set.nu = set.nu.narrow(0, 0, 0);
  EXPECT_THROW(compare_methods(*comm, network, held_out_samples(set), {}), Error);
}

}  // namespace compare_test
}  // namespace voxcycle
