// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/evaluate/comparison.hpp"

#include "voxcycle/evaluate/evaluation.hpp"

#include <algorithm>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace comparison_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

ComparedMethod method(std::string const& key, double seconds, double error, double iterations = 0) {
  return {.key = key,
          .name = key + " & more",
          .rel_l2_mean = error / 2,
          .rel_l2_max = error,
          .energy_norm_error_mean = error,
          .energy_norm_error_max = 2 * error,
          .seconds = seconds,
          .setup_seconds = iterations > 0 ? seconds / 4 : 0.0,
          .iterations = iterations,
          .classical = key == "full_multigrid" || key == "pcg_from_lift",
          .converged = true};
}

/// An F-cycle that takes three times as long as the network and leaves `error`.
Comparison comparison(double error, double seconds = 0.03) {
  return {.grid = "32^3",
          .samples = 4,
          .batch = 4,
          .threads = 2,
          .device = "GPU 1",
          .tolerance = 1e-8,
          .methods = {
              method("network", 0.01, 0.02), method("network_batched", 0.005, 0.02),
              method("network_and_cycle", 0.04, 0.004), method("full_multigrid", seconds, error),
              method("pcg_from_lift", 0.2, 1e-8, 8), method("pcg_from_network", 0.15, 1e-8, 5)}};
}

std::string all(std::vector<std::string> const& sentences) {
  std::string text;
  for (auto const& sentence : sentences) text += sentence + "\n";
  return text;
}

TEST(Comparison, NoMethodOfTheFrontIsBeatenInTimeAndErrorAtOnce) {
  // Batched, the network beats itself; PCG from the network beats PCG from the lift.
  EXPECT_THAT(undominated(comparison(0.01)), ElementsAre(false, true, true, true, false, true));
  // A faster and closer F-cycle leaves the network and its cycle nothing.
  EXPECT_THAT(undominated(comparison(0.003, 0.004)),
              ElementsAre(false, false, false, true, false, true));
  // As good in both: neither beats the other.
  auto equal = comparison(0.01);
  equal.methods[4] = equal.methods[5];
  EXPECT_THAT(undominated(equal), ElementsAre(false, true, true, true, true, true));
  // What did not converge beats nothing.
  auto failed = comparison(0.01);
  failed.methods[5].converged = false;
  EXPECT_TRUE(undominated(failed)[4]);
}

TEST(Comparison, SaysWhereClassicalSolversWin) {
  auto const lost = all(verdict(comparison(0.01, 0.0025)));
  EXPECT_THAT(lost, HasSubstr("Classical wins over \"network & more\": \"full_multigrid & more\" "
                              "takes 0.25 of its time and leaves 0.5 of its energy-norm error."));
  EXPECT_THAT(lost, HasSubstr("Classical wins over \"network_batched & more\""));
  EXPECT_THAT(lost, Not(HasSubstr("Classical wins over \"network_and_cycle")));
  EXPECT_THAT(lost, Not(HasSubstr("it wins")));

  auto const mixed = all(verdict(comparison(0.01)));
  EXPECT_THAT(mixed, Not(HasSubstr("Classical wins")));
  EXPECT_THAT(mixed, HasSubstr("0.333 of the time of one F-cycle and leaves 2 of its energy-norm "
                               "error: neither wins in both."));
  EXPECT_THAT(all(verdict(comparison(0.04))), HasSubstr("leaves 0.5 of its energy-norm error: it "
                                                        "wins."));
}

TEST(Comparison, SaysWhatTheNetworkSavesOrCosts) {
  auto c = comparison(0.01);
  EXPECT_THAT(all(verdict(c)), Not(HasSubstr("as close as")));
  c.methods.push_back(method("pcg_to_network_error", 0.03, 0.019, 1.5));
  EXPECT_THAT(all(verdict(c)),
              HasSubstr("sample by sample, after 1.5 iterations and 3 of its time"));
  c.methods.pop_back();
  EXPECT_THAT(all(verdict(c)), HasSubstr("takes 5.0 iterations instead of 8.0 and, the network's "
                                         "time included, saves 50 ms of 200 ms."));
  c.methods[5].seconds = 0.21;
  EXPECT_THAT(all(verdict(c)), HasSubstr("costs 10 ms more than 200 ms."));
  EXPECT_THAT(all(verdict(c)), Not(HasSubstr("did not reach")));
  c.methods[4].converged = false;
  EXPECT_THAT(all(verdict(c)), HasSubstr("did not reach its tolerance"));
  EXPECT_THAT(comparison_table(c), HasSubstr("8.0, not converged"));
  EXPECT_THAT(comparison_section(c), HasSubstr("<td>8.0<small>not converged</small>"));
}

TEST(Comparison, EveryFormHasEveryMethod) {
  auto const c = comparison(0.01);
  Evaluation evaluation;
  evaluation.comparison = c;
  auto const json = evaluation_json(evaluation);
  EXPECT_THAT(json,
              HasSubstr("\"compare\": {\"grid\":\"32^3\",\"samples\":4,\"batch\":4,"
                        "\"threads\":2,\"device\":\"GPU 1\",\"tolerance\":1e-08,\"methods\":["));
  EXPECT_THAT(json, HasSubstr("\"setup_seconds\":0.05,\"iterations\":8.0,\"converged\":true,"
                              "\"undominated\":false}"));
  auto const csv = comparison_csv(c);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 7);
  auto const html = comparison_section(c);
  auto const table = comparison_table(c);
  for (auto const& m : c.methods) {
    EXPECT_THAT(json, HasSubstr("\"method\":\"" + m.key + "\""));
    EXPECT_THAT(csv, HasSubstr("\n" + m.key + ","));
    EXPECT_THAT(html, HasSubstr(m.key + " &amp; more"));
    EXPECT_THAT(table, HasSubstr(m.name));
  }
  EXPECT_THAT(table, HasSubstr("2 threads on GPU 1"));
  EXPECT_THAT(table, HasSubstr("set up anew for every sample"));
  EXPECT_THAT(evaluation_json({}), Not(HasSubstr("compare")));
  Evaluation diverged;
  diverged.rel_l2_mean = std::numeric_limits<double>::infinity();
  EXPECT_THAT(evaluation_json(diverged), HasSubstr("\"rel_l2_mean\": null"));
}

TEST(Comparison, ErrorsAreWrittenAsElsewhereInTheirForm) {
  auto c = comparison(0.01);
  c.methods[0].rel_l2_mean = 0.000284;
  c.methods[0].rel_l2_max = std::numeric_limits<double>::quiet_NaN();
  // On a terminal as all tables there: columns count bytes, of which a dash has three.
  EXPECT_THAT(comparison_table(c), HasSubstr("    0.028 %          -      2.00 %      4.00 % "));
  EXPECT_THAT(comparison_section(c), HasSubstr("<td>0.028 %</td>\n<td>-</td>\n"));
}

TEST(Comparison, AppearsInTheReportIfMeasured) {
  ReportInput input;
  EXPECT_THAT(render_report(input), Not(HasSubstr("Error against time")));
  input.comparison = comparison(0.01);
  EXPECT_THAT(render_report(input), HasSubstr("Error against time, classical solvers included"));
}

}  // namespace comparison_test
}  // namespace voxcycle
