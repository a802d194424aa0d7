// SPDX-License-Identifier: BSD-3-Clause
#include "io/hdf5_location.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/text.hpp"

#include <algorithm>

namespace voxcycle::hdf5 {

std::optional<Location> parse_location(std::string const& text) {
  auto const colon = text.rfind(":/");
  if (colon != std::string::npos && colon > 0 && colon + 2 < text.size()) {
    return Location{text.substr(0, colon), text.substr(colon + 2)};
  }
  for (std::string const extension : {".h5", ".hdf5"}) {
    auto const at = text.rfind(extension);
    if (at == std::string::npos) continue;
    auto const path = text.substr(0, at + extension.size());
    auto const rest = text.substr(path.size());
    if (rest.empty() || rest == ":/") return Location{path, ""};
    if (rest.starts_with(':')) return Location{path, rest.substr(1)};
  }
  return {};
}

std::string dataset_of(File const& file, Location const& location) {
  if (!location.dataset.empty()) {
    require_dataset(file, location.dataset);
    return location.dataset;
  }
  auto const names = file.dataset_names();
  if (std::binary_search(names.begin(), names.end(), "nu")) return "nu";
  VOXCYCLE_REQUIRE(!names.empty(), file.path() << ": holds no dataset. Check the file.");
  VOXCYCLE_REQUIRE(names.size() == 1, file.path() << ": holds the datasets /" << join(names, ", /")
                                                  << ". Name one, e.g. " << file.path() << ":/"
                                                  << names.front() << '.');
  return names.front();
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
