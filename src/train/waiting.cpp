// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/train/waiting.hpp"

#include "voxcycle/core/host.hpp"
#include "voxcycle/core/text.hpp"

#include <algorithm>
#include <numeric>

#include <ATen/ATen.h>

namespace voxcycle {
namespace {

/// Processes that are told of; there may be thousands.
constexpr std::size_t kMostLines = 16;

std::vector<int> shortest_first(std::vector<double> const& shares) {
  std::vector<int> ranks(shares.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  std::stable_sort(ranks.begin(), ranks.end(), [&](int a, int b) {
    return shares[static_cast<std::size_t>(a)] < shares[static_cast<std::size_t>(b)];
  });
  return ranks;
}

/// Mean share of all but `rank`, beyond its own.
double waited_for(std::vector<double> const& shares, int rank) {
  double const own = shares[static_cast<std::size_t>(rank)];
  double const all = std::accumulate(shares.begin(), shares.end(), 0.0);
  return (all - own) / static_cast<double>(shares.size() - 1) - own;
}

}  // namespace

std::vector<int> late_processes(std::vector<double> const& shares) {
  std::vector<int> late;
  if (shares.size() < 2) return late;
  for (int const rank : shortest_first(shares))
    if (waited_for(shares, rank) > kLateShare) late.push_back(rank);
  return late;
}

std::string waiting_text(Waiting const& waiting) {
  auto const& shares = waiting.shares;
  if (shares.empty()) return {};
  std::string text = "waited for other processes:";
  auto const ranks = shortest_first(shares);
  for (std::size_t k = 0; k < std::min(ranks.size(), kMostLines); ++k) {
    text +=
        format("  process %d %.0f %%", ranks[k], 100 * shares[static_cast<std::size_t>(ranks[k])]);
  }
  if (ranks.size() > kMostLines) text += format("  (and %zu longer)", ranks.size() - kMostLines);
  text += "\n";
  auto late = late_processes(shares);
  late.resize(std::min(late.size(), kMostLines));
  for (int const rank : late) {
    text += format("process %d on %s was late: the others waited %.0f %% of the time for it\n",
                   rank, waiting.hosts.at(static_cast<std::size_t>(rank)).c_str(),
                   100 * waited_for(shares, rank));
  }
  return text;
}

void WaitingCount::add(double seconds, std::vector<CollectiveCall> const& calls) {
  double inside = 0.0;
  for (auto const& call : calls) inside += call.seconds;
  in_calls_.push_back(inside);
  seconds_ += seconds;
}

std::vector<double> WaitingCount::recent() {
  if (comm_.size() == 1 || in_calls_.empty()) return {};
  in_calls_.push_back(seconds_);
  at::Tensor const all =
      comm_.all_gather(at::tensor(in_calls_, at::kDouble));  // [ranks, steps + 1]
  in_calls_.clear();
  seconds_ = 0.0;
  at::Tensor const inside = all.narrow(1, 0, all.size(1) - 1);
  at::Tensor const waited = (inside - std::get<0>(inside.min(0))).sum(1).contiguous();
  std::vector<double> shares;
  all_waited_.resize(static_cast<std::size_t>(comm_.size()));
  all_seconds_.resize(all_waited_.size());
  for (std::size_t rank = 0; rank < all_waited_.size(); ++rank) {
    auto const row = static_cast<std::int64_t>(rank);
    double const here = waited[row].item<double>(), time = all[row][-1].item<double>();
    shares.push_back(here / time);
    all_waited_[rank] += here;
    all_seconds_[rank] += time;
  }
  return shares;
}

Waiting WaitingCount::total() {
  recent();
  Waiting waiting;
  if (all_waited_.empty()) return waiting;
  for (std::size_t rank = 0; rank < all_waited_.size(); ++rank)
    waiting.shares.push_back(all_waited_[rank] / all_seconds_[rank]);
  waiting.hosts = comm_.all_gather_text(host_name());
  return waiting;
}

}  // namespace voxcycle
