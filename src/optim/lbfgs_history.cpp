// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/optim/lbfgs_history.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/text.hpp"

#include <cmath>

#include <ATen/ATen.h>

namespace voxcycle {
namespace {

/// Least cosine of the angle between s and y. Strong Wolfe steps have s.y > 0; a cosine at rounding
/// level says nothing about curvature.
constexpr double kMinCosine = 1e-10;

std::string pair_name(char const* which, std::int64_t k) {
  return format("history/%s%04ld", which, static_cast<long>(k));
}

}  // namespace

void keep_whole(NamedTensors& all, std::string const& name, Shares const& shares,
                at::Tensor const& part) {
  at::Tensor const whole = shares.gather(part);
  if (shares.comm().rank() == 0) all.emplace_back(name, whole);
}

LbfgsHistory::LbfgsHistory(Shares const& shares, std::int64_t pairs, at::Tensor diagonal,
                           at::ScalarType type)
    : shares_(shares), pairs_(pairs), diagonal_(std::move(diagonal)) {
  VOXCYCLE_REQUIRE(pairs >= 1, "L-BFGS: " << pairs << " pairs hold no curvature. Keep 1 or more.");
  s_ = at::zeros({pairs, shares.count()}, type);
  y_ = at::zeros({pairs, shares.count()}, type);
  sy_.resize(static_cast<std::size_t>(pairs), 0.0);
}

bool LbfgsHistory::add(at::Tensor const& s, at::Tensor const& y) {
  // As they will be kept, so that the recursion sees what is judged here.
  at::Tensor const kept_s = s.to(s_.scalar_type());
  at::Tensor const kept_y = y.to(y_.scalar_type());
  auto const dots = shares_.dots({{kept_s, kept_y},
                                  {kept_s, kept_s},
                                  {kept_y, kept_y},
                                  {kept_y, kept_y.to(at::kDouble) * diagonal_}});
  double const sy = dots[0];
  double const ydy = dots[3];
  // Negated: also false for NaN.
  if (!(sy > kMinCosine * std::sqrt(dots[1]) * std::sqrt(dots[2]) && ydy > 0.0)) return false;
  gamma_ = sy / ydy;
  if (count_ == pairs_) {
    first_ = row(1);
  } else {
    ++count_;
  }
  std::int64_t const place = row(count_ - 1);
  s_[place].copy_(kept_s);
  y_[place].copy_(kept_y);
  sy_[static_cast<std::size_t>(place)] = sy;
  return true;
}

at::Tensor LbfgsHistory::apply(at::Tensor const& q) const {
  at::Tensor r = q.clone();
  std::vector<double> alpha(static_cast<std::size_t>(count_));
  for (std::int64_t k = count_ - 1; k >= 0; --k) {
    std::int64_t const place = row(k);
    auto& a = alpha[static_cast<std::size_t>(k)];
    a = shares_.dot(s_[place], r) / sy_[static_cast<std::size_t>(place)];
    add_scaled(r, y_[place], -a);
  }
  r.mul_(diagonal_).mul_(gamma_);
  for (std::int64_t k = 0; k < count_; ++k) {
    std::int64_t const place = row(k);
    double const beta = shares_.dot(y_[place], r) / sy_[static_cast<std::size_t>(place)];
    add_scaled(r, s_[place], alpha[static_cast<std::size_t>(k)] - beta);
  }
  return r;
}

Descent LbfgsHistory::descend(at::Tensor const& g, double first_step) {
  Descent result;
  if (count_ > 0) {
    result.d = apply(g).neg_();
    result.gradient = shares_.dot(result.d, g);
    if (std::isfinite(result.gradient) && result.gradient < 0.0) return result;
    clear();
    result.dropped = true;
  }
  gamma_ = 1.0;
  double const norm = shares_.norm(apply(g));
  if (norm > 0.0) gamma_ = first_step * std::sqrt(static_cast<double>(shares_.size())) / norm;
  result.d = apply(g).neg_();
  result.gradient = shares_.dot(result.d, g);
  return result;
}

double LbfgsHistory::bytes() const {
  return static_cast<double>(s_.nbytes() + y_.nbytes());
}

NamedTensors LbfgsHistory::state() const {
  NamedTensors all;
  std::vector<double> scalars{static_cast<double>(count_), gamma_};
  for (std::int64_t k = 0; k < count_; ++k) {
    scalars.push_back(sy_[static_cast<std::size_t>(row(k))]);
    keep_whole(all, pair_name("s", k), shares_, s_[row(k)]);
    keep_whole(all, pair_name("y", k), shares_, y_[row(k)]);
  }
  keep_whole(all, "history/diagonal", shares_, diagonal_);
  all.emplace_back("history/scalars", at::tensor(scalars, at::kDouble));
  return all;
}

void LbfgsHistory::restore(ArraySource const& read) {
  at::Tensor const scalars = read("history/scalars");
  auto const* values = scalars.const_data_ptr<double>();
  first_ = 0;
  count_ = static_cast<std::int64_t>(values[0]);
  VOXCYCLE_REQUIRE(count_ >= 0 && count_ <= pairs_ && scalars.numel() == count_ + 2,
                   "L-BFGS: a checkpoint of " << count_ << " pairs does not fit " << pairs_
                                              << ". Use the config it was written with.");
  gamma_ = values[1];
  diagonal_.copy_(shares_.part(read("history/diagonal")));
  for (std::int64_t k = 0; k < count_; ++k) {
    sy_[static_cast<std::size_t>(k)] = values[2 + k];
    s_[k].copy_(shares_.part(read(pair_name("s", k))));
    y_[k].copy_(shares_.part(read(pair_name("y", k))));
  }
}

}  // namespace voxcycle
