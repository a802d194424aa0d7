// SPDX-License-Identifier: BSD-3-Clause
#include "poisson/multigrid/conducting_bodies.hpp"

#include "voxcycle/core/parallel.hpp"

#include <algorithm>
#include <bit>
#include <bitset>
#include <cmath>
#include <cstring>
#include <mutex>
#include <numeric>

#include <ATen/ATen.h>

namespace voxcycle {
namespace {

// Of a float64 greater than zero: the binary exponent, biased.
constexpr std::size_t exponents = 2048;
constexpr std::size_t exponent_bias = 1023;

// This many binary orders of magnitude without a value are a gap.
constexpr std::size_t min_gap = 10;

/// Runs along z, row by row.
struct Runs {
  struct Run {
    std::int64_t first, end;
  };
  std::vector<Run> all;
  std::vector<std::int64_t> first_of_row{0};

  void finish_row() { first_of_row.push_back(std::ssize(all)); }
};

/// Of so many rows of nz voxels.
Runs runs_of_voxels(double const* nu, std::int64_t rows, std::int64_t nz, double threshold) {
  Runs runs;
  for (std::int64_t row = 0; row < rows; ++row, nu += nz) {
    for (std::int64_t z = 0; z < nz;) {
      auto const* const first =
          std::find_if(nu + z, nu + nz, [=](double v) { return v > threshold; });
      auto const* const end =
          std::find_if(first, nu + nz, [=](double v) { return !(v > threshold); });
      if (first != end) runs.all.push_back({first - nu, end - nu});
      z = end - nu;
    }
    runs.finish_row();
  }
  return runs;
}

/// Those of all processes' own planes, as one process would find them: runs are few beside voxels.
Runs runs_of_all_voxels(double const* nu, Space const& space, double threshold) {
  Planes const own = space.slab().own_voxels();
  auto const [nx, ny, nz] = space.slab().whole.voxels;
  Runs const mine = runs_of_voxels(nu + own.begin * ny * nz, own.count * ny, nz, threshold);
  if (space.is_whole()) return mine;
  std::vector<std::int64_t> numbers;
  for (std::size_t row = 0; row + 1 < mine.first_of_row.size(); ++row) {
    numbers.push_back(mine.first_of_row[row + 1] - mine.first_of_row[row]);
    for (auto k = mine.first_of_row[row]; k < mine.first_of_row[row + 1]; ++k) {
      numbers.insert(numbers.end(), {mine.all[k].first, mine.all[k].end});
    }
  }
  auto const* const bytes = reinterpret_cast<char const*>(numbers.data());
  Runs runs;
  for (auto const& text :
       space.comm()->all_gather_text({bytes, numbers.size() * sizeof(std::int64_t)})) {
    std::vector<std::int64_t> theirs(text.size() / sizeof(std::int64_t));
    std::memcpy(theirs.data(), text.data(), text.size());
    for (std::size_t at = 0; at < theirs.size();) {
      std::int64_t const count = theirs[at++];
      for (std::int64_t k = 0; k < count; ++k, at += 2) {
        runs.all.push_back({theirs[at], theirs[at + 1]});
      }
      runs.finish_row();
    }
  }
  return runs;
}

// Calls body(voxel row) for the rows of voxels at a row of nodes, or body(node row) the other way
// about: those at x - back and x - back + 1, likewise along y, as far as they exist.
template <class Body>
void for_rows_around(std::int64_t x, std::int64_t y, std::int64_t back, std::int64_t nx,
                     std::int64_t ny, Body const& body) {
  for (std::int64_t i = std::max<std::int64_t>(x - back, 0); i <= std::min(x - back + 1, nx - 1);
       ++i) {
    for (std::int64_t j = std::max<std::int64_t>(y - back, 0); j <= std::min(y - back + 1, ny - 1);
         ++j) {
      body(i * ny + j);
    }
  }
}

// Corners of the voxels: runs that share a node are one.
Runs runs_of_nodes(Runs const& voxels, Grid3 const& grid) {
  Runs nodes;
  std::vector<Runs::Run> row;
  for (std::int64_t x = 0; x < grid.nodes(0); ++x) {
    for (std::int64_t y = 0; y < grid.nodes(1); ++y) {
      row.clear();
      for_rows_around(x, y, 1, grid.voxels[0], grid.voxels[1], [&](std::int64_t voxel_row) {
        for (auto k = voxels.first_of_row[voxel_row]; k < voxels.first_of_row[voxel_row + 1]; ++k) {
          row.push_back({voxels.all[k].first, voxels.all[k].end + 1});
        }
      });
      std::sort(row.begin(), row.end(),
                [](auto const& a, auto const& b) { return a.first < b.first; });
      auto const first = std::ssize(nodes.all);
      for (auto const& run : row) {
        if (std::ssize(nodes.all) > first && run.first < nodes.all.back().end) {
          nodes.all.back().end = std::max(nodes.all.back().end, run.end);
        } else {
          nodes.all.push_back(run);
        }
      }
      nodes.finish_row();
    }
  }
  return nodes;
}

/// Disjoint sets of numbers; the least of each stands for it.
class DisjointSets {
 public:
  explicit DisjointSets(std::int64_t count) : parent_(static_cast<std::size_t>(count)) {
    std::iota(parent_.begin(), parent_.end(), std::int64_t{0});
  }
  std::int64_t find(std::int64_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void join(std::int64_t i, std::int64_t j) {
    i = find(i);
    j = find(j);
    parent_[std::max(i, j)] = std::min(i, j);
  }

 private:
  std::vector<std::int64_t> parent_;
};

// Joins the runs of nodes that a run of voxels lies between.
DisjointSets connected(Runs const& voxels, Runs const& nodes, Grid3 const& grid) {
  DisjointSets sets(std::ssize(nodes.all));
  for (std::int64_t x = 0; x < grid.voxels[0]; ++x) {
    for (std::int64_t y = 0; y < grid.voxels[1]; ++y) {
      auto const voxel_row = x * grid.voxels[1] + y;
      for (auto k = voxels.first_of_row[voxel_row]; k < voxels.first_of_row[voxel_row + 1]; ++k) {
        std::int64_t before = -1;
        for_rows_around(x, y, 0, grid.nodes(0), grid.nodes(1), [&](std::int64_t node_row) {
          auto const begin = nodes.all.begin() + nodes.first_of_row[node_row];
          auto const end = nodes.all.begin() + nodes.first_of_row[node_row + 1];
          auto const behind = std::upper_bound(
              begin, end, voxels.all[k].first,
              [](std::int64_t voxel, auto const& run) { return voxel < run.first; });
          auto const holds = behind - nodes.all.begin() - 1;
          if (before >= 0) sets.join(before, holds);
          before = holds;
        });
      }
    }
  }
  return sets;
}

bool touches_dirichlet(Runs::Run const& run, std::int64_t row, Grid3 const& grid,
                       Boundary const& boundary) {
  std::int64_t const first[3] = {row / grid.nodes(1), row % grid.nodes(1), run.first};
  std::int64_t const last[3] = {first[0], first[1], run.end - 1};
  for (int axis = 0; axis < 3; ++axis) {
    auto const is_fixed = [&](int side) {
      return boundary.face(axis, side).kind == FaceKind::dirichlet;
    };
    if (first[axis] == 0 && is_fixed(0)) return true;
    if (last[axis] == grid.voxels[axis] && is_fixed(1)) return true;
  }
  return false;
}

}  // namespace

std::optional<double> widest_gap(double const* nu, std::int64_t count, Communicator const* comm) {
  std::bitset<exponents> seen;
  std::mutex mutex;
  parallel_for(count, 1, [&](std::int64_t begin, std::int64_t end) {
    std::vector<char> here(exponents);
    for (auto i = begin; i < end; ++i) here[std::bit_cast<std::uint64_t>(nu[i]) >> 52 & 2047] = 1;
    std::lock_guard const lock(mutex);
    for (std::size_t e = 0; e < exponents; ++e) seen[e] = seen[e] || here[e] != 0;
  });
  if (comm != nullptr) {
    at::Tensor any = at::zeros({exponents}, at::kInt);
    for (std::size_t e = 0; e < exponents; ++e) any.mutable_data_ptr<int>()[e] = seen[e] ? 1 : 0;
    comm->all_reduce(any, ReduceOperation::max);
    for (std::size_t e = 0; e < exponents; ++e) seen[e] = any.const_data_ptr<int>()[e] != 0;
  }
  std::size_t last = exponents, widest = 0, middle = 0;
  for (std::size_t e = 0; e < exponents; ++e) {
    if (!seen[e]) continue;
    if (last < e && e - last - 1 >= widest) {  // of equal ones the highest
      widest = e - last - 1;
      middle = last + 1 + widest / 2;
    }
    last = e;
  }
  if (widest < min_gap) return {};
  return std::exp2(static_cast<double>(middle) - static_cast<double>(exponent_bias));
}

ConductingBodies find_bodies(double const* nu, Space const& space, Boundary const& boundary,
                             double threshold, std::int64_t maximum) {
  Grid3 const& grid = space.slab().whole;
  Runs const voxels = runs_of_all_voxels(nu, space, threshold);
  Runs const nodes = runs_of_nodes(voxels, grid);
  DisjointSets sets = connected(voxels, nodes, grid);

  std::vector<std::int64_t> sizes(nodes.all.size());  // of sets, in nodes
  std::vector<char> fixed(nodes.all.size());
  auto const for_each_run = [&](auto const& body) {
    for (std::int64_t row = 0; row + 1 < std::ssize(nodes.first_of_row); ++row) {
      for (auto k = nodes.first_of_row[row]; k < nodes.first_of_row[row + 1]; ++k) body(row, k);
    }
  };
  for_each_run([&](std::int64_t row, std::int64_t k) {
    auto const set = sets.find(k);
    sizes[set] += nodes.all[k].end - nodes.all[k].first;
    if (touches_dirichlet(nodes.all[k], row, grid, boundary)) fixed[set] = 1;
  });
  std::vector<std::int64_t> chosen;
  for (std::int64_t set = 0; set < std::ssize(sizes); ++set) {
    if (sizes[set] > 0 && fixed[set] == 0) chosen.push_back(set);
  }
  std::stable_sort(chosen.begin(), chosen.end(),
                   [&](auto a, auto b) { return sizes[a] > sizes[b]; });
  if (!boundary.has_dirichlet() && !chosen.empty()) chosen.erase(chosen.begin());
  if (std::ssize(chosen) > maximum) chosen.resize(static_cast<std::size_t>(maximum));

  std::vector<std::int64_t> body_of_set(nodes.all.size(), -1);
  for (std::int64_t body = 0; body < std::ssize(chosen); ++body) body_of_set[chosen[body]] = body;
  ConductingBodies bodies;
  for_each_run([&](std::int64_t row, std::int64_t k) {
    auto const body = body_of_set[sets.find(k)];
    auto const offset = row * grid.nodes(2);
    if (body >= 0) {
      bodies.runs.push_back({offset + nodes.all[k].first, offset + nodes.all[k].end, body});
    }
  });
  std::stable_sort(bodies.runs.begin(), bodies.runs.end(),
                   [](auto const& a, auto const& b) { return a.body < b.body; });
  bodies.first_run.assign(chosen.size() + 1, 0);
  for (auto const& run : bodies.runs) ++bodies.first_run[run.body + 1];
  std::partial_sum(bodies.first_run.begin(), bodies.first_run.end(), bodies.first_run.begin());
  return bodies;
}

}  // namespace voxcycle
