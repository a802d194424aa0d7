// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/report/pictures.hpp"

#include "voxcycle/core/text.hpp"
#include "voxcycle/report/html.hpp"

#include <cmath>

namespace voxcycle {
namespace {

using html::element;
using html::escape;

std::string color_bar(Picture const& picture) {
  std::vector<double> ramp(256);
  for (std::size_t i = 0; i < ramp.size(); ++i) ramp[i] = static_cast<double>(i);
  return slice_to_png(ramp, 1, static_cast<std::int64_t>(ramp.size()), 0, 255, picture.colors, 1);
}

std::string image(std::string const& png, std::string const& attributes) {
  return "<img src='data:image/png;base64," + base64(png) + "' " + attributes + "/>\n";
}

std::string render_picture(Picture const& picture) {
  std::string const unit = picture.unit.empty() ? "" : " " + picture.unit;
  std::string content = image(picture.png, "alt='" + escape(picture.caption) + "'");
  if (std::isfinite(picture.low) && std::isfinite(picture.high)) {
    auto const [low, high] = format_ends(picture.low, picture.high, 3);
    content += image(color_bar(picture), "class='bar' alt=''");
    content += element("div", "class='range'",
                       element("span", "", low) + element("span", "", escape(high + unit)));
  }
  return element("figure", "", content + element("figcaption", "", escape(picture.caption)));
}

}  // namespace

std::string render_samples(std::vector<SamplePictures> const& samples) {
  if (samples.empty()) return "";
  std::string content;
  for (SamplePictures const& sample : samples) {
    std::string pictures;
    for (Picture const& picture : sample.pictures) pictures += render_picture(picture);
    content += element("h3", "", escape(sample.title));
    if (!sample.note.empty()) content += element("p", "class='quiet'", escape(sample.note));
    content += element("div", "class='pictures'", pictures);
  }
  return html::section("Slices", content);
}

std::string render_slices(std::string const& title,
                          std::vector<std::pair<std::string, std::string>> const& figures,
                          std::vector<SamplePictures> const& samples) {
  return html::page(escape(title), element("h1", "", escape(title)) +
                                       html::summary(figures, "Figures") + render_samples(samples));
}

}  // namespace voxcycle
