// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/core/named_tensors.hpp"
#include "voxcycle/optim/shares.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// Reads one of the named tensors of a state() again.
using ArraySource = std::function<at::Tensor(std::string const& name)>;

/// Adds the whole of a vector of which each rank has its part to what rank 0 keeps. **Collective**.
void keep_whole(NamedTensors& all, std::string const& name, Shares const& shares,
                at::Tensor const& part);

/// A direction to search in.
struct Descent {
  at::Tensor d;           ///< this rank's part
  double gradient = 0.0;  ///< d.g; not negative only if D g is zero or the gradient is not finite
  bool dropped = false;   ///< whether the history was, for a direction that did not descend
};

/// The curvature that L-BFGS remembers: the last pairs s = x' - x, y = g' - g, and the product of
/// the inverse Hessian H that they imply with a vector by the two-loop recursion (Nocedal and
/// Wright 2006, algorithm 7.4). It starts from H0 = gamma diag(D), gamma = s.y / (y.D y) of the
/// last pair. Each rank keeps its share of every vector: 2 x pairs x n / ranks values.
class LbfgsHistory {
 public:
  /// @param pairs     most pairs kept, >= 1
  /// @param diagonal  this rank's part of D, float64, >= 0
  /// @param type      in which pairs are kept, at::kFloat or at::kDouble
  LbfgsHistory(Shares const& shares, std::int64_t pairs, at::Tensor diagonal, at::ScalarType type);

  /// Remembers a pair in place of the oldest unless its curvature is too small to trust: s.y <=
  /// 1e-10 |s| |y|, or y.D y = 0. Parts, float64. **Collective**. @return whether it was taken
  bool add(at::Tensor const& s, at::Tensor const& y);
  /// H q. q and the result are parts, float64. **Collective**.
  at::Tensor apply(at::Tensor const& q) const;
  /// -H g. Without pairs, or where that does not descend (the pairs are then dropped), -gamma D g
  /// with a root mean square of `first_step`. **Collective**. @param g  part of the gradient
  Descent descend(at::Tensor const& g, double first_step);
  void clear() { count_ = 0; }
  /// Takes back what descend() and clear() did since the last pair was added.
  struct Mark {
    std::int64_t count;
    double gamma;
  };
  Mark mark() const { return {count_, gamma_}; }
  void return_to(Mark const& mark) {
    count_ = mark.count;
    gamma_ = mark.gamma;
  }

  std::int64_t count() const { return count_; }
  /// Bytes that this rank's pairs take when all are there.
  double bytes() const;

  /// Pairs (whole, in one array each), D and scalars; on rank 0, of one rank views of what it
  /// holds.
  /// **Collective**.
  NamedTensors state() const;
  void restore(ArraySource const& read);

 private:
  /// Row of the k-th pair, 0 the oldest.
  std::int64_t row(std::int64_t k) const { return (first_ + k) % pairs_; }

  Shares const& shares_;
  std::int64_t pairs_;
  at::Tensor diagonal_;
  at::Tensor s_;            ///< [pairs, part]
  at::Tensor y_;            ///< [pairs, part]
  std::vector<double> sy_;  ///< s.y of each row
  double gamma_ = 1.0;
  std::int64_t first_ = 0;  ///< row of the oldest pair
  std::int64_t count_ = 0;
};

}  // namespace voxcycle
