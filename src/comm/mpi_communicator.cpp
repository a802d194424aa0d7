// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/comm/communicator.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/whereabouts.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <limits>
#include <optional>

#include <ATen/ATen.h>
#include <mpi.h>

namespace voxcycle {
namespace {

void check_mpi(int status, char const* call) {
  if (status == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(status, text, &length);
  throw Error(std::string("MPI: ") + call + " failed: " + text + '.');
}

/// Of a call that returns when others have made it, too.
template <class Call>
void check_collective(char const* name, Call const& call) {
  WaitsForOthers const here(name);
  check_mpi(call(), name);
}

MPI_Datatype datatype_of(at::Tensor const& values) {
  switch (values.scalar_type()) {
    case at::kLong:
      return MPI_INT64_T;
    case at::kInt:
      return MPI_INT32_T;
    case at::kByte:
      return MPI_UINT8_T;
    case at::kFloat:
      return MPI_FLOAT;
    case at::kDouble:
      return MPI_DOUBLE;
    default:
      throw Error(std::string("MPI: no datatype for ") + at::toString(values.scalar_type()) + '.');
  }
}

MPI_Op operation_of(ReduceOperation operation) {
  switch (operation) {
    case ReduceOperation::sum:
      return MPI_SUM;
    case ReduceOperation::max:
      return MPI_MAX;
    case ReduceOperation::min:
      return MPI_MIN;
  }
  throw Error("MPI: unknown reduction.");
}

/// Calls `call(pointer, count)` for pieces of at most INT_MAX elements, MPI's limit a call.
template <class Call>
void in_pieces(at::Tensor const& values, Call const& call) {
  VOXCYCLE_REQUIRE(values.is_contiguous() && values.device().is_cpu(),
                   "MPI: a contiguous tensor on the CPU is needed.");
  constexpr std::int64_t maximum = std::numeric_limits<int>::max();
  auto* bytes = static_cast<char*>(values.data_ptr());
  for (std::int64_t begin = 0; begin < values.numel(); begin += maximum) {
    auto const count = static_cast<int>(std::min(maximum, values.numel() - begin));
    call(static_cast<void*>(bytes + begin * values.element_size()), count);
  }
}

/// Applies `operation` to the values in the host's memory, wherever they are.
template <class Operation>
void on_host(at::Tensor& values, Operation const& operation) {
  if (values.is_cpu()) return operation(values);
  at::Tensor host = values.cpu();
  operation(host);
  values.copy_(host);
}

class MpiReduction final : public PendingReduction {
 public:
  /// @param host    what MPI reduces
  /// @param values  where the result goes
  MpiReduction(at::Tensor const& host, at::Tensor const& values) : values_(host), to_(values) {}
  /// Without wait() an error is on its way to main's abort: waiting for ranks that will not come
  /// would hang, so MPI keeps the memory that it may still write to.
  ~MpiReduction() override {
    if (!requests_.empty()) new at::Tensor(values_);
  }
  MpiReduction(MpiReduction const&) = delete;
  MpiReduction& operator=(MpiReduction const&) = delete;

  void wait() override {
    auto requests = std::move(requests_);
    requests_.clear();
    check_collective("MPI_Waitall", [&] {
      return MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    });
    if (!to_.is_same(values_)) to_.copy_(values_);
  }
  MPI_Request* add() { return &requests_.emplace_back(MPI_REQUEST_NULL); }

 private:
  at::Tensor values_;
  at::Tensor to_;
  std::vector<MPI_Request> requests_;
};

/// A mark that one process of this machine can take, in memory that they share: no MPI call waits
/// for processes that compute or are in another call.
class SharedMark {
 public:
  /// @param local  the processes of this machine
  explicit SharedMark(MPI_Comm local) {
    int* own = nullptr;
    int const status =
        MPI_Win_allocate_shared(sizeof(int), sizeof(int), MPI_INFO_NULL, local, &own, &window_);
    if (status != MPI_SUCCESS) return;  // then each may take it
    *own = 0;
    MPI_Aint size = 0;
    int unit = 0;
    check_mpi(MPI_Win_shared_query(window_, 0, &size, &unit, &mark_), "MPI_Win_shared_query");
    check_mpi(MPI_Barrier(local), "MPI_Barrier");
  }
  /// As for a communicator: with an error under way the others may not come.
  ~SharedMark() {
    if (window_ != MPI_WIN_NULL && std::uncaught_exceptions() == 0) MPI_Win_free(&window_);
  }
  SharedMark(SharedMark const&) = delete;
  SharedMark& operator=(SharedMark const&) = delete;

  bool take() const noexcept {
    return mark_ == nullptr || std::atomic_ref<int>(*mark_).exchange(1) == 0;
  }

 private:
  MPI_Win window_ = MPI_WIN_NULL;
  int* mark_ = nullptr;
};

/// @return whether MPI was initialised here
bool initialise_mpi() {
  int initialised = 0;
  check_mpi(MPI_Initialized(&initialised), "MPI_Initialized");
  if (initialised != 0) return false;
  int provided = 0;
  check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided), "MPI_Init_thread");
  VOXCYCLE_REQUIRE(provided >= MPI_THREAD_SERIALIZED,
                   "this MPI lets only one thread of a process call it, but torch's threads do, "
                   "too. Use an MPI built with threads (Open MPI is, by default).");
  return true;
}

MPI_Comm all_processes() {
  MPI_Comm comm = MPI_COMM_NULL;
  check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &comm), "MPI_Comm_dup");
  return comm;
}

class MpiCommunicator final : public Communicator {
 public:
  MpiCommunicator() : finalise_(initialise_mpi()), comm_(all_processes()) {
    look_around();
    MPI_Comm local = local_processes();
    mark_.emplace(local);
    MPI_Comm_free(&local);
  }
  /// @param comm  freed in the end
  explicit MpiCommunicator(MPI_Comm comm) : comm_(comm) { look_around(); }
  /// With an error on its way to main's abort the others may not come to free it with us.
  ~MpiCommunicator() override {
    mark_.reset();
    if (std::uncaught_exceptions() == 0) MPI_Comm_free(&comm_);
    if (finalise_) MPI_Finalize();
  }
  MpiCommunicator(MpiCommunicator const&) = delete;
  MpiCommunicator& operator=(MpiCommunicator const&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int local_size() const override { return local_size_; }
  std::string transport() const override { return "MPI (" + mpi_version() + ")"; }

  void all_reduce(at::Tensor& values, ReduceOperation operation) const override {
    on_host(values, [&](at::Tensor& host) {
      in_pieces(host, [&](void* data, int count) {
        check_collective("MPI_Allreduce", [&] {
          return MPI_Allreduce(MPI_IN_PLACE, data, count, datatype_of(host),
                               operation_of(operation), comm_);
        });
      });
    });
  }

  std::unique_ptr<PendingReduction> start_all_reduce(at::Tensor& values,
                                                     ReduceOperation operation) const override {
    at::Tensor const host = values.cpu();
    auto reduction = std::make_unique<MpiReduction>(host, values);
    in_pieces(host, [&](void* data, int count) {
      check_mpi(MPI_Iallreduce(MPI_IN_PLACE, data, count, datatype_of(host),
                               operation_of(operation), comm_, reduction->add()),
                "MPI_Iallreduce");
    });
    return reduction;
  }

  void broadcast(at::Tensor& values, int root) const override {
    on_host(values, [&](at::Tensor& host) {
      in_pieces(host, [&](void* data, int count) {
        check_collective("MPI_Bcast",
                         [&] { return MPI_Bcast(data, count, datatype_of(host), root, comm_); });
      });
    });
  }

  at::Tensor all_gather(at::Tensor const& values) const override {
    at::Tensor const host = values.cpu();
    std::vector<std::int64_t> shape = values.sizes().vec();
    shape.insert(shape.begin(), size_);
    at::Tensor const gathered = at::empty(shape, host.options());
    if (host.numel() > std::numeric_limits<int>::max()) {
      gathered[rank_].copy_(host);
      for (int root = 0; root < size_; ++root) {
        at::Tensor part = gathered[root];
        broadcast(part, root);
      }
      return gathered.to(values.device());
    }
    VOXCYCLE_REQUIRE(host.is_contiguous(), "MPI: a contiguous tensor is needed.");
    auto const count = static_cast<int>(host.numel());
    check_collective("MPI_Allgather", [&] {
      return MPI_Allgather(host.data_ptr(), count, datatype_of(host), gathered.data_ptr(), count,
                           datatype_of(host), comm_);
    });
    return gathered.to(values.device());
  }

  Neighbours exchange(at::Tensor const& to_before, at::Tensor const& to_behind) const override {
    Neighbours const sent{to_before.cpu(), to_behind.cpu()};
    Neighbours got;
    std::vector<MPI_Request> requests;
    auto const with = [&](int neighbour, at::Tensor const& out, at::Tensor& in) {
      if (neighbour < 0 || neighbour >= size_) return;
      in = at::empty_like(out);
      in_pieces(in.flatten().view(at::kByte), [&](void* data, int count) {
        check_mpi(MPI_Irecv(data, count, MPI_BYTE, neighbour, 0, comm_, &requests.emplace_back()),
                  "MPI_Irecv");
      });
      in_pieces(out.flatten().view(at::kByte), [&](void* data, int count) {
        check_mpi(MPI_Isend(data, count, MPI_BYTE, neighbour, 0, comm_, &requests.emplace_back()),
                  "MPI_Isend");
      });
    };
    with(rank_ - 1, sent.before, got.before);
    with(rank_ + 1, sent.behind, got.behind);
    check_collective("MPI_Waitall", [&] {
      return MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    });
    if (got.before.defined()) got.before = got.before.to(to_before.device());
    if (got.behind.defined()) got.behind = got.behind.to(to_behind.device());
    return got;
  }

  std::unique_ptr<Communicator> split(int number) const override {
    MPI_Comm part = MPI_COMM_NULL;
    check_collective("MPI_Comm_split", [&] { return MPI_Comm_split(comm_, number, rank_, &part); });
    return std::make_unique<MpiCommunicator>(part);
  }

  void barrier() const override {
    check_collective("MPI_Barrier", [&] { return MPI_Barrier(comm_); });
  }

  bool claim_error() const noexcept override { return !mark_ || mark_->take(); }

  [[noreturn]] void abort(int code) const noexcept override {
    MPI_Abort(MPI_COMM_WORLD, code);
    std::_Exit(code);
  }

 private:
  void look_around() {
    check_mpi(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check_mpi(MPI_Comm_rank(comm_, &rank_), "MPI_Comm_rank");
    check_mpi(MPI_Comm_size(comm_, &size_), "MPI_Comm_size");
    local_size_ = count_local();
  }

  MPI_Comm local_processes() const {
    MPI_Comm local = MPI_COMM_NULL;
    check_mpi(MPI_Comm_split_type(comm_, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &local),
              "MPI_Comm_split_type");
    return local;
  }

  int count_local() const {
    MPI_Comm local = local_processes();
    int size = 1;
    check_mpi(MPI_Comm_size(local, &size), "MPI_Comm_size");
    MPI_Comm_free(&local);
    return size;
  }

  bool finalise_ = false;
  MPI_Comm comm_;
  int rank_ = 0;
  int size_ = 1;
  int local_size_ = 1;
  std::optional<SharedMark> mark_;  ///< of the communicator of all processes
};

}  // namespace

std::unique_ptr<Communicator> make_mpi_communicator() {
  return std::make_unique<MpiCommunicator>();
}

std::string mpi_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(text, &length);
  std::string const line(text, static_cast<std::size_t>(length));
  return line.substr(0, line.find(','));
}

}  // namespace voxcycle
