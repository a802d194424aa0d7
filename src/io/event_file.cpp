// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/io/event_file.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/text.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <vector>

namespace voxcycle {
namespace {

/// CRC-32C (Castagnoli), bit by bit: the records are short.
std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t sum = 0xffffffff;
  for (char byte : bytes) {
    sum ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1) ^ ((sum & 1) * 0x82f63b78U);
  }
  return ~sum;
}

template <class T>
std::string little_endian(T value) {
  static_assert(std::endian::native == std::endian::little);
  auto const bytes = std::bit_cast<std::array<char, sizeof(T)>>(value);
  return {bytes.begin(), bytes.end()};
}

/// The TFRecord format rotates its checksums, as bytes that hold their own sum are weak.
std::string masked_checksum(std::string_view bytes) {
  return little_endian(std::rotr(crc32c(bytes), 15) + 0xa282ead8U);
}

/// @name Fields of protocol buffers: a key (number and wire type), then the value.
/// @{
enum class Wire : std::uint64_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

std::string varint(std::uint64_t value) {
  std::string text;
  for (; value >= 0x80; value >>= 7) text += static_cast<char>(value | 0x80);
  return text + static_cast<char>(value);
}

std::string key(std::uint64_t field, Wire wire) {
  return varint(field << 3 | static_cast<std::uint64_t>(wire));
}

std::string bytes_field(std::uint64_t field, std::string const& bytes) {
  return key(field, Wire::bytes) + varint(bytes.size()) + bytes;
}

std::string number_field(std::uint64_t field, std::uint64_t value) {
  return key(field, Wire::varint) + varint(value);
}
/// @}

double wall_time() {
  auto const now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

/// The beginning of an Event: wall_time = 1.
std::string event_now() {
  return key(1, Wire::fixed64) + little_endian(wall_time());
}

/// The same of a step: step = 2.
std::string event_at(std::int64_t step) {
  return event_now() + number_field(2, static_cast<std::uint64_t>(step));
}

constexpr char const* kPrefix = "events.out.tfevents.";
constexpr char const* kSuffix = ".voxcycle";

/// This program's; none of a directory that is not there.
std::vector<std::filesystem::path> event_files(std::string const& directory) {
  std::vector<std::filesystem::path> files;
  std::error_code none;
  for (auto const& entry : std::filesystem::directory_iterator(directory, none)) {
    auto const name = entry.path().filename().string();
    if (name.starts_with(kPrefix) && name.ends_with(kSuffix)) files.push_back(entry.path());
  }
  return files;
}

/// The seconds in the name of an event file.
std::int64_t number_of(std::filesystem::path const& file) {
  auto const name = file.filename().string().substr(std::string_view(kPrefix).size());
  return parse_number<std::int64_t>(name.substr(0, name.find('.'))).value_or(0);
}

}  // namespace

EventFile::EventFile(std::string const& directory, std::int64_t first_step) {
  std::error_code code;
  std::filesystem::create_directories(directory, code);
  // Readers take files by name: this one comes after all that are there, whatever the clock says.
  auto number = static_cast<std::int64_t>(wall_time());
  for (auto const& there : event_files(directory)) number = std::max(number, number_of(there) + 1);
  std::string const name = kPrefix + format("%010ld", static_cast<long>(number)) + kSuffix;
  path_ = (std::filesystem::path(directory) / name).string();
  out_.open(path_, std::ios::binary | std::ios::app);
  VOXCYCLE_REQUIRE(out_, "cannot write " << path_ << ": " << std::strerror(errno)
                                         << ". Check the directory and its permissions.");
  write_record(event_now() + bytes_field(3, "brain.Event:2"));  // file_version
  // session_log with status START: readers drop points of this step and later ones.
  write_record(event_at(first_step) + bytes_field(7, number_field(1, 1)));
}

void EventFile::add_scalar(std::string const& tag, std::int64_t step, double value) {
  std::string const point = bytes_field(1, tag) +  // Summary.Value: tag, simple_value
                            key(2, Wire::fixed32) + little_endian(static_cast<float>(value));
  write_record(event_at(step) + bytes_field(5, bytes_field(1, point)));  // summary, its value
}

void EventFile::add_text(std::string const& tag, std::int64_t step, std::string const& markdown) {
  constexpr std::uint64_t kString = 7;  // of the types of tensors
  // TensorProto: dtype, tensor_shape (of a scalar: empty), string_val.
  std::string const tensor =
      number_field(1, kString) + bytes_field(2, "") + bytes_field(8, markdown);
  // SummaryMetadata: plugin_data, its plugin_name.
  std::string const shown_as = bytes_field(1, bytes_field(1, "text"));
  std::string const value =  // Summary.Value: tag, tensor, metadata
      bytes_field(1, tag) + bytes_field(8, tensor) + bytes_field(9, shown_as);
  write_record(event_at(step) + bytes_field(5, bytes_field(1, value)));
}

void EventFile::add_image(std::string const& tag, std::int64_t step, std::string const& png) {
  // Height and width stand at the same place of every PNG, most significant byte first.
  auto const number_at = [&](std::size_t place) {
    std::uint64_t value = 0;
    for (char byte : png.substr(place, 4)) value = value << 8 | static_cast<unsigned char>(byte);
    return value;
  };
  constexpr std::uint64_t kColors = 3;  // red, green, blue
  std::string const image = number_field(1, number_at(20)) + number_field(2, number_at(16)) +
                            number_field(3, kColors) + bytes_field(4, png);
  std::string const value =
      bytes_field(1, tag) + bytes_field(4, image);  // Summary.Value: tag, image
  write_record(event_at(step) + bytes_field(5, bytes_field(1, value)));
}

/// Source: tensorboard/plugins/hparams/plugin_data.proto, google/protobuf/struct.proto.
void EventFile::add_settings(std::vector<std::pair<std::string, std::string>> const& settings) {
  std::string info;  // SessionStartInfo: hparams (a map), start_time_secs
  for (auto const& [name, text] : settings) {
    auto const number = parse_number<double>(text);
    std::string const value = number ? key(2, Wire::fixed64) + little_endian(*number)
                                     : bytes_field(3, text);  // number_value, string_value
    info += bytes_field(1, bytes_field(1, name) + bytes_field(2, value));
  }
  info += key(5, Wire::fixed64) + little_endian(wall_time());
  // SummaryMetadata: plugin_data, its plugin_name and content, HParamsPluginData.
  std::string const content = bytes_field(3, info);
  std::string const shown_as = bytes_field(1, bytes_field(1, "hparams") + bytes_field(2, content));
  std::string const value =
      bytes_field(1, "_hparams_/session_start_info") + bytes_field(9, shown_as);
  write_record(event_at(0) + bytes_field(5, bytes_field(1, value)));
}

void EventFile::write_record(std::string const& message) {
  std::string const length = little_endian(static_cast<std::uint64_t>(message.size()));
  out_ << length << masked_checksum(length) << message << masked_checksum(message);
  out_.flush();
  VOXCYCLE_REQUIRE(
      out_, "cannot write " << path_ << ": " << std::strerror(errno) << ". Free some space.");
}

void remove_event_files(std::string const& directory) {
  for (auto const& file : event_files(directory)) std::filesystem::remove(file);
}

}  // namespace voxcycle
