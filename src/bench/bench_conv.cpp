// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/text.hpp"
#include "voxcycle/network/conv.hpp"

#include <array>
#include <cstdio>
#include <memory>
#include <vector>

#include "bench/measure.hpp"
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

namespace voxcycle {
namespace {

/// A layer of the network at one grid; with `coarse_input` its input lies on the coarser one.
struct Layer {
  char const* name;
  ConvOptions options;
  bool coarse_input = false;
};

std::vector<Layer> layers_with(std::int64_t channels) {
  return {{"stem", {.in = 1, .out = channels, .bias = Bias::yes}},
          {"same", {.in = channels, .out = channels}},
          {"joined", {.in = 2 * channels, .out = channels}},
          {"down", {.kind = ConvKind::down, .in = channels, .out = channels, .bias = Bias::yes}},
          {"up", {.kind = ConvKind::up, .in = channels, .out = channels, .bias = Bias::yes}, true},
          {"head", {.kind = ConvKind::node, .in = channels, .out = 1, .bias = Bias::yes}}};
}

/// How a layer is computed; the last is what the others are compared with.
struct Way {
  char const* name;
  at::ScalarType dtype;
  at::MemoryFormat layout;
};
constexpr Way kBf16{"bf16", at::kBFloat16, at::MemoryFormat::ChannelsLast3d};
constexpr Way kF32{"f32", at::kFloat, at::MemoryFormat::ChannelsLast3d};
constexpr Way kBaseline{"baseline", at::kFloat, at::MemoryFormat::Contiguous};

/// Torch's default layout is not for GPUs, as in training.
std::vector<Way> ways_on(at::Device device) {
  return device.is_cpu() ? std::vector<Way>{kBf16, kF32, kBaseline} : std::vector<Way>{kBf16, kF32};
}

struct Size {
  std::int64_t n;  ///< voxels an axis
  std::int64_t batch;
  std::int64_t repeats;
};

/// A layer set up in one way.
class Trial {
 public:
  Trial(Layer const& layer, Way const& way, Size const& size, BenchOptions const& o)
      : context_{.comm = o.device_comm,
                 .device = o.device,
                 .dtype = way.dtype,
                 .layout = way.layout,
                 .total_samples = size.batch},
        conv_(layer.options) {
    conv_.to(o.device);
    std::int64_t const edge = layer.coarse_input ? size.n / 2 : size.n;
    x_ = as_features(
        context_,
        {at::randn({size.batch, layer.options.in, edge, edge, edge}).to(context_.device)});
    x_[0].requires_grad_(layer.options.in > 1);  // nobody asks for the gradient in the coefficient
    at::NoGradGuard const no_grad;
    for (auto& parameter : conv_.parameters()) parameter.uniform_(-0.1, 0.1);
    gradient_ = at::randn_like(conv_.forward(context_, x_)[0]);
  }

  /// Seconds of forward, and of forward with backward.
  std::array<double, 2> measure() {
    x_[0].mutable_grad().reset();
    conv_.zero_grad();
    MicroBatches y;
    int const gpu = context_.device.index();
    double const forward = seconds_of([&] { y = conv_.forward(context_, x_); }, gpu);
    double const backward = seconds_of([&] { y[0].backward(gradient_); }, gpu);
    return {forward, forward + backward};
  }

 private:
  ForwardContext context_;
  Conv conv_;
  MicroBatches x_;
  at::Tensor gradient_;
};

/// Prints a row of the table. @return the same as JSON
Json measure(Layer const& layer, Size const& size, BenchOptions const& o) {
  std::vector<std::unique_ptr<Trial>> trials;
  auto const ways = ways_on(o.device);
  for (auto const& way : ways) {
    trials.push_back(std::make_unique<Trial>(layer, way, size, o));
  }
  auto const seconds = medians(size.repeats, [&] {
    std::vector<double> all;
    for (auto const& trial : trials) {
      auto const [forward, both] = trial->measure();
      all.insert(all.end(), {forward, both});
    }
    return all;
  });
  auto members = Json::object({{"layer", layer.name}});
  std::string row = format("%-8s", layer.name);
  for (std::size_t w = 0; w < ways.size(); ++w) {
    std::string const prefix = std::string(ways[w].name) + "_";
    double const forward = seconds[2 * w], both = seconds[2 * w + 1];
    members[prefix + "forward_seconds"] = forward;
    members[prefix + "seconds"] = both;
    row += format(" %9.2f %9.2f", 1e3 * forward, 1e3 * both);
  }
  double const forward_speedup = seconds[seconds.size() - 2] / seconds[0];
  double const speedup = seconds.back() / seconds[1];
  if (o.comm.rank() == 0) {
    std::printf("%s %8.1f %8.1f\n", row.c_str(), forward_speedup, speedup);
  }
  members["forward_speedup"] = forward_speedup;
  members["speedup"] = speedup;
  return members;
}

}  // namespace

BenchResult bench_conv(BenchOptions const& o) {
  Size const size{o.grid.value_or(32), o.batch.value_or(2), bench_repeats(o)};
  std::int64_t const channels = o.channels.value_or(16);
  if (o.comm.rank() == 0) {
    std::printf(
        "milliseconds of forward and of forward with backward; speed-up of bf16 over the last "
        "(baseline: torch's default layout, f32)\n%-8s",
        "");
    for (auto const& way : ways_on(o.device)) std::printf(" %19s", way.name);
    std::printf(" %17s\n", "speed-up");
  }
  auto lines = Json::array();
  for (auto const& layer : layers_with(channels)) {
    lines.push_back(measure(layer, size, o));
  }
  return {Json::object({{"bench", "conv"},
                        {"device", o.device_name},
                        {"grid", size.n},
                        {"channels", channels},
                        {"batch", size.batch},
                        {"reduction", o.config.text("train.reduction")},
                        {"threads", at::get_num_threads()},
                        {"repeats", size.repeats},
                        {"layers", lines}})};
}

}  // namespace voxcycle
