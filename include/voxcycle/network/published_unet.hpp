// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/network/network.hpp"

#include <map>
#include <memory>

namespace voxcycle {

class LevelEquation;

/// The U-Net of the literature, fixed or deepened (MGDiffNet: Balu et al. 2021, "Distributed
/// multigrid neural solvers on megavoxel domains"). With D = depth and c_k = base_channels 2^k, but
/// never more than 8 base_channels, on a grid n
///
///     h_0 = stem(x_n)                           c_0 channels on n
///     h_k = down_k(h_{k-1})                     c_k channels on n / 2^k,  k = 1 .. D
///     g_D = h_D
///     g_k = fuse_k( cat(h_k, up_k(g_{k+1})) )   k = D-1 .. 0
///     u   = S( low + range * sigmoid(head(g_0)) )
///
/// with smoothing steps S and exact Dirichlet values, between the least of which and the largest
/// all of u lies: the equation must have no source. stem, down, up and fuse are convolutions
/// without bias, each with normalisation and leaky ReLU of slope 0.2; down and up have kernel 4 and
/// stride 2. Fixed, the same weights serve every grid, and the error jumps on entering a finer one.
///
/// Adaptation::deepen: the above is the network of the coarsest level. Each finer grid n, up to the
/// finest level, puts a stage around that of n/2:
///
///     h      = stem_n(x_n) + down_2n(h_2n)      c_0 channels on n
///     uc, gc = the network of n/2, which adds down_n(h) to its own stem
///     g      = fuse_n( cat(h, up_n(gc)) )
///     u      = S( P uc + mask * (s/n) * head_n(g) )
///
/// with x averaged down and P and s/n as in MultigridNetwork. head and down start at zero: a grid
/// is entered with the prolonged solution of n/2, and what was learned there is kept.
class PublishedUnet : public Network {
 public:
  PublishedUnet(NetworkOptions const& options, std::shared_ptr<LevelProblems> problems);
  ~PublishedUnet() override;

  MicroBatches forward(ForwardContext const& context, Grid3 const& grid,
                       MicroBatches const& x) override;
  /// Deepened: the innermost network belongs to the coarsest level, each stage to its own grid.
  std::vector<LevelParameters> levels(Grid3 const& grid) const override;
  Script script() const override;
  /// See require_fits of network.hpp.
  static void require_fits(NetworkOptions const& options, Grid3 const& grid);

 private:
  class Core;
  class Stage;
  struct Output;
  Output run(ForwardContext const& context, LevelEquation& equation, Grid3 const& grid,
             MicroBatches const& x, MicroBatches const& from_finer);

  NetworkOptions options_;
  std::shared_ptr<Core> core_;
  std::map<std::int64_t, std::shared_ptr<Stage>> stages_;  ///< by grid
};

}  // namespace voxcycle
