// SPDX-License-Identifier: BSD-3-Clause
#include "io/hdf5_location.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/text.hpp"

namespace voxcycle::hdf5 {

std::optional<Location> parse_location(std::string const& text) {
  auto const colon = text.rfind(":/");
  if (colon == std::string::npos || colon == 0 || colon + 2 == text.size()) return std::nullopt;
  return Location{text.substr(0, colon), text.substr(colon + 2)};
}

void require_dataset(File const& file, std::string const& dataset) {
  if (file.has_dataset(dataset)) return;
  auto const dead = file.dead_link(dataset);
  VOXCYCLE_REQUIRE(dead.empty(), file.path() << ": the link " << dead
                                             << ", which is not there. Correct the link, or bring "
                                                "back what it leads to.");
  auto const names = file.dataset_names();
  throw Error(file.path() + ": there is no dataset /" + dataset +
              ". It holds: " + (names.empty() ? "none" : "/" + join(names, ", /")) + '.');
}

}  // namespace voxcycle::hdf5
