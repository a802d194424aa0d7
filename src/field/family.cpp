// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/field/family.hpp"

#include "voxcycle/core/registry.hpp"

#include "field/families.hpp"

namespace voxcycle {
namespace {

/// One line a family.
Registry<std::unique_ptr<CoefficientFamily> (*)(FamilyOptions const&)> const kFamilies{
    "coefficient family",
    {
        {"kl", make_kl},
        {"grf", make_grf},
        {"inclusions", make_inclusions},
        {"file", make_file},
    }};

}  // namespace

std::vector<std::string> family_names() {
  return kFamilies.names();
}

std::unique_ptr<CoefficientFamily> make_family(FamilyOptions const& options) {
  return kFamilies.at(options.name)(options);
}

}  // namespace voxcycle
