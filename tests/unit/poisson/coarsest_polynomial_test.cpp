// SPDX-License-Identifier: BSD-3-Clause
#include "poisson/multigrid/coarsest_polynomial.hpp"

#include "voxcycle/poisson/boundary.hpp"

#include "q1_elements.hpp"
#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace coarsest_polynomial_test {

using testing::dense_stiffness;

Grid3 const kGrid = Grid3::cube(5);

/// K(nu), with a share of its largest eigenvalue as an estimate of it.
class Estimated final : public LevelOperator {
 public:
  Estimated(at::Tensor const& nu, double share)
      : LevelOperator(kGrid), op_(make_voxel_operator(kGrid, nu)), share_(share) {}

  at::Tensor apply(at::Tensor const& x) const override { return op_->apply(x); }
  at::Tensor diagonal() const override { return op_->diagonal(); }
  at::Tensor top() const override { return share_ * op_->top(); }
  bool top_is_bound() const override { return share_ >= 1.0; }
  std::unique_ptr<StencilSource> entries() const override { return op_->entries(); }
  std::unique_ptr<LevelOperator> on(Space const&) const override { return {}; }
  Coarsening coarsened(CoarseOperator kind, Boundary const& boundary) const override {
    return op_->coarsened(kind, boundary);
  }

 private:
  std::unique_ptr<LevelOperator> op_;
  double share_;
};

/// Eigenvalues of M K on the free nodes, M the polynomial, by a dense solver.
at::Tensor preconditioned_spectrum(double share) {
  at::manual_seed(2);
  at::Tensor const nu = at::rand({1, 1, 5, 5, 5}, at::kDouble).mul_(4.0).exp_();
  Boundary const boundary = parse_boundary("1, 0, flux, flux, flux, flux");
  at::Tensor const mask = free_node_mask(kGrid, boundary, at::kDouble);
  at::Tensor const free = mask.flatten().nonzero().flatten();
  Estimated const op(nu, share);
  CoarsestPolynomial const polynomial(op, jacobi_weights(op, mask));
  std::int64_t const count = free.size(0);
  at::Tensor columns = at::empty({count, count}, at::kDouble);
  for (std::int64_t k = 0; k < count; ++k) {
    at::Tensor micro_batch = at::zeros_like(mask);
    micro_batch.flatten()[free[k].item<std::int64_t>()] = 1.0;
    columns[k] = polynomial.solve(micro_batch).flatten().index_select(0, free);
  }
  EXPECT_LT((columns - columns.t()).abs().max().item<double>(),
            1e-12 * columns.abs().max().item<double>());
  at::Tensor const k =
      dense_stiffness(nu.flatten(), kGrid).index_select(0, free).index_select(1, free);
  at::Tensor const factor = at::linalg_cholesky(k);
  return at::linalg_eigvalsh(factor.t().mm(columns).mm(factor));
}

TEST(CoarsestPolynomial, IsNearTheInverse) {
  at::Tensor const spectrum = preconditioned_spectrum(1.0);
  EXPECT_GT(spectrum.min().item<double>(), 0.3);
  EXPECT_LT(spectrum.max().item<double>(), 1.2);
}

TEST(CoarsestPolynomial, StaysSoWhereTheLargestEigenvalueIsUnderestimated) {
  for (double const share : {0.9, 0.6}) {
    SCOPED_TRACE(share);
    at::Tensor const spectrum = preconditioned_spectrum(share);
    EXPECT_GT(spectrum.min().item<double>(), 0.3);
    EXPECT_LT(spectrum.max().item<double>(), 2.0);
  }
}

TEST(CoarsestPolynomial, SamplesDoNotSeeEachOther) {
  at::manual_seed(3);
  at::Tensor const nu = at::rand({2, 1, 5, 5, 5}, at::kDouble).mul_(4.0).exp_();
  at::Tensor const b = at::rand({2, 1, 6, 6, 6}, at::kDouble);
  at::Tensor const mask = free_node_mask(kGrid, Boundary{}, at::kDouble);
  auto const solution = [&](at::Tensor const& of_nu, at::Tensor const& of_b) {
    Estimated const op(of_nu, 0.5);  // to be raised, by each sample's own factor
    return CoarsestPolynomial(op, jacobi_weights(op, mask)).solve(of_b);
  };
  at::Tensor const together = solution(nu, b);
  for (std::int64_t k : {0, 1}) {
    auto const one = [&](at::Tensor const& x) { return x.narrow(0, k, 1).contiguous(); };
    EXPECT_TRUE(at::equal(solution(one(nu), one(b)), one(together)));
  }
}

}  // namespace coarsest_polynomial_test
}  // namespace voxcycle
