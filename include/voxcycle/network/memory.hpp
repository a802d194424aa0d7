// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/core/ledger.hpp"
#include "voxcycle/grid/grid3.hpp"
#include "voxcycle/grid/slabs.hpp"

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace voxcycle {

struct NetworkOptions;

/// One field of all micro-batches of a rank (see MicroBatches), without the values.
struct Field {
  Grid3 grid;                 ///< its level
  std::int64_t channels = 0;  ///< 0: no field
  std::int64_t points = 0;    ///< of a sample: voxels, or nodes
  std::int64_t value = 0;     ///< bytes a value
  Ledger::Held memory = {};   ///< lives as long as any copy of it does
  int maker = -1;             ///< operation that made it; -1: no gradient goes through it
  bool in_slabs = false;      ///< features of a part of the grid, see Slabs
  bool exists() const { return channels > 0; }
};

/// Torch's kernels and oneDNN's count elements in 32 bits.
inline constexpr std::int64_t kMaxElements = std::numeric_limits<std::int32_t>::max();

/// The tensor with the most elements that any operation sees, see kMaxElements.
struct LargestTensor {
  std::int64_t elements = 0;  ///< of one micro-batch
  std::int64_t channels = 0;
  Grid3 grid;
};

/// Follows a pass of the network and its backward pass operation by operation, as torch runs them,
/// and books what they hold. Each layer says beside its forward what it makes, keeps for backward
/// and needs while it runs. Nothing is computed or allocated.
///
/// A field's memory lives as long as any Field or operation that shares it, so that a plan which
/// mirrors its forward line by line frees what that frees. Backward runs the operations in the
/// opposite order of their recording, which is torch's rule; each frees what it kept when it is
/// done.
class Tape {
 public:
  struct Options {
    std::int64_t samples = 1;         ///< of this rank
    std::int64_t micro_batch = 1;     ///< samples of its largest micro-batch
    std::int64_t feature_bytes = 4;   ///< of a value of convolutions and activations
    std::int64_t solution_bytes = 4;  ///< of a value of u and of the input
    std::int64_t weight_bytes = 4;
    int threads = 1;
    bool on_gpu = false;               ///< where convolutions are cuDNN's
    std::int64_t gradient_copies = 1;  ///< of each weight's gradient, kept till the pass ends
    bool gradient = true;              ///< false: forward alone keeps nothing for backward
    bool recompute = false;  ///< pieces of the network keep their inputs alone (see recomputed)
    Slabs slabs = {};        ///< of the samples' space, one of them this rank's
    /// What the network keeps of each grid that it meets (see LevelProblem); empty: nothing.
    std::function<Ledger::Held(Ledger&, Grid3 const&)> frame = {};
    /// What smoothing one micro-batch needs besides its input and its output; empty: no smoothing.
    std::function<void(Ledger&, Grid3 const&, std::int64_t samples)> smoother = {};
    /// What NestedEquation holds and needs while it works; empty: there are none.
    struct Nested {
      /// @param micro-batch  samples of the largest micro-batch @return what is held as long as the
      /// fields live
      std::function<std::vector<Ledger::Held>(Ledger&, Grid3 const& finest, std::int64_t samples,
                                              std::int64_t micro_batch, int levels)>
          make = {};
      /// As `smoother`.
      std::function<void(Ledger&, Grid3 const&, std::int64_t samples)> smooth = {};
    };
    Nested nested = {};
    /// Whether prolonged fields lose Dirichlet values (see Boundary).
    bool has_steps = false;
  };

  /// What backward does where forward did one operation on all micro-batches.
  struct Operation {
    std::vector<Field> inputs;
    std::vector<Ledger::Held> kept = {};  ///< for backward
    bool passes_on = false;               ///< the gradient itself is the inputs' gradient
    std::int64_t weights = 0;             ///< that get a gradient
    std::function<void()> first =
        {};  ///< needed before a micro-batch's gradients are made; may be empty
    std::function<void()> workspace = {};  ///< needed beside its gradients; may be empty
    /// What has to be done before its gradients are made; gives the weights' gradients that this
    /// left.
    std::function<std::vector<Ledger::Held>()> recompute = {};
  };

  Tape(Ledger& ledger, Options options);

  Ledger& ledger() const { return *ledger_; }
  Options const& options() const { return options_; }

  /// The network meets a grid and keeps its frame from then on.
  void meet(Grid3 const& grid);
  /// Features on the voxels of `grid`.
  Field features(Grid3 const& grid, std::int64_t channels);
  /// Values on nodes, in the type of convolutions (that of a head) or of the solution.
  Field nodal(Grid3 const& grid, std::int64_t value_bytes, std::int64_t channels = 1);
  /// One value a voxel, of the type of the input, in each channel.
  Field voxels(Grid3 const& grid, std::int64_t channels);
  /// Memory of `copies` fields like this, but of one micro-batch.
  Ledger::Held of_micro_batch(Field const& like, std::int64_t copies = 1);
  /// Memory of the gradient of a field like this in all micro-batches but one.
  Ledger::Held of_others(Field const& like);

  /// Makes `output` the result of an operation on all micro-batches.
  Field record(Field output, Operation operation);
  /// What recomputed (recompute.hpp) does: with options().recompute the piece is followed once
  /// forward and once again, with its backward pass, when its gradients have come.
  using Piece = std::function<std::vector<Field>(Tape&, std::vector<Field> const&)>;
  std::vector<Field> recomputed(std::vector<Field> const& inputs, Piece const& piece);
  /// a + b
  Field sum(Field const& a, Field const& b);
  /// Weights of a layer. @return the copy in the type of the features that a pass makes of them
  Ledger::Held weights(std::int64_t count);
  /// A sum over all micro-batches and ranks of so many values (see exact_sum), forward or backward.
  void exact_sum(std::int64_t values);
  /// Counts weights, sums and sizes of a part of the pass that had a tape of its own.
  void take_in(Tape const& part);

  /// The backward pass, from the gradient of `u`, which the caller holds.
  void backward(Field const& u, Ledger::Held const& gradient);
  /// Gives up the weights' gradients of a backward pass.
  std::vector<Ledger::Held> take_gradients();

  std::int64_t weight_count() const { return weights_; }
  LargestTensor const& largest() const { return largest_; }
  /// Bytes that a rank puts into sums over all ranks while the pass runs.
  std::int64_t sent_bytes() const { return sent_; }

 private:
  Field field(char const* kind, Grid3 const& grid, std::int64_t channels, std::int64_t points,
              std::int64_t value);
  std::int64_t bytes(Field const& field) const;

  Ledger* ledger_;
  Options options_;
  std::vector<Operation> operations_;
  std::vector<Ledger::Held> frames_;
  std::map<int, Ledger::Held> gradients_;  ///< of what operations made, on their way
  std::vector<Ledger::Held> parameter_gradients_;
  LargestTensor largest_;
  std::int64_t weights_ = 0;
  std::int64_t sent_ = 0;
};

/// Follows the forward pass of the network of these options at one grid.
/// @param x  [n, inputs, nx, ny, nz]; the caller holds it
/// @return u; tape.backward goes on from it
/// @throws Error for an unknown network or a grid that it does not fit
Field plan_network(NetworkOptions const& options, Tape& tape, Grid3 const& grid, Field const& x);

/// All weights of a network, also of levels that a coarser grid's pass does not use.
std::int64_t weight_count(NetworkOptions const& options);

}  // namespace voxcycle
