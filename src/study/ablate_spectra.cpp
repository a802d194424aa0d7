// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/config/model.hpp"
#include "voxcycle/config/options.hpp"
#include "voxcycle/core/atomic_file.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/log.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/dataset/held_out.hpp"
#include "voxcycle/grid/micro_batches.hpp"
#include "voxcycle/network/network.hpp"
#include "voxcycle/network/predict.hpp"
#include "voxcycle/poisson/energy.hpp"
#include "voxcycle/solver/spectrum.hpp"
#include "voxcycle/train/agreement.hpp"
#include "voxcycle/train/checkpoint.hpp"
#include "voxcycle/train/held_out.hpp"
#include "voxcycle/train/run_directory.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <sstream>

#include "study/ablate_runs.hpp"
#include <ATen/ATen.h>

namespace voxcycle {
namespace {

/// What computing the spectra of one run shares between its stages; made when first needed.
class Spectra {
 public:
  Spectra(Config const& config, TrainOptions const& options, Grid3 const& grid,
          std::int64_t samples, Communicator const& self)
      : self_(self),
        micro_batch_size_(options.micro_batch_size),
        boundary_(options.boundary),
        source_(options.source),
        box_({grid, options.boundary}) {
    require_shards(dataset_options(config), "held_out", grid);
    ShardSet shards(shard_directory(options.data, "held_out", grid));
    set_ = read_held_out(shards, 0, std::min(samples, shards.samples()));
    require_fits(options.network, grid);
    network_ = make_network(options.network, options.boundary, options.source);
  }

  /// Energy of the error by shell as a share of the solution's, mean over the samples.
  std::vector<double> after(std::string const& weights) {
    CheckpointReader const checkpoint(weights);
    require_units(weights, checkpoint.header().fingerprint, boundary_, source_);
    checkpoint.restore_average(*network_);
    std::vector<double> mean(box_.shells());
    std::int64_t const samples = set_.nu.size(0);
    at::Tensor const ones = at::ones_like(set_.nu.narrow(0, 0, 1), at::kDouble);
    for (auto const& micro_batch :
         micro_batches_of_rank(samples, micro_batch_size_, self_.size(), self_.rank())) {
      auto const part = [&](at::Tensor const& all) {
        return all.defined() ? all.narrow(0, micro_batch.begin, micro_batch.size()) : all;
      };
      at::Tensor const u =
          predict(self_, *network_, set_.grid, part(set_.nu), part(set_.f), at::kFloat);
      for (std::int64_t k = micro_batch.begin; k < micro_batch.end; ++k) {
        at::Tensor const exact = set_.u_ref.narrow(0, k, 1).contiguous();
        auto const of_error = box_(u.narrow(0, k - micro_batch.begin, 1).to(at::kDouble) - exact);
        double const of_solution =
            2 * energy_and_gradient(exact, ones, set_.grid).energy.item<double>();
        for (std::size_t shell = 0; shell < mean.size(); ++shell) {
          mean[shell] += of_error.energy[shell] / (of_solution * static_cast<double>(samples));
        }
      }
    }
    return mean;
  }

 private:
  Communicator const& self_;
  std::int64_t micro_batch_size_;
  Boundary boundary_;
  Source source_;
  SpectrumOfBox box_;
  HeldOutSet set_;
  std::shared_ptr<Network> network_;
};

/// The first line of a kept spectrum: what it was computed from.
std::string signature_of(std::string const& weights, Grid3 const& grid, std::int64_t samples) {
  return "spectrum at " + grid.name() + " of " + std::to_string(samples) +
         " samples with weights " + text_hash(read_file(weights));
}

/// @return nothing if there is none or it is of something else
std::optional<std::vector<double>> kept_spectrum(std::string const& path,
                                                 std::string const& signature) {
  if (!std::filesystem::exists(path)) return std::nullopt;
  std::istringstream lines(read_file(path));
  std::string line;
  if (!std::getline(lines, line) || line != signature) return std::nullopt;
  std::vector<double> energy;
  while (std::getline(lines, line)) energy.push_back(std::strtod(line.c_str(), nullptr));
  return energy;
}

void keep_spectrum(std::string const& path, std::string const& signature,
                   std::vector<double> const& energy) {
  std::string text = signature + "\n";
  for (double const value : energy) text += format("%.17g\n", value);
  write_file_atomically(path, text);
}

}  // namespace

std::vector<StageSpectrum> spectra_of_run(PlannedRun const& run, std::int64_t samples,
                                          Communicator const& self) {
  std::vector<StageSpectrum> all;
  if (samples == 0) return all;
  TrainOptions const options = train_options(run.config);
  Grid3 const grid = options
                         .levels[static_cast<std::size_t>(
                             *std::max_element(options.path.begin(), options.path.end()))]
                         .grid;
  std::optional<Spectra> spectra;
  for (int stage = 0; stage < static_cast<int>(options.path.size()); ++stage) {
    auto const weights = stage_path(run.directory, stage);
    if (!std::filesystem::exists(weights)) continue;
    auto const path = std::filesystem::path(weights).replace_extension(".spectrum").string();
    auto const signature = signature_of(weights, grid, samples);
    auto energy = kept_spectrum(path, signature);
    if (!energy) {
      if (!spectra) spectra.emplace(run.config, options, grid, samples, self);
      log_info(format("run %d, %s: spectrum of the error after stage %d of %zu", run.number,
                      run.label.c_str(), stage + 1, options.path.size()));
      energy = spectra->after(weights);
      keep_spectrum(path, signature, *energy);
    }
    auto const level = static_cast<std::size_t>(options.path[static_cast<std::size_t>(stage)]);
    all.push_back({stage, options.levels[level].grid.label(), std::move(*energy)});
  }
  VOXCYCLE_REQUIRE(!all.empty(), run.directory
                                     << "/stages was not kept, as ablate.spectrum_samples was 0 "
                                        "when it was trained. Remove "
                                     << run.directory << " to train it again, or set 0 again.");
  return all;
}

}  // namespace voxcycle
