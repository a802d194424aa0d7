// SPDX-License-Identifier: BSD-3-Clause
#include "bench/link_speed.hpp"

#include <algorithm>
#include <fstream>
#include <system_error>
#include <vector>

namespace voxcycle {
namespace {

namespace fs = std::filesystem;

/// The entries of a directory; none if it is not there.
std::vector<fs::path> entries(fs::path const& directory) {
  std::vector<fs::path> found;
  std::error_code none;
  for (fs::directory_iterator entry(directory, none), end; !none && entry != end;
       entry.increment(none)) {
    found.push_back(entry->path());
  }
  return found;
}

/// The number that a file begins with; 0 if there is none, as of links that are down.
double number_in_file(fs::path const& path) {
  std::ifstream in(path);
  double number = 0.0;
  in >> number;
  return in && number > 0.0 ? number : 0.0;
}

}  // namespace

double fastest_link(fs::path const& system) {
  double fastest = 0.0;
  for (auto const& card : entries(system / "net"))  // "10000": megabits
    fastest = std::max(fastest, 1e6 * number_in_file(card / "speed"));
  for (auto const& card : entries(system / "infiniband"))
    for (auto const& port : entries(card / "ports"))  // "100 Gb/sec (4X EDR)"
      fastest = std::max(fastest, 1e9 * number_in_file(port / "rate"));
  return fastest;
}

}  // namespace voxcycle
