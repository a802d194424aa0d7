// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/evaluate/export.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/json.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/network/scripted_layers.hpp"
#include "voxcycle/train/agreement.hpp"
#include "voxcycle/train/frame.hpp"

#include <sstream>
#include <tuple>

#include "evaluate/export_script.hpp"
#include "evaluate/nested_script.hpp"
#include <ATen/ATen.h>
#include <torch/csrc/jit/serialization/pickle.h>
#include <torch/script.h>

namespace voxcycle {
namespace {

using ScriptModule = torch::jit::Module;

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

/// An empty module. Python expects the flag, which its eval() and train() set.
ScriptModule evaluation_module(std::string const& name) {
  ScriptModule module(name);
  module.register_attribute("training", c10::BoolType::get(), false);
  return module;
}

/// Adds plain values that the module's script reads.
void add(ScriptModule& module, std::string const& name, auto const& value) {
  module.register_attribute(name, c10::getTypePtr<std::decay_t<decltype(value)>>(), value);
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

ScriptModule script_frame(ExportOptions const& options) {
  ScriptModule module = evaluation_module("Frame");
  add(module, "faces", dirichlet_faces(from_datum(options.boundary)));
  c10::List<std::tuple<double, double>> steps;
  for (auto const& step : options.smoothing) steps.push_back({step.keep, step.take});
  add(module, "steps", steps);
  add(module, "constant_source", options.source.value);
  add(module, "source_rms", double{source_rms});
  add(module, "size", solution_size(options.boundary, options.source));
  auto const spectrum = voxel_spectrum();
  module.register_buffer("haar", spectrum.haar);
  module.register_buffer("spectrum", spectrum.values);
  constexpr double squared_length = 8.0;  // of a Haar vector
  constexpr double diagonal = 1.0 / 3.0;  // of the voxel's matrix
  add(module, "top", spectrum.values.max().item<double>() * squared_length / diagonal);
  module.define(std::string(export_script::frame) + export_script::nested);
  return module;
}

/// A layer and all below it, children first: a script is compiled against what it calls.
/// @param frame  becomes one more child; null: none
ScriptModule script_module(ScriptedLayer const& layer, ScriptModule const* frame) {
  ScriptModule script = evaluation_module(layer.name);
  for (auto const& [name, value] : layer.parameters) {
    script.register_parameter(name, value.detach().clone(), /*is_buffer=*/false);
  }
  for (auto const& [name, value] : layer.buffers) {
    script.register_buffer(name, value.detach().clone());
  }
  for (auto const& below : layer.layers) {
    script.register_module(below.name, script_module(below, nullptr));
  }
  if (frame != nullptr) script.register_module("frame", *frame);
  if (!layer.script.empty()) script.define(layer.script);
  return script;
}

std::string metadata_of(ExportOptions const& options) {
  std::vector<std::string> levels;
  for (auto level : options.levels) levels.push_back(std::to_string(level));
  return json::object({{"levels", json::array(levels)},
                       {"boundary", json::text(to_string(options.boundary))},
                       {"source", json::text(to_string(options.source))},
                       {"source_rms", json::number(source_rms)},
                       {"network", json::text(options.network)},
                       {"weights", json::text(options.weights)},
                       {"voxcycle_version", json::text(options.version)},
                       {"config_hash", json::text(text_hash(options.config))}}) +
         "\n";
}

}  // namespace

std::string export_network(Network const& network, ExportOptions const& options) {
  ScriptModule model = evaluation_module("VoxcycleModel");
  auto const frame = script_frame(options);
  model.register_module("network", script_module(scripted_layers(network, "Network"), &frame));
  add(model, "levels", c10::List<std::int64_t>(options.levels));
  add(model, "boundary", to_string(options.boundary));
  add(model, "source", to_string(options.source));
  add(model, "datum", datum_of(options.boundary));
  add(model, "faces", dirichlet_faces(options.boundary));
  add(model, "source_rms", double{source_rms});
  add(model, "network_description", options.network);
  add(model, "weights", options.weights);
  add(model, "version", options.version);
  add(model, "config_hash", text_hash(options.config));
  bool const sampled = options.source.kind == SourceKind::sampled;
  model.define(std::string(export_script::checks) +
               (sampled ? export_script::of_nu_and_f : export_script::of_nu));
  std::ostringstream archive;
  model.save(archive, {{"metadata.json", metadata_of(options)}, {"config.txt", options.config}});
  return archive.str();
}

std::string export_sample(at::Tensor const& nu, at::Tensor const& f, at::Tensor const& u) {
  // A dictionary from here would need more than Python's weights_only lets through.
  std::vector<c10::IValue> tensors;
  for (auto const& tensor : {nu, f, u}) {
    if (tensor.defined()) tensors.emplace_back(tensor.contiguous().clone());
  }
  auto const bytes = torch::jit::pickle_save(c10::ivalue::Tuple::create(std::move(tensors)));
  return {bytes.begin(), bytes.end()};
}

}  // namespace voxcycle
