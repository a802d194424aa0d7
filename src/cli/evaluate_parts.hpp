// SPDX-License-Identifier: BSD-3-Clause
// The parts of an evaluation, of one run or of an ensemble.
#pragma once

#include "voxcycle/cli/command.hpp"
#include "voxcycle/network/network.hpp"
#include "voxcycle/train/checkpoint.hpp"
#include "voxcycle/train/trainer.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace voxcycle {

/// The grid asked for by --grid N, else the finest level of the cycle.
Grid3 evaluated_grid(Invocation const& call);

/// held_out, or what --split says.
std::string split_of(Invocation const& call);
/// Its samples, for people.
std::string samples_of(std::string const& split);
/// The directory of the samples' shards.
std::string shards_of(Invocation const& call, std::string const& split, Grid3 const& grid);

/// Where the results go; empty for what is not asked for.
struct Outputs {
  std::string json, csv;
  std::string report;   ///< about samples that training never saw
  std::string compare;  ///< of --compare

  /// With what names them in errors.
  std::vector<std::pair<std::string, std::string>> all() const;
};

/// In the run directory, with names of their own for grids other than the finest and for --split
/// train. @throws Error if one of them cannot be written, or is a file that is read.
Outputs outputs_of(Invocation const& call, std::string const& directory,
                   std::vector<std::string> const& checkpoints, Grid3 const& grid, bool held_out);

/// The averaged weights that are evaluated, in a network on the CPU.
struct Weights {
  /// @throws Error unless they are there, of the config's network and problem, and the same on all
  ///         ranks.
  Weights(Invocation const& call, TrainOptions const& options, at::ScalarType dtype);

  /// For people: of the run's directory the file's name alone.
  std::string name(std::string const& directory) const;

  std::string path;
  CheckpointReader checkpoint;
  Config written;  ///< with; keys that the checkpoint does not know had no other value
  std::shared_ptr<Network> network;
};

}  // namespace voxcycle
