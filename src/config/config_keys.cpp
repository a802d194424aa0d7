// SPDX-License-Identifier: BSD-3-Clause
#include "config/config_keys.hpp"

#include "voxcycle/config/options.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/cycle/cycle.hpp"
#include "voxcycle/field/family.hpp"
#include "voxcycle/network/network.hpp"
#include "voxcycle/optim/optimizer.hpp"
#include "voxcycle/train/loss.hpp"
#include "voxcycle/train/trainer.hpp"

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <map>
#include <string>
#include <type_traits>

#include "config/choices.hpp"

namespace voxcycle {

namespace {

std::string text(std::integral auto value) {
  return std::to_string(value);
}

std::string text(double value) {
  return shortest_text(value);
}

template <class List>
requires(std::is_class_v<List>) std::string text(List const& entries) {
  std::vector<std::string> texts;
  for (auto const& entry : entries) texts.push_back(text(entry));
  return join(texts);
}

std::string text(std::map<std::int64_t, std::int64_t> const& channels) {
  std::vector<std::string> texts;
  for (auto const& [voxels, count] : channels) texts.push_back(text(voxels) + ":" + text(count));
  return join(texts);
}

}  // namespace

std::vector<ConfigKey> all_config_keys() {
  TrainOptions const train;
  DatasetOptions const data;
  LevelPlan const level{};
  auto const& family = data.family;
  auto const& network = train.network;
  auto const& lbfgs = train.lbfgs;
  return {
      {"run.directory", train.directory, "where log, metrics, checkpoints and the report go"},
      {"run.seed", text(train.seed), "seed of initial weights and sampling order, >= 0"},
      {"run.threads", "0", "threads per process; 0: OMP_NUM_THREADS, else cores / local processes"},
      {"run.device", word_of(kDevices, DeviceOptions{}.kind),
       "where generate, train, evaluate, solve and bench compute: cpu; cuda, each process on the "
       "GPU of its number on its machine; auto: cuda where a GPU can be used"},
      {"run.memory_limit", "0",
       "GiB that a process may hold (of a GPU where it computes on one), >= 0; 0: nine tenths of "
       "the GPU's memory, of this machine's or of its control group's, shared by the local "
       "processes. train and bench step refuse what will not fit"},
      {"run.patience", "600",
       "seconds after which a process that stands still, while others wait for it, ends the job; "
       "0: "
       "never"},
      {"run.graph", word_of(kYesNo, train.graph),
       "CUDA graphs: what a GPU does again and again (training steps, multigrid cycles of solve) "
       "is "
       "recorded once and launched as a whole; what waits for the GPU on its way runs as it does "
       "without, and a line says why; the same bits. Not tried on a GPU yet, but on the tests' "
       "emulation"},
      {"run.spatial_processes", text(train.slabs.count),
       "processes that compute a sample together, each a slab along x of fine grids, in train, "
       "evaluate, generate, verify and bench step: for samples that one process cannot hold or is "
       "too slow for. The "
       "number of processes must be a multiple of it, and slabs have five planes or more. auto: "
       "what train, evaluate and generate find to be the fastest of those that fit in memory; "
       "train --dry-run says why. Such a run goes on on another number of processes with the same "
       "run.spatial_parts only"},
      {"run.spatial_parts", "auto",
       "parts of a sample, each a term of the sums over features, at least run.spatial_processes: "
       "with the same number, weights have the same bits on any number of processes that share out "
       "a sample, and a run goes on on another number. auto: as many as processes"},
      {"run.spatial_above", text(train.slabs.above),
       "grids with more voxels than this along their longest edge are shared out in slabs, >= 1"},

      {"log.mode", word_of(kLogModes, LogOptions{}.mode),
       "whose lines train's log.file holds: master, rank 0's; collect, those of all ranks, in the "
       "order of their writing; workers, rank 0's, and a file beside it for each other rank "
       "(log.1.txt, ...); warnings and errors of all ranks in any case"},
      {"log.file", "", "where train appends its log; empty: log.txt in run.directory"},

      {"problem.boundary", to_string(train.boundary),
       "conditions on the faces x-, x+, y-, y+, z-, z+: a Dirichlet value or 'flux' (zero flux)"},
      {"problem.box", "1, 1, 1",
       "edges of the box along x, y, z in units of the longest; voxels are cubes, so that every "
       "level must have a whole number of them along each edge"},
      {"problem.source", to_string(train.source),
       "right-hand side f: a number (constant), 'sampled' (smooth, random, another one for each "
       "sample), a formula in x, y, z, in units of the box's longest edge, such as "
       "8*sin(pi*x) (muParser's notation), or a file: FILE.npy, FILE.h5:/path, FILE.vtkhdf[:name] "
       "or FILE:a,b,c:type, x the first axis, on the finest grid or a finer one, whose voxels "
       "coarser grids average; the network sees f that is not constant"},

      {"data.directory", data.directory, "where the shards are: <split>/<grid>/shard-*.h5"},
      {"data.family", family.name, "coefficient family: " + join(family_names())},
      {"data.modes", text(family.modes), "kl: number of modes, 1 to 6"},
      {"data.omega_range", text(family.omega_range),
       "kl: omega lies in [-range, range]^modes, > 0, modes * range <= 80"},
      {"data.covariance", family.grf.covariance,
       "grf: covariance of log nu: exponential, exp(-r/length), or gaussian, exp(-(r/length)^2/2)"},
      {"data.correlation_length", text(family.grf.length),
       "grf: length in units of the box's longest edge, 0.02 to 0.5"},
      {"data.variance", text(family.grf.variance), "grf: variance of log nu, 1e-6 to 16"},
      {"data.band", text(family.grf.band),
       "grf: maximum wave number each way along an axis, 1 to 128 (cuts the finest details off "
       "exponential covariance)"},
      {"data.shape", family.inclusions.shape, "inclusions: " + join(inclusion_shape_names())},
      {"data.inclusions", text(family.inclusions.count),
       "inclusions: minimum and maximum per sample, 1 to 1000"},
      {"data.radius", text(family.inclusions.radius),
       "inclusions: smallest and largest radius (boxes: half edge) in units of the box's longest "
       "edge, 0.001 to 0.5"},
      {"data.contrast", text(family.inclusions.contrast),
       "inclusions: nu inside, 1e-6 to 1e6; outside it is 1"},
      {"data.file", family.file.location,
       "file: what solve --nu takes, or a list, a folder or a pattern of it: FILE.h5:/nu or "
       "FILE.npy "
       "[samples, nx, ny, nz], 'fields/*.npy', 'scans/*.tif'; the last data.held_out_samples are "
       "held out"},
      {"data.phases", "",
       "file: what the labels of segmented images conduct, LABEL:VALUE,..., or self: the numbers "
       "are "
       "the values"},
      {"data.floor", text(family.file.floor),
       "file: smaller values are raised to it, 0 to 1e30 in the arrays' unit; with 0, voxels of 0 "
       "are refused. solve --model shows them to the network as 1e-4 of the smallest other value"},
      {"data.seed", text(data.seed), "seed of the samples, >= 0"},
      {"data.more", "",
       "more shard directories mixed into training as DIRECTORY:WEIGHT, ...; samples are drawn "
       "with probabilities relative to 1 of data.directory"},
      {"data.augmentation", word_of(kAugmentations, train.augmentation),
       "orientations in which training sees each field: none (as it is), reflections (8), all "
       "(axes change places, too: 48 of a cube); for few arrays of one's own, and losses without "
       "reference solutions"},
      {"data.train_samples", text(data.train_samples),
       "training samples, one number or one per level"},
      {"data.held_out_samples", text(data.held_out_samples),
       "samples with reference solutions, never trained on; one number or one per level"},
      {"data.on_the_fly", word_of(kYesNo, data.on_the_fly),
       "make training samples while training, the same bytes, instead of storing them: yes, no"},
      {"data.workers", text(train.workers),
       "threads per process that read and make training samples ahead, 1 to 256; the same samples "
       "in the same order for any number. More than one pay where making samples "
       "(data.on_the_fly, data.augmentation) is slower than training and cores are idle"},
      {"data.shard_samples", text(data.shard_samples),
       "maximum number of samples in a shard file, one number or one per level; a shard is one "
       "process's work"},
      {"data.train_references", word_of(kYesNo, data.train_references),
       "whether training samples get reference solutions, too (yes, no): loss supervised needs "
       "them"},
      {"data.reference", to_string(data.reference),
       "solver of reference solutions: multigrid; fft, a second, independent way on CPUs, slow at "
       "high contrast"},
      {"data.reference_tolerance", text(data.reference_tolerance),
       "relative residual of reference solutions"},

      {"cycle.name", "half_v", "resolution cycle: " + join(cycle_names()) + ", custom"},
      {"cycle.path", "", "custom: the level of each stage in turn, 1 the coarsest"},
      {"cycle.levels", "8, 16, 32",
       "voxels along the longest edge of each level, coarsest first; a grid may stand twice, say "
       "for L-BFGS after Adam"},
      {"cycle.steps", text(level.budget.steps),
       "steps per stage, one number or one per level; a stage ends at the first of its limits "
       "(steps, epochs, seconds); 0: no such limit"},
      {"cycle.epochs", text(level.budget.epochs),
       "passes over the training samples of data.directory per stage, one number or one per level; "
       "with data.more a pass is as many samples of the mixture"},
      {"cycle.seconds", text(level.budget.seconds),
       "training seconds per stage, one number or one per level (such runs are not reproducible "
       "bit by bit)"},
      {"cycle.patience", text(level.stall.patience),
       "a stage ends after so many held-out evaluations without improvement (0: never; fewer than "
       "cycle.evaluations), one number or one per level"},
      {"cycle.batch", text(level.batch),
       "batch size (see cycle.batch_is), one number or one per level"},
      {"cycle.batch_is", "global",
       "what cycle.batch counts: global, samples of all processes together; per_process, of each "
       "process, or group of run.spatial_processes, so that the global batch grows with their "
       "number (weights then depend on it; train.rate_scaling can follow)"},
      {"cycle.rate", text(level.rate),
       "peak rate, one number or one per level; lbfgs: root mean square of the first trial step "
       "(its searches need no rate, warm-up or decay)"},
      {"cycle.warm_up", text(level.warm_up),
       "share of a stage's budget with a rising rate, [0, 1), or one per level"},
      {"cycle.old_level_factor", text(level.old_level_factor),
       "rate of coarser levels that this run already trained, relative to the level of the stage, "
       "[0, 1], or one per level"},
      {"cycle.evaluations", text(level.evaluations),
       "held-out evaluations per stage, one number or one per level"},

      {"network.name", network.name,
       "network: multigrid; unet, one of shared weights; published, the U-Net of the literature, "
       "with "
       "defaults of its own: four halvings, instance norm, no smoothing, the energy as it is, Adam "
       "at 0.002"},
      {"network.channels", text(network.channels),
       "multigrid: channels of each level of the network as voxels:channels, coarsest first; grids "
       "that double the last have network.smoothing steps alone"},
      {"network.norm", to_string(network.norm), "normalisation: sync_batch, group, instance, none"},
      {"network.coarse", "auto",
       "multigrid: what coarser levels solve: averaged, the same equation for averaged nu; "
       "black_box, P^T K P with interpolation that follows the jumps of nu, the coarsest directly "
       "(several times closer, for steps 1.5 times as long at 64^3); auto: black_box with "
       "smoothing steps and a coarsest level of at most 10 voxels"},
      {"network.correction_scale", "auto",
       "multigrid, deepened published: corrections are scale/n times the head's output, > 0, in "
       "units of the range of "
       "the boundary's values or |f|/8, whichever is larger; auto: 0.25 with network.coarse = "
       "black_box, 4 with averaged"},
      {"network.subspace", text(network.subspace),
       "multigrid with network.coarse = black_box: dimension of the correction subspace, i.e. "
       "fields that the block of each grid above the coarsest proposes, 0 to 16; the combination "
       "of them with the least energy is added; 0: one field, as it is"},
      {"network.smoothing", text(network.smoothing),
       "smoothing steps on the equation after the correction of each level, 0 to 16 (0: none)"},
      {"network.residual_input", word_of(kYesNo, network.residual_input),
       "multigrid without smoothing steps: blocks see the residual of the solution that they "
       "correct, and one that training enters first begins with the weights of the next coarser "
       "one of as many channels: yes, no"},
      {"network.depth", text(network.depth),
       "unet, published: halvings below the grid of the stage, 1 to 16; deepened: below the "
       "coarsest level"},
      {"network.base_channels", text(network.base_channels),
       "unet, published: channels on the grid of the stage, doubled by each halving (published: by "
       "the first three), >= 1"},
      {"network.adaptation", word_of(kAdaptations, network.adaptation),
       "published: no, weights shared by all grids; deepen, each level of the cycle above the "
       "coarsest puts a stage around the network of the coarser level, which is kept, and begins "
       "with its prolonged solution"},

      {"train.start", train.start,
       "run directory of a finished run with the same kind of network: begin with its last weights "
       "(and, for lbfgs, Adam's second moments). Levels, boundary, source and family may be "
       "others: levels that it has are taken, the others begin as in any run; empty: random "
       "weights"},
      {"train.freeze", text(train.freeze),
       "multigrid, deepened published: grids whose blocks keep the weights and running statistics "
       "that train.start gave them, e.g. 4, 8; empty: none"},
      {"train.loss", train.loss, "loss: " + join(loss_names())},
      {"train.optimizer", level.optimizer,
       "optimiser: " + join(optimizer_names()) + ", " + kLbfgs + "; one or one per level"},
      {"train.decay", word_of(kDecays, train.decay),
       "how the rate falls over a stage: linear and cosine, to 0; exponential, by the same factor "
       "in each step, to 1/100; none"},
      {"train.rate_scaling", word_of(kRateScalings, train.rate_scaling),
       "how rates grow with the number of processes, or groups of run.spatial_processes: none, "
       "sqrt, linear (for a batch that grows with it, as by cycle.batch_is = per_process; weights "
       "then depend on that number)"},
      {"train.beta1", text(train.optimizer.beta1), "adam: decay of the first moments, [0, 1)"},
      {"train.adam_epsilon", text(train.optimizer.epsilon),
       "adam: added to the root of the second moment, >= 1e-20; torch's 1e-8 is above many "
       "gradients of a network with smoothing, and holds them back"},
      {"train.momentum", text(train.optimizer.momentum), "sgd: momentum, [0, 1)"},
      {"train.precision", word_of(kPrecisions, train.dtype),
       "of convolutions and activations: bf16, f16 (with dynamic loss scaling, for GPUs without "
       "bf16), "
       "f32, f64; lbfgs: f32 instead of bf16 and f16"},
      {"train.loss_scale", text(train.loss_scale.first),
       "f16: factor of the loss with which backward begins a stage, a power of two >= 1; it "
       "follows "
       "what gradients need, halving in steps that are skipped, doubling after 2000 that are not"},
      {"train.layout", word_of(kLayouts, train.layout),
       "memory order of features in training: channels_last, default (torch's, which is slower: to "
       "compare with)"},
      {"train.reduction", word_of(kReductions, train.reduction),
       "sums over processes: exact (same bits for any number of processes) or fast (floats)"},
      {"train.recompute", "auto",
       "activation checkpointing: keep only the inputs of the network's blocks and compute their "
       "inside again in the backward pass; less memory, a third more time, the same bits: yes, no, "
       "auto (where a stage does not fit otherwise)"},
      {"train.micro_batch_size", text(train.micro_batch_size),
       "samples computed together, >= 1; processes own whole micro-batches"},
      {"train.sample_block", text(train.sample_block),
       "samples that stay together when the order is shuffled, >= 1: consecutive Sobol points fill "
       "the parameter space evenly"},
      {"train.average_horizon", text(train.average_horizon),
       "horizon of the averaged weights as a share of a stage's steps, (0, 1]"},
      {"train.checkpoint_seconds", text(train.checkpoint_seconds),
       "seconds between checkpoints within a stage"},
      {"train.keep_checkpoints", text(train.keep_checkpoints),
       "checkpoints in run.directory, 1 to 100: checkpoint.h5 and, for when that is damaged, those "
       "before it (checkpoint-1.h5 and so on)"},
      {"train.keep_stages", word_of(kYesNo, train.keep_stages),
       "keep the averaged weights that each stage ends with in stages/NN.h5: yes, no"},

      {"lbfgs.samples", text(lbfgs.samples),
       "fixed set of samples that lbfgs minimises on, in batches of cycle.batch; 0: as many as "
       "data.directory has for the grid"},
      {"lbfgs.pairs", text(lbfgs.pairs),
       "curvature pairs kept, >= 1; their memory is shared by the processes"},
      {"lbfgs.start", word_of(kLbfgsStarts, lbfgs.start),
       "diagonal of the initial inverse Hessian: adam (from Adam's second moments of the stage "
       "before, or else from one pass), identity"},
      {"lbfgs.statistics", word_of(kLbfgsStatistics, lbfgs.statistics),
       "of sync_batch under lbfgs: batch (of each fixed batch), running (their means at the start "
       "of the stage)"},
      {"lbfgs.batch", text(lbfgs.batch),
       "samples an iteration looks at, for sets too large for full passes: a multiple of "
       "cycle.batch, twice it or more, with lbfgs.samples = 0; 0: all of the fixed set"},
      {"lbfgs.overlap", text(lbfgs.overlap),
       "share of lbfgs.batch that the next iteration looks at, too, and learns curvature from, (0, "
       "1)"},

      {"ensemble.members", "1",
       "networks that are trained, each a run of its own in run.directory/member_K; member K has "
       "the seed run.seed + K - 1 and what the section [member.K] says. evaluate and solve give "
       "their mean and spread"},
      {"ensemble.at_once", "1",
       "members trained side by side, each by a group of the processes; 1: one after the other, "
       "each by all of them"},

      {"ablate.directory", "runs/ablation", "where a study's runs and its report go"},
      {"ablate.jobs", "1",
       "runs at once, >= 1; they share this process's threads (run.threads: of one process)"},
      {"ablate.processes", "1", "processes per run, >= 1"},
      {"ablate.launcher", kLauncher,
       "the program that starts the {} processes of a run, with its arguments (no shell reads "
       "them); unused for 1 process"},
      {"ablate.baseline", "",
       "case that times are compared with; empty: the first (without cases: the first "
       "combination)"},
      {"ablate.target_metric", "rel_l2",
       "error of the target: rel_l2, energy_gap, energy_norm_error"},
      {"ablate.target_error", "0",
       "held-out error (a fraction) whose time is compared; 0: what all seeds of the baseline end "
       "at"},
      {"ablate.spectrum_samples", "8", "held-out samples in the spectra of the error; 0: none"},
  };
}

std::map<std::string, std::string> defaults_of_network(std::string const& name) {
  if (name != "published") return {};
  return {{"network.depth", "4"},   {"network.norm", "instance"}, {"network.smoothing", "0"},
          {"train.loss", "energy"}, {"train.optimizer", "adam"},  {"train.adam_epsilon", "1e-8"},
          {"cycle.rate", "0.002"}};
}

bool is_fingerprint_key(std::string const& name) {
  constexpr std::array places{"run.threads",
                              "run.spatial_processes",
                              "run.memory_limit",
                              "data.on_the_fly",
                              "data.workers",
                              "run.directory",
                              "data.directory",
                              "data.shard_samples",
                              "data.train_references",
                              "data.reference",
                              "train.checkpoint_seconds",
                              "train.keep_stages",
                              "train.recompute",
                              "run.graph",
                              "run.patience",
                              "train.keep_checkpoints"};
  // What cycle.batch_is says stands in cycle.batch then: with_global_batches.
  return !name.starts_with("ablate.") && !name.starts_with("ensemble.") &&
         !name.starts_with("log.") && name != "cycle.batch_is" &&
         std::find(places.begin(), places.end(), name) == places.end();
}

}  // namespace voxcycle
