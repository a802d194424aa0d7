// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/ledger.hpp"

#include "voxcycle/core/error.hpp"

namespace voxcycle {

struct Ledger::Books {
  Account now;
  Account at_peak;
  std::int64_t held = 0;
  std::int64_t peak = 0;
};

Ledger::Ledger() : books_(std::make_shared<Books>()) {}

Ledger::Held Ledger::hold(std::string const& what, std::int64_t bytes) {
  VOXCYCLE_REQUIRE(bytes >= 0, "ledger: " << what << " of " << bytes << " bytes.");
  auto& entry = books_->now[what];  // stays where it is: nothing is ever erased
  entry += bytes;
  books_->held += bytes;
  if (books_->held > books_->peak) {
    books_->peak = books_->held;
    books_->at_peak = books_->now;
  }
  // Whatever is held outlives the ledger without harm.
  return std::shared_ptr<std::int64_t>(&entry, [books = books_, bytes](std::int64_t* from) {
    *from -= bytes;
    books->held -= bytes;
  });
}

std::int64_t Ledger::held() const {
  return books_->held;
}

std::int64_t Ledger::peak() const {
  return books_->peak;
}

Ledger::Account const& Ledger::at_peak() const {
  return books_->at_peak;
}

}  // namespace voxcycle
