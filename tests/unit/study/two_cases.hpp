// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/study/study.hpp"

#include <cmath>
#include <string>

namespace voxcycle {

/// A run that enters its finest grid with error `start` at `begin` and halves it every 10 s.
inline StudyRun run_of(std::string const& case_name, int seed, double begin, double start) {
  StudyRun run;
  run.case_name = case_name;
  run.group = case_name;
  run.label = case_name + ", seed " + std::to_string(seed);
  run.settings = {{"run.seed", std::to_string(seed)}};
  run.state = "finished";
  run.finished = true;
  run.cycle = "half_v";
  run.path = {"8^3", "16^3"};
  run.grid = "16^3";
  run.seed = seed;
  if (begin > 0) run.curve.push_back({0, "8^3", 5, begin, 100, 1e-9, 1e-9, 1e-9});
  for (int k = 0; k < 4; ++k) {
    double const error = start * std::pow(0.5, k);
    run.curve.push_back(
        {1, "16^3", k, begin + 10 * k, 100.0 + 50 * k, error, error * error, 3 * error});
  }
  run.spectra = {{0, "8^3", {0, 0.4, 0.3, 0.1}}, {1, "16^3", {0, 0.04, 0.2, 0.1}}};
  return run;
}

/// A baseline and a cycle of two seeds each.
inline Study two_cases() {
  Study study;
  study.title = "a study";
  study.baseline = "direct";
  for (int seed : {1, 2}) {
    study.runs.push_back(run_of("direct", seed, 0, seed == 1 ? 0.8 : 0.4));
    study.runs.push_back(run_of("cycle", seed, 4, 0.1));
  }
  for (std::size_t k = 0; k < 4; ++k) study.runs[k].number = static_cast<int>(k) + 1;
  return study;
}

}  // namespace voxcycle
