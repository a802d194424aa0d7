// SPDX-License-Identifier: BSD-3-Clause
// The functions of NCCL that the program calls, by MPI. What is started in a side stream is summed
// when something waits for it; all ranks must then wait in one order, as with MPI.
#include <cstring>
#include <utility>

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
  std::strcpy(id->internal, "emulated");
  return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int /*rank*/) {
  if (std::strcmp(id.internal, "emulated") != 0) return ncclInvalidArgument;
  *comm = new ncclComm;
  (*comm)->device = voxcycle::emulated_gpu::current_device();
  if (ranks > 1) MPI_Comm_dup(MPI_COMM_WORLD, &(*comm)->ranks);
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

}  // extern "C"
