// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/train/checkpoint.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/whereabouts.hpp"
#include "voxcycle/io/checkpoint_file.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace voxcycle {
namespace {

constexpr std::int64_t kPositions = 7;
constexpr std::int64_t kMaxStages = 10'000;

constexpr std::string_view kCarried = "carried/";
constexpr std::string_view kTaken = "taken_levels";
constexpr std::string_view kUntrained = "untrained_error";
constexpr std::string_view kFingerprint = "fingerprint";
constexpr std::string_view kFingerprintOfVersion1 = "identity";

NamedTensors values_of(Network const& network) {
  NamedTensors all = network.named_parameters();
  for (auto& buffer : network.named_buffers()) all.push_back(std::move(buffer));
  return all;
}

void add_all(ArchiveWriter& archive, std::string const& prefix, NamedTensors const& tensors) {
  for (auto const& [name, tensor] : tensors) {
    at::Tensor const values = tensor.detach().cpu().contiguous();
    auto const count = static_cast<std::size_t>(values.numel());
    auto const shape = values.sizes().vec();
    auto const owner = std::make_shared<at::Tensor const>(values);
    VOXCYCLE_REQUIRE(values.scalar_type() == at::kDouble || values.scalar_type() == at::kFloat,
                     "checkpoint: " << prefix << name << " is of type " << values.scalar_type()
                                    << ", and only float32 and float64 are kept.");
    if (values.scalar_type() == at::kDouble) {
      archive.add(prefix + name, std::span(values.const_data_ptr<double>(), count), shape, owner);
    } else {
      archive.add(prefix + name, std::span(values.const_data_ptr<float>(), count), shape, owner);
    }
  }
}

void add_header(ArchiveWriter& archive, CheckpointHeader const& header) {
  archive.add_text(std::string(kFingerprint), header.fingerprint.text());
  archive.add_text("metrics", header.metrics);
  std::vector<std::int64_t> const position{header.stage,
                                           header.step,
                                           header.global_step,
                                           header.averaged_updates,
                                           header.work,
                                           header.finished ? 1 : 0,
                                           header.evaluation_due ? 1 : 0};
  archive.add("position", std::span<std::int64_t const>(position), {kPositions});
  std::vector<double> const seconds{header.seconds, header.stage_seconds};
  archive.add("seconds", std::span<double const>(seconds), {2});
  // What checkpoints of before there were any lack.
  if (!std::isnan(header.untrained_error)) {
    archive.add(std::string(kUntrained), std::vector<double>{header.untrained_error}, {1});
  }
  if (header.taken.empty()) return;
  archive.add(std::string(kTaken), std::span<std::int64_t const>(header.taken),
              {std::ssize(header.taken)});
}

}  // namespace

void write_averages(std::string const& path, CheckpointHeader const& header,
                    Network const& average) {
  ArchiveWriter archive;
  add_header(archive, header);
  add_all(archive, "average/", values_of(average));
  note_part("writing a checkpoint");
  archive.save(path);
}

void write_checkpoint(std::string const& path, CheckpointHeader const& header,
                      Network const& network, Network const& average, NamedTensors const& optimizer,
                      NamedTensors const& warm_start) {
  ArchiveWriter archive;
  add_header(archive, header);
  add_all(archive, "network/", values_of(network));
  add_all(archive, "average/", values_of(average));
  add_all(archive, "optimizer/", optimizer);
  add_all(archive, std::string(kCarried), warm_start);
  note_part("writing a checkpoint");
  archive.save(path);
}

namespace {

/// TorchScript is a zip archive, and an easy mistake. @return path
std::string const& no_export(std::string const& path) {
  std::ifstream file(path, std::ios::binary);
  std::array<char, 4> start{};
  file.read(start.data(), start.size());
  VOXCYCLE_REQUIRE(!file || std::string_view(start.data(), start.size()) != "PK\3\4",
                   path << ": is a model for Python, as voxcycle export writes it. Give the "
                           "checkpoint that it was made of, e.g. runs/NAME/checkpoint.h5, or its "
                           "run directory.");
  return path;
}

}  // namespace

struct CheckpointReader::Impl {
  std::string path;
  ArchiveReader archive;
  CheckpointHeader header;

  at::Tensor read(std::string const& name) const {
    VOXCYCLE_REQUIRE(archive.has(name), path << " holds no " << name
                                             << " (it was written for another network or "
                                                "optimiser). Use the config it was written with.");
    auto const shape = archive.shape(name);
    return archive.holds_double(name) ? at::tensor(archive.read_double(name)).view(shape)
                                      : at::tensor(archive.read_float(name)).view(shape);
  }

  void restore(std::string const& prefix, NamedTensors const& tensors) const {
    at::NoGradGuard const no_grad;
    for (auto const& [name, tensor] : tensors) {
      at::Tensor const values = read(prefix + name);
      VOXCYCLE_REQUIRE(values.sizes() == tensor.sizes(),
                       path << ": " << prefix << name
                            << " has another shape. Use the config it was written with.");
      tensor.copy_(values);
    }
  }
};

CheckpointReader::CheckpointReader(std::string const& path)
    : impl_(std::make_unique<Impl>(Impl{path, ArchiveReader(no_export(path)), {}})) {
  auto& header = impl_->header;
  std::string const name(impl_->archive.has(std::string(kFingerprint)) ? kFingerprint
                                                                       : kFingerprintOfVersion1);
  try {
    header.fingerprint = Fingerprint::read(impl_->archive.read_text(name));
  } catch (Error const& problem) {
    throw Error(path + ": " + problem.what());
  }
  header.metrics = impl_->archive.read_text("metrics");
  auto const position = impl_->archive.read_int64("position");
  auto const seconds = impl_->archive.read_double("seconds");
  bool const is_older = position.size() == kPositions - 1;  // without the last
  VOXCYCLE_REQUIRE((position.size() == kPositions || is_older) && seconds.size() == 2,
                   path << " is no checkpoint of this version. Train again, with --fresh.");
  bool const in_range =
      position[0] >= 0 && position[0] <= kMaxStages &&
      std::all_of(position.begin() + 1, position.end(), [](auto n) { return n >= 0; }) &&
      seconds[0] >= 0.0 && seconds[1] >= 0.0;
  VOXCYCLE_REQUIRE(in_range, path << ": its position (stage " << position[0] << ", step "
                                  << position[1]
                                  << ") is out of range (the file is damaged). Use another "
                                     "checkpoint.");
  header.stage = static_cast<int>(position[0]);
  header.step = position[1];
  header.global_step = position[2];
  header.averaged_updates = position[3];
  header.work = position[4];
  header.finished = position[5] != 0;
  header.evaluation_due = is_older ? header.step == 0 : position[6] != 0;
  if (std::string const taken(kTaken); impl_->archive.has(taken)) {
    header.taken = impl_->archive.read_int64(taken);
  }
  if (std::string const untrained(kUntrained); impl_->archive.has(untrained)) {
    header.untrained_error = impl_->archive.read_double(untrained).at(0);
  }
  header.seconds = seconds[0];
  header.stage_seconds = seconds[1];
}

CheckpointReader::~CheckpointReader() = default;
CheckpointReader::CheckpointReader(CheckpointReader&&) noexcept = default;
CheckpointReader& CheckpointReader::operator=(CheckpointReader&&) noexcept = default;

CheckpointHeader const& CheckpointReader::header() const {
  return impl_->header;
}

void CheckpointReader::require_sound() const {
  impl_->archive.require_sound();
}

void CheckpointReader::restore_network(Network& network) const {
  impl_->restore("network/", values_of(network));
}

void CheckpointReader::restore_average(Network& average) const {
  impl_->restore("average/", values_of(average));
}

void CheckpointReader::restore_optimizer(Optimizer& optimizer) const {
  impl_->restore("optimizer/", optimizer.state());
}

std::optional<at::Tensor> CheckpointReader::find(std::string const& name) const {
  return impl_->archive.has(name) ? std::optional(impl_->read(name)) : std::nullopt;
}

at::Tensor CheckpointReader::optimizer_array(std::string const& name) const {
  return impl_->read("optimizer/" + name);
}

NamedTensors CheckpointReader::warm_start() const {
  NamedTensors all;
  for (auto const& name : impl_->archive.names()) {
    if (!name.starts_with(kCarried)) continue;
    all.emplace_back(name.substr(kCarried.size()), impl_->read(name));
  }
  return all;
}

}  // namespace voxcycle
