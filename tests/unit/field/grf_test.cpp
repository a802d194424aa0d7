// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/error.hpp"
#include "voxcycle/field/family.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "samples.hpp"
#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace grf_test {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

FamilyOptions options_of(std::string const& covariance, double length, int band) {
  FamilyOptions options;
  options.name = "grf";
  options.grf = {.covariance = covariance, .length = length, .band = band};
  return options;
}

std::vector<double> logarithms(std::vector<float> const& nu) {
  std::vector<double> values(nu.begin(), nu.end());
  for (double& value : values) value = std::log(value);
  return values;
}

using Offset = std::array<int, 3>;

/// What many samples tell about log nu on a cube of n voxels: each estimate averages a product over
/// all pairs of voxels of one sample, then over the samples, which are independent.
struct Statistics {
  Estimate mean;
  Estimate fourth;                   ///< of log nu / sqrt(variance)
  std::vector<Estimate> covariance;  ///< one an offset
};

Statistics measure(FamilyOptions const& options, int n, int samples,
                   std::vector<Offset> const& offsets) {
  auto const family = make_family(options);
  double const variance = options.grf.variance;
  Statistics moments;
  moments.covariance.resize(offsets.size());
  for (int index = 0; index < samples; ++index) {
    auto const g = logarithms(evaluate(*family, family->omega(5, index), Grid3::cube(n)));
    double sum = 0.0;
    double fourth = 0.0;
    for (double value : g) {
      sum += value;
      fourth += std::pow(value, 4) / (variance * variance);
    }
    moments.mean.add(sum / static_cast<double>(g.size()));
    moments.fourth.add(fourth / static_cast<double>(g.size()));
    for (std::size_t k = 0; k < offsets.size(); ++k) {
      auto const [dx, dy, dz] = offsets[k];
      double products = 0.0;
      int pairs = 0;
      for (int x = 0; x + dx < n; ++x) {
        for (int y = 0; y + dy < n; ++y) {
          for (int z = 0; z + dz < n; ++z, ++pairs) {
            products += g[(x * n + y) * n + z] * g[((x + dx) * n + y + dy) * n + z + dz];
          }
        }
      }
      moments.covariance[k].add(products / pairs);
    }
  }
  return moments;
}

std::vector<Offset> const kOffsets = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1},
                                      {2, 0, 0}, {0, 3, 0}, {1, 1, 1}, {3, 2, 1}};
constexpr int kVoxels = 6;

double distance(Offset const& offset) {
  double square = 0.0;
  for (int d : offset) square += static_cast<double>(d * d) / (kVoxels * kVoxels);
  return std::sqrt(square);
}

// The chance that any of the twenty figures below lies farther off is 1e-4; the seed is fixed.
constexpr double kStandardErrors = 4.5;
constexpr int kSamples = 3000;

TEST(Grf, GaussianCovarianceIsAsAsked) {
  auto options = options_of("gaussian", 0.25, 48);
  options.grf.variance = 2.5;
  auto const moments = measure(options, kVoxels, kSamples, kOffsets);
  EXPECT_LE(std::abs(moments.mean.mean()), kStandardErrors * moments.mean.standard_error());
  EXPECT_NEAR(moments.fourth.mean(), 3.0, kStandardErrors * moments.fourth.standard_error());
  for (std::size_t k = 0; k < kOffsets.size(); ++k) {
    double const r = distance(kOffsets[k]);
    double const expected = 2.5 * std::exp(-r * r / (2 * 0.25 * 0.25));
    // The image one period away and the wave numbers left out.
    double const systematic = 2.5 * (3.4e-4 + 1e-4);
    auto const& estimate = moments.covariance[k];
    EXPECT_LT(estimate.standard_error(), 0.03) << "the test would see little";
    EXPECT_NEAR(estimate.mean(), expected, kStandardErrors * estimate.standard_error() + systematic)
        << "distance " << r;
  }
}

/// Correlation of the exponential covariance's field without wave vectors beyond K:
/// the integral of k^2 S(k) sin(k r) / (k r) over [0, K], over that of k^2 S(k).
double band_limited_correlation(double r, double length, double maximum) {
  constexpr int kIntervals = 20000;
  double product = 0.0;
  double total = 0.0;
  for (int i = 0; i < kIntervals; ++i) {
    double const k = maximum * (i + 0.5) / kIntervals;
    double const s = k * k / std::pow(1 + length * length * k * k, 2);
    product += s * (r > 0 ? std::sin(k * r) / (k * r) : 1.0);
    total += s;
  }
  return product / total;
}

TEST(Grf, ExponentialCovarianceIsAsAskedUpToItsBand) {
  constexpr double kLength = 0.2;
  constexpr int kBand = 12;
  double const maximum = 2 * M_PI * kBand / (1 + 5 * kLength);
  auto const moments =
      measure(options_of("exponential", kLength, kBand), kVoxels, kSamples, kOffsets);
  for (std::size_t k = 0; k < kOffsets.size(); ++k) {
    double const r = distance(kOffsets[k]);
    auto const& estimate = moments.covariance[k];
    // The image one period away, and the ragged edge of a ball of 12 wave numbers.
    constexpr double kSystematic = 7e-3 + 7e-3;
    EXPECT_LT(estimate.standard_error(), 0.015) << "the test would see little";
    EXPECT_NEAR(estimate.mean(), band_limited_correlation(r, kLength, maximum),
                kStandardErrors * estimate.standard_error() + kSystematic)
        << "distance " << r;
    // The share of variance beyond the band, 4 / (pi l K), is all that separates it from exp(-r/l).
    EXPECT_NEAR(estimate.mean(), std::exp(-r / kLength),
                kStandardErrors * estimate.standard_error() + 4 / (M_PI * kLength * maximum));
  }
}

TEST(Grf, IsOneFunctionOfSpaceOnAllGrids) {
  // An axis of n voxels shares its centres with one of 3 n voxels. Values are rounded to float once
  // and summed in the same order.
  for (char const* covariance : {"exponential", "gaussian"}) {
    auto const family = make_family(options_of(covariance, 0.1, 30));
    auto const omega = family->omega(3, 8);
    Grid3 const coarse{{3, 5, 4}, {1.0, 1.0, 1.0}};
    Grid3 const fine{{9, 5, 36}, {1.0, 1.0, 1.0}};
    auto const a = evaluate(*family, omega, coarse);
    auto const b = evaluate(*family, omega, fine);
    for (int x = 0; x < 3; ++x) {
      for (int y = 0; y < 5; ++y) {
        for (int z = 0; z < 4; ++z) {
          float const expected = a[(x * 5 + y) * 4 + z];
          float const found = b[((3 * x + 1) * 5 + y) * 36 + 9 * z + 4];
          EXPECT_NEAR(found, expected, std::numeric_limits<float>::epsilon() * expected);
        }
      }
    }
  }
}

TEST(Grf, ABoxIsCutOutOfTheCube) {
  for (char const* covariance : {"exponential", "gaussian"}) {
    auto const family = make_family(options_of(covariance, 0.1, 30));
    auto const omega = family->omega(3, 8);
    auto const cube = evaluate(*family, omega, Grid3::cube(8));
    auto const box = evaluate(*family, omega, {{4, 8, 2}, {0.5, 1.0, 0.25}});
    for (int x = 0; x < 4; ++x) {
      for (int y = 0; y < 8; ++y) {
        for (int z = 0; z < 2; ++z) {
          EXPECT_FLOAT_EQ(box[(x * 8 + y) * 2 + z], cube[(x * 8 + y) * 8 + z]) << x << y << z;
        }
      }
    }
  }
}

TEST(Grf, IsSmoothOnlyIfItsCovarianceIs) {
  // Mean square difference of neighbours on 64 voxels: 2 (1 - c(h)).
  auto const roughness = [](char const* covariance) {
    auto const family = make_family(options_of(covariance, 0.2, 48));
    auto const g = logarithms(evaluate(*family, family->omega(1, 0), {{2, 2, 64}, {1, 1, 1}}));
    double sum = 0.0;
    for (std::size_t k = 1; k < g.size(); ++k) {
      if (k % 64 != 0) sum += std::pow(g[k] - g[k - 1], 2);
    }
    return sum / (4 * 63);
  };
  double const h = 1.0 / 64;
  EXPECT_LT(roughness("gaussian"), 3 * h * h / (0.2 * 0.2));
  EXPECT_GT(roughness("exponential"), 0.5 * h / 0.2);
}

TEST(Grf, VarianceScalesTheLogarithm) {
  auto options = options_of("exponential", 0.1, 16);
  Grid3 const grid = Grid3::cube(4);
  auto const once = logarithms(evaluate(*make_family(options), {12345.0}, grid));
  options.grf.variance = 4.0;
  auto const twice = logarithms(evaluate(*make_family(options), {12345.0}, grid));
  for (std::size_t k = 0; k < once.size(); ++k) {
    // Both were rounded to float before the logarithm.
    EXPECT_NEAR(twice[k], 2 * once[k], 3 * std::numeric_limits<float>::epsilon());
  }
}

TEST(Grf, ExtremeVarianceStaysInTheRangeOfFloat) {
  auto options = options_of("gaussian", 0.02, 48);
  options.grf.variance = 16.0;
  auto const family = make_family(options);
  for (float value : evaluate(*family, family->omega(1, 1), Grid3::cube(32))) {
    ASSERT_TRUE(std::isnormal(value) && value > 0) << value;
  }
}

TEST(Grf, BytesDependOnNothingButSeedIndexAndGrid) {
  auto const options = options_of("exponential", 0.1, 20);
  auto const family = make_family(options);
  Grid3 const grid = Grid3::cube(20);
  int const threads = at::get_num_threads();
  at::set_num_threads(1);
  auto const alone = evaluate(*family, family->omega(1, 7), grid);
  at::set_num_threads(3);
  evaluate(*family, family->omega(1, 6), grid);
  EXPECT_EQ(evaluate(*make_family(options), family->omega(1, 7), grid), alone);
  at::set_num_threads(threads);
  EXPECT_NE(evaluate(*family, family->omega(1, 8), grid), alone);
  EXPECT_NE(evaluate(*family, family->omega(2, 7), grid), alone);
  // Not a check of the field: these bytes must never change, or data sets would.
  EXPECT_EQ(digest(alone), 1772265688244749319U);
}

TEST(Grf, SignatureTellsParametersApart) {
  auto options = options_of("exponential", 0.1, 48);
  EXPECT_EQ(make_family(options)->signature(),
            "grf(covariance=exponential, length=0.10000000000000001, variance=1, band=48)");
  options.grf.variance = 2;
  EXPECT_THAT(make_family(options)->signature(), HasSubstr("variance=2"));
}

TEST(Grf, TheBandThatTheMessageNamesIsEnough) {
  // At 0.024, 0.464 and 0.487, 4.6 over the unit, times the unit, rounds to less than 4.6.
  for (double length : {0.02, 0.024, 0.1, 0.25, 0.464, 0.487, 0.5}) {
    int const band = static_cast<int>(std::ceil(4.6 * (1 + 4 * length) / (2 * M_PI * length)));
    EXPECT_NO_THROW(make_family(options_of("gaussian", length, band))) << length;
    EXPECT_NO_THROW(make_family(options_of("gaussian", length, 48))) << length;
    EXPECT_THAT([&] { make_family(options_of("gaussian", length, band - 1)); },
                ThrowsMessage<Error>(HasSubstr("needs " + std::to_string(band) + " wave")));
  }
}

TEST(Grf, RefusesWhatItCannotDo) {
  auto const refuse = [](FamilyOptions const& options, char const* text) {
    EXPECT_THAT([&] { make_family(options); }, ThrowsMessage<Error>(HasSubstr(text)));
  };
  refuse(options_of("matern", 0.1, 48),
         "covariance 'matern' is unknown. Choose one of exponential, gaussian");
  refuse(options_of("gaussian", 0.01, 48), "Use 0.02 to 0.5");
  refuse(options_of("gaussian", 0.6, 48), "Use 0.02 to 0.5");
  refuse(options_of("gaussian", std::nan(""), 48), "Use 0.02 to 0.5");
  refuse(options_of("gaussian", 0.1, 0), "Use 1 to 128");
  refuse(options_of("gaussian", 0.1, 129), "Use 1 to 128");
  // 4.6 / (2 pi 0.05) * 1.2 = 17.6
  refuse(options_of("gaussian", 0.05, 17), "needs 18 wave numbers");
  EXPECT_NO_THROW(make_family(options_of("gaussian", 0.05, 18)));
  auto options = options_of("gaussian", 0.1, 48);
  for (double variance : {0.0, -1.0, 17.0}) {
    options.grf.variance = variance;
    refuse(options, "at most 16");
  }
  auto const family = make_family(options_of("gaussian", 0.1, 48));
  for (double key : {-1.0, 0.5, 0x1.0p53, std::nan("")}) {
    EXPECT_THROW(evaluate(*family, {key}, Grid3::cube(2)), Error) << key;
  }
  EXPECT_THROW(evaluate(*family, {1.0, 2.0}, Grid3::cube(2)), Error);
  EXPECT_THAT(
      [&] {
        evaluate(*family, {1.0}, {{4, 2, 2}, {2.0, 1.0, 1.0}});
      },
      ThrowsMessage<Error>(HasSubstr("no edge longer than 1")));
  std::vector<float> small(7);
  EXPECT_THROW(family->evaluate(std::vector<double>(1), Grid3::cube(2), {}, small), Error);
}

}  // namespace grf_test
}  // namespace voxcycle
