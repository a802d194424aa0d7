// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/train/agreement.hpp"

#include "voxcycle/core/error.hpp"

#include <gtest/gtest.h>

namespace voxcycle {
namespace agreement_test {

TEST(Agreement, PassesWhereAllRanksAreAlike) {
  auto const comm = make_mpi_communicator();
  EXPECT_NO_THROW(require_agreement(*comm, {{"threads a process", "2"}, {"config", "abc"}}));
}

TEST(Agreement, SaysWhoDiffersInWhat) {
  auto const comm = make_mpi_communicator();
  std::string const threads = comm->rank() == comm->size() - 1 && comm->size() > 1 ? "3" : "2";
  if (comm->size() == 1) {
    EXPECT_NO_THROW(require_agreement(*comm, {{"threads a process", threads}}));
    return;
  }
  try {
    require_agreement(*comm, {{"config", "abc"}, {"threads a process", threads}});
    ADD_FAILURE() << "no error on rank " << comm->rank();
  } catch (Error const& error) {
    std::string const text = error.what();
    EXPECT_NE(text.find("threads a process"), std::string::npos) << text;
    EXPECT_NE(text.find("rank " + std::to_string(comm->size() - 1) + " has 3"), std::string::npos)
        << text;
  }
}

TEST(Agreement, NamesTheOptionThatDiffers) {
  auto const comm = make_mpi_communicator();
  bool const last = comm->rank() == comm->size() - 1;
  Fingerprint options;
  options.set("train.loss", "energy");
  options.set("cycle.rate", last ? "1e-2" : "0.01");
  EXPECT_NO_THROW(require_same_options(*comm, options)) << "one rate in two notations";
  options.set("cycle.batch", last ? "8, 6" : "8, 4");
  if (last) options.set("--fresh", "yes");
  if (comm->size() == 1) {
    EXPECT_NO_THROW(require_same_options(*comm, options));
    return;
  }
  auto const rank = std::to_string(comm->size() - 1);
  auto const expect = [&](std::string const& words) {
    try {
      require_same_options(*comm, options);
      ADD_FAILURE() << "no error on rank " << comm->rank();
    } catch (Error const& error) {
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  };
  expect("the option cycle.batch: rank 0 has '8, 4', rank " + rank +
         " has '8, 6' (differing ranks: " + rank + ")");
  options.set("cycle.batch", "8");
  expect("the option --fresh: rank 0 has none, rank " + rank + " has 'yes'");
}

TEST(Agreement, NamesTheRanksThatDiffer) {
  auto const comm = make_mpi_communicator();
  EXPECT_TRUE(ranks_that_differ(*comm, "same").empty());
  std::vector<std::string> all_others;
  for (int rank = 1; rank < comm->size(); ++rank) all_others.push_back(std::to_string(rank));
  EXPECT_EQ(ranks_that_differ(*comm, comm->rank() == 0 ? "a" : "b"), all_others);
}

TEST(Agreement, HashesTellTextsApart) {
  EXPECT_EQ(text_hash("a"), text_hash("a"));
  EXPECT_NE(text_hash("a"), text_hash("b"));
  EXPECT_NE(text_hash(""), text_hash(std::string(1, '\0')));
  EXPECT_EQ(text_hash("").size(), 16U);
  EXPECT_EQ(program_hash().size(), 16U);
}

}  // namespace agreement_test
}  // namespace voxcycle
