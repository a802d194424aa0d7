// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace voxcycle {

/// Follows a computation without doing it and adds up the bytes that it would hold: what is held at
/// once, at most, and what that consists of.
class Ledger {
 public:
  /// Bytes by what they are for, as people should read it.
  using Account = std::map<std::string, std::int64_t>;
  /// Bytes that count while any copy of this lives: a tensor's storage. Empty: none.
  using Held = std::shared_ptr<void const>;

  Ledger();

  /// @param what   names the entry of the account
  /// @param bytes  >= 0
  Held hold(std::string const& what, std::int64_t bytes);

  std::int64_t held() const;
  std::int64_t peak() const;
  Account const& at_peak() const;

 private:
  struct Books;
  std::shared_ptr<Books> books_;
};

}  // namespace voxcycle
