// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/network/backward.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

namespace voxcycle {
namespace backward_test {

using torch::autograd::variable_list;

/// A copy that tells in backward whether its result is still held.
struct Probe : torch::autograd::Function<Probe> {
  static inline c10::weak_intrusive_ptr<c10::StorageImpl> result{
      c10::intrusive_ptr<c10::StorageImpl>()};
  static inline bool was_freed = false;
  static at::Tensor forward(torch::autograd::AutogradContext*, at::Tensor const& x) {
    at::Tensor y = x.clone();
    result = y.storage().getWeakStorageImpl();
    return y;
  }
  static variable_list backward(torch::autograd::AutogradContext*, variable_list const& gradients) {
    was_freed = result.expired();
    return gradients;
  }
};

TEST(Backward, EqualsTorchsAndSkipsUndefinedGradients) {
  at::manual_seed(1);
  auto const leaf = [] { return at::randn({5}, at::kDouble).requires_grad_(); };
  at::Tensor const a = leaf(), b = leaf(), gradient = at::randn({5}, at::kDouble);
  auto const results = [&] { return variable_list{a.exp() * b, a.sin(), b * b}; };
  auto const expected = torch::autograd::grad({results()[0]}, {a, b}, {gradient});
  auto const found = backward(results(), {gradient, {}, {}}, {a, b});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_TRUE(at::equal(found[0], expected[0]) && at::equal(found[1], expected[1]));
  EXPECT_FALSE(a.grad().defined());

  backward(results(), {gradient, gradient, {}});
  EXPECT_TRUE(at::allclose(a.grad(), expected[0] + gradient * a.cos()));
  EXPECT_TRUE(at::equal(b.grad(), expected[1]));
}

TEST(Backward, FreesTheResultsFirst) {
  at::Tensor const x = at::ones({3}).requires_grad_();
  at::Tensor const y = Probe::apply(x);
  backward({y}, {at::ones({3})});
  EXPECT_FALSE(Probe::was_freed);  // held here
  variable_list moved;
  moved.push_back(Probe::apply(x));
  backward(std::move(moved), {at::ones({3})});
  EXPECT_TRUE(Probe::was_freed);
}

}  // namespace backward_test
}  // namespace voxcycle
