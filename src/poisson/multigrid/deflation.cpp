// SPDX-License-Identifier: BSD-3-Clause
#include "poisson/multigrid/deflation.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/parallel.hpp"
#include "voxcycle/poisson/energy.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "poisson/multigrid/body_points.hpp"
#include "poisson/multigrid/conducting_bodies.hpp"
#include "poisson/operator/element_matrix.hpp"
#include <ATen/ATen.h>

namespace voxcycle {
namespace {

// More bodies than this, or than this many for each voxel along an edge, would take longer to
// factorise than the rest takes to solve.
constexpr std::int64_t max_bodies = 1024;
constexpr double max_bodies_an_edge = 8.0;

// Smaller quotients of nu's largest and least values leave no gap between them.
constexpr double min_contrast = 1024.0;

/// The body of every node, -1 of none.
std::vector<std::int32_t> labels_of(std::vector<NodeRun> const& runs, Grid3 const& grid) {
  std::vector<std::int32_t> labels(static_cast<std::size_t>(grid.node_count()), -1);
  for (auto const& run : runs) {
    std::fill(labels.begin() + run.first, labels.begin() + run.end,
              static_cast<std::int32_t>(run.body));
  }
  return labels;
}

/// Those on these planes of nodes of the whole grid, counted from the part's first node.
std::vector<NodeRun> runs_on(ConductingBodies const& bodies, Slab const& slab,
                             Planes const& planes) {
  std::int64_t const plane = slab.whole.nodes(1) * slab.whole.nodes(2);
  std::int64_t const begin = planes.begin * plane, end = begin + planes.count * plane;
  std::vector<NodeRun> runs;
  for (auto const& [first, last, body] : bodies.runs) {
    std::int64_t const before = slab.first() * plane;
    if (first >= begin && first < end) runs.push_back({first - before, last - before, body});
  }
  return runs;
}

struct Entry {
  std::int32_t row, column;
  double value;
};

// Entries are those of a plane of voxels, row by row: what belongs together lies near each other.
constexpr std::int64_t near = 16;

void add(std::vector<Entry>& entries, std::int32_t row, std::int32_t column, double value) {
  auto const end = entries.rbegin() + std::min(near, std::ssize(entries));
  auto const found = std::find_if(entries.rbegin(), end, [=](Entry const& entry) {
    return entry.row == row && entry.column == column;
  });
  if (found != end) {
    found->value += value;
  } else {
    entries.push_back({row, column, value});
  }
}

// What a voxel adds to Z^T K Z: z_a^T K z_b of the bodies at its corners.
void add_voxel(std::vector<Entry>& entries, std::int32_t const (&label)[8], Matrix8 const& element,
               double nu) {
  for (int i = 0; i < 8; ++i) {
    for (int j = 0; j < 8; ++j) {
      bool const lower = label[j] >= 0 && label[j] <= label[i];
      if (lower) add(entries, label[i], label[j], nu * element[i][j]);
    }
  }
}

// The lower triangle of Z^T K Z, [1, bodies, bodies]. Voxels with all corners in one body, its own
// among them, add nothing. Sums are those of planes of voxels, in their order, of each process.
at::Tensor coarse_matrix(double const* nu, Space const& space, std::vector<NodeRun> const& runs,
                         std::int64_t bodies) {
  Grid3 const grid = space.slab().part();
  Planes const own = space.slab().own_voxels();
  auto const labels = labels_of(runs, grid);
  Matrix8 const element = element_stiffness(grid);
  std::int64_t const ny = grid.voxels[1], nz = grid.voxels[2];
  std::int64_t const row = nz + 1, plane = (ny + 1) * row;
  std::vector<std::vector<Entry>> entries(static_cast<std::size_t>(own.count));
  parallel_for(own.count, 4 * ny * nz, [&](std::int64_t begin, std::int64_t end) {
    for (auto x = own.begin + begin; x < own.begin + end; ++x) {
      for (std::int64_t y = 0; y < ny; ++y) {
        for (std::int64_t z = 0; z < nz; ++z) {
          std::int32_t label[8];
          for (int c = 0; c < 8; ++c) {
            label[c] = labels[(x + (c >> 2)) * plane + (y + (c >> 1 & 1)) * row + z + (c & 1)];
          }
          if (std::all_of(label + 1, label + 8, [&](auto other) { return other == label[0]; })) {
            continue;
          }
          add_voxel(entries[x - own.begin], label, element, nu[(x * ny + y) * nz + z]);
        }
      }
    }
  });
  at::Tensor matrix = at::zeros({1, bodies, bodies}, at::kDouble);
  auto values = matrix.accessor<double, 3>();
  for (auto const& of_plane : entries) {
    for (auto const& entry : of_plane) values[0][entry.row][entry.column] += entry.value;
  }
  return space.sum_of_parts(matrix);
}

/// Runs that one thread sums up.
constexpr std::int64_t chunk_size = 256;

at::Tensor column(std::vector<NodeRun> const& runs, std::int64_t NodeRun::*member) {
  std::vector<std::int64_t> numbers;
  for (auto const& run : runs) numbers.push_back(run.*member);
  return at::tensor(numbers, at::kLong);
}

/// Chunks of each body's runs: the first run of every chunk, the first chunk of every body, and
/// where the last ends.
std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>> chunks_of(
    std::vector<NodeRun> const& runs, std::int64_t bodies) {
  std::vector<std::int64_t> first_run, first_chunk;
  std::int64_t run = 0;
  for (std::int64_t body = 0; body < bodies; ++body) {
    first_chunk.push_back(std::ssize(first_run));
    std::int64_t const begin = run;
    for (; run < std::ssize(runs) && runs[run].body == body; ++run) {
      if ((run - begin) % chunk_size == 0) first_run.push_back(run);
    }
  }
  first_chunk.push_back(std::ssize(first_run));
  first_run.push_back(std::ssize(runs));
  return {first_run, first_chunk};
}

/// job(i) for all i < count where `like` is.
template <class Job>
void for_all(char const* name, at::Tensor const& like, std::int64_t count, std::int64_t work,
             Job const& job) {
  if (like.is_cuda()) return for_elements(name, like.device().index(), count, job);
  parallel_for(count, work, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = begin; i < end; ++i) job(i);
  });
}

}  // namespace

std::optional<Deflation> Deflation::of(Space const& space, Boundary const& boundary,
                                       at::Tensor const& nu) {
  auto const [minimum, maximum] = nu.aminmax();
  double const contrast = space.max(maximum.item<double>()) / space.min(minimum.item<double>());
  if (!(contrast >= min_contrast && std::isfinite(contrast))) return {};
  at::Tensor const values = nu.to(at::kCPU, at::kDouble).contiguous();
  auto const* const of_voxels = values.const_data_ptr<double>();
  auto const threshold = widest_gap(of_voxels, values.numel(), space.comm());
  if (!threshold) return {};
  Slab const& slab = space.slab();
  double const edge = std::cbrt(static_cast<double>(slab.whole.voxel_count()));
  auto const limit = std::min(max_bodies, static_cast<std::int64_t>(max_bodies_an_edge * edge));
  auto const bodies = find_bodies(of_voxels, space, boundary, *threshold, limit);
  if (bodies.count() == 0) return {};

  Deflation result(space);
  auto const device = nu.device();
  result.outside_ = at::where(values > *threshold, 0.0, values).to(device);
  Planes const own{slab.first() + slab.own_nodes().begin, slab.own_nodes().count};
  auto const runs = runs_on(bodies, slab, {slab.first(), slab.behind() - slab.first() + 1});
  auto const own_runs = runs_on(bodies, slab, own);
  result.first_ = column(runs, &NodeRun::first).to(device);
  result.end_ = column(runs, &NodeRun::end).to(device);
  result.body_ = column(runs, &NodeRun::body).to(device);
  result.own_first_ = column(own_runs, &NodeRun::first).to(device);
  result.own_end_ = column(own_runs, &NodeRun::end).to(device);
  auto const [first_run, first_chunk] = chunks_of(own_runs, bodies.count());
  result.first_run_ = at::tensor(first_run, at::kLong).to(device);
  result.first_chunk_ = at::tensor(first_chunk, at::kLong).to(device);
  try {
    result.coarse_ = DenseCholesky(coarse_matrix(of_voxels, space, runs, bodies.count()), device,
                                   "matrix of conducting bodies");
  } catch (Error const&) {
    return {};  // bodies that next to nothing holds: rounding is larger
  }
  return result;
}

at::Tensor Deflation::coarse_solution(at::Tensor const& field) const {
  std::int64_t const runs = own_first_.numel(), chunks = first_run_.numel() - 1;
  at::Tensor const of_runs = at::empty({runs}, field.options());
  at::Tensor const of_chunks = at::empty({chunks}, field.options());
  at::Tensor of_bodies = at::empty({1, bodies()}, field.options());
  for_all(
      "sums over runs", field, runs, 16,
      RunSumJob{own_first_.const_data_ptr<std::int64_t>(), own_end_.const_data_ptr<std::int64_t>(),
                field.const_data_ptr<double>(), of_runs.mutable_data_ptr<double>()});
  for_all("sums over chunks of runs", field, chunks, chunk_size,
          PartSumJob{first_run_.const_data_ptr<std::int64_t>(), of_runs.const_data_ptr<double>(),
                     of_chunks.mutable_data_ptr<double>()});
  for_all("sums over bodies", field, bodies(), chunks / bodies() + 1,
          PartSumJob{first_chunk_.const_data_ptr<std::int64_t>(),
                     of_chunks.const_data_ptr<double>(), of_bodies.mutable_data_ptr<double>()});
  return coarse_.solve(space_.sum_of_parts(of_bodies)).squeeze(0);
}

void Deflation::add(at::Tensor const& values, at::Tensor const& field) const {
  for_all("values of bodies", field, first_.numel(), 16,
          RunAddJob{first_.const_data_ptr<std::int64_t>(), end_.const_data_ptr<std::int64_t>(),
                    body_.const_data_ptr<std::int64_t>(), values.const_data_ptr<double>(),
                    field.mutable_data_ptr<double>()});
}

at::Tensor Deflation::apply(at::Tensor const& r,
                            std::function<at::Tensor(at::Tensor const&)> const& cycle) const {
  at::Tensor const y = coarse_solution(r);
  at::Tensor z = at::zeros_like(r);
  add(y, z);
  Grid3 const grid = space_.slab().part();
  z = cycle(apply_stiffness(z, outside_, grid).neg_().add_(r)).contiguous();
  add(y - coarse_solution(apply_stiffness(z, outside_, grid)), z);
  return z;
}

}  // namespace voxcycle
