// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <memory>

namespace voxcycle {

/// Work on a GPU that is recorded once and launched as a whole (a CUDA graph): the host pays for
/// one launch where it paid for hundreds.
///
/// Tensors that the work allocates stay the graph's, at the addresses that it found for them, and
/// hold what the newest launch left there. Tensors from elsewhere that it uses must outlive it.
class DeviceGraph {
 public:
  /// Records what work() starts in torch's current stream, and in that of backward, which takes the
  /// same. Nothing of it is done yet.
  /// @throws Error with the reason if work() waits for the GPU, or if it copies from or to the
  /// host. Work in other streams of the GPU may then be lost: nothing else may be going on.
  DeviceGraph(int device, std::function<void()> const& work);
  ~DeviceGraph();
  DeviceGraph(DeviceGraph const&) = delete;
  DeviceGraph& operator=(DeviceGraph const&) = delete;

  /// Does the work, in torch's current stream.
  void launch() const;

  /// Whether work is being recorded: what would wait for the GPU only to say sooner that something
  /// is wrong leaves it out.
  static bool is_recording();

 private:
  struct Impl;
  std::shared_ptr<Impl const> impl_;
};

}  // namespace voxcycle
