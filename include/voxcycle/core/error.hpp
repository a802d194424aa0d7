// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace voxcycle {

/// A failure that a user can act on. The text follows `problem (why it matters). What to do.`
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  /// Says where it happened, on its way up.
  void prepend(std::string const& place) {
    std::runtime_error::operator=(std::runtime_error(place + what()));
  }
};

}  // namespace voxcycle

/// Throws Error with the streamed text unless `condition` holds. Always on: for borders (input,
/// files, config, shapes). Example: VOXCYCLE_REQUIRE(n > 0, "grid " << n << " is empty.");
#define VOXCYCLE_REQUIRE(condition, text)           \
  do {                                              \
    if (!(condition)) {                             \
      std::ostringstream voxcycle_text;             \
      voxcycle_text << text;                        \
      throw ::voxcycle::Error(voxcycle_text.str()); \
    }                                               \
  } while (false)

/// Internal invariant; checked in debug builds only.
#ifdef NDEBUG
#define VOXCYCLE_ASSERT(condition) static_cast<void>(0)
#else
#define VOXCYCLE_ASSERT(condition) \
  VOXCYCLE_REQUIRE(condition, __FILE__ << ':' << __LINE__ << ": internal: " #condition)
#endif
