// SPDX-License-Identifier: BSD-3-Clause
#include "study/scale_results.hpp"

#include "voxcycle/core/atomic_file.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/json.hpp"
#include "voxcycle/core/text.hpp"

#include <filesystem>

namespace voxcycle {
namespace {

std::string measured_directory(std::string const& directory) {
  return directory + "/measured";
}

std::string study_path(std::string const& directory) {
  return directory + "/study.txt";
}

}  // namespace

std::map<ScaleRun, MeasuredRun> read_measured(std::string const& directory) {
  std::map<ScaleRun, MeasuredRun> all;
  auto const files = measured_directory(directory);
  if (!std::filesystem::exists(files)) return all;
  for (auto const& entry : std::filesystem::directory_iterator(files)) {
    if (entry.path().extension() != ".json") continue;  // one that is being written
    auto const path = entry.path().string();
    try {
      auto const found = Json::parse(read_file(path));
      MeasuredRun measured;
      for (auto const& turn : found.at("turns")) {
        measured.turns.push_back(
            {turn.at("seconds").get<double>(), turn.at("waiting").get<double>(),
             turn.at("reducing").get<double>(), turn.at("input").get<double>()});
      }
      measured.settings = found.at("settings").get<std::set<std::string>>();
      all[{found.at("processes").get<std::int64_t>(), found.at("batch").get<std::int64_t>(),
           found.at("processes_a_sample").get<std::int64_t>()}] = measured;
    } catch (Json::exception const& problem) {
      throw Error(path + " is no measurement of voxcycle scale (" + problem.what() +
                  "). Remove it.");
    }
  }
  return all;
}

void write_measured(std::string const& directory, ScaleRun const& run,
                    MeasuredRun const& measured) {
  auto turns = Json::array();
  for (auto const& turn : measured.turns) {
    turns.push_back(Json::object({{"seconds", turn.seconds},
                                  {"waiting", turn.waiting},
                                  {"reducing", turn.reducing},
                                  {"input", turn.input}}));
  }
  auto const name =
      format("/%ld-processes-batch-%ld-together-%ld.json", static_cast<long>(run.processes),
             static_cast<long>(run.batch), static_cast<long>(run.together));
  write_file_atomically(measured_directory(directory) + name,
                        document(Json::object({{"processes", run.processes},
                                               {"batch", run.batch},
                                               {"processes_a_sample", run.together},
                                               {"settings", measured.settings},
                                               {"turns", turns}})));
}

std::optional<Fingerprint> read_scale_study(std::string const& directory) {
  auto const path = study_path(directory);
  if (!std::filesystem::exists(path)) return {};
  return Fingerprint::read(read_file(path));
}

void begin_scale_study(std::string const& directory, Fingerprint const& study) {
  auto const there = read_scale_study(directory);
  if (!there) return write_file_atomically(study_path(directory), study.text());
  auto const difference = first_difference(*there, study);
  VOXCYCLE_REQUIRE(!difference,
                   directory << " holds measurements of something else: " << difference->text()
                             << ". Measure anew with --fresh, or set another "
                                "run.directory.");
}

}  // namespace voxcycle
