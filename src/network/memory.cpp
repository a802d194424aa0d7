// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/network/memory.hpp"

#include "voxcycle/core/error.hpp"

#include <utility>

namespace voxcycle {

Tape::Tape(Ledger& ledger, Options options) : ledger_(&ledger), options_(std::move(options)) {
  VOXCYCLE_REQUIRE(
      options_.samples >= 0 && options_.micro_batch >= 0 &&
          options_.micro_batch <= options_.samples,
      "memory: a unit of " << options_.micro_batch << " in " << options_.samples << " samples.");
}

std::int64_t Tape::bytes(Field const& field) const {
  return options_.samples * field.channels * field.points * field.value;
}

Field Tape::field(char const* kind, Grid3 const& grid, std::int64_t channels, std::int64_t points,
                  std::int64_t value) {
  Field made{.grid = grid, .channels = channels, .points = points, .value = value};
  made.memory = ledger_->hold(kind + grid.label(), bytes(made));
  std::int64_t const elements = options_.micro_batch * channels * points;
  if (elements > largest_.elements) largest_ = {elements, channels, grid};
  return made;
}

void Tape::meet(Grid3 const& grid) {
  if (options_.frame) frames_.push_back(options_.frame(*ledger_, grid));
}

Field Tape::features(Grid3 const& grid, std::int64_t channels) {
  return field("activations of ", grid, channels, grid.voxel_count(), options_.feature_bytes);
}

Field Tape::nodal(Grid3 const& grid, std::int64_t value_bytes, std::int64_t channels) {
  return field("solution of ", grid, channels, grid.node_count(), value_bytes);
}

Field Tape::voxels(Grid3 const& grid, std::int64_t channels) {
  return field("input of ", grid, channels, grid.voxel_count(), options_.solution_bytes);
}

Ledger::Held Tape::of_micro_batch(Field const& like, std::int64_t copies) {
  return ledger_->hold("workspace of " + like.grid.label(),
                       copies * options_.micro_batch * like.channels * like.points * like.value);
}

Ledger::Held Tape::of_others(Field const& like) {
  std::int64_t const others = options_.samples - options_.micro_batch;
  return ledger_->hold("gradients of " + like.grid.label(),
                       others * like.channels * like.points * like.value);
}

Field Tape::record(Field output, Operation operation) {
  if (!options_.gradient) return output;
  output.maker = static_cast<int>(operations_.size());
  for (auto& input : operation.inputs) input.memory.reset();  // only `kept` is kept
  operations_.push_back(std::move(operation));
  return output;
}

std::vector<Field> Tape::recomputed(std::vector<Field> const& inputs, Piece const& piece) {
  if (!options_.gradient || !options_.recompute) return piece(*this, inputs);
  auto first_options = options_;
  first_options.gradient = false;
  Tape first(*ledger_, first_options);
  std::vector<Field> outputs = piece(first, inputs);
  take_in(first);

  auto again_options = options_;
  again_options.recompute = false;
  std::vector<Field> given = inputs;           // keeps them for the second run
  for (auto& field : given) field.maker = -1;  // their gradients are this operation's
  Operation operation{.inputs = inputs};
  operation.recompute = [=, ledger = ledger_] {
    Tape again(*ledger, again_options);
    Field last = piece(again, given).back();
    last.memory.reset();
    again.backward(last, {});
    return again.take_gradients();
  };
  outputs.back() = record(outputs.back(), std::move(operation));
  for (auto& field : outputs) field.maker = outputs.back().maker;
  return outputs;
}

Field Tape::sum(Field const& a, Field const& b) {
  Field made = field(a.points == a.grid.voxel_count() ? "activations of " : "solution of ", a.grid,
                     a.channels, a.points, a.value);
  made.in_slabs = a.in_slabs;
  return record(made, {.inputs = {a, b}, .passes_on = true});
}

Ledger::Held Tape::weights(std::int64_t count) {
  weights_ += count;
  // Weights that have the type already are used as they are.
  bool const copied = options_.feature_bytes != options_.weight_bytes;
  return ledger_->hold("weights of the pass", copied ? count * options_.feature_bytes : 0);
}

void Tape::exact_sum(std::int64_t values) {
  // An exponent, and a high and a low limb, 64 bits each.
  sent_ += 3 * 8 * values;
}

void Tape::take_in(Tape const& part) {
  weights_ += part.weights_;
  sent_ += part.sent_;
  if (part.largest_.elements > largest_.elements) largest_ = part.largest_;
}

void Tape::backward(Field const& u, Ledger::Held const& gradient) {
  gradients_[u.maker] = gradient;
  for (int k = static_cast<int>(operations_.size()) - 1; k >= 0; --k) {
    auto& operation = operations_[static_cast<std::size_t>(k)];
    // Every operation that a layer records leads to u.
    Ledger::Held given = std::move(gradients_[k]);
    gradients_.erase(k);
    if (operation.recompute) {
      auto const left = operation.recompute();
      parameter_gradients_.insert(parameter_gradients_.end(), left.begin(), left.end());
    }
    if (operation.first) {
      // The gradients of the other micro-batches are there when the last micro-batch's turn comes.
      std::vector<Ledger::Held> others;
      for (auto const& input : operation.inputs) {
        if (input.maker >= 0) others.push_back(of_others(input));
      }
      operation.first();
    }
    std::vector<Ledger::Held> made;
    for (auto const& input : operation.inputs) {
      if (input.maker < 0) {
        made.emplace_back();
      } else if (operation.passes_on) {
        made.push_back(given);
      } else {
        made.push_back(ledger_->hold("gradients of " + input.grid.label(), bytes(input)));
      }
    }
    if (operation.workspace) operation.workspace();
    if (operation.weights > 0) {
      parameter_gradients_.push_back(
          ledger_->hold("gradients of weights",
                        operation.weights * options_.weight_bytes * options_.gradient_copies));
    }
    given.reset();
    std::vector<Field> const inputs = std::move(operation.inputs);
    operation = {};
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].maker < 0) continue;
      // A second gradient is added to the first and freed.
      auto& place = gradients_[inputs[i].maker];
      if (!place) place = std::move(made[i]);
    }
  }
  operations_.clear();
}

std::vector<Ledger::Held> Tape::take_gradients() {
  return std::exchange(parameter_gradients_, {});
}

}  // namespace voxcycle
