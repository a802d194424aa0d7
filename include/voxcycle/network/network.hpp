// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/core/named_tensors.hpp"
#include "voxcycle/grid/grid3.hpp"
#include "voxcycle/network/forward_context.hpp"
#include "voxcycle/network/level_problem.hpp"
#include "voxcycle/network/norm.hpp"
#include "voxcycle/network/scripted.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace torch::nn {
class Module;
}

namespace voxcycle {

/// published: whether each finer level of the cycle puts a stage around the network of the coarser.
enum class Adaptation { no, deepen };

/// multigrid: what levels below that of the pass solve, and how their solutions come up.
enum class CoarseLevels {
  averaged,  ///< the same equation for the geometric mean of nu; trilinear interpolation
  black_box  ///< P^T K P with interpolation P that follows the jumps of nu (NestedEquation); the
             ///< coarsest is solved directly
};

struct NetworkOptions {
  std::string name = "multigrid";
  std::int64_t inputs = 1;  ///< channels of the input: 1 log nu, 2 with the source f
  /// multigrid: channels of each level, keyed by the level's largest voxel count along an axis.
  /// Finer grids, doubles of the last, have smoothing steps alone.
  std::map<std::int64_t, std::int64_t> channels{{4, 64}, {8, 64}, {16, 32}, {32, 16}};
  Norm norm = Norm::sync_batch;
  /// multigrid, and stages of a deepened U-Net: corrections are s/n times the head's output, in
  /// units of LevelProblem::size.
  double correction_scale = 0.25;
  CoarseLevels coarse = CoarseLevels::black_box;
  /// multigrid with nested levels: number of fields that the block of each grid above the coarsest
  /// proposes; the combination of them with the least energy is added. 0: one field, as it is.
  std::int64_t subspace = 0;
  int smoothing = 16;  ///< smoothing steps on the solution of every level, 0 for none
  /// multigrid without smoothing steps: whether blocks see the residual of the interpolated u.
  bool residual_input = false;
  std::uint64_t seed = 1;
  std::int64_t depth = 3;  ///< U-Nets: halvings below the grid of the pass, 1 to 16; deepened:
                           ///< below the coarsest level
  std::int64_t base_channels = 16;  ///< U-Nets: channels on that grid, doubled by each halving
  Adaptation adaptation = Adaptation::no;
  std::vector<std::int64_t> cycle_levels{};  ///< U-Nets with adaptation, multigrid with a subspace:
                                             ///< coarsest first, e.g. 8, 16

  bool operator==(NetworkOptions const&) const = default;
};

/// Steps that LevelProblem::smooth takes: smoothing steps, or the one whose change blocks see.
int steps_of_levels(NetworkOptions const& options);

/// The parameters that belong to one level of the network. Their rate follows from it: a level that
/// an earlier stage trained goes at the stage's old-level factor.
struct LevelParameters {
  std::int64_t level;  ///< its grid, e.g. 32
  std::vector<at::Tensor> parameters;
  std::vector<std::string> names;
};

/// A map from the whole coefficient field to the whole solution field.
///
/// Its script has forward(self, x) of forward's x, and require_fits(self, nx, ny, nz), which raises
/// where require_fits throws. The module has one more submodule, `frame`: what a network knows of
/// the equation (src/network/python/frame.py).
class Network : public Scripted {
 public:
  explicit Network(std::shared_ptr<LevelProblems> problems);

  /// @param grid  grid of this pass
  /// @param x     micro-batches [n, inputs, nx, ny, nz], float32: log nu and, with two inputs, f
  /// @return u less the datum of the boundary, micro-batches [n, 1, nx+1, ny+1, nz+1], float32
  ///         (float64 where context.dtype is), with exact Dirichlet values. **Collective** with
  ///         sync_batch.
  virtual MicroBatches forward(ForwardContext const& context, Grid3 const& grid,
                               MicroBatches const& x) = 0;

  /// Parameters by level, coarsest first, of the levels that a pass at `grid` uses. Weights that
  /// all grids share belong to the level of `grid`: they are never old.
  virtual std::vector<LevelParameters> levels(Grid3 const& grid) const = 0;

  /// Gives the blocks of `level`, which training enters from a coarser grid for the first time, the
  /// weights to begin with, if those of coarser levels are a better start than what they have.
  virtual void begin_level(std::int64_t /*level*/) {}

  /// Its weights, running statistics and layers under their names. A member, not the base: torch's
  /// header of modules costs two seconds a file.
  torch::nn::Module& module() const { return *module_; }
  std::vector<at::Tensor> parameters() const;
  std::vector<at::Tensor> buffers() const;  ///< running statistics
  NamedTensors named_parameters() const;
  NamedTensors named_buffers() const;
  void to(at::Device device);
  void to(at::ScalarType type);

  /// For another network of the same equation: those of fine grids are large.
  std::shared_ptr<LevelProblems> const& problems() const { return problems_; }

 private:
  std::shared_ptr<torch::nn::Module> module_;
  std::shared_ptr<LevelProblems> problems_;
};

/// Where the network's weights are; the CPU if it has none.
at::Device device_of(Network const& network);

/// Names accepted by make_network.
std::vector<std::string> network_names();
/// multigrid: the level whose block does grids of n voxels along their longest axis, the least of n
/// or more if it is less than twice that: 24^3 has the block of level 32, 12^3 that of 16. 0: none.
std::int64_t block_of(NetworkOptions const& options, std::int64_t n);
/// Before weights are made, which may be more than the memory holds.
/// @throws Error for an unknown name or options out of range, naming the valid ones, or if the
/// network has no level for the grid or cannot halve it often enough.
void require_fits(NetworkOptions const& options, Grid3 const& grid);
/// @throws Error for an unknown name or options out of range, naming the valid ones.
std::shared_ptr<Network> make_network(NetworkOptions const& options,
                                      std::shared_ptr<LevelProblems> problems);
/// For this equation, with level problems of its own.
std::shared_ptr<Network> make_network(NetworkOptions const& options, Boundary const& boundary,
                                      Source const& source);

}  // namespace voxcycle
