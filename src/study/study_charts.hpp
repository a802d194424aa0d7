// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/study/study.hpp"

#include <string>
#include <vector>

namespace voxcycle {

/// @return the group's label, and whether it diverged: "direct (1 of 3 diverged)".
std::string name_of(StudyGroup const& group);

/// @return the section with a chart for each of the three errors, against training time and (by a
/// switch) against work; one colour a group.
std::string render_study_curves(std::vector<StudyGroup> const& groups);

/// @return the section of the error by wavenumber: what each group ends with in one chart, then
/// what each stage leaves in a chart a group; "" without spectra.
std::string render_study_spectra(std::vector<StudyGroup> const& groups);

}  // namespace voxcycle
