// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/core/timer.hpp"

#include <functional>
#include <string>

namespace voxcycle {

/// One line on standard output about work under way, rewritten in place on a terminal (at most ten
/// times a second, cut to its width), a plain line every ten seconds elsewhere. Silent unless made
/// visible (rank 0).
class StatusLine {
 public:
  enum class Visible { no, yes };
  enum class First { at_once, after_a_pause };
  explicit StatusLine(Visible visible, First first = First::at_once);
  /// Where an error ends the work, its words stand on a line of their own.
  ~StatusLine() { finish(); }
  StatusLine(StatusLine const&) = delete;
  StatusLine& operator=(StatusLine const&) = delete;
  /// @param text  called only if its line is due
  void show(std::function<std::string()> const& text);
  /// Ends the current line so that other output starts on its own.
  void finish();
  /// Takes the current line off the terminal.
  void erase();

 private:
  bool visible_;
  std::string terminal_;  ///< empty for none
  bool first_;
  bool open_ = false;
  Timer since_last_;
};

/// A status line with the share of a work that is done and the time that is left, while it lives.
class ShareLine {
 public:
  /// @param work  e.g. "comparing"
  ShareLine(StatusLine::Visible visible, std::string work);
  ~ShareLine() { erase(); }
  ShareLine(ShareLine const&) = delete;
  ShareLine& operator=(ShareLine const&) = delete;

  /// @param share  that is done, [0, 1]
  void show(double share);
  void erase() { line_.erase(); }

 private:
  std::string work_;
  StatusLine line_;
  Timer timer_;
};

/// e.g. "comparing  25 %  left 12.0 s"; the work alone where none is done
/// @param seconds  that the share took
std::string share_text(std::string const& work, double share, double seconds);

}  // namespace voxcycle
