// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/comm/communicator.hpp"

#include "voxcycle/core/error.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include <ATen/ATen.h>

namespace voxcycle {

bool Communicator::any(bool here) const {
  at::Tensor found = at::full({1}, here ? 1 : 0, at::kInt);
  all_reduce(found, ReduceOperation::max);
  return found.item<int>() != 0;
}

std::vector<std::string> Communicator::all_gather_text(std::string const& text) const {
  at::Tensor length = at::full({1}, static_cast<std::int64_t>(text.size()), at::kLong);
  at::Tensor longest = length.clone();
  all_reduce(longest, ReduceOperation::max);
  at::Tensor padded =
      at::zeros({std::max<std::int64_t>(1, longest.item<std::int64_t>())}, at::kByte);
  std::memcpy(padded.data_ptr(), text.data(), text.size());
  at::Tensor const lengths = all_gather(length);
  at::Tensor const bytes = all_gather(padded);
  std::vector<std::string> texts;
  for (int r = 0; r < size(); ++r) {
    auto const* begin = static_cast<char const*>(bytes.data_ptr()) + r * padded.numel();
    texts.emplace_back(begin, static_cast<std::size_t>(lengths[r][0].item<std::int64_t>()));
  }
  return texts;
}

void Communicator::agree_on_error(std::string const& error) const {
  if (!any(!error.empty())) return;
  for (auto const& text : all_gather_text(error)) {
    if (!text.empty()) throw Error(text);
  }
}

std::unique_ptr<Communicator> make_communicator() {
  // Set by Open MPI's mpirun, by PMIx (srun --mpi=pmix) and by PMI launchers.
  for (char const* name : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK"}) {
    if (std::getenv(name) != nullptr) return make_mpi_communicator();
  }
  return make_self_communicator();
}

}  // namespace voxcycle
