// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/train/step_trace.hpp"

#include "voxcycle/core/atomic_file.hpp"
#include "voxcycle/core/host.hpp"
#include "voxcycle/core/json.hpp"

#include <algorithm>
#include <filesystem>

#include "training_runs.hpp"
#include <gtest/gtest.h>

namespace voxcycle {
namespace step_trace_test {

/// A trace's events of a rank and a row, as names.
std::vector<std::string> names_in(Json const& trace, int rank, int row) {
  std::vector<std::string> names;
  for (auto const& event : trace.at("traceEvents")) {
    if (event.at("ph") == "X" && event.at("pid") == rank && event.at("tid") == row)
      names.push_back(event.at("name").get<std::string>());
  }
  return names;
}

constexpr double kRounding = 1e-3;  // of a sum of microseconds

std::string file_of(Communicator const& comm) {
  return std::string(VOXCYCLE_TEST_SCRATCH) + std::to_string(comm.size()) + ".json";
}

/// The first event of that name of a rank.
Json event(Json const& trace, int rank, std::string const& name) {
  for (auto const& one : trace.at("traceEvents"))
    if (one.at("name") == name && one.at("pid") == rank) return one;
  ADD_FAILURE() << "no " << name << " of rank " << rank;
  return {};
}

TEST(StepTrace, HasARowOfStepsAndOneOfCallsForEachRank) {
  auto const comm = make_mpi_communicator();
  std::string const file = file_of(*comm);
  if (comm->rank() == 0) std::filesystem::remove(file);
  StepTrace trace(*comm, 2, file);
  trace.write();  // nothing yet
  comm->barrier();
  EXPECT_FALSE(std::filesystem::exists(file));
  StepTimes parts;
  parts.forward = 0.25;
  parts.backward = 0.5;
  std::vector<CollectiveCall> const calls{{"all-reduce", 0.125, 0.0625}};
  trace.begin_stage();
  for (auto const* name : {"a", "b", "c"}) trace.add(name, 1.0, parts, calls);
  trace.begin_stage();
  trace.add("d", 1.0, parts, {});  // the stage ends before the steps that were wanted
  trace.write();
  comm->barrier();
  auto const written = Json::parse(read_file(file));
  for (int rank = 0; rank < comm->size(); ++rank) {
    EXPECT_EQ(names_in(written, rank, 0),
              (std::vector<std::string>{"a", "forward", "backward", "b", "forward", "backward", "d",
                                        "forward", "backward"}));
    EXPECT_EQ(names_in(written, rank, 1), (std::vector<std::string>{"all-reduce", "all-reduce"}));
  }
}

TEST(StepTrace, PartsFollowEachOtherInMicrosecondsAndRowsHaveNames) {
  auto const comm = make_mpi_communicator();
  StepTrace trace(*comm, 1, file_of(*comm));
  StepTimes parts;
  parts.forward = 0.25;
  parts.backward = 0.5;
  trace.begin_stage();
  trace.add("a", 1.0, parts, {{"all-reduce", 0.125, 0.0625}});
  comm->barrier();
  auto const written = Json::parse(read_file(file_of(*comm)));
  int const last = comm->size() - 1;
  auto const time = [&](char const* name, char const* what) {
    return event(written, last, name).at(what).get<double>();
  };
  double const begin = time("a", "ts");
  EXPECT_EQ(time("a", "dur"), 1e6);
  EXPECT_EQ(time("forward", "ts"), begin);
  EXPECT_EQ(time("forward", "dur"), 0.25e6);
  EXPECT_NEAR(time("backward", "ts") - begin, 0.25e6, kRounding);
  EXPECT_NEAR(time("all-reduce", "ts") - begin, 0.125e6, kRounding);
  EXPECT_EQ(time("all-reduce", "dur"), 0.0625e6);
  EXPECT_EQ(event(written, last, "process_name").at("args").at("name").get<std::string>(),
            "rank " + std::to_string(last) + " on " + host_name());
}

TEST(StepTrace, NoneIsAskedForAndNoneIsWritten) {
  auto const comm = make_mpi_communicator();
  std::string const file = file_of(*comm) + "-none";
  StepTrace trace(*comm, 0, file);
  trace.begin_stage();
  trace.add("a", 1.0, {}, {});
  trace.write();
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST(StepTrace, TrainingsHaveTheirFirstStepsOfEachStage) {
  auto const comm = make_mpi_communicator();
  std::string const root = scratch(*comm);
  if (comm->rank() == 0) {
    std::filesystem::remove_all(root);
    write_data(root + "/data");
  }
  comm->barrier();
  auto options = options_for(root, "traced");
  options.trace_steps = 2;
  train(options, *comm);
  comm->barrier();
  auto const trace = Json::parse(read_file(options.directory + "/trace.json"));
  for (int rank = 0; rank < comm->size(); ++rank) {
    auto const steps = names_in(trace, rank, 0), calls = names_in(trace, rank, 1);
    for (auto const* part : {"4^3 step 1", "4^3 step 2", "8^3 step 1", "8^3 step 2"})
      EXPECT_EQ(std::count(steps.begin(), steps.end(), part), 1) << part;
    for (auto const* part : {"forward", "loss", "backward", "update"})
      EXPECT_EQ(std::count(steps.begin(), steps.end(), part), 4) << part;
    EXPECT_EQ(std::count(steps.begin(), steps.end(), "4^3 step 3"), 0);
    EXPECT_EQ(calls.empty(), comm->size() == 1);
  }
  comm->barrier();
}

}  // namespace step_trace_test
}  // namespace voxcycle
