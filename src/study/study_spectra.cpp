// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/text.hpp"
#include "voxcycle/report/html.hpp"
#include "voxcycle/report/svg_chart.hpp"

#include <algorithm>
#include <cmath>

#include "study/study_charts.hpp"

namespace voxcycle {
namespace {

using html::element;

/// Less than this share of the largest value does not matter to the eye or the error.
constexpr double kMinShare = 1e-7;

/// Means over the group's runs of the spectra after each stage that all of them have.
std::vector<StageSpectrum> mean_spectra(StudyGroup const& group) {
  std::vector<StageSpectrum> mean;
  if (group.runs.empty()) return mean;
  for (auto const& first : group.runs.front()->spectra) {
    StageSpectrum sum{first.stage, first.grid, std::vector<double>(first.energy.size())};
    std::size_t found = 0;
    for (auto const* run : group.runs) {
      for (auto const& other : run->spectra) {
        if (other.stage != first.stage || other.energy.size() != sum.energy.size()) continue;
        ++found;
        for (std::size_t k = 0; k < sum.energy.size(); ++k) {
          sum.energy[k] += other.energy[k] / static_cast<double>(group.runs.size());
        }
      }
    }
    if (found == group.runs.size()) mean.push_back(std::move(sum));
  }
  return mean;
}

/// Shells from 1; the constant is none of the energy.
std::vector<svg::Point> points_of(StageSpectrum const& spectrum, std::string const& label) {
  std::vector<svg::Point> points;
  for (std::size_t k = 1; k < spectrum.energy.size(); ++k) {
    points.push_back({static_cast<double>(k), spectrum.energy[k], 0,
                      format("%s, |k| = %zu: %.2e", label.c_str(), k, spectrum.energy[k])});
  }
  return points;
}

void scale(svg::Chart& chart, double low, double high, double shells) {
  chart.x = svg::log_axis(1, std::max(2.0, shells));
  chart.y =
      high > 0 ? svg::log_axis(std::max(low, kMinShare * high), high) : svg::linear_axis(0, 1);
  chart.x_label = "wavenumber |k|, π / longest edge of the box";
  chart.y_label = "energy of the error / that of u*";
}

struct Range {
  double low = INFINITY;
  double high = 0;
  double shells = 2;

  void add(StageSpectrum const& spectrum) {
    shells = std::max(shells, static_cast<double>(spectrum.energy.size()) - 1);
    for (double const energy : spectrum.energy) {
      if (!(energy > 0) || !std::isfinite(energy)) continue;
      low = std::min(low, energy);
      high = std::max(high, energy);
    }
  }
};

std::string final_chart(std::vector<StudyGroup> const& groups,
                        std::vector<std::vector<StageSpectrum>> const& spectra,
                        Range const& range) {
  svg::Chart chart;
  chart.id = "spectrum-end";
  chart.title = "At the end of each run";
  for (std::size_t k = 0; k < groups.size(); ++k) {
    if (spectra[k].empty()) continue;
    auto line = svg::curve(name_of(groups[k]), k);
    line.points = points_of(spectra[k].back(), groups[k].label);
    chart.series.push_back(std::move(line));
  }
  scale(chart, range.low, range.high, range.shells);
  return svg::figure(chart, svg::legend(chart.series));
}

/// A colour a grid; the last visit of a grid is drawn strong, the earlier ones pale.
std::string stage_chart(StudyGroup const& group, std::vector<StageSpectrum> const& spectra,
                        Range const& range, std::size_t number) {
  svg::Chart chart;
  chart.id = format("spectrum-%zu", number);
  chart.title = name_of(group);
  std::vector<std::string> grids;
  for (auto const& spectrum : spectra) grids.push_back(spectrum.grid);
  std::sort(grids.begin(), grids.end(), [](auto const& a, auto const& b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  });
  grids.erase(std::unique(grids.begin(), grids.end()), grids.end());
  std::vector<svg::Series> named;
  for (std::size_t k = 0; k < spectra.size(); ++k) {
    auto const& spectrum = spectra[k];
    auto const level = std::find(grids.begin(), grids.end(), spectrum.grid) - grids.begin();
    bool const again =
        std::any_of(spectra.begin() + static_cast<std::ptrdiff_t>(k) + 1, spectra.end(),
                    [&](auto const& later) { return later.grid == spectrum.grid; });
    auto const stage = format("after stage %d", spectrum.stage + 1);
    auto line = svg::curve(stage + ", " + spectrum.grid, static_cast<std::size_t>(level));
    line.markers = !again;
    line.faint = again;
    line.points = points_of(spectrum, stage);
    chart.series.push_back(std::move(line));
    if (!again) named.push_back(chart.series.back());
  }
  scale(chart, range.low, range.high, range.shells);
  return svg::figure(chart, svg::legend(named));
}

}  // namespace

std::string render_study_spectra(std::vector<StudyGroup> const& groups) {
  std::vector<std::vector<StageSpectrum>> spectra;
  Range all;
  Range range;  // of what did not diverge
  bool any_diverged = false;
  for (auto const& group : groups) {
    spectra.push_back(mean_spectra(group));
    any_diverged = any_diverged || group.diverged > 0;
    for (auto const& spectrum : spectra.back()) {
      all.add(spectrum);
      if (group.diverged == 0) range.add(spectrum);
    }
  }
  if (all.high == 0) return "";
  if (range.high == 0) range = all;
  std::string charts = final_chart(groups, spectra, range);
  for (std::size_t k = 0; k < groups.size(); ++k) {
    if (spectra[k].empty()) continue;
    Range own;
    for (auto const& spectrum : spectra[k]) own.add(spectrum);
    charts += stage_chart(groups[k], spectra[k], groups[k].diverged == 0 ? range : own, k + 1);
  }
  std::string note =
      "Energy of the error u − u* on the finest grid in shells of wavenumber, as a share of the "
      "energy of u* (both for ν = 1, without the coefficient). Left: smooth errors, right: rough "
      "ones. Finer levels that no stage has trained yet pass the coarse solution on, interpolated. "
      "Where a grid is visited again, earlier visits are pale.";
  if (any_diverged) note += " Charts of what diverged have scales of their own.";
  return html::section("Errors by wavenumber", element("div", "class='charts'", charts) +
                                                   element("p", "class='quiet'", note));
}

}  // namespace voxcycle
