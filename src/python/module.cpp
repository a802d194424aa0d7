// SPDX-License-Identifier: BSD-3-Clause
// What voxcycle/__init__.py is made of: the solver, a trained network, and shards.
#include "voxcycle/config/choice.hpp"
#include "voxcycle/config/options.hpp"
#include "voxcycle/core/build_info.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/field/formula.hpp"
#include "voxcycle/io/shard.hpp"
#include "voxcycle/solver/figures.hpp"
#include "voxcycle/solver/solver.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "python/surrogate.hpp"
#include "python/tensors.hpp"
#include <ATen/ATen.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>

namespace voxcycle {
namespace {

namespace nb = nanobind;

/// A number, an array or a formula.
using SourceArgument = std::variant<double, std::string, Array>;
using Spacing = std::array<double, 3>;

/// Ctrl-C is Python's to notice, and the solve's to end on.
void raise_what_python_was_sent(int /*iteration*/) {
  nb::gil_scoped_acquire const gil;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

/// As reading a field's file makes it.
Grid3 grid_of(at::Tensor const& nu, std::optional<Spacing> const& spacing) {
  VOXCYCLE_REQUIRE(nu.dim() == 3 && nu.numel() > 0,
                   "nu has shape " << nu.sizes() << ". Pass [nx, ny, nz].");
  Grid3 grid{.voxels = {nu.size(0), nu.size(1), nu.size(2)}};
  double const cubic = 1.0 / static_cast<double>(grid.level());
  for (std::size_t k = 0; k < 3; ++k) {
    double const edge = spacing ? (*spacing)[k] : cubic;
    VOXCYCLE_REQUIRE(edge > 0.0 && std::isfinite(edge),
                     "the spacing " << edge << " along "
                                    << "xyz"[k]
                                    << " is no length. Give the edges of a voxel, each > 0.");
    grid.lengths[k] = edge * static_cast<double>(grid.voxels[k]);
  }
  return grid;
}

std::optional<at::Tensor> source_of(std::optional<SourceArgument> const& given, Grid3 const& grid) {
  if (!given) return {};
  if (auto const* const value = std::get_if<double>(&*given)) {
    if (*value == 0.0) return {};
    return at::full({}, *value, at::kDouble);
  }
  if (auto const* const formula = std::get_if<std::string>(&*given)) {
    auto const values = formula_values(*formula, grid);
    return at::tensor(values, at::kDouble).view(at::IntArrayRef(grid.voxels.data(), 3));
  }
  return tensor_of(std::get<Array>(*given));
}

struct SolveArguments {
  std::optional<std::string> boundary;
  std::string scheme, device;
  std::optional<std::string> precision;
  double tolerance, fill;
  int iterations;
};

SolverOptions solver_options(SolveArguments const& given, Surrogate const* model) {
  SolverOptions options;
  if (model != nullptr) options.model = model->model();
  if (given.boundary) options.boundary = parse_boundary(*given.boundary);
  if (given.precision) options.precision = parse_precision("precision", *given.precision);
  options.scheme = choose<Scheme>("scheme", given.scheme, scheme_words());
  options.device = at::Device(given.device);
  options.tolerance = given.tolerance;
  options.max_iterations = given.iterations;
  options.fill = given.fill;
  options.before_iteration = raise_what_python_was_sent;
  return options;
}

/// @return u, and the figures as JSON
std::pair<nb::object, std::string> solve(Array const& array, SolveArguments const& given,
                                         std::optional<SourceArgument> const& source,
                                         std::optional<Spacing> const& spacing,
                                         Surrogate const* model) {
  at::Tensor const nu = tensor_of(array);
  Grid3 const grid = grid_of(nu, spacing);
  std::optional<Solution> solution;
  std::string figures;
  {
    nb::gil_scoped_release const others_go_on;
    auto const options = solver_options(given, model);
    Solver const solver(options);
    solution = solver.solve(nu, grid, source_of(source, grid));
    auto members = figures_of(*solution, options.method);
    members["boundary"] = to_string(solver.boundary());
    figures = line(members);
  }
  return {torch_tensor(solution->u.contiguous()), figures};
}

at::Tensor optional_tensor(std::optional<Array> const& array) {
  return array ? tensor_of(*array) : at::Tensor();
}

nb::object solution(Surrogate const& self, Array const& nu, std::optional<Array> const& f) {
  at::Tensor u;
  {
    nb::gil_scoped_release const others_go_on;
    u = self.solution(tensor_of(nu), optional_tensor(f));
  }
  return torch_tensor(u);
}

std::pair<nb::object, nb::object> gradients(Surrogate const& self, Array const& nu,
                                            std::optional<Array> const& f, Array const& of_u) {
  std::pair<at::Tensor, at::Tensor> found;
  {
    nb::gil_scoped_release const others_go_on;
    found = self.gradients(tensor_of(nu), optional_tensor(f), tensor_of(of_u));
  }
  return {torch_tensor(found.first), f ? torch_tensor(found.second) : nb::none()};
}

template <class Number>
void put(at::Tensor const& row, std::vector<Number> const& values) {
  std::copy(values.begin(), values.end(), row.mutable_data_ptr<Number>());
}

nb::dict read_shard(std::string const& path) {
  ShardReader const shard(path);
  auto const& info = shard.info();
  auto const fields = [&](std::int64_t more, at::ScalarType type) {
    auto const& n = info.grid.voxels;
    return at::empty({info.samples, n[0] + more, n[1] + more, n[2] + more}, type);
  };
  at::Tensor const omega = at::empty({info.samples, info.parameters}, at::kDouble);
  at::Tensor const nu = fields(0, at::kFloat);
  at::Tensor const f = info.has_source ? fields(0, at::kFloat) : at::Tensor();
  at::Tensor const u = info.has_reference ? fields(1, at::kDouble) : at::Tensor();
  for (std::int64_t k = 0; k < info.samples; ++k) {
    ShardSample const sample = shard.read(k);
    put(omega[k], sample.omega);
    put(nu[k], sample.nu);
    if (f.defined()) put(f[k], sample.f);
    if (u.defined()) put(u[k], sample.u_ref);
  }
  nb::dict read;
  for (auto const& [name, values] :
       {std::pair{"omega", omega}, {"nu", nu}, {"f", f}, {"u_ref", u}}) {
    if (values.defined()) read[name] = torch_tensor(values).attr("numpy")();
  }
  read["lengths"] = info.grid.lengths;
  read["family"] = info.family;
  read["seed"] = info.seed;
  read["split"] = info.split;
  read["boundary"] = info.boundary;
  read["source"] = info.source;
  read["first_index"] = info.first_index;
  if (!info.has_reference) return read;
  read["reference_tolerance"] = info.reference_tolerance;
  read["reference_solver"] = info.reference_solver;
  return read;
}

/// torch's own errors without the stack that they bring along.
void tell_errors_of_torch(std::exception_ptr const& thrown, void* error) {
  try {
    std::rethrow_exception(thrown);
  } catch (c10::Error const& of_torch) {
    PyErr_SetString(static_cast<PyObject*>(error), of_torch.what_without_backtrace());
  }
}

}  // namespace
}  // namespace voxcycle

NB_MODULE(_core, m) {
  using namespace voxcycle;
  nb::set_leak_warnings(false);  // what is alive when Python ends is no mistake
  auto const error = nb::exception<Error>(m, "Error", PyExc_RuntimeError);
  nb::register_exception_translator(tell_errors_of_torch, error.ptr());
  m.attr("version") = build_info::version;
  m.attr("commit") = build_info::commit;
  nb::class_<Surrogate>(m, "Surrogate")
      .def(nb::init<std::string const&, std::optional<std::string> const&>(), nb::arg("path"),
           nb::arg("precision").none())
      .def("solution", solution, nb::arg("nu"), nb::arg("f").none())
      .def("gradients", gradients, nb::arg("nu"), nb::arg("f").none(), nb::arg("of_u"))
      .def_prop_ro("name", [](Surrogate const& s) { return s.model()->name; })
      .def_prop_ro("boundary", [](Surrogate const& s) { return to_string(s.model()->boundary); })
      .def_prop_ro("source", [](Surrogate const& s) { return to_string(s.model()->source); });
  nb::class_<SolveArguments>(m, "SolveArguments")
      .def(nb::init<std::optional<std::string>, std::string, std::string,
                    std::optional<std::string>, double, double, int>(),
           nb::kw_only(), nb::arg("boundary").none(), nb::arg("scheme"), nb::arg("device"),
           nb::arg("precision").none(), nb::arg("tolerance"), nb::arg("fill"),
           nb::arg("iterations"));
  m.def("solve", solve, nb::arg("nu"), nb::arg("arguments"), nb::arg("source").none(),
        nb::arg("spacing").none(), nb::arg("model").none());
  m.def("read_shard", read_shard, nb::arg("path"));
}
