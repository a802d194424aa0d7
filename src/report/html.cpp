// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/report/html.hpp"

#include "voxcycle/core/printable.hpp"

namespace voxcycle::html {

std::string escape(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (char const c : printable(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string grid(std::string_view text) {
  std::string out;
  for (std::size_t at = text.find("^3"); at != std::string_view::npos; at = text.find("^3")) {
    out += escape(text.substr(0, at)) + "³";
    text.remove_prefix(at + 2);
  }
  return out + escape(text);
}

std::string element(std::string_view name, std::string_view attributes, std::string_view content) {
  std::string out = "<";
  out += name;
  if (!attributes.empty()) out += ' ';
  out += attributes;
  out += '>';
  out += content;
  out += "</";
  out += name;
  out += ">\n";
  return out;
}

std::string section(std::string_view title, std::string const& content) {
  return element("section", "", element("h2", "", title) + content);
}

std::string error_table(std::vector<std::string> const& head, std::string const& rows) {
  std::string titles;
  for (auto const& title : head) titles += element("th", "scope='col'", title);
  return element(
      "div", "class='scroll'",
      element("table", "class='errors'",
              element("thead", "", element("tr", "", titles)) + element("tbody", "", rows)));
}

std::string summary(std::vector<std::pair<std::string, std::string>> const& rows,
                    std::string_view title) {
  if (rows.empty()) return "";
  std::string text;
  for (auto const& [name, value] : rows) {
    text += element("tr", "",
                    element("th", "scope='row'", escape(name)) + element("td", "", grid(value)));
  }
  return section(title, element("table", "class='summary'", text));
}

std::string folded(std::string_view title, std::string const& text) {
  if (text.empty()) return "";
  return element("details", "", element("summary", "", title) + element("pre", "", escape(text)));
}

std::string page(std::string_view title, std::string_view body) {
  std::string const head =
      "<meta charset='utf-8'/>\n"
      "<meta name='viewport' content='width=device-width, initial-scale=1'/>\n" +
      element("title", "", title) + element("style", "", style_sheet);
  return "<!DOCTYPE html>\n" +
         element("html", "lang='en'", element("head", "", head) + element("body", "", body));
}

}  // namespace voxcycle::html
