// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace voxcycle {

/// All that a run's result depends on, as keys with values: its resolved config, the units of its
/// corrections, the number of threads.
class Fingerprint {
 public:
  /// Of text(). Version 1, of checkpoints without this number, has the same lines "key = value".
  static constexpr int kVersion = 2;
  /// The number of threads is a key beside those of the config.
  static constexpr char const* kThreads = "threads per process";
  /// Of a user's arrays: what the shards hold. Where both fingerprints know it, the arrays' path
  /// does not count.
  static constexpr char const* kContents = "contents of the shards";

  /// Reads text() of any version so far; keys get the names of this one.
  /// @throws Error for a newer version, or a value that this version cannot train with.
  static Fingerprint read(std::string const& text);
  std::string text() const;

  void set(std::string key, std::string value);
  /// Nothing if there is no such key.
  std::optional<std::string> value(std::string const& key) const;
  /// In the order in which they were set.
  std::vector<std::pair<std::string, std::string>> const& entries() const { return entries_; }
  bool empty() const { return entries_.empty(); }
  bool operator==(Fingerprint const&) const = default;

 private:
  std::vector<std::pair<std::string, std::string>> entries_;
};

/// A key with its values in two fingerprints; nothing where one has no such key.
struct FingerprintDifference {
  std::string key;
  std::optional<std::string> there, now;
  std::string text() const;
};

/// All differences, whatever the notation ("10,1e-2" is "10, 0.01"), in the order of `now`, then of
/// what is only there.
std::vector<FingerprintDifference> differences(Fingerprint const& there, Fingerprint const& now);
/// The first of them.
std::optional<FingerprintDifference> first_difference(Fingerprint const& there,
                                                      Fingerprint const& now);

/// What a key of an older version is called now, in config files, command lines and checkpoints.
/// Logs a new name once. @return nothing for a key that is gone and had the value that this version
/// always takes. @throws Error if it had another.
std::optional<std::string> current_key(std::string const& key, std::string const& value);

}  // namespace voxcycle
