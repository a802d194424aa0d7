// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/host.hpp"

#include <array>

#include <unistd.h>

namespace voxcycle {

std::string host_name() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

}  // namespace voxcycle
