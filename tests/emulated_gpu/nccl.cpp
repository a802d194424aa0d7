// SPDX-License-Identifier: BSD-3-Clause
// The functions of NCCL that the program calls, by MPI. What is started in a side stream is summed
// when something waits for it; all ranks must then wait in one order, as with MPI.
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "memory.hpp"
#include "streams.hpp"
#include <cuda_runtime_api.h>
#include <mpi.h>
#include <nccl.h>

struct ncclComm {
  int device = 0;                  ///< current when it was made, and again whenever it is used
  MPI_Comm ranks = MPI_COMM_NULL;  ///< null: a process alone, perhaps without MPI
};

namespace {

MPI_Datatype datatype(ncclDataType_t type) {
  switch (type) {
    case ncclInt64:
      return MPI_INT64_T;
    case ncclInt32:
      return MPI_INT32_T;
    case ncclUint8:
      return MPI_UINT8_T;
    case ncclFloat32:
      return MPI_FLOAT;
    default:
      return MPI_DOUBLE;
  }
}

std::size_t size_of(ncclDataType_t type) {
  if (type == ncclUint8) return 1;
  return type == ncclInt32 || type == ncclFloat32 ? 4 : 8;
}

MPI_Op operation(ncclRedOp_t op) {
  return op == ncclSum ? MPI_SUM : op == ncclMax ? MPI_MAX : MPI_MIN;
}

bool is_at_home(ncclComm_t comm, void const* values) {
  using namespace voxcycle::emulated_gpu;
  return comm->device == current_device() && comm->device == device_of(values);
}

void* view(void* address) {
  using namespace voxcycle::emulated_gpu;
  return kernel_view(device_of(address), address);
}

/// What an open group will wait for at its end.
struct Group {
  bool open = false;
  std::vector<MPI_Request> requests;
};
Group group;

constexpr char const* kName = "emulated ";

}  // namespace

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

char const* ncclGetErrorString(ncclResult_t /*result*/) {
  return "an emulated error";
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  int initialised = 0, rank = 0;
  MPI_Initialized(&initialised);
  if (initialised != 0) MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::strcpy(id->internal, (kName + std::to_string(rank)).c_str());
  return ncclSuccess;
}

/// All processes of the job make one at a time, perhaps in several groups.
ncclResult_t ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank) {
  std::string const text(id.internal);
  if (text.rfind(kName, 0) != 0) return ncclInvalidArgument;
  int const root = std::atoi(text.c_str() + std::strlen(kName));
  *comm = new ncclComm;
  (*comm)->device = voxcycle::emulated_gpu::current_device();
  if (ranks > 1) MPI_Comm_split(MPI_COMM_WORLD, root, rank, &(*comm)->ranks);
  return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  if (comm->ranks != MPI_COMM_NULL) MPI_Comm_free(&comm->ranks);
  delete comm;
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  delete comm;
  return ncclSuccess;
}

ncclResult_t ncclAllReduce(void const* from, void* to, std::size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  if (from != to || !is_at_home(comm, to)) return ncclInvalidArgument;  // it reduces in place
  voxcycle::emulated_gpu::enqueue(stream, [=] {
    if (comm->ranks == MPI_COMM_NULL) return;
    MPI_Allreduce(MPI_IN_PLACE, view(to), static_cast<int>(count), datatype(type), operation(op),
                  comm->ranks);
  });
  return ncclSuccess;
}

ncclResult_t ncclBroadcast(void const* from, void* to, std::size_t count, ncclDataType_t type,
                           int root, ncclComm_t comm, cudaStream_t stream) {
  if (from != to || !is_at_home(comm, to)) return ncclInvalidArgument;
  voxcycle::emulated_gpu::enqueue(stream, [=] {
    if (comm->ranks == MPI_COMM_NULL) return;
    MPI_Bcast(view(to), static_cast<int>(count), datatype(type), root, comm->ranks);
  });
  return ncclSuccess;
}

ncclResult_t ncclAllGather(void const* from, void* to, std::size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream) {
  if (!is_at_home(comm, from) || !is_at_home(comm, to)) return ncclInvalidArgument;
  voxcycle::emulated_gpu::enqueue(stream, [=] {
    if (comm->ranks == MPI_COMM_NULL) {
      std::memcpy(view(to), view(const_cast<void*>(from)), count * size_of(type));
      return;
    }
    MPI_Allgather(view(const_cast<void*>(from)), static_cast<int>(count), datatype(type), view(to),
                  static_cast<int>(count), datatype(type), comm->ranks);
  });
  return ncclSuccess;
}

// Sends and receives are known in groups, of torch's own stream alone.
ncclResult_t ncclGroupStart() {
  if (group.open) return ncclInvalidUsage;
  group.open = true;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  if (!group.open) return ncclInvalidUsage;
  if (!group.requests.empty()) {
    MPI_Waitall(static_cast<int>(group.requests.size()), group.requests.data(),
                MPI_STATUSES_IGNORE);
  }
  group = {};
  return ncclSuccess;
}

ncclResult_t ncclSend(void const* from, std::size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  if (!group.open || stream != nullptr || !is_at_home(comm, from)) return ncclInvalidArgument;
  MPI_Isend(view(const_cast<void*>(from)), static_cast<int>(count), datatype(type), peer, 0,
            comm->ranks, &group.requests.emplace_back());
  return ncclSuccess;
}

ncclResult_t ncclRecv(void* to, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  if (!group.open || stream != nullptr || !is_at_home(comm, to)) return ncclInvalidArgument;
  MPI_Irecv(view(to), static_cast<int>(count), datatype(type), peer, 0, comm->ranks,
            &group.requests.emplace_back());
  return ncclSuccess;
}

}  // extern "C"
