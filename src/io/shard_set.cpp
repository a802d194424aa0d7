// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/is_there.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/io/shard.hpp"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <optional>
#include <regex>
#include <utility>

#include <sys/resource.h>

namespace voxcycle {
namespace {

namespace fs = std::filesystem;

/// Files that all sets of the process hold open at a time, well below the limit, which usually is
/// 1024. Where they do, a set that needs another closes its own.
int max_open() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return static_cast<int>(std::clamp<rlim_t>(limit.rlim_cur / 4, 1, 128));
}

struct ShardNumber {
  std::int64_t number, count;
};

std::optional<ShardNumber> match_shard_name(std::string const& name) {
  static std::regex const pattern("shard-([0-9]{1,9})-of-([0-9]{1,9})\\.h5");
  std::smatch match;
  if (!std::regex_match(name, match, pattern)) return std::nullopt;
  return ShardNumber{std::stoll(match[1]), std::stoll(match[2])};
}

/// The shards of a directory in order; checks that all of one count are there.
std::vector<std::string> list_shards(std::string const& directory) {
  std::error_code code;
  VOXCYCLE_REQUIRE(is_there(directory) && fs::is_directory(directory, code),
                   directory << ": there is no such directory of shards. Run voxcycle generate.");
  std::map<std::int64_t, std::string> found;
  std::optional<std::int64_t> count;
  fs::directory_iterator const entries(directory, code);
  VOXCYCLE_REQUIRE(
      !code, directory << ": cannot be read (" << code.message() << "). Check its permissions.");
  for (auto const& entry : entries) {
    std::string const name = entry.path().filename().string();
    auto const match = match_shard_name(name);
    if (!match) continue;
    auto const [number, of] = *match;
    VOXCYCLE_REQUIRE(count.value_or(of) == of, entry.path().string()
                                                   << ": lies beside shards of a set of " << *count
                                                   << " (two sets are mixed). Remove one of them.");
    count = of;
    found[number] = entry.path().string();
  }
  VOXCYCLE_REQUIRE(count, directory << ": holds no shard. Run voxcycle generate.");
  std::vector<std::string> paths;
  for (std::int64_t number = 0; number < *count; ++number) {
    auto const place = found.find(number);
    VOXCYCLE_REQUIRE(place != found.end(), directory << '/' << shard_name(number, *count)
                                                     << ": is missing. Run voxcycle generate.");
    paths.push_back(place->second);
  }
  VOXCYCLE_REQUIRE(std::ssize(found) == *count,
                   found.rbegin()->second << ": its number exceeds the count. Remove it.");
  return paths;
}

/// What all shards of a set have in common, as one text; says which part differs.
void require_same_set(ShardInfo const& first, ShardInfo const& other, std::string const& path) {
  auto const require = [&](bool same, char const* what) {
    VOXCYCLE_REQUIRE(same, path << ": its " << what << " differs from the first shard's (they are "
                                << "not one data set). Remove it and generate it again.");
  };
  require(first.family == other.family, "family");
  require(first.seed == other.seed, "seed");
  require(first.split == other.split, "split");
  require(first.grid == other.grid, "grid");
  require(first.boundary == other.boundary, "boundary");
  require(first.source == other.source, "source");
  require(first.has_source == other.has_source, "having sources");
  require(first.parameters == other.parameters, "number of parameters");
  require(first.has_reference == other.has_reference, "having references");
}

}  // namespace

std::string shard_directory(std::string const& root, std::string const& split, Grid3 const& grid) {
  return (fs::path(root) / split / grid.name()).string();
}

std::string shard_name(std::int64_t number, std::int64_t count) {
  return format("shard-%05ld-of-%05ld.h5", static_cast<long>(number), static_cast<long>(count));
}

std::optional<std::int64_t> count_in_shard_name(std::string const& name) {
  auto const match = match_shard_name(name);
  return match ? std::optional(match->count) : std::nullopt;
}

struct ShardList::Impl {
  struct Shard {
    std::string path;
    std::int64_t end = 0;  ///< global index after its last sample
  };
  std::vector<Shard> shards;
  ShardInfo info;
};

ShardList::ShardList(std::string const& directory) {
  auto const list = std::make_shared<Impl>();
  std::int64_t samples = 0;
  for (std::string const& path : list_shards(directory)) {
    ShardInfo const info = ShardReader(path).info();
    if (list->shards.empty()) list->info = info;
    require_same_set(list->info, info, path);
    auto& loosest = list->info.reference_tolerance;
    loosest = std::max(loosest, info.reference_tolerance);
    auto& solvers = list->info.reference_solver;
    if (solvers.find(info.reference_solver) == std::string::npos) {
      solvers += "- or " + info.reference_solver;
    }
    VOXCYCLE_REQUIRE(info.first_index == samples,
                     path << ": begins at sample " << info.first_index << ", but the shards before "
                          << "it end at " << samples << ". Remove the set and generate it again.");
    samples += info.samples;
    list->shards.push_back({path, samples});
  }
  impl_ = list;
}

std::int64_t ShardList::samples() const {
  return impl_->shards.back().end;
}

ShardInfo const& ShardList::info() const {
  return impl_->info;
}

struct ShardSet::Impl {
  explicit Impl(ShardList given) : list(std::move(given)), readers(list.impl_->shards.size()) {}
  ~Impl() { close_all(); }

  void close_all() {
    for (auto& reader : readers) reader.reset();
    open_files -= open;
    open = 0;
  }

  ShardReader const& reader(std::size_t shard) {
    auto& chosen = readers[shard];
    if (!chosen) {
      if (open_files >= max_open()) close_all();
      chosen.emplace(list.impl_->shards[shard].path);
      ++open;
      ++open_files;
    }
    return *chosen;
  }

  ShardList list;
  std::vector<std::optional<ShardReader>> readers;  ///< of each shard
  int open = 0;
  static inline std::atomic<int> open_files = 0;  ///< of all sets
};

ShardSet::ShardSet(ShardList list) : impl_(std::make_unique<Impl>(std::move(list))) {}
ShardSet::~ShardSet() = default;
ShardSet::ShardSet(ShardSet&&) noexcept = default;
ShardSet& ShardSet::operator=(ShardSet&&) noexcept = default;

std::int64_t ShardSet::samples() const {
  return impl_->list.samples();
}

ShardInfo const& ShardSet::info() const {
  return impl_->list.info();
}

ShardSample ShardSet::read(std::int64_t index, ReadReference reference, Planes const& planes) {
  VOXCYCLE_REQUIRE(index >= 0 && index < samples(),
                   "sample " << index << " of " << samples() << " does not exist.");
  auto const& shards = impl_->list.impl_->shards;
  auto const shard =
      std::upper_bound(shards.begin(), shards.end(), index,
                       [](std::int64_t value, auto const& entry) { return value < entry.end; });
  ShardReader const& reader = impl_->reader(static_cast<std::size_t>(shard - shards.begin()));
  return reader.read(index - reader.info().first_index, reference, planes);
}

std::uint32_t ShardSet::contents(std::uint32_t start) {
  for (std::size_t k = 0; k < impl_->readers.size(); ++k) start = impl_->reader(k).contents(start);
  return start;
}

}  // namespace voxcycle
