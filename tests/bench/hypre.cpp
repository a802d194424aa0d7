// SPDX-License-Identifier: BSD-3-Clause
// hypre's BoomerAMG as preconditioner of PCG on the fields of `voxcycle bench reference`: HMIS
// coarsening, extended+i interpolation, one aggressive level, relative residual 1e-8. The matrix is
// assembled before the clock starts.
//
// usage: mpiexec -n RANKS bench_hypre [voxels an axis]
#include "voxcycle/core/timer.hpp"
#include "voxcycle/field/family.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <HYPRE.h>
#include <HYPRE_IJ_mv.h>
#include <HYPRE_krylov.h>
#include <HYPRE_parcsr_ls.h>
#include <mpi.h>

namespace {

using namespace voxcycle;

struct BenchField {
  char const* name;
  FamilyOptions family;
  double two_phases;
};

std::vector<float> voxels_of(BenchField const& field, Grid3 const& grid) {
  auto const family = make_family(field.family);
  std::vector<float> nu(static_cast<std::size_t>(grid.voxel_count()));
  family->evaluate(family->omega(1, 0), grid, {}, nu);
  if (field.two_phases > 0.0) {
    for (float& value : nu) value = value > 1.0F ? 1.0F : static_cast<float>(1 / field.two_phases);
  }
  return nu;
}

/// Entry of the element matrix of a voxel of side h between corners that differ along `axes` axes.
double element_entry(int axes, double h) {
  constexpr double entries[4] = {1.0 / 3.0, 0.0, -1.0 / 12.0, -1.0 / 12.0};
  return h * entries[axes];
}

/// The rows of K on free nodes (0 < x < n) of this rank's node planes, and b - K lift.
class System {
 public:
  System(std::vector<float> const& nu, int n, int rank, int size) : nu_(nu), n_(n), nodes_(n + 1) {
    first_ = 1 + (n - 1) * rank / size;
    last_ = 1 + (n - 1) * (rank + 1) / size;
    HYPRE_BigInt const low = index(first_, 0, 0), high = index(last_, 0, 0) - 1;
    HYPRE_IJMatrixCreate(MPI_COMM_WORLD, low, high, low, high, &matrix);
    HYPRE_IJMatrixSetObjectType(matrix, HYPRE_PARCSR);
    std::vector<HYPRE_Int> widths(static_cast<std::size_t>(high - low + 1), 27);
    HYPRE_IJMatrixSetRowSizes(matrix, widths.data());
    HYPRE_IJMatrixInitialize(matrix);
    for (auto* vector : {&load, &solution}) {
      HYPRE_IJVectorCreate(MPI_COMM_WORLD, low, high, vector);
      HYPRE_IJVectorSetObjectType(*vector, HYPRE_PARCSR);
      HYPRE_IJVectorInitialize(*vector);
    }
    for (int x = first_; x < last_; ++x) {
      for (int y = 0; y < nodes_; ++y) {
        for (int z = 0; z < nodes_; ++z) add_row(x, y, z);
      }
    }
    HYPRE_IJMatrixAssemble(matrix);
    HYPRE_IJVectorAssemble(load);
    HYPRE_IJVectorAssemble(solution);
  }
  ~System() {
    HYPRE_IJMatrixDestroy(matrix);
    HYPRE_IJVectorDestroy(load);
    HYPRE_IJVectorDestroy(solution);
  }
  System(System const&) = delete;
  System& operator=(System const&) = delete;

  HYPRE_IJMatrix matrix = nullptr;
  HYPRE_IJVector load = nullptr, solution = nullptr;

 private:
  HYPRE_BigInt index(int x, int y, int z) const {
    return (static_cast<HYPRE_BigInt>(x - 1) * nodes_ + y) * nodes_ + z;
  }

  void add_row(int x, int y, int z) {
    std::array<double, 27> entries{};
    for (int voxel = 0; voxel < 8; ++voxel) {
      int const a = voxel >> 2 & 1, b = voxel >> 1 & 1, c = voxel & 1;
      int const xv = x - a, yv = y - b, zv = z - c;
      if (xv < 0 || xv >= n_ || yv < 0 || yv >= n_ || zv < 0 || zv >= n_) continue;
      double const nu = nu_[(static_cast<std::size_t>(xv) * n_ + yv) * n_ + zv];
      for (int corner = 0; corner < 8; ++corner) {
        int const dx = (corner >> 2 & 1) - a, dy = (corner >> 1 & 1) - b, dz = (corner & 1) - c;
        entries[(dx + 1) * 9 + (dy + 1) * 3 + dz + 1] +=
            nu * element_entry((dx != 0) + (dy != 0) + (dz != 0), 1.0 / n_);
      }
    }
    std::array<HYPRE_BigInt, 27> columns{};
    std::array<double, 27> values{};
    HYPRE_Int width = 0;
    double residual = 0.0;
    for (int t = 0; t < 27; ++t) {
      int const xn = x + t / 9 - 1, yn = y + t / 3 % 3 - 1, zn = z + t % 3 - 1;
      if (yn < 0 || yn > n_ || zn < 0 || zn > n_) continue;
      residual -= entries[t] * (1.0 - static_cast<double>(xn) / n_);
      if (xn <= 0 || xn >= n_) continue;
      columns[width] = index(xn, yn, zn);
      values[width++] = entries[t];
    }
    HYPRE_BigInt const row = index(x, y, z);
    double const zero = 0.0;
    HYPRE_IJMatrixSetValues(matrix, 1, &width, &row, columns.data(), values.data());
    HYPRE_IJVectorSetValues(load, 1, &row, &residual);
    HYPRE_IJVectorSetValues(solution, 1, &row, &zero);
  }

  std::vector<float> const& nu_;
  int n_, nodes_, first_ = 0, last_ = 0;
};

void measure(BenchField const& field, int n, int rank, int size) {
  auto const nu = voxels_of(field, Grid3::cube(n));
  System system(nu, n, rank, size);
  HYPRE_ParCSRMatrix matrix = nullptr;
  HYPRE_ParVector load = nullptr, solution = nullptr;
  HYPRE_IJMatrixGetObject(system.matrix, reinterpret_cast<void**>(&matrix));
  HYPRE_IJVectorGetObject(system.load, reinterpret_cast<void**>(&load));
  HYPRE_IJVectorGetObject(system.solution, reinterpret_cast<void**>(&solution));

  HYPRE_Solver amg = nullptr, pcg = nullptr;
  HYPRE_BoomerAMGCreate(&amg);
  HYPRE_BoomerAMGSetCoarsenType(amg, 10);  // HMIS
  HYPRE_BoomerAMGSetInterpType(amg, 6);    // extended+i
  HYPRE_BoomerAMGSetAggNumLevels(amg, 1);
  HYPRE_BoomerAMGSetPMaxElmts(amg, 4);
  HYPRE_BoomerAMGSetStrongThreshold(amg, 0.5);
  HYPRE_BoomerAMGSetRelaxType(amg, 8);  // l1-scaled symmetric Gauss-Seidel
  HYPRE_BoomerAMGSetTol(amg, 0.0);
  HYPRE_BoomerAMGSetMaxIter(amg, 1);
  HYPRE_ParCSRPCGCreate(MPI_COMM_WORLD, &pcg);
  HYPRE_PCGSetTol(pcg, 1e-8);
  HYPRE_PCGSetMaxIter(pcg, 500);
  HYPRE_PCGSetTwoNorm(pcg, 1);
  HYPRE_PCGSetPrecond(pcg, reinterpret_cast<HYPRE_PtrToSolverFcn>(HYPRE_BoomerAMGSolve),
                      reinterpret_cast<HYPRE_PtrToSolverFcn>(HYPRE_BoomerAMGSetup), amg);
  MPI_Barrier(MPI_COMM_WORLD);
  Timer timer;
  HYPRE_ParCSRPCGSetup(pcg, matrix, load, solution);
  MPI_Barrier(MPI_COMM_WORLD);
  double const setup = timer.seconds();
  timer.restart();
  HYPRE_ParCSRPCGSolve(pcg, matrix, load, solution);
  MPI_Barrier(MPI_COMM_WORLD);
  double const solve = timer.seconds();
  HYPRE_Int iterations = 0;
  double residual = 0.0;
  HYPRE_PCGGetNumIterations(pcg, &iterations);
  HYPRE_PCGGetFinalRelativeResidualNorm(pcg, &residual);
  HYPRE_ParCSRPCGDestroy(pcg);
  HYPRE_BoomerAMGDestroy(amg);
  if (rank == 0) {
    std::printf(
        "{\"bench\": \"hypre\", \"grid\": %d, \"ranks\": %d, \"field\": \"%s\", "
        "\"iterations\": %d, \"relative_residual\": %.3g, \"setup_seconds\": %.4g, "
        "\"solve_seconds\": %.4g, \"seconds\": %.4g}\n",
        n, size, field.name, static_cast<int>(iterations), residual, setup, solve, setup + solve);
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  HYPRE_Init();
  int rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int const n = argc > 1 ? std::atoi(argv[1]) : 128;
  std::array<BenchField, 3> fields{
      {{"kl", {}, 0.0}, {"two-phase 1e+04", {}, 1e4}, {"spheres 1e+06", {}, 0.0}}};
  fields[1].family.name = "grf";
  fields[1].family.grf.covariance = "gaussian";
  fields[1].family.grf.length = 0.05;
  fields[2].family.name = "inclusions";
  fields[2].family.inclusions.count = {30, 30};
  fields[2].family.inclusions.radius = {0.05, 0.15};
  fields[2].family.inclusions.contrast = 1e6;
  for (auto const& field : fields) measure(field, n, rank, size);
  HYPRE_Finalize();
  MPI_Finalize();
  return 0;
}
