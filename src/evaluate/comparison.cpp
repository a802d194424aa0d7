// SPDX-License-Identifier: BSD-3-Clause
// The comparison for a terminal, for programs and for the report.
#include "voxcycle/evaluate/comparison.hpp"

#include "voxcycle/core/json.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/report/html.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace voxcycle {
namespace {

ComparedMethod const* find(Comparison const& comparison, std::string const& key) {
  for (auto const& method : comparison.methods) {
    if (method.key == key) return &method;
  }
  return nullptr;
}

/// Whether a beats b: better in one of time and error and not worse in the other. A method that did
/// not reach its tolerance beats nothing.
bool beats(ComparedMethod const& a, ComparedMethod const& b) {
  auto const error_of = [](ComparedMethod const& method) {
    double const error = method.energy_norm_error_mean;
    return std::isfinite(error) ? error : std::numeric_limits<double>::infinity();
  };
  bool const no_worse = a.seconds <= b.seconds && error_of(a) <= error_of(b);
  bool const better = a.seconds < b.seconds || error_of(a) < error_of(b);
  return a.converged && no_worse && better;
}

/// @param unconverged  follows the number where conjugate gradients did not converge
std::string iterations_text(ComparedMethod const& method, std::string const& unconverged) {
  if (method.iterations == 0.0) return "";
  return format("%.1f", method.iterations) + (method.converged ? "" : unconverged);
}

std::string setup_text(ComparedMethod const& method) {
  return method.setup_seconds > 0.0 ? format_seconds(method.setup_seconds) : "";
}

std::string quotient(double of, double over) {
  return format("%.3g", of / over);
}

/// How the measurement was made.
std::string conditions(Comparison const& c) {
  return format(
      "%ld samples at %s, one process with %d thread%s on %s; median wall time a "
      "sample, all methods in turn in the same run. Multigrid is set up anew for every "
      "sample, which its times include; conjugate gradients (PCG) stop at a relative "
      "residual of %.0e, or as soon as the reference shows them to be as close as the network.",
      static_cast<long>(c.samples), c.grid.c_str(), c.threads, c.threads == 1 ? "" : "s",
      c.device.c_str(), c.tolerance);
}

}  // namespace

std::vector<bool> undominated(Comparison const& comparison) {
  std::vector<bool> result;
  for (auto const& method : comparison.methods) {
    result.push_back(std::none_of(comparison.methods.begin(), comparison.methods.end(),
                                  [&](auto const& other) { return beats(other, method); }));
  }
  return result;
}

std::vector<std::string> verdict(Comparison const& comparison) {
  std::vector<std::string> sentences;
  for (auto const& method : comparison.methods) {
    if (method.classical) continue;
    ComparedMethod const* best = nullptr;
    for (auto const& other : comparison.methods) {
      if (!other.classical || !beats(other, method)) continue;
      if (best == nullptr || other.seconds < best->seconds) best = &other;
    }
    if (best == nullptr) continue;
    sentences.push_back("Classical wins over \"" + method.name + "\": \"" + best->name +
                        "\" takes " + quotient(best->seconds, method.seconds) +
                        " of its time and leaves " +
                        quotient(best->energy_norm_error_mean, method.energy_norm_error_mean) +
                        " of its energy-norm error.");
  }
  auto const* network = find(comparison, "network");
  auto const* cycle = find(comparison, "full_multigrid");
  if (network != nullptr && cycle != nullptr && !beats(*cycle, *network)) {
    bool const faster = network->seconds < cycle->seconds;
    bool const closer = network->energy_norm_error_mean < cycle->energy_norm_error_mean;
    sentences.push_back("The network takes " + quotient(network->seconds, cycle->seconds) +
                        " of the time of one F-cycle and leaves " +
                        quotient(network->energy_norm_error_mean, cycle->energy_norm_error_mean) +
                        " of its energy-norm error" +
                        (faster && closer ? ": it wins." : ": neither wins in both."));
  }
  auto const* equal = find(comparison, "pcg_to_network_error");
  if (network != nullptr && equal != nullptr) {
    sentences.push_back(
        format("PCG is as close as the network, sample by sample, after %.1f iterations and ",
               equal->iterations) +
        quotient(equal->seconds, network->seconds) + " of its time.");
  }
  auto const* lift = find(comparison, "pcg_from_lift");
  auto const* start = find(comparison, "pcg_from_network");
  if (lift != nullptr && start != nullptr) {
    double const saved = lift->seconds - start->seconds;
    sentences.push_back(
        format("Starting PCG from the network takes %.1f iterations instead of %.1f and, the "
               "network's time included, %s ",
               start->iterations, lift->iterations, saved > 0 ? "saves" : "costs") +
        format_seconds(std::abs(saved)) +
        format(" %s %s.", saved > 0 ? "of" : "more than", format_seconds(lift->seconds).c_str()));
    if (!lift->converged || !start->converged) {
      sentences.push_back("PCG did not reach its tolerance on every sample.");
    }
  }
  return sentences;
}

std::string comparison_table(Comparison const& c) {
  std::string text = conditions(c) + "\n" +
                     format("  %-32s %10s %10s %11s %11s %10s %10s %6s\n", "method", "L2 mean",
                            "L2 max", "energy mean", "energy max", "time", "of it MG", "PCG");
  auto const best = undominated(c);
  for (std::size_t k = 0; k < c.methods.size(); ++k) {
    auto const& m = c.methods[k];
    text +=
        format("%c %-32s %10s %10s %11s %11s %10s %10s %6s\n", best[k] ? '*' : ' ', m.name.c_str(),
               format_percent(m.rel_l2_mean).c_str(), format_percent(m.rel_l2_max).c_str(),
               format_percent(m.energy_norm_error_mean).c_str(),
               format_percent(m.energy_norm_error_max).c_str(), format_seconds(m.seconds).c_str(),
               setup_text(m).c_str(), iterations_text(m, ", not converged").c_str());
  }
  text += "* no other method is both faster and closer (mean energy-norm error)\n";
  for (auto const& sentence : verdict(c)) text += sentence + "\n";
  return text;
}

std::string comparison_csv(Comparison const& c) {
  std::string text =
      "method,rel_l2_mean,rel_l2_max,energy_norm_error_mean,energy_norm_error_max,seconds,"
      "setup_seconds,iterations,converged,undominated\n";
  auto const best = undominated(c);
  for (std::size_t k = 0; k < c.methods.size(); ++k) {
    auto const& m = c.methods[k];
    text += format("%s,%.9g,%.9g,%.9g,%.9g,%.6g,%.6g,%.6g,%d,%d\n", m.key.c_str(), m.rel_l2_mean,
                   m.rel_l2_max, m.energy_norm_error_mean, m.energy_norm_error_max, m.seconds,
                   m.setup_seconds, m.iterations, m.converged ? 1 : 0, best[k] ? 1 : 0);
  }
  return text;
}

Json comparison_json(Comparison const& c) {
  auto const best = undominated(c);
  auto methods = Json::array();
  for (std::size_t k = 0; k < c.methods.size(); ++k) {
    auto const& m = c.methods[k];
    methods.push_back(Json::object({{"method", m.key},
                                    {"name", m.name},
                                    {"rel_l2_mean", m.rel_l2_mean},
                                    {"rel_l2_max", m.rel_l2_max},
                                    {"energy_norm_error_mean", m.energy_norm_error_mean},
                                    {"energy_norm_error_max", m.energy_norm_error_max},
                                    {"seconds", m.seconds},
                                    {"setup_seconds", m.setup_seconds},
                                    {"iterations", m.iterations},
                                    {"converged", m.converged},
                                    {"undominated", static_cast<bool>(best[k])}}));
  }
  return Json::object({{"grid", c.grid},
                       {"samples", c.samples},
                       {"batch", c.batch},
                       {"threads", c.threads},
                       {"device", c.device},
                       {"tolerance", c.tolerance},
                       {"methods", methods},
                       {"verdict", verdict(c)}});
}

std::string comparison_section(Comparison const& c) {
  using html::element;
  auto const best = undominated(c);
  std::string rows;
  for (std::size_t k = 0; k < c.methods.size(); ++k) {
    auto const& m = c.methods[k];
    std::string cells = element("td", "", html::escape(m.name) + (best[k] ? "&nbsp;*" : ""));
    for (auto const& text :
         {format_percent(m.rel_l2_mean), format_percent(m.rel_l2_max),
          format_percent(m.energy_norm_error_mean), format_percent(m.energy_norm_error_max),
          format_seconds(m.seconds), setup_text(m),
          iterations_text(m, element("small", "", "not converged"))}) {
      cells += element("td", "", text);
    }
    rows += element("tr", "", cells);
  }
  std::string content =
      element("p", "class='quiet'", html::grid(conditions(c))) +
      html::error_table({"method", "relative L2, mean", "max", "energy norm, mean", "max",
                         "time per sample", "of it setup", "iterations"},
                        rows) +
      element("p", "class='quiet'",
              "* No other method is both faster and closer, by mean energy-norm "
              "error.");
  for (auto const& sentence : verdict(c)) content += element("p", "", html::escape(sentence));
  return html::section("Error against time, classical solvers included", content);
}

}  // namespace voxcycle
