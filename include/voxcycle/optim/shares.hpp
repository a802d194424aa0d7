// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/comm/communicator.hpp"

#include <cstdint>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// Shares a flat vector of n variables out to the ranks in whole chunks of fixed length, and takes
/// inner products of vectors that are shared out so: one partial sum a chunk, in the order of the
/// chunk's variables, then an exact sum over all chunks. So an inner product has the same bits on
/// every rank and for any number of ranks.
///
/// Example: 10 chunks on 3 ranks are the chunks [0, 3), [3, 6), [6, 10).
class Shares {
 public:
  static constexpr std::int64_t kChunk = 4096;

  /// @param size  n, at most 2^32, the same on all ranks
  Shares(Communicator const& comm, std::int64_t size);

  Communicator const& comm() const { return *comm_; }
  std::int64_t size() const { return size_; }
  std::int64_t begin() const { return begin_of(comm_->rank()); }  ///< of this rank's variables
  std::int64_t count() const { return begin_of(comm_->rank() + 1) - begin(); }

  /// This rank's part of a whole vector [n]: a view.
  at::Tensor part(at::Tensor const& whole) const;
  /// The whole vector [n], on all ranks, from the ranks' parts of one type. **Collective**.
  at::Tensor gather(at::Tensor const& part) const;

  using Pair = std::pair<at::Tensor, at::Tensor>;
  /// Inner products of pairs of vectors given by this rank's parts, float32 or float64; summed in
  /// float64. NaN where a value is not finite. **Collective**.
  std::vector<double> dots(std::vector<Pair> const& pairs) const;
  double dot(at::Tensor const& a, at::Tensor const& b) const { return dots({{a, b}}).front(); }
  /// Euclidean length. **Collective**.
  double norm(at::Tensor const& a) const;

 private:
  std::int64_t begin_of(int rank) const;

  Communicator const* comm_;
  std::int64_t size_;
};

/// y += factor x, element by element in float64 with the same bits wherever a part begins.
/// (at::add_ contracts differently in a vector's tail.) Also for whole vectors.
/// @param y  float64  @param x  float32 or float64
void add_scaled(at::Tensor const& y, at::Tensor const& x, double factor);

}  // namespace voxcycle
