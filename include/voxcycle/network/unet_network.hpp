// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/network/conv.hpp"
#include "voxcycle/network/network.hpp"

#include <memory>
#include <vector>

namespace voxcycle {

/// One encoder-decoder of blocks whose weights serve every grid. With D = depth and c =
/// base_channels, on a grid n of any size that can be halved D times,
///
///     h_0 = Enc_0( stem(log nu) )               c channels on n
///     h_k = Enc_k( down_k(h_{k-1}) )            c 2^k channels on n / 2^k,  k = 1 .. D
///     g_D = h_D
///     g_k = Dec_k( cat(h_k, up_k(g_{k+1})) )    k = D-1 .. 0
///     u   = S( lift + mask * head(g_0) )
///
/// with smoothing steps S. Enc and Dec are Blocks; down and up have kernel 2, stride 2. The head
/// starts at zero, so u starts as the smoothed lift. Kernels act on voxels: on a finer grid the
/// same weights see a smaller part of the box, so the error jumps on entering it.
///
/// All weights count as the visited grid's own in levels(): they are never old.
class UnetNetwork : public Network {
 public:
  UnetNetwork(NetworkOptions const& options, std::shared_ptr<LevelProblems> problems);
  ~UnetNetwork() override;

  MicroBatches forward(ForwardContext const& context, Grid3 const& grid,
                       MicroBatches const& x) override;
  std::vector<LevelParameters> levels(Grid3 const& grid) const override;
  Script script() const override;
  /// See require_fits of network.hpp.
  static void require_fits(NetworkOptions const& options, Grid3 const& grid);

 private:
  class Core;

  NetworkOptions options_;
  std::shared_ptr<Conv> stem_;
  std::shared_ptr<Core> core_;
  std::shared_ptr<Conv> head_;
};

}  // namespace voxcycle
