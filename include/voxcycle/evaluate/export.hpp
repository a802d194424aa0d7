// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/field/source.hpp"
#include "voxcycle/network/network.hpp"
#include "voxcycle/poisson/boundary.hpp"
#include "voxcycle/poisson/chebyshev_steps.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace torch::jit {
struct Module;
}

namespace voxcycle {

struct Model;

/// What an exported model says about itself.
struct ExportOptions {
  Boundary boundary;                 ///< that the network was made for
  Source source;                     ///< sampled: the model takes f, too
  bool has_unit = false;             ///< of nu: see Model
  ChebyshevSteps smoothing;          ///< of the solution of every level; empty: none
  std::vector<std::int64_t> levels;  ///< voxels an axis, those of cycle.levels
  std::string network;               ///< name and sizes, for people
  std::string weights;               ///< which of a run's, e.g. "averaged"
  std::string version;               ///< of voxcycle
  std::string config;                ///< "key = value" lines of what the weights depend on
};

ExportOptions export_options(Model const& model);

/// The network in evaluation as a TorchScript module, see export_network.
torch::jit::Module script_of(Network const& network, ExportOptions const& options);

/// The network in evaluation as a TorchScript archive that torch::jit::load, and Python's
/// torch.jit.load without voxcycle, read. One model serves all grids of the network: it goes by the
/// shape of its input, of cubic voxels, the longest edge of the box being 1.
///
///     u = model(nu)  or, with a sampled source,  u = model(nu, f)
///
/// nu (not its logarithm) and f: [B, 1, nx, ny, nz], float32 or float64, nu > 0, f as it stands in
/// the equation, both in any unit as solve takes them (see Model::has_unit); u: [B, 1, nx+1, ny+1,
/// nz+1], float32 (float64 where the boundary has a datum, see datum_of), with exact Dirichlet
/// values. It raises torch.jit.Error for other shapes, for grids that the network does not fit and
/// for nu that is not positive and finite. Parameters keep their names in the checkpoint, after
/// "network.". Attributes: levels, datum, faces, boundary, source, source_rms (f is divided by it),
/// network_description, weights, version, config_hash (see text_hash). The same stand in the extra
/// file metadata.json, and config in config.txt. At its first call it sums up its parameters and
/// buffers and raises where the file was damaged, which torch does not see; for weights of one's
/// own set model.checked = True before.
/// @return the archive's bytes
std::string export_network(Network const& network, ExportOptions const& options);

/// What a model takes and gives as Python's torch.load reads it (with weights_only, too): the tuple
/// (nu, u, checksum) or, where f is defined, (nu, f, u, checksum). model.self_check(tuple) raises
/// where the file was damaged, and else says how far the model is from u, relative to it.
/// @return the file's bytes
std::string export_sample(at::Tensor const& nu, at::Tensor const& f, at::Tensor const& u);

}  // namespace voxcycle
