// SPDX-License-Identifier: BSD-3-Clause
#include "network/multigrid/best_correction.hpp"

#include "voxcycle/poisson/nested_equation.hpp"
#include "voxcycle/poisson/sample_sums.hpp"

#include <utility>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

namespace voxcycle {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr double kRidge = 1e-5;  ///< of the diagonal

struct Kept : torch::CustomClassHolder {
  explicit Kept(Nested nested_in) : nested(std::move(nested_in)) {}
  Nested nested;
};

/// sum_j weights_j fields_j of each sample.
at::Tensor combination(variable_list const& fields, at::Tensor const& weights) {
  at::Tensor sum = at::zeros_like(fields.at(0));
  for (std::size_t j = 0; j < fields.size(); ++j) {
    at::Tensor const weight = weights.select(1, static_cast<std::int64_t>(j));
    sum.addcmul_(fields[j], weight.to(sum.scalar_type()).view({-1, 1, 1, 1, 1}));
  }
  return sum;
}

/// Of matrices [n, m, m] with the ridge added; rows and columns of directions that are nothing
/// become zero.
at::Tensor inverse_of(at::Tensor const& matrices) {
  if (matrices.is_meta()) return at::empty_like(matrices);
  at::Tensor const diagonal = matrices.diagonal(0, 1, 2);
  at::Tensor const scale = at::where(diagonal > 0, diagonal.rsqrt(), at::zeros_like(diagonal));
  at::Tensor const both = scale.unsqueeze(1) * scale.unsqueeze(2);
  at::Tensor const ridge = kRidge * at::eye(matrices.size(1), matrices.options());
  return std::get<0>(at::linalg_inv_ex(matrices * both + ridge)) * both;
}

at::Tensor product(at::Tensor const& matrices, at::Tensor const& columns) {
  return at::matmul(matrices, columns.unsqueeze(2)).squeeze(2);
}

struct BestCorrection : torch::autograd::Function<BestCorrection> {
  static at::Tensor forward(AutogradContext* ctx, at::Tensor const& u, at::Tensor const& directions,
                            at::Tensor const& mask, Nested const& nested, int level) {
    std::int64_t const count = directions.size(1);
    Space const& space = nested->space(level);
    at::Tensor const smooth = nested->smooth(level, u.contiguous());
    at::Tensor const residual = nested->residual(level, smooth);
    variable_list v;
    std::vector<at::Tensor> rows, load;
    for (std::int64_t j = 0; j < count; ++j) {
      at::Tensor const direction = directions.narrow(1, j, 1).to(u.scalar_type()) * mask;
      v.push_back(nested->smooth_change(level, direction.contiguous()));
      at::Tensor const stress = nested->product(level, v.back());
      std::vector<at::Tensor> row;
      for (auto const& other : v) row.push_back(plane_dots(space, other, stress));
      while (row.size() < static_cast<std::size_t>(count)) row.push_back(at::zeros_like(row[0]));
      rows.push_back(at::stack(row, 1));
      load.push_back(plane_dots(space, v.back(), residual));
    }
    at::Tensor const lower = at::stack(rows, 1);
    at::Tensor const inverse = inverse_of(lower + lower.tril(-1).transpose(1, 2));
    at::Tensor const weights = product(inverse, at::stack(load, 1));
    at::Tensor const best = smooth + combination(v, weights);
    ctx->saved_data["nested"] = as_value(nested);
    ctx->saved_data["level"] = std::int64_t{level};
    ctx->saved_data["type"] = directions.scalar_type();
    v.insert(v.end(), {nested->residual(level, best), weights, inverse});
    ctx->save_for_backward(v);
    return best;
  }

  /// With s the gradient, y = A^-1 v^T s and t = s - K v y, that in the smoothed u is t, that in a
  /// smoothed direction v_j is a_j t + y_j (b - K u): two fields that go back through the steps.
  static variable_list backward(AutogradContext* ctx, variable_list const& gradients) {
    auto const& nested = nested_of(ctx->saved_data["nested"]);
    auto const level = static_cast<int>(ctx->saved_data["level"].toInt());
    auto v = ctx->get_saved_variables();
    auto const take = [&v] {
      at::Tensor last = v.back();
      v.pop_back();
      return last;
    };
    at::Tensor const inverse = take(), weights = take(), residual = take();
    at::Tensor const gradient = gradients.at(0).contiguous();
    std::vector<at::Tensor> along;
    for (auto const& field : v) along.push_back(plane_dots(nested.space(level), field, gradient));
    at::Tensor const y = product(inverse, at::stack(along, 1));
    at::Tensor rest = nested.product(level, combination(v, y));
    at::sub_out(rest, gradient, rest);
    at::Tensor const of_u = nested.transposed(level, std::exchange(rest, {}));
    at::Tensor const of_weights = nested.transposed(level, residual);
    auto shape = residual.sizes().vec();
    shape[1] = weights.size(1);
    at::Tensor const of_directions =
        at::empty(shape, residual.options().dtype(ctx->saved_data["type"].toScalarType()));
    for (std::int64_t j = 0; j < weights.size(1); ++j) {
      at::Tensor const both =
          combination({of_u, of_weights}, at::stack({weights.select(1, j), y.select(1, j)}, 1));
      of_directions.narrow(1, j, 1).copy_(both);
    }
    return {of_u, of_directions, {}, {}, {}};
  }
};

}  // namespace

c10::IValue as_value(Nested const& nested) {
  return c10::IValue::make_capsule(c10::make_intrusive<Kept>(nested));
}

NestedEquation const& nested_of(c10::IValue const& value) {
  return *static_cast<Kept const&>(*value.toCapsule()).nested;
}

at::Tensor best_correction(at::Tensor const& u, at::Tensor const& directions,
                           at::Tensor const& mask, Nested const& nested, int level) {
  return BestCorrection::apply(u, directions, mask, nested, level);
}

}  // namespace voxcycle
