// SPDX-License-Identifier: BSD-3-Clause
// For libFuzzer, which ./dev fuzz builds.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "readers.hpp"

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  static auto const& reader = voxcycle::fuzz::readers().at(std::getenv("VOXCYCLE_FUZZ"));
  voxcycle::fuzz::try_to_read(reader, std::string(reinterpret_cast<char const*>(data), size));
  return 0;
}
