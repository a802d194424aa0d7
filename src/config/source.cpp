// SPDX-License-Identifier: BSD-3-Clause
// problem.source: a number, sampled, a formula, or a file.
#include "voxcycle/config/options.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/field/formula.hpp"
#include "voxcycle/io/field_file.hpp"

#include <cmath>
#include <filesystem>
#include <map>
#include <mutex>

namespace voxcycle {
namespace {

/// As solve --f reads it; the grids of training are of cubes.
SourceField read_source(std::string const& location) {
  // Without a name it would be nu.
  auto field = read_voxel_field(location.ends_with(".vtkhdf") ? location + ":f" : location);
  require_finite(location, field.grid, field.values);
  constexpr double agreement = 1e-6;
  double const edge = field.grid.spacing(0);
  for (int const axis : {1, 2}) {
    VOXCYCLE_REQUIRE(std::abs(field.grid.spacing(axis) - edge) <= agreement * edge,
                     location << ": its voxels are no cubes (edges " << edge << " along x, "
                              << field.grid.spacing(axis) << " along another axis), and training's "
                              << "are. Resample it.");
  }
  return {location, field.grid, {field.values.begin(), field.values.end()}};
}

/// Whether problem.source names a file. One of the name goes before a formula, as in solve --f.
bool names_file(std::string const& text) {
  if (text == "sampled" || parse_number<double>(text)) return false;
  return std::filesystem::exists(text) || (!is_formula(text) && is_field_location(text));
}

/// Reads the file once per process: options are asked for its content again and again.
Source source_in(std::string const& location) {
  static std::mutex mutex;
  static std::map<std::string, Source> known;
  std::lock_guard const lock(mutex);
  auto const found = known.find(location);
  if (found != known.end()) return found->second;
  auto source = source_in_file([location] { return read_source(location); });
  return known.emplace(location, std::move(source)).first->second;
}

}  // namespace

Source source_of(Config const& config) {
  Source source;
  try {
    auto const& text = config.text("problem.source");
    source = names_file(text) ? source_in(text) : parse_source(text);
  } catch (Error const& problem) {
    throw Error(std::string("problem.source: ") + problem.what());
  }
  VOXCYCLE_REQUIRE(source.is_zero() || boundary_of(config).has_dirichlet(),
                   "problem.source = '" << config.text("problem.source")
                                        << "' with zero flux on all six faces has no solution "
                                           "(what comes in must go out). Give one face of "
                                           "problem.boundary a value.");
  return source;
}

}  // namespace voxcycle
