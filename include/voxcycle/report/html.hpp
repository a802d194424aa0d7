// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace voxcycle::html {

/// @return `text` with & < > " ' replaced, so that it shows as it is, in an element or attribute.
/// What no HTML text may hold becomes \x1b and the like (see printable).
std::string escape(std::string_view text);

/// @return `text` escaped, with grids in print: "32^3" as "32³".
std::string grid(std::string_view text);

/// @return <name attributes>content</name>. `content` is HTML already, `attributes` too.
std::string element(std::string_view name, std::string_view attributes, std::string_view content);

/// @return a section of a page under its title; `content` is HTML already.
std::string section(std::string_view title, std::string const& content);

/// @return a table of errors, which scrolls where the page is narrow; `rows` are HTML already.
std::string error_table(std::vector<std::string> const& head, std::string const& rows);

/// @return a section with a name and a value in each row, "" without rows.
std::string summary(std::vector<std::pair<std::string, std::string>> const& rows,
                    std::string_view title = "What was run");

/// @return a text that is shown when its title is chosen, "" for no text.
std::string folded(std::string_view title, std::string const& text);

/// @return a whole page. `title` and `body` are HTML already.
std::string page(std::string_view title, std::string_view body);

/// The page's style sheet: light and dark by the reader's preference, narrow and wide.
extern char const* const style_sheet;

}  // namespace voxcycle::html
