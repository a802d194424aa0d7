// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/core/error.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace voxcycle {

enum class ReduceOperation { sum, max, min };

/// A reduction under way.
class PendingReduction {
 public:
  virtual ~PendingReduction() = default;
  /// Returns when the result is there. **Collective**. @throws Error with the transport's own text.
  virtual void wait() = 0;
};

/// What rank - 1 and rank + 1 sent; undefined where there is no such rank.
struct Neighbours {
  at::Tensor before, behind;
};

/// An error that all ranks of a communicator throw together, and that one of them tells.
class CommonError : public Error {
 public:
  CommonError(std::string const& text, bool told_here, int status = 1)
      : Error(text), told_here_(told_here), status_(status) {}
  bool told_here() const { return told_here_; }
  /// The program's exit status then.
  int status() const { return status_; }

 private:
  bool told_here_;
  int status_;
};

/// A group of processes that act together. Every member marked **Collective** must be called by all
/// ranks in the same order. Tensors are contiguous, on the CPU or on this process's GPU, of type
/// int64, int32, uint8, float32 or float64. Back ends: self (one process, no MPI), MPI, which sends
/// what is on GPUs through the host's memory, and NCCL (comm/nccl.hpp).
class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Processes of the group on this process's machine, which share its cores and memory.
  virtual int local_size() const = 0;
  /// What carries the data, for people: "self", "MPI (Open MPI 4.1.4)".
  virtual std::string transport() const = 0;

  /// Replaces `values` on every rank by the element-wise result over all ranks. **Collective**.
  /// Float sums depend on the number of ranks: use exact_sum where bits matter.
  /// @throws Error with the transport's own text.
  virtual void all_reduce(at::Tensor& values, ReduceOperation operation) const = 0;
  /// As all_reduce, but returns at once; `values` belongs to the reduction until wait() returned.
  /// **Collective**.
  virtual std::unique_ptr<PendingReduction> start_all_reduce(at::Tensor& values,
                                                             ReduceOperation operation) const = 0;
  /// Replaces `values` on every rank by those of `root`. **Collective**.
  virtual void broadcast(at::Tensor& values, int root) const = 0;
  /// @return [size, ...]: the ranks' tensors (all of one shape) in rank order. **Collective**.
  virtual at::Tensor all_gather(at::Tensor const& values) const = 0;
  /// Sends a tensor to rank - 1 and one to rank + 1, and receives theirs: all of one shape and
  /// type, any type. **Collective**. @throws Error with the transport's own text.
  virtual Neighbours exchange(at::Tensor const& to_before, at::Tensor const& to_behind) const = 0;
  /// The ranks that pass the same number as a group of their own, in rank order; it must not
  /// outlive this one. **Collective**. @throws Error with the transport's own text.
  virtual std::unique_ptr<Communicator> split(int number) const = 0;
  /// **Collective**.
  virtual void barrier() const = 0;
  /// Ends all ranks at once; for the one catch in main.
  [[noreturn]] virtual void abort(int code) const noexcept = 0;
  /// Whether this process is the first of its machine to ask: it then tells its error, and those
  /// that meet the same one are silent. Waits for nobody: others may be in a collective call.
  virtual bool claim_error() const noexcept { return true; }

  /// Whether any rank says so. **Collective**.
  bool any(bool here) const;
  /// The ranks' texts in rank order. **Collective**.
  std::vector<std::string> all_gather_text(std::string const& text) const;
  /// Makes an error that one rank knows common to all: throws CommonError on every rank, with the
  /// text of the lowest failing rank, which tells it, if any rank passes a text that is not empty.
  /// **Collective**.
  /// @param status  the program's exit status then, of any rank
  void agree_on_error(std::string const& error, int status = 1) const;
  /// Does what each rank does for itself, without collective calls; then agrees on what it threw
  /// as Error. **Collective**.
  void together(std::function<void()> const& work) const;
};

/// One process; needs no MPI and never initialises it.
std::unique_ptr<Communicator> make_self_communicator();

/// All processes of the MPI job; initialises MPI (thread level multiple) if need be and finalises
/// it on destruction if it did. @throws Error with MPI's own text.
std::unique_ptr<Communicator> make_mpi_communicator();

/// MPI when the process was started by a launcher (mpirun, srun), else self.
std::unique_ptr<Communicator> make_communicator();

/// Version line of the MPI library, for `voxcycle info`.
std::string mpi_version();

}  // namespace voxcycle
