// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/field/formula.hpp"

#include "voxcycle/core/error.hpp"

#include <cmath>
#include <numbers>

#include "field/voxel_centre.hpp"
#include <muParser.h>

namespace voxcycle {
namespace {

class Formula {
 public:
  /// @throws Error, see require_formula
  explicit Formula(std::string const& text) {
    parser_.DefineVar("x", &place_[0]);
    parser_.DefineVar("y", &place_[1]);
    parser_.DefineVar("z", &place_[2]);
    parser_.DefineConst("pi", std::numbers::pi);
    try {
      parser_.SetExpr(text);
      parser_.Eval();  // which reads it
    } catch (mu::ParserError const& problem) {
      throw Error("'" + text + "' is no formula in x, y and z: " + problem.GetMsg());
    }
  }
  double operator()(double x, double y, double z) {
    place_[0] = x, place_[1] = y, place_[2] = z;
    return parser_.Eval();
  }

 private:
  mu::Parser parser_;
  double place_[3] = {0.0, 0.0, 0.0};
};

}  // namespace

void require_formula(std::string const& formula) {
  Formula{formula};
}

bool is_formula(std::string const& text) {
  try {
    require_formula(text);
  } catch (Error const&) {
    return false;
  }
  return true;
}

std::vector<float> formula_values(std::string const& formula, Grid3 const& grid,
                                  Planes const& planes) {
  require_valid(grid);
  Formula value_at(formula);
  std::vector<float> values;
  values.reserve(static_cast<std::size_t>(on_planes(grid, planes).voxel_count()));
  auto const [begin, count] = or_all(planes, grid);
  auto const [nx, ny, nz] = grid.voxels;
  for (std::int64_t i = begin; i < begin + count; ++i) {
    double const x = voxel_centre(grid, 0, i);
    for (std::int64_t j = 0; j < ny; ++j) {
      double const y = voxel_centre(grid, 1, j);
      for (std::int64_t k = 0; k < nz; ++k) {
        double const z = voxel_centre(grid, 2, k);
        auto const value = static_cast<float>(value_at(x, y, z));
        VOXCYCLE_REQUIRE(std::isfinite(value), "'" << formula << "' is not finite at (" << x << ", "
                                                   << y << ", " << z
                                                   << "). Give a formula that is finite at the "
                                                      "centres of all voxels.");
        values.push_back(value);
      }
    }
  }
  return values;
}

}  // namespace voxcycle
