// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/train/fingerprint.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/log.hpp"
#include "voxcycle/core/text.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <sstream>
#include <string_view>

namespace voxcycle {
namespace {

constexpr std::string_view kEquals = " = ";
constexpr std::string_view kVersionKey = "fingerprint";

struct OldKey {
  std::string_view name;
  std::string_view now;       ///< "" if the key is gone
  std::string_view constant;  ///< what it is always, if it is gone
};

constexpr std::array kOldKeys{
    OldKey{"threads a process", Fingerprint::kThreads, ""},
    OldKey{"run.space", "run.spatial_processes", ""},
    OldKey{"run.space_above", "run.spatial_above", ""},
    OldKey{"network.directions", "network.subspace", ""},
    OldKey{"train.unit_size", "train.micro_batch_size", ""},
    OldKey{"cycle.improvement", "", "0.01"},
    OldKey{"train.beta2", "", "0.999"},
    OldKey{"train.muon_momentum", "", "0.95"},
    OldKey{"train.adam_ratio", "", "0.08"},
    OldKey{"train.keep_best", "", "yes"},
};

/// Keys younger than checkpoints that lack them, and what they were before there was a choice.
constexpr std::array kYoungKeys{
    std::pair<std::string_view, std::string_view>{"data.floor", "0"},
    std::pair<std::string_view, std::string_view>{"data.phases", ""},
    std::pair<std::string_view, std::string_view>{"network.residual_input", "no"},
    std::pair<std::string_view, std::string_view>{"run.spatial_parts", "1"},
    std::pair<std::string_view, std::string_view>{"train.freeze", ""},
    std::pair<std::string_view, std::string_view>{"train.loss_scale", "65536"}};

std::optional<std::string> value_of(Fingerprint const& fingerprint, std::string const& key) {
  if (auto const value = fingerprint.value(key)) return value;
  for (auto const& [young, before] : kYoungKeys) {
    if (young == key) return std::string(before);
  }
  return {};
}

/// Logs the new name, once.
void tell_of(OldKey const& key) {
  static std::set<std::string_view> told;
  if (told.insert(key.name).second) {
    log_info(std::string(key.name)
                 .append(" is called ")
                 .append(key.now)
                 .append(" now; the old name is still read"));
  }
}

/// Whether two entries of lists say the same, of numbers in any notation.
bool same_number(std::string_view a, std::string_view b) {
  auto const number = parse_number<double>(a);
  return a == b || (number && number == parse_number<double>(b));
}

/// Whether a list, or one value, says nothing but the constant.
bool is_constant(std::string const& text, std::string_view constant) {
  auto const values = split_list(text);
  return !values.empty() && std::all_of(values.begin(), values.end(), [&](auto const& value) {
    return same_number(value, constant);
  });
}

std::string without_blanks(std::string text) {
  std::erase(text, ' ');
  return text;
}

/// Whether an entry does not count: the arrays' path where both know their contents, else these.
bool says_nothing(std::string const& key, Fingerprint const& there, Fingerprint const& now) {
  bool const known = there.value(Fingerprint::kContents) && now.value(Fingerprint::kContents);
  return key == (known ? "data.file" : Fingerprint::kContents);
}

/// "1e3, 2" is "1000,2".
bool same_value(std::string const& a, std::string const& b) {
  if (without_blanks(a) == without_blanks(b)) return true;
  auto const one = split_list(a), other = split_list(b);
  return std::equal(one.begin(), one.end(), other.begin(), other.end(), same_number);
}

}  // namespace

std::optional<std::string> current_key(std::string const& key, std::string const& value) {
  auto const* const old = std::find_if(kOldKeys.begin(), kOldKeys.end(),
                                       [&](OldKey const& one) { return one.name == key; });
  if (old == kOldKeys.end()) return key;
  if (!old->now.empty()) {
    if (key.find('.') != std::string::npos) tell_of(*old);  // no user wrote the others
    return std::string(old->now);
  }
  VOXCYCLE_REQUIRE(is_constant(value, old->constant),
                   key << " = '" << value << "' is not possible: the key is gone, and its value is "
                       << old->constant
                       << " always. Remove the line (a checkpoint that was trained with another "
                          "value must be trained again).");
  return {};
}

Fingerprint Fingerprint::read(std::string const& text) {
  Fingerprint all;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    auto const equals = line.find(kEquals);
    VOXCYCLE_REQUIRE(equals != std::string::npos,
                     "the fingerprint's line '" << line << "' is not of the form key = value.");
    auto const key = line.substr(0, equals);
    auto const value = line.substr(equals + kEquals.size());
    if (key == kVersionKey) {
      VOXCYCLE_REQUIRE(parse_number<int>(value).value_or(kVersion + 1) <= kVersion,
                       "its fingerprint is of version "
                           << value << ", and this program reads up to " << kVersion
                           << ". Use a newer program.");
    } else if (auto const now = current_key(key, value)) {
      // Each process had one part.
      all.set(*now == "run.spatial_processes" ? "run.spatial_parts" : *now, value);
    }
  }
  return all;
}

std::string Fingerprint::text() const {
  std::string text(kVersionKey);
  text.append(kEquals).append(std::to_string(kVersion)).append("\n");
  for (auto const& [key, value] : entries_) {
    text.append(key).append(kEquals).append(value).append("\n");
  }
  return text;
}

void Fingerprint::set(std::string key, std::string value) {
  auto const found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](auto const& entry) { return entry.first == key; });
  if (found != entries_.end()) {
    found->second = std::move(value);
  } else {
    entries_.emplace_back(std::move(key), std::move(value));
  }
}

std::optional<std::string> Fingerprint::value(std::string const& key) const {
  for (auto const& [name, value] : entries_) {
    if (name == key) return value;
  }
  return {};
}

std::string FingerprintDifference::text() const {
  auto const side = [this](std::optional<std::string> const& value) {
    return value ? "'" + key + std::string(kEquals) + *value + "'" : "nothing of it";
  };
  return side(there) + " there, " + side(now) + " now";
}

std::vector<FingerprintDifference> differences(Fingerprint const& there, Fingerprint const& now) {
  std::vector<FingerprintDifference> all;
  for (auto const* const one : {&now, &there}) {
    for (auto const& entry : one->entries()) {
      auto const a = value_of(there, entry.first), b = value_of(now, entry.first);
      bool const same = a && b && same_value(*a, *b);
      bool const told = one == &there && now.value(entry.first);
      if (!same && !told && !says_nothing(entry.first, there, now))
        all.push_back({entry.first, a, b});
    }
  }
  return all;
}

std::optional<FingerprintDifference> first_difference(Fingerprint const& there,
                                                      Fingerprint const& now) {
  auto const all = differences(there, now);
  return all.empty() ? std::nullopt : std::optional(all.front());
}

}  // namespace voxcycle
