// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/field/family.hpp"

#include <memory>

namespace voxcycle {

/// One maker a family, each in the file of its name; family.cpp registers them.
/// @throws Error for parameters out of range.
std::unique_ptr<CoefficientFamily> make_kl(FamilyOptions const& options);
std::unique_ptr<CoefficientFamily> make_grf(FamilyOptions const& options);
std::unique_ptr<CoefficientFamily> make_inclusions(FamilyOptions const& options);
std::unique_ptr<CoefficientFamily> make_file(FamilyOptions const& options);

}  // namespace voxcycle
