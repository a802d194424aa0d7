// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/comm/device_choice.hpp"
#include "voxcycle/config/options.hpp"
#include "voxcycle/core/median.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/network/conv.hpp"

#include <cstdio>
#include <memory>
#include <vector>

#include "cli/bench.hpp"
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

/// A layer set up in one way, and the seconds that it took.
class Trial {
 public:
  Trial(Layer const& layer, Way const& way, Size const& size, DeviceChoice& place)
      : context_{.comm = place.comm(),
                 .device = place.device(),
                 .dtype = way.dtype,
                 .layout = way.layout,
                 .total_samples = size.batch},
        conv_(layer.options) {
    conv_.to(place.device());
    std::int64_t const edge = layer.coarse_input ? size.n / 2 : size.n;
    x_ = as_features(
        context_,
        {at::randn({size.batch, layer.options.in, edge, edge, edge}).to(context_.device)});
    x_[0].requires_grad_(layer.options.in > 1);  // nobody asks for the gradient in the coefficient
    at::NoGradGuard const no_grad;
    for (auto& parameter : conv_.parameters()) parameter.uniform_(-0.1, 0.1);
    gradient_ = at::randn_like(conv_.forward(context_, x_)[0]);
  }

  void measure(int turn) {
    x_[0].mutable_grad().reset();
    conv_.zero_grad();
    MicroBatches y;
    int const gpu = context_.device.index();
    double const forward = seconds_of([&] { y = conv_.forward(context_, x_); }, gpu);
    double const backward = seconds_of([&] { y[0].backward(gradient_); }, gpu);
    if (turn < kBenchWarmUps) return;
    forward_.push_back(forward);
    both_.push_back(forward + backward);
  }

  double forward() const { return median(forward_); }
  double both() const { return median(both_); }

 private:
  ForwardContext context_;
  Conv conv_;
  MicroBatches x_;
  at::Tensor gradient_;
  std::vector<double> forward_;
  std::vector<double> both_;
};

/// Prints a row of the table. @return the same as JSON
std::string measure(Layer const& layer, Size const& size, DeviceChoice& place) {
  std::vector<std::unique_ptr<Trial>> trials;
  auto const ways = ways_on(place.device());
  for (auto const& way : ways) {
    trials.push_back(std::make_unique<Trial>(layer, way, size, place));
  }
  for (int turn = 0; turn < kBenchWarmUps + size.repeats; ++turn) {
    for (auto const& trial : trials) trial->measure(turn);
  }
  auto const& baseline = *trials.back();
  json::Members members{{"layer", json::text(layer.name)}};
  std::string row = format("%-8s", layer.name);
  for (std::size_t w = 0; w < ways.size(); ++w) {
    std::string const prefix = std::string(ways[w].name) + "_";
    members.emplace_back(prefix + "forward_seconds", json::number(trials[w]->forward()));
    members.emplace_back(prefix + "seconds", json::number(trials[w]->both()));
    row += format(" %9.2f %9.2f", 1e3 * trials[w]->forward(), 1e3 * trials[w]->both());
  }
  double const forward_speedup = baseline.forward() / trials[0]->forward();
  double const speedup = baseline.both() / trials[0]->both();
  if (place.comm().rank() == 0) {
    std::printf("%s %8.1f %8.1f\n", row.c_str(), forward_speedup, speedup);
  }
  members.emplace_back("forward_speedup", json::number(forward_speedup));
  members.emplace_back("speedup", json::number(speedup));
  return json::object(members);
}

}  // namespace

int bench_conv(Invocation const& call) {
  Size const size{bench_number(call, "grid", 32), bench_number(call, "batch", 2),
                  bench_repeats(call)};
  std::int64_t const channels = bench_number(call, "channels", 16);
  DeviceChoice place(device_options(call.config), call.comm);
  if (call.comm.rank() == 0) {
    std::printf(
        "milliseconds of forward and of forward with backward; speed-up of bf16 over the last "
        "(baseline: torch's default layout, f32)\n%-8s",
        "");
    for (auto const& way : ways_on(place.device())) std::printf(" %19s", way.name);
    std::printf(" %17s\n", "speed-up");
  }
  std::vector<std::string> lines;
  for (auto const& layer : layers_with(channels)) {
    lines.push_back(measure(layer, size, place));
  }
  return bench_report(call, {{"bench", json::text("conv")},
                             {"device", json::text(place.name())},
                             {"grid", std::to_string(size.n)},
                             {"channels", std::to_string(channels)},
                             {"batch", std::to_string(size.batch)},
                             {"reduction", json::text(call.config.text("train.reduction"))},
                             {"threads", std::to_string(at::get_num_threads())},
                             {"repeats", std::to_string(size.repeats)},
                             {"layers", json::array(lines)}});
}

}  // namespace voxcycle
