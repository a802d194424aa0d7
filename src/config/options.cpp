// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/config/options.hpp"

#include "voxcycle/config/model.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/core/usage_error.hpp"
#include "voxcycle/grid/unit_box.hpp"
#include "voxcycle/io/voxel_set.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "config/choices.hpp"
#include <ATen/Parallel.h>

namespace voxcycle {
namespace {

constexpr std::int64_t kMaxInt = std::numeric_limits<int>::max();
/// Of samples and steps: beyond any use, and products of two of them are numbers still.
constexpr std::int64_t kMaxCount = 1'000'000'000;
constexpr std::int64_t kMaxBatch = 10'000'000;

/// A decay or momentum: 1 would never forget.
double decay(Config const& config, std::string const& name) {
  double const value = config.real(name, 0.0, 1.0);
  VOXCYCLE_REQUIRE(value < 1.0, name << " = '" << config.text(name)
                                     << "' is not valid. Give a number >= 0 and < 1.");
  return value;
}

/// "DIRECTORY:WEIGHT, ..."
std::vector<MoreData> more_data(Config const& config) {
  std::vector<MoreData> all;
  for (auto const& entry : split_list(config.text("data.more"))) {
    auto const colon = entry.rfind(':');
    VOXCYCLE_REQUIRE(colon != std::string::npos && colon > 0,
                     "data.more: '" << entry << "' has no weight. Write DIRECTORY:WEIGHT.");
    all.push_back(
        {entry.substr(0, colon), parse_real("data.more", entry.substr(colon + 1), 1e-12, 1e12)});
  }
  return all;
}

LevelPath custom_path(Config const& config) {
  LevelPath path;
  for (auto level : config.integers("cycle.path", 1, kMaxInt))
    path.push_back(static_cast<int>(level) - 1);
  return path;
}

std::vector<LevelPlan> level_plans(Config const& config) {
  auto const grids = level_grids(config);
  std::size_t const count = grids.size();
  auto const steps = config.integers_a_level("cycle.steps", count, 0, kMaxCount);
  auto const epochs = config.reals_a_level("cycle.epochs", count, 0.0, 1e9);
  auto const seconds = config.reals_a_level("cycle.seconds", count, 0.0, 1e9);
  auto const patience = config.integers_a_level("cycle.patience", count, 0, kMaxInt);
  auto const optimizer = config.texts_a_level("train.optimizer", count);
  auto const batch = config.integers_a_level("cycle.batch", count, 1, kMaxBatch);
  auto const rate = config.reals_a_level("cycle.rate", count, 0.0, 1e3);
  auto const warm_up = config.reals_a_level("cycle.warm_up", count, 0.0, 1.0);
  auto const old_factor = config.reals_a_level("cycle.old_level_factor", count, 0.0, 1.0);
  bool const recompute = one_of(config, "train.recompute", {"auto", "yes", "no"}) == "yes";
  auto const evaluations = config.integers_a_level("cycle.evaluations", count, 1, kMaxCount);
  std::vector<LevelPlan> plans;
  for (std::size_t k = 0; k < count; ++k) {
    plans.push_back({.grid = grids[k],
                     .budget = {steps[k], epochs[k], seconds[k]},
                     .stall = {.patience = static_cast<int>(patience[k])},
                     .batch = batch[k],
                     .optimizer = optimizer[k],
                     .rate = rate[k],
                     .warm_up = warm_up[k],
                     .old_level_factor = old_factor[k],
                     .recompute = recompute,
                     .evaluations = static_cast<int>(evaluations[k])});
  }
  return plans;
}

int spatial_parts(Config const& config) {
  if (config.text("run.spatial_parts") == "auto") return 0;
  return static_cast<int>(config.integer("run.spatial_parts", 1, 1 << 16));
}

}  // namespace

Slabs slabs_of(Config const& config) {
  VOXCYCLE_REQUIRE(config.text("run.spatial_processes") != "auto",
                   "run.spatial_processes = auto is for train, evaluate and generate, which choose "
                   "a number. Give one here.");
  return {.count = static_cast<int>(config.integer("run.spatial_processes", 1, 1 << 16)),
          .above = config.integer("run.spatial_above", 1, kMaxCount),
          .parts = spatial_parts(config)};
}

namespace {

LbfgsStageOptions lbfgs_options(Config const& config) {
  LbfgsStageOptions const options{
      .samples = config.integer("lbfgs.samples", 0, kMaxCount),
      .pairs = config.integer("lbfgs.pairs", 1, 1 << 20),
      .start = choose(config, "lbfgs.start", kLbfgsStarts),
      .statistics = choose(config, "lbfgs.statistics", kLbfgsStatistics),
      .batch = config.integer("lbfgs.batch", 0, kMaxCount),
      .overlap = config.real("lbfgs.overlap", 0.0, 1.0)};
  VOXCYCLE_REQUIRE(options.overlap > 0.0 && options.overlap < 1.0,
                   "lbfgs.overlap = '" << config.text("lbfgs.overlap")
                                       << "' is not valid. Give a number > 0 and < 1.");
  return options;
}

GrfOptions grf_options(Config const& config) {
  return {.covariance = one_of(config, "data.covariance", covariance_names()),
          .length = config.real("data.correlation_length", 0.02, 0.5),
          .variance = config.real("data.variance", 1e-6, 16.0),
          .band = static_cast<int>(config.integer("data.band", 1, 128))};
}

InclusionOptions inclusion_options(Config const& config) {
  auto const [fewest, maximum] = config.range("data.inclusions", 1, 1000);
  VOXCYCLE_REQUIRE(
      fewest == std::floor(fewest) && maximum == std::floor(maximum),
      "data.inclusions = '" << config.text("data.inclusions") << "' are no whole numbers.");
  return {.shape = one_of(config, "data.shape", inclusion_shape_names()),
          .count = {static_cast<int>(fewest), static_cast<int>(maximum)},
          .radius = config.range("data.radius", 1e-3, 0.5),
          .contrast = config.real("data.contrast", 1e-6, 1e6)};
}

VoxelArrays open_voxel_set(std::string const& locations, std::string const& phases) {
  std::optional<Phases> meaning;
  if (!phases.empty()) meaning = parse_phases("data.phases", phases);
  auto const set = std::make_shared<VoxelSet>(locations, std::move(meaning));
  return {.grid = set->grid(),
          .samples = set->samples(),
          .read = [set](std::int64_t index, std::int64_t first,
                        std::int64_t count) { return set->read(index, first, count); },
          .doubt = [set] { return set->doubt(); }};
}

}  // namespace

std::string one_of(Config const& config, std::string const& name,
                   std::vector<std::string> const& names) {
  std::map<std::string, std::string> choices;
  for (auto const& choice : names) choices[choice] = choice;
  return choose(config, name, choices);
}

bool yes_or_no(Config const& config, std::string const& name) {
  return choose(config, name, kYesNo);
}

LogOptions log_options(Config const& config) {
  auto const& file = config.text("log.file");
  return {.mode = choose(config, "log.mode", kLogModes),
          .file = file.empty() ? config.text("run.directory") + "/log.txt" : file};
}

DeviceOptions device_options(Config const& config, std::optional<at::ScalarType> dtype) {
  return {.kind = choose(config, "run.device", kDevices),
          .dtype = dtype.value_or(choose(config, "train.precision", kPrecisions)),
          .channels_last = config.text("train.layout") == "channels_last",
          .reproducible = config.text("train.reduction") == "exact"};
}

namespace {

DatasetOptions read_dataset_options(Config const& config) {
  return {.directory = config.text("data.directory"),
          .family = family_options(config),
          .boundary = boundary_of(config),
          .source = source_of(config),
          .grids = level_grids(config),
          .seed = static_cast<std::uint64_t>(config.integer("data.seed")),
          .train_samples = config.integers("data.train_samples", 1, kMaxCount),
          .held_out_samples = config.integers("data.held_out_samples", 1, kMaxCount),
          .shard_samples = config.integers("data.shard_samples", 1, kMaxCount),
          .on_the_fly = yes_or_no(config, "data.on_the_fly"),
          .train_references = yes_or_no(config, "data.train_references"),
          .reference = choose(config, "data.reference", solve_method_words()),
          .reference_tolerance = config.real("data.reference_tolerance", 1e-13, 1e-2)};
}

}  // namespace

DatasetOptions dataset_options(Config const& config) {
  return as_usage([&] { return read_dataset_options(config); });
}

std::vector<Grid3> grids_of(TrainOptions const& options) {
  std::vector<Grid3> grids;
  for (int const level : std::set<int>(options.path.begin(), options.path.end())) {
    grids.push_back(options.levels[static_cast<std::size_t>(level)].grid);
  }
  return grids;
}

FamilyOptions family_options(Config const& config) {
  return {.name = config.text("data.family"),
          .modes = static_cast<int>(config.integer("data.modes", 1, 6)),
          .omega_range = config.real("data.omega_range", 1e-6, 100.0),
          .grf = grf_options(config),
          .inclusions = inclusion_options(config),
          .file = {.location = config.text("data.file"),
                   .phases = config.text("data.phases"),
                   .open = open_voxel_set,
                   .floor = config.real("data.floor", 0.0, 1e30)}};
}

Boundary boundary_of(Config const& config) {
  try {
    return parse_boundary(config.text("problem.boundary"));
  } catch (Error const& problem) {
    throw Error(std::string("problem.boundary: ") + problem.what());
  }
}

Grid3 level_grid(Config const& config, std::int64_t n) {
  VOXCYCLE_REQUIRE(n <= kMaxLevel, "a grid of " << n << " voxels along its longest edge is too "
                                                << "large. Choose at most " << kMaxLevel << '.');
  auto const& text = config.text("problem.box");
  auto const parts = split_list(text);
  std::array<double, 3> edges{};
  VOXCYCLE_REQUIRE(parts.size() == edges.size(),
                   "problem.box = '" << text << "' has " << parts.size()
                                     << " numbers. Give the edges along x, y and z, e.g. "
                                        "1, 0.5, 0.5.");
  for (std::size_t axis = 0; axis < edges.size(); ++axis) {
    edges[axis] = parse_real("problem.box", parts[axis], 1e-6, 1e6);
  }
  try {
    return unit_box(edges, n);
  } catch (Error const& problem) {
    throw Error("problem.box = '" + text + "': " + problem.what());
  }
}

std::vector<Grid3> level_grids(Config const& config) {
  std::vector<Grid3> grids;
  for (auto n : config.integers("cycle.levels", 1, kMaxLevel)) {
    VOXCYCLE_REQUIRE(grids.empty() || n >= grids.back().level(),
                     "cycle.levels = '" << config.text("cycle.levels")
                                        << "' does not grow. List the coarsest level first.");
    grids.push_back(level_grid(config, n));
  }
  VOXCYCLE_REQUIRE(!grids.empty(), "cycle.levels is empty. List at least one grid, e.g. 8, 16.");
  return grids;
}

at::ScalarType parse_precision(std::string const& name, std::string const& text) {
  return choose(name, text, kPrecisions);
}

Config with_global_batches(Config config, std::int64_t processes) {
  if (one_of(config, "cycle.batch_is", {"global", "per_process"}) == "global") return config;
  auto const grids = level_grids(config);
  auto const slabs = slabs_of(config);
  auto const batch = config.integers_a_level("cycle.batch", grids.size(), 1, kMaxInt);
  std::vector<std::string> global;
  for (std::size_t k = 0; k < grids.size(); ++k) {
    auto const groups = std::max<std::int64_t>(1, processes / slabs.processes(grids[k]));
    global.push_back(std::to_string(batch[k] * groups));
  }
  // One number where that says it all: a run that is given it is the same.
  bool const alike = std::set<std::string>(global.begin(), global.end()).size() == 1;
  config.set("cycle.batch", alike ? global.front() : join(global));
  config.set("cycle.batch_is", "global");
  return config;
}

namespace {

TrainOptions read_train_options(Config const& config) {
  TrainOptions options;
  options.directory = config.text("run.directory");
  options.data = config.text("data.directory");
  options.start = config.text("train.start");
  options.freeze = config.integers("train.freeze", 1, kMaxLevel);
  options.levels = level_plans(config);
  options.path = make_path(config.text("cycle.name"), static_cast<int>(options.levels.size()),
                           custom_path(config));
  options.boundary = boundary_of(config);
  options.source = source_of(config);
  options.fingerprint = settled(config).fingerprint();
  add_units(options.fingerprint, options.boundary, options.source);
  options.fingerprint.set(Fingerprint::kThreads, std::to_string(at::get_num_threads()));
  options.network = network_options(config);
  options.optimizer = {.beta1 = decay(config, "train.beta1"),
                       .epsilon = config.real("train.adam_epsilon", 1e-20, 1.0),
                       .momentum = decay(config, "train.momentum")};
  options.decay = choose(config, "train.decay", kDecays);
  options.rate_scaling = choose(config, "train.rate_scaling", kRateScalings);
  options.lbfgs = lbfgs_options(config);
  options.loss = config.text("train.loss");
  options.seed = static_cast<std::uint64_t>(config.integer("run.seed"));
  options.dtype = parse_precision("train.precision", config.text("train.precision"));
  options.loss_scale.first = config.real("train.loss_scale", 1.0, 0x1p100);
  VOXCYCLE_REQUIRE(std::exp2(std::ilogb(options.loss_scale.first)) == options.loss_scale.first,
                   "train.loss_scale = " << config.text("train.loss_scale")
                                         << " is no power of two (others would round gradients). "
                                            "Set for instance 65536.");
  options.layout = choose(config, "train.layout", kLayouts);
  options.reduction = choose(config, "train.reduction", kReductions);
  options.micro_batch_size = config.integer("train.micro_batch_size", 1, 4096);
  options.slabs = slabs_of(config);
  options.sample_block = config.integer("train.sample_block", 1, 1 << 20);
  options.average_horizon = config.real("train.average_horizon", 1e-9, 1.0);
  options.checkpoint_seconds = config.real("train.checkpoint_seconds", 0.0, 1e9);
  options.graph = yes_or_no(config, "run.graph");
  options.keep_checkpoints = static_cast<int>(config.integer("train.keep_checkpoints", 1, 100));
  options.keep_stages = yes_or_no(config, "train.keep_stages");
  if (auto const data = dataset_options(config); data.on_the_fly) {
    options.fresh_samples = [data](Grid3 const& grid) { return fresh_samples(data, grid); };
  }
  options.more_data = more_data(config);
  options.augmentation = choose(config, "data.augmentation", kAugmentations);
  options.workers = static_cast<int>(config.integer("data.workers", 1, 256));
  return options;
}

}  // namespace

TrainOptions train_options(Config const& config) {
  return as_usage([&] { return read_train_options(config); });
}

}  // namespace voxcycle
