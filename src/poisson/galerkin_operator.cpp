// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/poisson/parallel.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "element_matrix.hpp"
#include "level_operator.hpp"
#include <ATen/ATen.h>

namespace voxcycle {
namespace {

constexpr int entries = 36;  // of a symmetric 8x8 matrix

// Where (i, j) is stored among the 36.
constexpr int packed(int i, int j) {
  return i <= j ? i * 8 - i * (i - 1) / 2 + j - i : packed(j, i);
}

// Trilinear interpolation from a parent's corners to those of its child (numbered like corners).
Matrix8 child_interpolation(int child) {
  Matrix8 p{};
  for (int i = 0; i < 8; ++i) {
    for (int j = 0; j < 8; ++j) {
      p[i][j] = 1.0;
      for (int bit = 0; bit < 3; ++bit) {
        double const position = 0.5 * ((child >> bit & 1) + (i >> bit & 1));  // 0, 1/2 or 1
        p[i][j] *= j >> bit & 1 ? position : 1.0 - position;
      }
    }
  }
  return p;
}

// sum += P^T A P
void add_congruence(Matrix8 const& a, Matrix8 const& p, Matrix8& sum) {
  Matrix8 a_p{};
  for (int i = 0; i < 8; ++i) {
    for (int k = 0; k < 8; ++k) {
      for (int j = 0; j < 8; ++j) {
        a_p[i][j] += a[i][k] * p[k][j];
      }
    }
  }
  for (int k = 0; k < 8; ++k) {
    for (int i = 0; i < 8; ++i) {
      for (int j = 0; j < 8; ++j) {
        sum[i][j] += p[k][i] * a_p[k][j];
      }
    }
  }
}

// A bound of the largest eigenvalue of D^-1 A: row sums of the eighth power of D^-1/2 A D^-1/2.
double largest_ratio(Matrix8 const& a) {
  Matrix8 s;
  for (int i = 0; i < 8; ++i) {
    for (int j = 0; j < 8; ++j) {
      s[i][j] = a[i][j] / std::sqrt(a[i][i] * a[j][j]);
    }
  }
  for (int squaring = 0; squaring < 3; ++squaring) {
    Matrix8 square{};
    for (int i = 0; i < 8; ++i) {
      for (int k = 0; k < 8; ++k) {
        for (int j = 0; j < 8; ++j) {
          square[i][j] += s[i][k] * s[k][j];
        }
      }
    }
    s = square;
  }
  double norm = 0.0;
  for (auto const& row : s) {
    double sum = 0.0;
    for (double value : row) {
      sum += std::abs(value);
    }
    norm = std::max(norm, sum);
  }
  return std::pow(norm, 1.0 / 8.0);
}

class ElementOperator : public LevelOperator {
 public:
  // child_matrix(sample, x, y, z) is the matrix of a voxel of grid.
  template <class ChildMatrix>
  ElementOperator(Grid3 const& fine, std::int64_t batch, at::TensorOptions const& options,
                  ChildMatrix const& child_matrix)
      : LevelOperator(fine.coarsened()) {
    std::int64_t const nx = grid().voxels[0], ny = grid().voxels[1], nz = grid().voxels[2];
    matrices_ = at::empty({batch, entries, nx, ny, nz}, options);
    std::vector<Matrix8> interpolation;
    for (int child = 0; child < 8; ++child) {
      interpolation.push_back(child_interpolation(child));
    }
    std::vector<double> tops(batch * nx * ny);
    AT_DISPATCH_FLOATING_TYPES(matrices_.scalar_type(), "galerkin", [&] {
      auto out = matrices_.accessor<scalar_t, 5>();
      parallel_for(std::ssize(tops), 1024 * nz, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row) {
          std::int64_t const sample = row / (nx * ny), x = row / ny % nx, y = row % ny;
          for (std::int64_t z = 0; z < nz; ++z) {
            Matrix8 sum{};
            for (int c = 0; c < 8; ++c) {
              add_congruence(
                  child_matrix(sample, 2 * x + (c >> 2 & 1), 2 * y + (c >> 1 & 1), 2 * z + (c & 1)),
                  interpolation[c], sum);
            }
            for (int i = 0; i < 8; ++i) {
              for (int j = i; j < 8; ++j) {
                out[sample][packed(i, j)][x][y][z] = static_cast<scalar_t>(sum[i][j]);
              }
            }
            tops[row] = std::max(tops[row], largest_ratio(sum));
          }
        }
      });
    });
    top_ = *std::max_element(tops.begin(), tops.end());
  }

  at::Tensor apply(at::Tensor const& x) const override {
    at::Tensor out = at::empty_like(x);
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "galerkin_apply", [&] {
      gather<scalar_t>(out, [data = x.const_data_ptr<scalar_t>()](std::int64_t row, int j) {
        return data + row + (j & 1);
      });
    });
    return out;
  }

  at::Tensor diagonal() const override {
    at::Tensor out =
        at::empty({matrices_.size(0), 1, grid().nodes(0), grid().nodes(1), grid().nodes(2)},
                  matrices_.options());
    AT_DISPATCH_FLOATING_TYPES(out.scalar_type(), "galerkin_diagonal",
                               [&] { gather<scalar_t>(out, nullptr); });
    return out;
  }

  double top() const override { return top_; }

  std::unique_ptr<LevelOperator> coarsened(CoarseOperator) const override {
    std::unique_ptr<LevelOperator> result;
    AT_DISPATCH_FLOATING_TYPES(matrices_.scalar_type(), "galerkin", [&] {
      auto const values = matrices_.accessor<scalar_t, 5>();
      auto child = [&](std::int64_t sample, std::int64_t x, std::int64_t y, std::int64_t z) {
        Matrix8 a;
        for (int i = 0; i < 8; ++i) {
          for (int j = 0; j < 8; ++j) {
            a[i][j] = static_cast<double>(values[sample][packed(i, j)][x][y][z]);
          }
        }
        return a;
      };
      result =
          std::make_unique<ElementOperator>(grid(), matrices_.size(0), matrices_.options(), child);
    });
    return result;
  }

 private:
  // Each node row takes its share from the (up to four) voxel rows beside it, with
  // input(row, corner) the values at that corner of each voxel along z, or the diagonal's entries
  // where there is no input.
  template <class T, class Input>
  void gather(at::Tensor& out, Input const& input) const {
    std::int64_t const nx = grid().voxels[0], ny = grid().voxels[1], nz = grid().voxels[2];
    std::int64_t const cells = grid().voxel_count();
    std::int64_t const rows = (nx + 1) * (ny + 1);
    auto const* const matrices = matrices_.const_data_ptr<T>();
    auto* const result = out.mutable_data_ptr<T>();
    parallel_for(matrices_.size(0) * rows, 16 * nz, [&](std::int64_t begin, std::int64_t end) {
      std::vector<T> buffer(nz);
      T* const share = buffer.data();
      for (std::int64_t row = begin; row < end; ++row) {
        std::int64_t const sample = row / rows, x = row / (ny + 1) % (nx + 1), y = row % (ny + 1);
        T* const target = result + row * (nz + 1);
        std::fill(target, target + nz + 1, T(0));
        for (int corner = 0; corner < 8; ++corner) {
          std::int64_t const xv = x - (corner >> 2 & 1), yv = y - (corner >> 1 & 1);
          if (xv < 0 || xv >= nx || yv < 0 || yv >= ny) {
            continue;
          }
          T const* const matrix = matrices + sample * entries * cells + (xv * ny + yv) * nz;
          std::fill(share, share + nz, T(0));
          if constexpr (std::is_same_v<Input, std::nullptr_t>) {
            T const* const a = matrix + packed(corner, corner) * cells;
            std::copy(a, a + nz, share);
          } else {
            for (int j = 0; j < 8; ++j) {
              T const* const a = matrix + packed(corner, j) * cells;
              std::int64_t const node_row =
                  (sample * (nx + 1) + xv + (j >> 2 & 1)) * (ny + 1) + yv + (j >> 1 & 1);
              T const* const u = input(node_row * (nz + 1), j);
              for (std::int64_t k = 0; k < nz; ++k) {
                share[k] += a[k] * u[k];
              }
            }
          }
          for (std::int64_t k = 0; k < nz; ++k) {
            target[k + (corner & 1)] += share[k];
          }
        }
      }
    });
  }

  at::Tensor matrices_;  // [B, 36, nx, ny, nz]
  double top_ = 0.0;
};

}  // namespace

std::unique_ptr<LevelOperator> make_galerkin_operator(Grid3 const& grid, at::Tensor const& nu) {
  std::unique_ptr<LevelOperator> result;
  Matrix8 const unit = element_stiffness(grid);
  AT_DISPATCH_FLOATING_TYPES(nu.scalar_type(), "galerkin", [&] {
    auto const values = nu.accessor<scalar_t, 5>();
    auto child = [&](std::int64_t sample, std::int64_t x, std::int64_t y, std::int64_t z) {
      Matrix8 a = unit;
      for (auto& row : a) {
        for (double& value : row) {
          value *= static_cast<double>(values[sample][0][x][y][z]);
        }
      }
      return a;
    };
    result = std::make_unique<ElementOperator>(grid, nu.size(0), nu.options(), child);
  });
  return result;
}

}  // namespace voxcycle
