// SPDX-License-Identifier: BSD-3-Clause
#include "cli/guide.hpp"

#include "voxcycle/core/error.hpp"

#include <algorithm>

namespace voxcycle {
namespace {

std::vector<Guide> const kGuides{
    {"generate",
     {"data.directory", "data.family", "data.file", "data.train_samples", "data.held_out_samples",
      "data.seed", "problem.boundary", "problem.source", "problem.box", "cycle.levels"},
     {"generate --config configs/demo.cfg",
      "generate --data.directory data/rough --data.family grf --cycle.levels 8,16,32"}},
    {"train",
     {"run.directory", "data.directory", "cycle.levels", "cycle.steps", "cycle.epochs",
      "cycle.seconds", "cycle.batch", "cycle.rate", "train.precision", "run.device"},
     {"train --config configs/demo.cfg --dry-run", "train --config configs/demo.cfg",
      "train --config configs/demo.cfg --cycle.steps 20 --run.directory runs/short"}},
    {"evaluate",
     {"run.directory", "data.directory", "data.held_out_samples", "cycle.levels", "run.device",
      "run.threads"},
     {"evaluate --config configs/demo.cfg --compare",
      "evaluate --config configs/demo.cfg --checkpoint runs/demo/best.h5 --grid 32"}},
    {"solve",
     {"problem.boundary", "problem.source", "run.threads", "run.device", "run.graph"},
     {"solve --nu field.npy --out u.vtkhdf --json u.json",
      "solve --nu fields.h5:/nu[3] --bc 1,0,flux,flux,flux,flux --f 'sin(pi*x)'",
      "solve --nu field.npy --model runs/hybrid --certify"}},
    {"conductivity",
     {"run.threads", "run.device"},
     {"conductivity scan.tif --phases 0:0,1:1,2:0.3",
      "conductivity 'slices/*.tif' --threshold 128 --axis x --csv figures.csv"}},
    {"export",
     {"run.directory", "data.directory"},
     {"export --config configs/demo.cfg --out model.pt --sample sample.pt",
      "export --checkpoint runs/demo/best.h5 --out model.pt"}},
    {"ablate",
     {"ablate.directory", "ablate.jobs", "ablate.processes", "ablate.launcher", "ablate.baseline",
      "ablate.target_metric", "ablate.target_error", "cycle.seconds", "run.threads", "run.device"},
     {"ablate --config configs/recipe.cfg --list", "ablate --config configs/recipe.cfg"}},
    {"scale",
     {"cycle.levels", "cycle.batch", "network.channels", "train.precision", "train.reduction",
      "train.micro_batch_size", "run.spatial_processes", "run.threads", "run.device",
      "run.memory_limit"},
     {"scale --config configs/demo.cfg --processes 1,2,4",
      "scale --config configs/hybrid.cfg --grid 32 --batch 16 --model 0.9,5"}},
    {"verify",
     {"data.directory", "cycle.levels", "cycle.batch", "network.channels", "train.optimizer",
      "train.precision", "train.reduction", "run.threads", "run.device"},
     {"verify --config configs/verify.cfg --ranks 1,2,3"}},
    {"bench",
     {"network.channels", "network.coarse", "network.smoothing", "train.loss", "train.optimizer",
      "train.precision", "train.layout", "train.micro_batch_size", "run.threads", "run.device"},
     {"bench energy --grid 256", "bench step --config configs/demo.cfg --grid 32 --batch 8"}},
    {"info", {"run.threads"}, {"info"}},
};

}  // namespace

Guide const& guide_of(std::string const& command) {
  auto const found = std::find_if(kGuides.begin(), kGuides.end(),
                                  [&](auto const& guide) { return guide.command == command; });
  VOXCYCLE_REQUIRE(found != kGuides.end(), command << ": the help lacks its examples. Add them.");
  return *found;
}

}  // namespace voxcycle
