// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/evaluate/export.hpp"

#include "voxcycle/core/build_info.hpp"
#include "voxcycle/core/json.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/network/network.hpp"
#include "voxcycle/network/script_module.hpp"
#include "voxcycle/solver/model.hpp"
#include "voxcycle/train/agreement.hpp"

#include <sstream>
#include <tuple>

#include <ATen/ATen.h>
#include <torch/script.h>

namespace voxcycle {
namespace {

/// Axis, side and value of the Dirichlet faces, those that win last.
using DirichletFaces = c10::List<std::tuple<std::int64_t, std::int64_t, double>>;

DirichletFaces dirichlet_faces(Boundary const& boundary) {
  DirichletFaces faces;
  for (int axis = 2; axis >= 0; --axis) {
    for (int side : {1, 0}) {
      auto const& face = boundary.face(axis, side);
      if (face.kind == FaceKind::dirichlet) faces.push_back({axis, side, face.value});
    }
  }
  return faces;
}

/// Stiffness matrix of a voxel of edge 1 for nu = 1 by its eigenvectors, sums and differences along
/// each axis, and eigenvalues over squared lengths of these: K1 has 1 for a difference, M1 1/4 for
/// a sum and 1/12 for a difference.
struct VoxelSpectrum {
  at::Tensor haar = at::ones({8, 1, 2, 2, 2});
  at::Tensor values = at::zeros({1, 8, 1, 1, 1});
};

VoxelSpectrum voxel_spectrum() {
  VoxelSpectrum spectrum;
  for (int k = 0; k < 8; ++k) {
    auto const is_difference = [&](int axis) { return (k >> axis & 1) != 0; };
    double value = 0.0;
    for (int axis = 0; axis < 3; ++axis) {
      if (!is_difference(axis)) continue;
      spectrum.haar[k].select(1 + axis, 1).neg_();
      double product = 1.0;
      for (int other = 0; other < 3; ++other) {
        if (other != axis) product *= is_difference(other) ? 1.0 / 12.0 : 1.0 / 4.0;
      }
      value += product;
    }
    spectrum.values[0][k] = value;
  }
  return spectrum;
}

torch::jit::Module script_frame(ExportOptions const& options) {
  c10::List<std::tuple<double, double>> steps;
  for (auto const& step : options.smoothing) steps.push_back({step.keep, step.take});
  auto const spectrum = voxel_spectrum();
  constexpr double squared_length = 8.0;  // of a Haar vector
  constexpr double diagonal = 1.0 / 3.0;  // of the voxel's matrix
  return script_module(
      {.name = "NestedFrame",
       .attributes = {{"faces", dirichlet_faces(from_datum(options.boundary))},
                      {"steps", steps},
                      {"constant_source", options.source.value},
                      {"source_rms", double{source_rms}},
                      {"size", solution_size(options.boundary, options.source)},
                      {"top", spectrum.values.max().item<double>() * squared_length / diagonal}},
       .buffers = {{"haar", spectrum.haar}, {"spectrum", spectrum.values}}});
}

std::string metadata_of(ExportOptions const& options) {
  return line(Json::object({{"levels", options.levels},
                            {"boundary", to_string(options.boundary)},
                            {"source", to_string(options.source)},
                            {"source_rms", source_rms},
                            {"network", options.network},
                            {"weights", options.weights},
                            {"voxcycle_version", options.version},
                            {"config_hash", text_hash(options.config)}})) +
         "\n";
}

}  // namespace

ExportOptions export_options(Model const& model) {
  ExportOptions options{.boundary = model.boundary,
                        .source = model.source,
                        .has_unit = model.has_unit,
                        .smoothing = smoothing_steps(steps_of_levels(model.options)),
                        .levels = {},
                        .network = model.name,
                        .weights = "averaged",
                        .version = build_info::version,
                        .config = model.training};
  for (auto const& grid : model.grids) options.levels.push_back(grid.level());
  return options;
}

torch::jit::Module script_of(Network const& network, ExportOptions const& options) {
  bool const sampled = options.source.varies();
  auto model = script_module(
      {.name = sampled ? "ModelOfNuAndF" : "ModelOfNu",
       .attributes = {{"network", script_module(network, script_frame(options))._ivalue()},
                      {"levels", options.levels},
                      {"boundary", to_string(options.boundary)},
                      {"source", to_string(options.source)},
                      {"datum", datum_of(options.boundary)},
                      {"faces", dirichlet_faces(options.boundary)},
                      {"source_rms", double{source_rms}},
                      {"has_unit", options.has_unit},
                      {"linear", !sampled && options.source.value != 0.0},
                      {"network_description", options.network},
                      {"weights", options.weights},
                      {"version", options.version},
                      {"config_hash", text_hash(options.config)},
                      {"dtypes", c10::List<std::int64_t>{}},
                      {"checksum", std::int64_t{0}},
                      {"checked", false}}});
  model.setattr("dtypes", model.run_method("types_of_weights"));
  model.setattr("checksum", model.run_method("checksum_of_weights"));
  return model;
}

std::string export_network(Network const& network, ExportOptions const& options) {
  std::ostringstream archive;
  script_of(network, options)
      .save(archive, {{"metadata.json", metadata_of(options)}, {"config.txt", options.config}});
  return archive.str();
}

}  // namespace voxcycle
