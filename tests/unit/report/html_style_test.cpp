// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/report/html.hpp"
#include "voxcycle/report/svg_chart.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace voxcycle {
namespace html_style_test {

using Triple = std::array<double, 3>;
using Matrix = std::array<Triple, 3>;

Triple times(Matrix const& m, Triple const& v) {
  Triple out{};
  for (int i = 0; i < 3; ++i) out[i] = m[i][0] * v[0] + m[i][1] * v[1] + m[i][2] * v[2];
  return out;
}

/// Linear RGB of the sheet's variable, e.g. "--page: #ffffff", in the `theme`-th rule that sets it.
Triple color_of(std::string const& name, int theme) {
  std::string const sheet = html::style_sheet;
  auto at = sheet.find(name + ": #");
  for (int k = 0; k < theme; ++k) at = sheet.find(name + ": #", at + 1);
  Triple linear{};
  for (std::size_t k = 0; k < 3; ++k) {
    double const c = std::stoi(sheet.substr(at + name.size() + 3 + 2 * k, 2), nullptr, 16) / 255.0;
    linear[k] = c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
  }
  return linear;
}

/// CIELAB under D65.
Triple lab(Triple const& rgb) {
  constexpr Matrix to_xyz{{{0.4124564, 0.3575761, 0.1804375},
                           {0.2126729, 0.7151522, 0.0721750},
                           {0.0193339, 0.1191920, 0.9503041}}};
  constexpr Triple white{0.95047, 1.0, 1.08883};
  Triple f = times(to_xyz, rgb);
  for (int k = 0; k < 3; ++k) {
    double const t = f[k] / white[k];
    f[k] = t > 0.008856 ? std::cbrt(t) : 7.787 * t + 16.0 / 116.0;
  }
  return {116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])};
}

/// What eyes without one kind of cone see: Machado, Oliveira, Fernandes (2009), table 1,
/// severity 1.
std::vector<Matrix> const kEyes{{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}},
                                {{{0.152286, 1.052583, -0.204868},
                                  {0.114503, 0.786281, 0.099216},
                                  {-0.003882, -0.048116, 1.051998}}},
                                {{{0.367322, 0.860646, -0.227968},
                                  {0.280085, 0.672501, 0.047413},
                                  {-0.011820, 0.042940, 0.968881}}},
                                {{{1.255528, -0.076749, -0.178779},
                                  {-0.078411, 0.930809, 0.147602},
                                  {0.004733, 0.691367, 0.303900}}}};

Triple seen(Matrix const& eye, Triple const& color) {
  Triple out = times(eye, color);
  for (double& c : out) c = std::clamp(c, 0.0, 1.0);
  return lab(out);
}

double luminance(Triple const& c) {
  return 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2];
}

std::string series(int k) {
  return "--series-" + std::to_string(k);
}

constexpr double kApart = 24.0;    // what svg_chart.hpp says
constexpr double kContrast = 3.0;  // WCAG 2.1, 1.4.11

TEST(StyleSheet, ColoursOfCurvesAreToldApartByAllEyes) {
  for (int theme : {0, 1}) {
    for (std::size_t eye = 0; eye < kEyes.size(); ++eye) {
      for (int a = 0; a < svg::kColors; ++a) {
        for (int b = 0; b < a; ++b) {
          auto const one = seen(kEyes[eye], color_of(series(a), theme));
          auto const other = seen(kEyes[eye], color_of(series(b), theme));
          EXPECT_GE(std::hypot(one[0] - other[0], one[1] - other[1], one[2] - other[2]), kApart)
              << "theme " << theme << ", eye " << eye << ", colours " << a << " and " << b;
        }
      }
    }
  }
}

TEST(StyleSheet, ColoursOfCurvesStandOutFromThePage) {
  for (int theme : {0, 1}) {
    double const page = luminance(color_of("--page", theme));
    for (int k = 0; k < svg::kColors; ++k) {
      double const own = luminance(color_of(series(k), theme));
      EXPECT_GE((std::max(own, page) + 0.05) / (std::min(own, page) + 0.05), kContrast)
          << "theme " << theme << ", colour " << k;
    }
  }
}

}  // namespace html_style_test
}  // namespace voxcycle
