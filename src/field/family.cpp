// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/field/family.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/text.hpp"

#include "field/families.hpp"

namespace voxcycle {
namespace {

struct Registered {
  char const* name;
  std::unique_ptr<CoefficientFamily> (*make)(FamilyOptions const&);
};

constexpr Registered kFamilies[] = {
    {"kl", make_kl},
    {"grf", make_grf},
    {"inclusions", make_inclusions},
    {"file", make_file},
};

}  // namespace

std::vector<std::string> family_names() {
  std::vector<std::string> names;
  for (auto const& family : kFamilies) names.emplace_back(family.name);
  return names;
}

std::unique_ptr<CoefficientFamily> make_family(FamilyOptions const& options) {
  for (auto const& family : kFamilies) {
    if (options.name == family.name) return family.make(options);
  }
  throw Error("there is no coefficient family '" + options.name +
              "'. Use one of: " + join(family_names()) + ".");
}

}  // namespace voxcycle
