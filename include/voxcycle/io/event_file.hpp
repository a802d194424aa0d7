// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace voxcycle {

/// A TensorBoard event file of scalars, texts and pictures (records of the TFRecord format: length,
/// masked CRC-32C, Event message, masked CRC-32C). Appends to
/// `directory`/events.out.tfevents.<time>.voxcycle.
class EventFile {
 public:
  /// @param first_step  what earlier files hold of this step and later ones counts no more: a run
  ///                    that goes on from a checkpoint makes these steps again
  EventFile(std::string const& directory, std::int64_t first_step);
  /// Adds one point of the curve `tag`. @throws Error if the disk is full.
  void add_scalar(std::string const& tag, std::int64_t step, double value);
  /// Adds a text, which TensorBoard shows as Markdown. @throws Error if the disk is full.
  void add_text(std::string const& tag, std::int64_t step, std::string const& markdown);
  /// Adds a picture. @param png  its bytes @throws Error if the disk is full.
  void add_image(std::string const& tag, std::int64_t step, std::string const& png);
  /// Adds the settings of the run, by which TensorBoard's page of hyperparameters compares runs.
  /// Numbers are told from words. @throws Error if the disk is full.
  void add_settings(std::vector<std::pair<std::string, std::string>> const& settings);

 private:
  void write_record(std::string const& message);
  std::string path_;
  std::ofstream out_;
};

/// Removes the directory's event files: they are of a run that is not gone on with.
void remove_event_files(std::string const& directory);

}  // namespace voxcycle
