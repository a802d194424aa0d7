// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/comm/communicator.hpp"

#include "voxcycle/comm/launcher.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/host.hpp"
#include "voxcycle/core/usage_error.hpp"

#include <algorithm>
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

void Communicator::agree_on_error(std::string const& error, int status) const {
  if (!any(!error.empty())) return;
  auto const texts = all_gather_text(error);
  int const common = any(status == UsageError::status) ? UsageError::status : 1;
  for (int failed = 0; failed < size(); ++failed) {
    auto const& text = texts[static_cast<std::size_t>(failed)];
    if (!text.empty()) throw CommonError(text, failed == rank(), common);
  }
}

void Communicator::together(std::function<void()> const& work) const {
  std::string problem;
  int status = 1;
  try {
    work();
  } catch (Error const& error) {
    problem = error.what();
    if (dynamic_cast<UsageError const*>(&error) != nullptr) status = UsageError::status;
  }
  agree_on_error(problem, status);
}

std::unique_ptr<Communicator> make_communicator() {
  bool const speaks_mpi = has_launcher();
  auto const count = launched_processes();
  // One alone needs no MPI: others may come after it, or be started by it.
  if (speaks_mpi && count != 1) {
    auto comm = make_mpi_communicator();
    VOXCYCLE_REQUIRE(!count || comm->size() == *count,
                     "the launcher started " << *count << " processes, but this one sees "
                                             << comm->size()
                                             << ": it is not of the MPI that voxcycle is built "
                                                "with (Open MPI). Start it with that one's mpirun, "
                                                "or with srun --mpi=pmix.");
    return comm;
  }
  return make_self_communicator();
}

}  // namespace voxcycle
