// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/study/runs_left.hpp"

#include <limits>
#include <numeric>
#include <regex>

namespace voxcycle {

double told_share(std::string const& output) {
  static std::regex const told("(^|\\n)(\\d+) %  left ");
  double share = 0.0;
  for (std::sregex_iterator one(output.begin(), output.end(), told), end; one != end; ++one) {
    share = std::stod((*one)[2]) / 100.0;
  }
  return share;
}

double seconds_left_of_runs(double spent, double ended, std::vector<double> const& shares,
                            std::size_t to_come) {
  double const done = std::accumulate(shares.begin(), shares.end(), ended);
  if (done <= 0.0) return std::numeric_limits<double>::quiet_NaN();
  double const all = ended + static_cast<double>(shares.size() + to_come);
  return spent * (all - done) / done;
}

}  // namespace voxcycle
