// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/train/agreement.hpp"

#include "voxcycle/core/atomic_file.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/random.hpp"
#include "voxcycle/core/text.hpp"

#include <ATen/ATen.h>

namespace voxcycle {
namespace {

std::vector<std::string> differing(std::vector<std::string> const& values) {
  std::vector<std::string> ranks;
  for (std::size_t rank = 1; rank < values.size(); ++rank) {
    if (values[rank] != values[0]) ranks.push_back(std::to_string(rank));
  }
  return ranks;
}

/// @throws Error about the values of the ranks if some differ.
void require_alike(std::string const& name, std::vector<std::string> const& values) {
  auto const ranks = differing(values);
  if (ranks.empty()) return;
  auto const first = static_cast<std::size_t>(std::stoul(ranks.front()));
  throw Error(
      format("the ranks do not agree on the %s: rank 0 has %s, rank %zu has %s (differing ranks: "
             "%s). Results would depend on the ranks; start all with the same.",
             name.c_str(), values[0].c_str(), first, values[first].c_str(), join(ranks).c_str()));
}

}  // namespace

std::vector<std::string> ranks_that_differ(Communicator const& comm, std::string const& text) {
  return differing(comm.all_gather_text(text));
}

void require_agreement(Communicator const& comm, CommonFacts const& facts) {
  for (auto const& [name, value] : facts) {
    require_alike(name, comm.all_gather_text(value));
  }
}

void require_same_options(Communicator const& comm, Fingerprint const& options) {
  auto const text = options.text();
  if (ranks_that_differ(comm, text_hash(text)).empty()) return;  // as ever: texts are long
  std::vector<Fingerprint> all;
  for (auto const& other : comm.all_gather_text(text)) all.push_back(Fingerprint::read(other));
  for (auto const& one : all) {
    auto const difference = first_difference(all.front(), one);
    if (!difference) continue;
    std::vector<std::string> values;
    for (auto const& rank : all) {
      auto const value = rank.value(difference->key);
      values.push_back(value ? "'" + *value + "'" : "none");
    }
    require_alike("option " + difference->key, values);
  }
}

std::string text_hash(std::string const& text) {
  // FNV-1a, finished by the project's own mixer.
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return format("%016llx", static_cast<unsigned long long>(hash_bits({hash, text.size()})));
}

std::string tensors_hash(std::vector<at::Tensor> const& tensors) {
  std::string bytes;
  for (auto const& tensor : tensors) {
    at::Tensor const values = tensor.detach().cpu().contiguous();
    bytes.append(static_cast<char const*>(values.const_data_ptr()), values.nbytes());
  }
  return text_hash(bytes);
}

std::string program_hash() {
  try {
    return text_hash(read_file("/proc/self/exe"));
  } catch (Error const&) {
    return "unknown";
  }
}

}  // namespace voxcycle
