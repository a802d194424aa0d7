// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/io/event_file.hpp"

#include "voxcycle/core/error.hpp"

#include <chrono>
#include <cstring>

#include "shard_files.hpp"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace event_file_test {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// Rows of the byte table of CRC-32C, from its definition: remainder of byte * x^32.
std::uint32_t masked_crc32c(std::string const& bytes) {
  std::uint32_t table[256];
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t row = byte;
    for (int bit = 0; bit < 8; ++bit) row = (row & 1) != 0 ? (row >> 1) ^ 0x82f63b78U : row >> 1;
    table[byte] = row;
  }
  std::uint32_t sum = ~0U;
  for (unsigned char byte : bytes) sum = table[(sum ^ byte) & 0xff] ^ (sum >> 8);
  sum = ~sum;
  return ((sum >> 15) | (sum << 17)) + 0xa282ead8U;
}

template <class T>
T number_at(std::string const& bytes, std::size_t place) {
  T value;
  std::memcpy(&value, bytes.substr(place, sizeof(T)).data(), sizeof(T));
  return value;
}

/// The messages of a file; checks both checksums of each record.
std::vector<std::string> messages_of(std::string const& bytes) {
  std::vector<std::string> messages;
  for (std::size_t place = 0; place < bytes.size();) {
    auto const length = number_at<std::uint64_t>(bytes, place);
    EXPECT_EQ(number_at<std::uint32_t>(bytes, place + 8), masked_crc32c(bytes.substr(place, 8)));
    messages.push_back(bytes.substr(place + 12, length));
    EXPECT_EQ(number_at<std::uint32_t>(bytes, place + 12 + length), masked_crc32c(messages.back()));
    place += 16 + length;
  }
  return messages;
}

std::string only_file(std::string const& directory) {
  std::vector<std::string> paths;
  for (auto const& entry : fs::directory_iterator(directory)) paths.push_back(entry.path());
  EXPECT_EQ(paths.size(), 1U);
  return paths.at(0);
}

TEST(EventFile, HoldsTheRecordsOfTensorBoard) {
  std::string const directory = fresh_directory("events") + "/made/on/demand";
  double const before =
      static_cast<double>(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now()));
  EventFile file(directory, 3);
  file.add_scalar("loss", 3, 0.5);
  file.add_scalar("a/b", 300, -2.0);
  std::string const path = only_file(directory);
  EXPECT_THAT(fs::path(path).filename().string(),
              ::testing::MatchesRegex("events\\.out\\.tfevents\\.[0-9]+\\.voxcycle"));
  std::vector<std::string> const messages = messages_of(slurp(path));  // flushed after each point
  ASSERT_EQ(messages.size(), 4U);
  for (std::string const& message : messages) {
    EXPECT_EQ(message[0], '\x09') << "wall_time";
    EXPECT_NEAR(number_at<double>(message, 1), before, 60.0) << "seconds since 1970";
  }
  using namespace std::string_literals;
  // Event: step = 2 (varint), file_version = 3, summary = 5, session_log = 7;
  // Summary: value = 1; Value: tag = 1, simple_value = 2 (float); SessionLog: status = 1, START
  // = 1. Written down from event.proto and summary.proto.
  EXPECT_EQ(messages[0].substr(9), "\x1a\x0d"s + "brain.Event:2");
  EXPECT_EQ(messages[1].substr(9), "\x10\x03\x3a\x02\x08\x01"s);
  EXPECT_EQ(messages[2].substr(9), "\x10\x03\x2a\x0d\x0a\x0b\x0a\x04loss\x15\x00\x00\x00\x3f"s);
  EXPECT_EQ(messages[3].substr(9),
            "\x10\xac\x02\x2a\x0c\x0a\x0a\x0a\x03"s + "a/b\x15\x00\x00\x00\xc0"s);
}

TEST(EventFile, HoldsTextsAsTensorBoardsTextPlugin) {
  std::string const directory = fresh_directory("texts");
  EventFile file(directory, 1);
  file.add_text("run/a", 2, "| b |");
  std::vector<std::string> const messages = messages_of(slurp(only_file(directory)));
  ASSERT_EQ(messages.size(), 3U);
  using namespace std::string_literals;
  // Value: tag = 1, tensor = 8, metadata = 9; TensorProto: dtype = 1 (DT_STRING = 7), tensor_shape
  // = 2 (no dimension), string_val = 8; SummaryMetadata: plugin_data = 1; PluginData: plugin_name
  // = 1. Written down from summary.proto, tensor.proto and types.proto.
  EXPECT_EQ(messages[2].substr(9),
            "\x10\x02\x2a\x20\x0a\x1e\x0a\x05run/a"s
            "\x42\x0b\x08\x07\x12\x00\x42\x05| b |"s
            "\x4a\x08\x0a\x06\x0a\x04text"s);
}

TEST(EventFile, HoldsPicturesWithTheirSizes) {
  std::string const directory = fresh_directory("images");
  EventFile file(directory, 1);
  using namespace std::string_literals;
  std::string const png = "\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\x05\0\0\0\x07"s;
  file.add_image("a", 2, png);
  std::vector<std::string> const messages = messages_of(slurp(only_file(directory)));
  ASSERT_EQ(messages.size(), 3U);
  // Value: tag = 1, image = 4; Image: height = 1, width = 2, colorspace = 3, encoded_image_string =
  // 4. Written down from summary.proto.
  EXPECT_EQ(messages[2].substr(9), "\x10\x02\x2a\x27\x0a\x25\x0a\x01"s +
                                       "a\x22\x20\x08\x07\x10\x05\x18\x03\x22\x18" + png);
}

TEST(EventFile, HoldsSettingsAsHyperparameters) {
  std::string const directory = fresh_directory("hparams");
  EventFile file(directory, 1);
  file.add_settings({{"a", "2"}, {"b", "x"}});
  std::vector<std::string> const messages = messages_of(slurp(only_file(directory)));
  ASSERT_EQ(messages.size(), 3U);
  using namespace std::string_literals;
  // HParamsPluginData: session_start_info = 3; SessionStartInfo: hparams = 1 (key = 1, value = 2),
  // start_time_secs = 5; Value: number_value = 2, string_value = 3.
  EXPECT_THAT(messages[2], HasSubstr("_hparams_/session_start_info"));
  EXPECT_THAT(messages[2], HasSubstr("\x0a\x07hparams\x12"s));
  EXPECT_THAT(messages[2], HasSubstr("\x0a\x0e\x0a\x01"s + "a\x12\x09\x11\0\0\0\0\0\0\0\x40"s));
  EXPECT_THAT(messages[2], HasSubstr("\x0a\x08\x0a\x01"s + "b\x12\x03\x1a\x01x\x29"));
}

TEST(EventFile, LaterFilesComeLaterWhateverTheClockSays) {
  std::string const directory = fresh_directory("clock");
  // Written when the clock was ahead. Readers sort by name.
  spit(directory + "/events.out.tfevents.4000000000.voxcycle", "");
  { EventFile const file(directory, 1); }
  { EventFile const file(directory, 5); }
  EXPECT_TRUE(fs::exists(directory + "/events.out.tfevents.4000000001.voxcycle"));
  EXPECT_TRUE(fs::exists(directory + "/events.out.tfevents.4000000002.voxcycle"));
}

TEST(EventFile, OnlyEventFilesAreRemoved) {
  std::string const directory = fresh_directory("forgotten");
  { EventFile const file(directory, 1); }
  spit(directory + "/events.out.tfevents.123.other", "of another program");
  remove_event_files(directory);
  EXPECT_EQ(fs::path(only_file(directory)).filename(), "events.out.tfevents.123.other");
  remove_event_files(directory + "/not/there");
}

TEST(EventFile, ChecksumIsCastagnolis) {
  // RFC 3720, appendix B.4: 32 bytes of zeros give 8a9136aa; masked as TFRecord does.
  std::uint32_t const sum = 0x8a9136aa;
  EXPECT_EQ(masked_crc32c(std::string(32, '\0')), ((sum >> 15) | (sum << 17)) + 0xa282ead8U);
}

TEST(EventFile, AFullDiskIsReported) {
  std::string const directory = fresh_directory("full");
  EventFile file(directory, 1);
  file.add_scalar("loss", 1, 1.0);
  SmallDisk const disk(100);
  EXPECT_THAT([&] { file.add_scalar("loss", 2, 1.0); },
              ThrowsMessage<Error>(HasSubstr("cannot write " + directory)));
}

TEST(EventFile, ADirectoryThatCannotBeIsReported) {
  std::string const directory = fresh_directory("blocked");
  spit(directory + "/file", "");
  EXPECT_THAT([&] { EventFile(directory + "/file", 1); },
              ThrowsMessage<Error>(HasSubstr("cannot write " + directory + "/file")));
}

}  // namespace event_file_test
}  // namespace voxcycle
