// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/network/norm.hpp"

#include "voxcycle/core/error.hpp"

namespace voxcycle {

Norm parse_norm(std::string_view name) {
  for (auto norm : {Norm::sync_batch, Norm::group, Norm::instance, Norm::none}) {
    if (name == to_string(norm)) return norm;
  }
  throw Error("norm '" + std::string(name) +
              "' is unknown. Choose one of sync_batch, group, instance, none.");
}

std::string to_string(Norm norm) {
  switch (norm) {
    case Norm::sync_batch:
      return "sync_batch";
    case Norm::group:
      return "group";
    case Norm::instance:
      return "instance";
    case Norm::none:
      return "none";
  }
  throw Error("unknown norm.");
}

}  // namespace voxcycle
