// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/comm/nccl.hpp"

#include "voxcycle/core/device.hpp"
#include "voxcycle/core/error.hpp"

#include <cstdlib>
#include <cstring>
#include <exception>

#include <ATen/ATen.h>
#include <ATen/DeviceGuard.h>
#include <dlfcn.h>
#include <nccl.h>

namespace voxcycle {
namespace {

/// A function of the library that torch has loaded: linking with one of our own might bring another
/// version.
template <class Function>
Function* function(char const* name) {
  auto* const found = reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
  VOXCYCLE_REQUIRE(found != nullptr, "NCCL: " << name
                                              << " is missing in the library that torch loaded. "
                                                 "./dev setup --cuda installs one that has it.");
  return found;
}

struct Library {
  decltype(&ncclGetErrorString) error_string =
      function<decltype(ncclGetErrorString)>("ncclGetErrorString");
  decltype(&ncclGetUniqueId) unique_id = function<decltype(ncclGetUniqueId)>("ncclGetUniqueId");
  decltype(&ncclCommInitRank) init = function<decltype(ncclCommInitRank)>("ncclCommInitRank");
  decltype(&ncclCommDestroy) destroy = function<decltype(ncclCommDestroy)>("ncclCommDestroy");
  decltype(&ncclCommAbort) abort = function<decltype(ncclCommAbort)>("ncclCommAbort");
  decltype(&ncclAllReduce) all_reduce = function<decltype(ncclAllReduce)>("ncclAllReduce");
  decltype(&ncclBroadcast) broadcast = function<decltype(ncclBroadcast)>("ncclBroadcast");
  decltype(&ncclAllGather) all_gather = function<decltype(ncclAllGather)>("ncclAllGather");
  decltype(&ncclSend) send = function<decltype(ncclSend)>("ncclSend");
  decltype(&ncclRecv) receive = function<decltype(ncclRecv)>("ncclRecv");
  decltype(&ncclGroupStart) group_start = function<decltype(ncclGroupStart)>("ncclGroupStart");
  decltype(&ncclGroupEnd) group_end = function<decltype(ncclGroupEnd)>("ncclGroupEnd");

  void check(ncclResult_t result, char const* call) const {
    VOXCYCLE_REQUIRE(result == ncclSuccess, "NCCL: " << call << " failed: " << error_string(result)
                                                     << ". NCCL_DEBUG=WARN makes it say more.");
  }
};

ncclDataType_t nccl_type_of(at::Tensor const& values) {
  switch (values.scalar_type()) {
    case at::kLong:
      return ncclInt64;
    case at::kInt:
      return ncclInt32;
    case at::kByte:
      return ncclUint8;
    case at::kFloat:
      return ncclFloat32;
    case at::kDouble:
      return ncclFloat64;
    default:
      throw Error(std::string("NCCL: no datatype for ") + at::toString(values.scalar_type()) + '.');
  }
}

ncclRedOp_t nccl_operation_of(ReduceOperation operation) {
  switch (operation) {
    case ReduceOperation::sum:
      return ncclSum;
    case ReduceOperation::max:
      return ncclMax;
    case ReduceOperation::min:
      return ncclMin;
  }
  throw Error("NCCL: unknown reduction.");
}

/// The current stream waits for the result, the host does not.
class NcclReduction final : public PendingReduction {
 public:
  NcclReduction(at::Tensor values, DeviceStream const& side)
      : values_(std::move(values)), done_(side) {}
  void wait() override { done_.hold(current_queue(values_.device().index())); }

 private:
  at::Tensor values_;  // keeps the memory
  StreamEvent done_;
};

class NcclCommunicator final : public Communicator {
 public:
  /// @param owned  `host`, if it is to live as long as this; may be null
  NcclCommunicator(Communicator const& host, int device, std::unique_ptr<Communicator> owned)
      : owned_(std::move(owned)), host_(host), device_(device), side_(device) {
    ncclUniqueId id{};
    if (host.rank() == 0) library_.check(library_.unique_id(&id), "ncclGetUniqueId");
    at::Tensor bytes = at::empty({static_cast<std::int64_t>(sizeof id)}, at::kByte);
    std::memcpy(bytes.data_ptr(), &id, sizeof id);
    host.broadcast(bytes, 0);
    std::memcpy(&id, bytes.data_ptr(), sizeof id);
    c10::DeviceGuard const guard(c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(device)));
    library_.check(library_.init(&comm_, host.size(), id, host.rank()), "ncclCommInitRank");
  }
  /// Without an error on its way all reductions were waited for; with one, other ranks may not
  /// come.
  ~NcclCommunicator() override {
    std::uncaught_exceptions() > 0 ? library_.abort(comm_) : library_.destroy(comm_);
  }
  NcclCommunicator(NcclCommunicator const&) = delete;
  NcclCommunicator& operator=(NcclCommunicator const&) = delete;

  int rank() const override { return host_.rank(); }
  int size() const override { return host_.size(); }
  int local_size() const override { return host_.local_size(); }
  std::string transport() const override {
    return "NCCL " + library_version_text(NCCL_VERSION_CODE) + " and " + host_.transport();
  }

  void all_reduce(at::Tensor& values, ReduceOperation operation) const override {
    if (values.is_cpu()) return host_.all_reduce(values, operation);
    reduce(values, operation, current());
  }

  std::unique_ptr<PendingReduction> start_all_reduce(at::Tensor& values,
                                                     ReduceOperation operation) const override {
    if (values.is_cpu()) return host_.start_all_reduce(values, operation);
    // Kernels of two communicators that run at once may each wait for what another GPU does not
    // start before it has done the other (NCCL's guide, "Using multiple NCCL communicators
    // concurrently"): where parts of the ranks talk, too, all goes through one stream.
    DeviceStream const queue = has_parts_ ? current() : side_.queue();
    if (!has_parts_) StreamEvent(current()).hold(queue);
    reduce(values, operation, queue);
    return std::make_unique<NcclReduction>(values, queue);
  }

  void broadcast(at::Tensor& values, int root) const override {
    if (values.is_cpu()) return host_.broadcast(values, root);
    c10::DeviceGuard const guard(values.device());
    library_.check(library_.broadcast(values.data_ptr(), values.data_ptr(), count_of(values),
                                      nccl_type_of(values), root, comm_, stream_of(current())),
                   "ncclBroadcast");
  }

  at::Tensor all_gather(at::Tensor const& values) const override {
    if (values.is_cpu()) return host_.all_gather(values);
    std::vector<std::int64_t> shape = values.sizes().vec();
    shape.insert(shape.begin(), size());
    at::Tensor gathered = at::empty(shape, values.options());
    c10::DeviceGuard const guard(values.device());
    library_.check(library_.all_gather(values.data_ptr(), gathered.data_ptr(), count_of(values),
                                       nccl_type_of(values), comm_, stream_of(current())),
                   "ncclAllGather");
    return gathered;
  }

  Neighbours exchange(at::Tensor const& to_before, at::Tensor const& to_behind) const override {
    if (to_before.is_cpu()) return host_.exchange(to_before, to_behind);
    c10::DeviceGuard const guard(to_before.device());
    cudaStream_t const stream = stream_of(current());
    auto const room = [&](int neighbour, at::Tensor const& out) {
      bool const exists = neighbour >= 0 && neighbour < size();
      return exists ? at::empty_like(out) : at::Tensor();
    };
    // Before the group begins: should memory end here, none is left open.
    Neighbours got{room(rank() - 1, to_before), room(rank() + 1, to_behind)};
    auto const with = [&](int neighbour, at::Tensor const& out, at::Tensor const& in) {
      if (!in.defined()) return;
      auto const bytes = count_of(out) * out.element_size();
      library_.check(library_.send(out.data_ptr(), bytes, ncclUint8, neighbour, comm_, stream),
                     "ncclSend");
      library_.check(library_.receive(in.data_ptr(), bytes, ncclUint8, neighbour, comm_, stream),
                     "ncclRecv");
    };
    library_.check(library_.group_start(), "ncclGroupStart");
    with(rank() - 1, to_before, got.before);
    with(rank() + 1, to_behind, got.behind);
    library_.check(library_.group_end(), "ncclGroupEnd");
    return got;
  }

  std::unique_ptr<Communicator> split(int number) const override {
    has_parts_ = true;
    auto host = host_.split(number);
    Communicator const& part = *host;
    return std::make_unique<NcclCommunicator>(part, device_, std::move(host));
  }

  void barrier() const override { host_.barrier(); }
  [[noreturn]] void abort(int code) const noexcept override {
    host_.abort(code);
    std::_Exit(code);
  }

 private:
  DeviceStream current() const { return current_queue(device_); }
  static cudaStream_t stream_of(DeviceStream const& queue) {
    return static_cast<cudaStream_t>(queue.stream);
  }

  static std::size_t count_of(at::Tensor const& values) {
    VOXCYCLE_REQUIRE(values.is_contiguous(), "NCCL: a contiguous tensor is needed.");
    return static_cast<std::size_t>(values.numel());
  }

  void reduce(at::Tensor const& values, ReduceOperation operation,
              DeviceStream const& queue) const {
    c10::DeviceGuard const guard(values.device());
    library_.check(library_.all_reduce(values.data_ptr(), values.data_ptr(), count_of(values),
                                       nccl_type_of(values), nccl_operation_of(operation), comm_,
                                       stream_of(queue)),
                   "ncclAllReduce");
  }

  std::unique_ptr<Communicator> owned_;
  Communicator const& host_;
  int device_;
  Library library_;
  ncclComm_t comm_ = nullptr;
  SideStream side_;
  mutable bool has_parts_ = false;  ///< whether split() was called
};

}  // namespace

int nccl_header_version() {
  return NCCL_VERSION_CODE;
}

std::unique_ptr<Communicator> make_nccl_communicator(Communicator const& host, int device) {
  return std::make_unique<NcclCommunicator>(host, device, nullptr);
}

}  // namespace voxcycle
