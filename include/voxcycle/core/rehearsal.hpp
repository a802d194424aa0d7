// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <memory>

namespace voxcycle {

/// While one lives, its thread goes through a computation on torch's meta device without doing it:
/// tensors have shapes and no memory, loops over values return at once (parallel_for,
/// for_elements), and the bytes that the tensors would hold are counted. Real code that runs in it
/// says so what it needs. One at a time a thread.
class Rehearsal {
 public:
  /// The machine that the computation is rehearsed for.
  struct Machine {
    bool has_gpu = false;  ///< which computes
    int threads = 1;
  };
  /// The tensor with the most elements that a convolution meets.
  struct LargestTensor {
    std::int64_t elements = 0;
    std::int64_t channels = 0;
    std::array<std::int64_t, 3> voxels{};
  };
  /// Bytes of tensors, now and at most.
  struct Counts {
    std::int64_t held = 0;
    std::int64_t peak = 0;
  };

  explicit Rehearsal(Machine const& machine);
  ~Rehearsal();
  Rehearsal(Rehearsal const&) = delete;
  Rehearsal& operator=(Rehearsal const&) = delete;

  /// Of this thread; null: it computes in earnest.
  static Rehearsal* current();

  Machine const& machine() const { return machine_; }
  std::int64_t peak() const { return counts_->peak; }
  /// Tensors may outlive the rehearsal, and so do the counts.
  std::shared_ptr<Counts> const& counts() const { return counts_; }

  void meet(LargestTensor const& tensor);
  LargestTensor const& largest() const { return largest_; }

 private:
  Machine machine_;
  std::shared_ptr<Counts> counts_ = std::make_shared<Counts>();
  LargestTensor largest_;
};

/// Whether a tensor is on a GPU, or would be if this were no rehearsal.
template <class Tensor>
bool is_on_gpu(Tensor const& x) {
  auto const* const rehearsal = Rehearsal::current();
  return x.is_cuda() || (x.is_meta() && rehearsal != nullptr && rehearsal->machine().has_gpu);
}

/// A copy on the host; a tensor without memory stays where it is.
template <class Tensor>
Tensor on_host(Tensor const& x) {
  return x.is_meta() ? x : x.cpu();
}

/// The number that a tensor is; 1 where it has no memory.
template <class Number, class Tensor>
Number number_in(Tensor const& x) {
  return x.is_meta() ? Number{1} : x.template item<Number>();
}

}  // namespace voxcycle
