// SPDX-License-Identifier: BSD-3-Clause
// The fused energy and gradient kernel. A slab is swept one pair of node planes at a time, a plane
// pair one row of voxels at a time, a row along z in vectors. Sums and differences along x and z
// are taken once a node row and shared by the two voxel rows beside it; those along y join two node
// rows. Everything between reading u and writing K u lives in a few rows of scratch.
#include "poisson/operator/energy_rows.hpp"

namespace voxcycle::energy_rows::VOXCYCLE_ISA {
namespace {

constexpr std::int64_t lanes = 16;

// Scratch rows. First letter: sum or difference along x, second: along z.
template <class T>
struct Rows {
  T *ss, *sd, *ds, *dd;                          // coefficients of the last node row, one a voxel
  T *carry_ss, *carry_sd, *carry_ds, *carry_dd;  // its share of K u from the voxel row before
  T *sum_low, *sum_high, *diff_low, *diff_high;  // K u a node: low from voxel k, high from k - 1
  T* energy;                                     // u^T K u a voxel
};

template <class T>
Rows<T> carve(T* scratch, std::int64_t nz) {
  std::int64_t const n = energy_scratch_row(nz);
  auto row = [&](int i) { return scratch + i * n; };
  return {row(0), row(1), row(2), row(3),  row(4),  row(5), row(6),
          row(7), row(8), row(9), row(10), row(11), row(12)};
}

// Coefficients of the first node row of a plane pair; nothing is carried into it.
template <class T>
void begin_plane(Rows<T> const& rows, T const* u0, T const* u1, std::int64_t nz) {
#pragma omp simd
  for (std::int64_t k = 0; k < nz; ++k) {
    T const sum0 = u0[k] + u1[k], sum1 = u0[k + 1] + u1[k + 1];
    T const diff0 = u0[k] - u1[k], diff1 = u0[k + 1] - u1[k + 1];
    rows.ss[k] = sum0 + sum1;
    rows.sd[k] = sum0 - sum1;
    rows.ds[k] = diff0 + diff1;
    rows.dd[k] = diff0 - diff1;
    rows.carry_ss[k] = rows.carry_sd[k] = rows.carry_ds[k] = rows.carry_dd[k] = 0;
  }
}

// One row of voxels: takes the node row above (u0, u1), completes the node row below.
template <class T>
void voxel_row(Rows<T> const& rows, T const* u0, T const* u1, T const* nu, std::int64_t nz,
               HaarSpectrum const& spectrum) {
  T const l_ssd = static_cast<T>(spectrum.lambda[1]), l_sds = static_cast<T>(spectrum.lambda[2]);
  T const l_sdd = static_cast<T>(spectrum.lambda[3]), l_dss = static_cast<T>(spectrum.lambda[4]);
  T const l_dsd = static_cast<T>(spectrum.lambda[5]), l_dds = static_cast<T>(spectrum.lambda[6]);
  T const l_ddd = static_cast<T>(spectrum.lambda[7]);
  T *const ss = rows.ss, *const sd = rows.sd, *const ds = rows.ds, *const dd = rows.dd;
  T *const carry_ss = rows.carry_ss, *const carry_sd = rows.carry_sd;
  T *const carry_ds = rows.carry_ds, *const carry_dd = rows.carry_dd;
  T *const sum_low = rows.sum_low, *const sum_high = rows.sum_high + 1;
  T *const diff_low = rows.diff_low, *const diff_high = rows.diff_high + 1;
  T* const energy = rows.energy;
#pragma omp simd
  for (std::int64_t k = 0; k < nz; ++k) {
    T const sum0 = u0[k] + u1[k], sum1 = u0[k + 1] + u1[k + 1];
    T const diff0 = u0[k] - u1[k], diff1 = u0[k + 1] - u1[k + 1];
    T const new_ss = sum0 + sum1, new_sd = sum0 - sum1;
    T const new_ds = diff0 + diff1, new_dd = diff0 - diff1;

    // Letters: sum or difference along x, y, z.
    T const c_sds = ss[k] - new_ss, c_ssd = sd[k] + new_sd, c_sdd = sd[k] - new_sd;
    T const c_dss = ds[k] + new_ds, c_dds = ds[k] - new_ds;
    T const c_dsd = dd[k] + new_dd, c_ddd = dd[k] - new_dd;
    ss[k] = new_ss;
    sd[k] = new_sd;
    ds[k] = new_ds;
    dd[k] = new_dd;

    T const g_ssd = l_ssd * c_ssd, g_sds = l_sds * c_sds, g_sdd = l_sdd * c_sdd;
    T const g_dss = l_dss * c_dss, g_dsd = l_dsd * c_dsd, g_dds = l_dds * c_dds;
    T const g_ddd = l_ddd * c_ddd;
    T const v = nu[k];
    energy[k] = v * (((g_ssd * c_ssd + g_sds * c_sds) + (g_sdd * c_sdd + g_dss * c_dss)) +
                     ((g_dsd * c_dsd + g_dds * c_dds) + g_ddd * c_ddd));

    // Back along y: the node row below is complete, the one above is carried on.
    T const below_ss = carry_ss[k] + v * g_sds;
    T const below_sd = carry_sd[k] + v * (g_ssd + g_sdd);
    T const below_ds = carry_ds[k] + v * (g_dss + g_dds);
    T const below_dd = carry_dd[k] + v * (g_dsd + g_ddd);
    carry_ss[k] = -(v * g_sds);
    carry_sd[k] = v * (g_ssd - g_sdd);
    carry_ds[k] = v * (g_dss - g_dds);
    carry_dd[k] = v * (g_dsd - g_ddd);

    sum_low[k] = below_ss + below_sd;
    sum_high[k] = below_ss - below_sd;
    diff_low[k] = below_ds + below_dd;
    diff_high[k] = below_ds - below_dd;
  }
}

// The last node row of a plane pair has only what was carried.
template <class T>
void end_plane(Rows<T> const& rows, std::int64_t nz) {
#pragma omp simd
  for (std::int64_t k = 0; k < nz; ++k) {
    rows.sum_low[k] = rows.carry_ss[k] + rows.carry_sd[k];
    rows.sum_high[k + 1] = rows.carry_ss[k] - rows.carry_sd[k];
    rows.diff_low[k] = rows.carry_ds[k] + rows.carry_dd[k];
    rows.diff_high[k + 1] = rows.carry_ds[k] - rows.carry_dd[k];
  }
}

// Back along z and x, into the two node rows g0 and g1.
template <bool add0, bool add1, class T>
void write_row(Rows<T> const& rows, T* g0, T* g1, std::int64_t nz) {
#pragma omp simd
  for (std::int64_t k = 0; k <= nz; ++k) {
    T const sum = rows.sum_low[k] + rows.sum_high[k];
    T const diff = rows.diff_low[k] + rows.diff_high[k];
    g0[k] = add0 ? g0[k] + (sum + diff) : sum + diff;
    g1[k] = add1 ? g1[k] + (sum - diff) : sum - diff;
  }
}

template <class T>
using WriteRow = void (*)(Rows<T> const&, T*, T*, std::int64_t);

template <class T>
WriteRow<T> choose_write(bool add0, bool add1) {
  if (add0) {
    return add1 ? write_row<true, true, T> : write_row<true, false, T>;
  }
  return add1 ? write_row<false, true, T> : write_row<false, false, T>;
}

template <class T>
void add_energy(T const* energy, std::int64_t nz, double* sums) {
  std::int64_t k = 0;
  for (; k + lanes <= nz; k += lanes) {
#pragma omp simd
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      sums[lane] += static_cast<double>(energy[k + lane]);
    }
  }
  for (std::int64_t lane = 0; k < nz; ++k, ++lane) {
    sums[lane] += static_cast<double>(energy[k]);
  }
}

template <class T>
void sweep(SlabJob<T> const& job) {
  std::int64_t const nz = job.nz;
  std::int64_t const row = nz + 1;
  std::int64_t const plane = (job.ny + 1) * row;
  Rows<T> const rows = carve(job.scratch, nz);
  rows.sum_low[nz] = rows.diff_low[nz] = 0;
  rows.sum_high[0] = rows.diff_high[0] = 0;
  for (std::int64_t x = 0; x < job.planes; ++x) {
    double sums[lanes] = {};
    T const* const u0 = job.u + x * plane;
    T const* const u1 = u0 + plane;
    T* const g0 = job.gradient + x * plane;
    T* const g1 = g0 + plane;
    T const* const nu = job.nu + x * job.ny * nz;
    auto const write = choose_write<T>(x > 0 || job.add_first, x + 1 == job.planes && job.add_last);
    begin_plane(rows, u0, u1, nz);
    for (std::int64_t y = 0; y < job.ny; ++y) {
      voxel_row(rows, u0 + (y + 1) * row, u1 + (y + 1) * row, nu + y * nz, nz, job.spectrum);
      add_energy(rows.energy, nz, sums);
      write(rows, g0 + y * row, g1 + y * row, nz);
    }
    end_plane(rows, nz);
    write(rows, g0 + job.ny * row, g1 + job.ny * row, nz);
    double total = 0.0;
    for (double sum : sums) {
      total += sum;
    }
    job.energies[x] = total;
  }
}

}  // namespace

Table const& table() {
  static constexpr Table result{sweep<float>, sweep<double>};
  return result;
}

}  // namespace voxcycle::energy_rows::VOXCYCLE_ISA
