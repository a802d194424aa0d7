// SPDX-License-Identifier: BSD-3-Clause
#include "solver/spanning_tree.hpp"

#include "voxcycle/core/error.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <limits>

#include <ATen/ATen.h>

namespace voxcycle {
namespace {

/// Powers of two below the strongest conductor that are told apart.
constexpr int classes = 128;

/// What is left of a sum that should be zero, as a share of its terms.
constexpr double balance_rounding = 1e-10;

struct Way {
  std::int32_t node;
  std::uint8_t to_parent;
};

}  // namespace

SpanningTree::SpanningTree(Grid3 const& grid, Boundary const& boundary,
                           at::Tensor const& conductances)
    : nodes_(grid.node_count()),
      strides_{grid.nodes(1) * grid.nodes(2), grid.nodes(2), 1},
      conductances_(conductances.contiguous()),
      parent_(static_cast<std::size_t>(nodes_), none) {
  VOXCYCLE_REQUIRE(nodes_ < std::numeric_limits<std::int32_t>::max(),
                   "a grid of " << grid.name() << " has too many nodes for bounds of errors. "
                                << "Use fewer than 2^31.");
  auto const* const c = conductances_.const_data_ptr<double>();
  double const strongest = conductances_.max().item<double>();
  int const top = strongest > 0.0 ? std::ilogb(strongest) : 0;
  std::array<std::deque<Way>, classes> waiting;  // by class, the strongest first
  int now = 0;

  auto const take = [&](std::int64_t node, std::uint8_t to_parent) {
    parent_[node] = to_parent;
    order_.push_back(static_cast<std::int32_t>(node));
  };
  // Nodes are visited in the order in which they were taken.
  std::size_t visited = 0;
  auto const visit = [&](std::int64_t node) {
    std::array<std::int64_t, 3> const place{node / strides_[0], node / strides_[1] % grid.nodes(1),
                                            node % grid.nodes(2)};
    for (int axis = 0; axis < 3; ++axis) {
      for (int side = 0; side < 2; ++side) {
        if (side == 0 ? place[axis] == 0 : place[axis] == grid.voxels[axis]) continue;
        std::int64_t const other = node + (side == 0 ? -1 : 1) * strides_[axis];
        double const conductance = c[axis * nodes_ + std::min(node, other)];
        if (!(conductance > 0.0) || parent_[other] != none) continue;
        auto const back = static_cast<std::uint8_t>(2 * axis + (1 - side));
        int const of_class = std::clamp(top - std::ilogb(conductance), 0, classes - 1);
        if (of_class <= now) {
          now = of_class;
          take(other, back);
        } else {
          waiting[of_class].push_back({static_cast<std::int32_t>(other), back});
        }
      }
    }
  };
  auto const grow = [&] {
    while (true) {
      while (visited < order_.size()) visit(order_[visited++]);
      auto const next = std::find_if(waiting.begin(), waiting.end(),
                                     [](auto const& ways) { return !ways.empty(); });
      if (next == waiting.end()) return;
      now = static_cast<int>(next - waiting.begin());
      Way const way = next->front();
      next->pop_front();
      if (parent_[way.node] == none) take(way.node, way.to_parent);
    }
  };

  at::Tensor const free = free_node_mask(grid, boundary, at::TensorOptions(at::kDouble));
  auto const* const mask = free.const_data_ptr<double>();
  for (std::int64_t node = 0; node < nodes_; ++node) {
    if (mask[node] == 0.0) take(node, root);
  }
  grow();
  for (std::int64_t node = 0; node < nodes_; ++node) {  // parts that touch no Dirichlet node
    if (parent_[node] != none) continue;
    take(node, floating);
    now = 0;
    grow();
  }
}

// Calls body(axis and node of a conductor, flow to the next node, its conductance) from the leaves
// on.
template <class Body>
double SpanningTree::descend(at::Tensor const& r, Body const& body) const {
  at::Tensor const excess = r.to(at::kCPU, at::kDouble).contiguous().clone();
  auto* const left = excess.mutable_data_ptr<double>();
  auto const* const c = conductances_.const_data_ptr<double>();
  double unbalanced = 0.0;
  for (auto i = order_.rbegin(); i != order_.rend(); ++i) {
    std::int64_t const node = *i;
    std::uint8_t const to = parent_[node];
    if (to == floating) unbalanced = std::max(unbalanced, std::abs(left[node]));
    if (to >= root) continue;
    int const axis = to / 2;
    bool const back = to % 2 == 0;
    std::int64_t const other = node + (back ? -1 : 1) * strides_[axis];
    std::int64_t const edge = axis * nodes_ + std::min(node, other);
    body(edge, back ? -left[node] : left[node], c[edge]);
    left[other] += left[node];
  }
  return unbalanced;
}

double SpanningTree::bound(at::Tensor const& r) const {
  double sum = 0.0;
  double const unbalanced = descend(
      r, [&](std::int64_t, double flow, double conductance) { sum += flow * flow / conductance; });
  bool const balanced =
      unbalanced == 0.0 || unbalanced <= balance_rounding * r.abs().sum().item<double>();
  return balanced ? sum : std::numeric_limits<double>::infinity();
}

void SpanningTree::add_flows(at::Tensor const& r, at::Tensor& flows) const {
  auto* const all = flows.mutable_data_ptr<double>();
  descend(r, [&](std::int64_t edge, double flow, double) { all[edge] += flow; });
}

}  // namespace voxcycle
