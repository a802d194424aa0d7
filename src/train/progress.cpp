// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/train/progress.hpp"

#include "voxcycle/core/text.hpp"

#include <cmath>

namespace voxcycle {

std::string progress_text(ProgressState const& s) {
  std::string text;
  if (!std::isnan(s.left)) {
    text = format("%.0f %%  left %s  ", 100.0 * s.done, format_seconds(s.left).c_str());
  }
  text += format("stage %d/%d  %s  step %ld", s.stage + 1, s.stages, s.grid.c_str(),
                 static_cast<long>(s.step));
  if (s.steps > 0) text += format("/%ld", static_cast<long>(s.steps));
  if (!std::isnan(s.energy_gap)) text += "  gap " + format_percent(s.energy_gap);
  // Squared relative errors of a nearly trained network are far below 1.
  bool const ordinary = s.loss == 0.0 || std::abs(s.loss) >= 0.01;
  text += format(ordinary ? "  loss %.5f" : "  loss %.4e", s.loss);
  if (std::isnan(s.search.gradient_norm)) {
    text += format("  rate %.1e", s.rate);
  } else {
    text += format("  gradient %.1e  length %.2g  %.0f evaluations  %.0f pairs skipped",
                   s.search.gradient_norm, s.search.step_length, s.search.evaluations,
                   s.search.skipped);
  }
  if (s.step_seconds > 0) {
    text += "  " + format_seconds(s.step_seconds) + "/step";
    double const rate = static_cast<double>(s.samples) / s.step_seconds;
    text += "  " + (rate < 10.0 ? format("%.2g", rate) : format("%.0f", rate)) + " samples/s";
  }
  return text;
}

}  // namespace voxcycle
