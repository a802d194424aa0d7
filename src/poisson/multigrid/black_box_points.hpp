// SPDX-License-Identifier: BSD-3-Clause
// Set-up of black box multigrid on GPUs, node by node (core/element_job.hpp): what black_box.cpp
// does row by row on a CPU, but for the order of sums in float64.
#pragma once

#include "voxcycle/core/element_job.hpp"
#include "voxcycle/core/unrolled.hpp"

#include <cstdint>
#include <tuple>
#include <type_traits>

#include "poisson/multigrid/axis_coarsening.hpp"
#include "poisson/operator/node_points.hpp"
#include "poisson/operator/stencil_offsets.hpp"

namespace voxcycle {

/// Weights of the fine nodes that are between coarse ones along some axes, and so odd: one such
/// node, numbered [batch, x, y, z] by nodes(). Edges first, then faces, then voxels: each needs
/// those before.
/// @tparam Entries  of the fine matrix, see stencil_points.hpp
/// @tparam odd_x, odd_y, odd_z  0 or 1
template <class T, class Entries, int odd_x, int odd_y, int odd_z>
struct BlackBoxWeightJob {
  Entries fine;
  T* weights;  ///< [batch, 26, coarse]
  GridCoarsening coarsening;

  VOXCYCLE_BOTH FieldSize nodes() const {
    return {coarsening[0].count(odd_x != 0), coarsening[1].count(odd_y != 0),
            coarsening[2].count(odd_z != 0)};
  }

  VOXCYCLE_BOTH void operator()(std::int64_t i) const {
    auto const [sample, kx, ky, kz] = nodes().place(i);
    int const x = coarsening[0].point(odd_x != 0, kx), y = coarsening[1].point(odd_y != 0, ky);
    int const z = coarsening[2].point(odd_z != 0, kz);
    // The weight that the coarse node at f + c, or off that by a shift, gives to the fine node at
    // offset t of f + c.
    FieldSize const coarse{coarsening[0].coarse(), coarsening[1].coarse(), coarsening[2].coarse()};
    int const px = odd_x != 0 ? x : x + coarsening[0].shift(x);
    int const py = odd_y != 0 ? y : y + coarsening[1].shift(y);
    int const pz = odd_z != 0 ? z : z + coarsening[2].shift(z);
    int const shift = index_of(px - x, py - y, pz - z) - no_offset;
    auto const weight = [&](Step const& c, int t) {
      int const slot = sample * weight_count + weight_slot(t - shift);
      return weights + coarse.index(slot, (px + c.x) / 2, (py + c.y) / 2, (pz + c.z) / 2);
    };
    // -1 times the couplings to each neighbour among these axes' nodes, summed along the others.
    double row[offset_count], collapsed[offset_count] = {}, sum = 0.0;
    fine.row(sample, x, y, z, row);
    unrolled<offset_count>([&](auto offset) {
      constexpr int t = decltype(offset)::value;
      if constexpr (along_odd(t) != no_offset) collapsed[along_odd(t)] -= row[t];
    });
    unrolled<offset_count>([&](auto offset) { sum += collapsed[decltype(offset)::value]; });

    // What each corner gives: by itself and through nodes nearer to it.
    constexpr int corners = 1 << (odd_x + odd_y + odd_z);
    constexpr double minimum = corners == 2 ? 0.0 : -1.0, maximum = corners == 2 ? 1.0 : 2.0;
    double shares[corners];
    bool sense = sum > 0.0;
    unrolled<corners>([&](auto number) {
      constexpr int n = decltype(number)::value, c = corner(n);
      double share = 0.0;
      unrolled<offset_count>([&](auto neighbour) {
        constexpr int d = decltype(neighbour)::value;
        if constexpr (d == c) {
          share += collapsed[d];
        } else if constexpr (d != no_offset && towards(Step(d), Step(c))) {
          share += collapsed[d] * static_cast<double>(*weight(Step(c), d - c + no_offset));
        }
      });
      shares[n] = share / sum;
      sense = sense && shares[n] >= minimum && shares[n] <= maximum;
    });
    unrolled<corners>([&](auto number) {
      constexpr int n = decltype(number)::value, c = corner(n);
      *weight(Step(c), offset_count - 1 - c) = static_cast<T>(sense ? shares[n] : 1.0 / corners);
    });
  }

 private:
  /// The offset without its parts along even axes.
  VOXCYCLE_BOTH static constexpr int along_odd(int t) {
    Step const o(t);
    return index_of(odd_x * o.x, odd_y * o.y, odd_z * o.z);
  }
  /// Whether an offset lies between zero and a corner along every axis, along the odd ones at all.
  VOXCYCLE_BOTH static constexpr bool towards(Step const& d, Step const& c) {
    return (d.x == 0 || d.x == c.x) && (d.y == 0 || d.y == c.y) && (d.z == 0 || d.z == c.z);
  }
  /// Corner n of the edge, face or voxel around the node, in the order of offsets.
  VOXCYCLE_BOTH static constexpr int corner(int n) {
    int c = no_offset;
    int const strides[3] = {9 * odd_x, 3 * odd_y, odd_z};
    for (int axis = 2; axis >= 0; --axis) {
      if (strides[axis] == 0) continue;
      c += n % 2 == 0 ? -strides[axis] : strides[axis];
      n /= 2;
    }
    return c;
  }
};

/// Couplings of P^T K P between a coarse node I and the 13 behind it: all of one element of [batch,
/// coarse]. Of the product with P^T, (P^T K)(I, g) for the fine nodes g within two of I, a plane
/// across x is kept at a time, which registers hold.
template <class T, class Entries>
struct BlackBoxCouplingJob {
  Entries fine;
  T const* weights;  ///< [batch, 26, coarse]
  T* couplings;      ///< [batch, 13, coarse]
  FieldSize coarse;

  VOXCYCLE_BOTH void operator()(std::int64_t i) const {
    auto const [sample, x, y, z] = coarse.place(i);
    std::int64_t const count = coarse.count(), here = coarse.index(0, x, y, z);
    T const* const of_sample = weights + sample * weight_count * count;
    // A neighbour outside of the grid is played by this node, and its coupling dropped.
    std::int64_t neighbours[coupling_count];
    unrolled<coupling_count>([&](auto number) {
      constexpr int slot = decltype(number)::value;
      constexpr Step s(slot + no_offset + 1);
      bool const there = coarse.holds(x + s.x, y + s.y, z + s.z);
      neighbours[slot] =
          there ? here + (s.x * coarse.y + s.y) * std::int64_t{coarse.z} + s.z : here;
    });
    auto const weight = [&](std::int64_t node, int t) {
      return t == no_offset ? 1.0 : static_cast<double>(of_sample[weight_slot(t) * count + node]);
    };

    double sums[coupling_count] = {};
    unrolled<4>([&](auto plane) {
      constexpr int gx = decltype(plane)::value - 1;  // those behind give to no plane before
      double product[5][5] = {};
      unrolled<offset_count>([&](auto from) {
        constexpr Step f(decltype(from)::value);
        constexpr int ox = gx - f.x;
        if constexpr (near(ox)) {
          double const p = weight(here, decltype(from)::value);
          double row[offset_count];
          fine.row(sample, 2 * x + f.x, 2 * y + f.y, 2 * z + f.z, row);
          unrolled<9>([&](auto by) {
            constexpr int oy = decltype(by)::value / 3 - 1, oz = decltype(by)::value % 3 - 1;
            product[f.y + oy + 2][f.z + oz + 2] += p * row[index_of(ox, oy, oz)];
          });
        }
      });
      unrolled<coupling_count>([&](auto number) {
        constexpr int slot = decltype(number)::value;
        constexpr Step s(slot + no_offset + 1);
        unrolled<25>([&](auto node) {
          constexpr int gy = decltype(node)::value / 5 - 2, gz = decltype(node)::value % 5 - 2;
          constexpr int tx = gx - 2 * s.x, ty = gy - 2 * s.y, tz = gz - 2 * s.z;
          if constexpr (near(tx) && near(ty) && near(tz)) {
            sums[slot] += product[gy + 2][gz + 2] * weight(neighbours[slot], index_of(tx, ty, tz));
          }
        });
      });
    });
    unrolled<coupling_count>([&](auto number) {
      constexpr int slot = decltype(number)::value;
      constexpr Step s(slot + no_offset + 1);
      bool const there = coarse.holds(x + s.x, y + s.y, z + s.z);
      couplings[(sample * coupling_count + slot) * count + here] =
          there ? static_cast<T>(sums[slot]) : T(0);
    });
  }

 private:
  VOXCYCLE_BOTH static constexpr bool near(int o) { return o >= -1 && o <= 1; }
};

/// The jobs that make all weights, in order.
template <class T, class Entries>
using BlackBoxWeightJobs =
    std::tuple<BlackBoxWeightJob<T, Entries, 0, 0, 1>, BlackBoxWeightJob<T, Entries, 0, 1, 0>,
               BlackBoxWeightJob<T, Entries, 1, 0, 0>, BlackBoxWeightJob<T, Entries, 0, 1, 1>,
               BlackBoxWeightJob<T, Entries, 1, 0, 1>, BlackBoxWeightJob<T, Entries, 1, 1, 0>,
               BlackBoxWeightJob<T, Entries, 1, 1, 1>>;

/// Calls run(count, job) for them.
/// @param weights  [batch, 26, coarse], set where fine nodes lie on coarse ones, else zeros
template <class T, class Entries, class Run>
void black_box_weight_jobs(Entries const& fine, std::int64_t batch,
                           GridCoarsening const& coarsening, T* weights, Run const& run) {
  auto const run_some = [&](auto const& job) {
    std::int64_t const count = batch * job.nodes().count();
    if (count > 0) run(count, job);
  };
  [&]<class... Job>(std::type_identity<std::tuple<Job...>>) {
    (run_some(Job{fine, weights, coarsening}), ...);
  }(std::type_identity<BlackBoxWeightJobs<T, Entries>>());
}

}  // namespace voxcycle
