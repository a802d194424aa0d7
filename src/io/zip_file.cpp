// SPDX-License-Identifier: BSD-3-Clause
#include "io/zip_file.hpp"

#include "voxcycle/core/error.hpp"

#include <algorithm>
#include <limits>

#include "io/checksum.hpp"
#include <zlib.h>

namespace voxcycle {
namespace {

// Records begin with these, and have these sizes without what varies.
constexpr std::string_view kEnd = "PK\5\6", kWideEnd = "PK\6\6", kWidePlace = "PK\6\7",
                           kEntry = "PK\1\2", kLocal = "PK\3\4";
constexpr std::size_t kEndBytes = 22, kWideEndBytes = 56, kWidePlaceBytes = 20, kEntryBytes = 46,
                      kLocalBytes = 30;
constexpr std::size_t kMostComment = 65535;
constexpr std::uint16_t kStored = 0, kDeflated = 8, kEncrypted = 1, kWideField = 1;
/// A number that stands in the field for wide ones instead.
constexpr std::uint64_t kElsewhere = 0xffffffff;
/// deflate makes at most this of a byte.
constexpr std::uint64_t kMostGain = 1032;

[[noreturn]] void fail_zip(std::string const& path, std::string const& what) {
  throw Error(path + ": " + what + ". The archive may be truncated or damaged: write it again.");
}

std::string bytes_at(PlainFile& file, std::string const& path, std::uint64_t place,
                     std::uint64_t count) {
  if (place > file.bytes || count > file.bytes - place) fail_zip(path, "is no whole zip archive");
  std::string bytes(count, '\0');
  file.in.seekg(static_cast<std::streamoff>(place));
  file.in.read(bytes.data(), static_cast<std::streamsize>(count));
  VOXCYCLE_REQUIRE(file.in, path << ": cannot be read to its end. Check the disk.");
  return bytes;
}

/// A little-endian number of `count` bytes.
std::uint64_t number_in(std::string_view bytes, std::size_t place, std::size_t count) {
  std::uint64_t value = 0;
  for (std::size_t k = count; k-- > 0;) {
    value = value * 256 + static_cast<unsigned char>(bytes.at(place + k));
  }
  return value;
}

struct ZipDirectory {
  std::uint64_t place, bytes, entries;
};

ZipDirectory find_directory(PlainFile& file, std::string const& path) {
  auto const tail = std::min<std::uint64_t>(file.bytes, kEndBytes + kMostComment);
  auto const begin = file.bytes - tail;
  auto const bytes = bytes_at(file, path, begin, tail);
  auto const at = bytes.rfind(kEnd);
  if (at == std::string::npos || bytes.size() - at < kEndBytes) {
    fail_zip(path, "is no zip archive, or one without its end");
  }
  ZipDirectory found{number_in(bytes, at + 16, 4), number_in(bytes, at + 12, 4),
                     number_in(bytes, at + 10, 2)};
  if (begin + at < kWidePlaceBytes) return found;
  auto const where = bytes_at(file, path, begin + at - kWidePlaceBytes, kWidePlaceBytes);
  if (!where.starts_with(kWidePlace)) return found;
  auto const wide = bytes_at(file, path, number_in(where, 8, 8), kWideEndBytes);
  if (!wide.starts_with(kWideEnd)) fail_zip(path, "is a zip archive without its directory");
  return {number_in(wide, 48, 8), number_in(wide, 40, 8), number_in(wide, 32, 8)};
}

/// Replaces the numbers that stand in the extra field for wide ones.
void take_wide_numbers(std::string_view extra, ZipMember& member) {
  while (extra.size() >= 4) {
    auto const size = number_in(extra, 2, 2);
    if (size > extra.size() - 4) return;
    if (number_in(extra, 0, 2) == kWideField) {
      std::size_t place = 4;
      for (auto* const number : {&member.bytes, &member.packed, &member.place}) {
        if (*number != kElsewhere || place + 8 > 4 + size) continue;
        *number = number_in(extra, place, 8);
        place += 8;
      }
    }
    extra.remove_prefix(4 + size);
  }
}

std::string inflated(std::string const& packed, std::uint64_t bytes, std::string const& label) {
  std::string content(bytes, '\0');
  z_stream stream{};
  // Negative: deflate's bytes alone, without zlib's header.
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) throw Error(label + ": zlib cannot begin.");
  std::uint64_t read = 0, written = 0;
  int state = Z_OK;
  constexpr std::uint64_t most = std::numeric_limits<uInt>::max();
  while (state == Z_OK) {
    auto const in = std::min(most, packed.size() - read);
    auto const out = std::min(most, bytes - written);
    // zlib reads what its pointer to unconst bytes leads to.
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data() + read));
    stream.avail_in = static_cast<uInt>(in);
    stream.next_out = reinterpret_cast<Bytef*>(content.data() + written);
    stream.avail_out = static_cast<uInt>(out);
    state = inflate(&stream, Z_NO_FLUSH);
    read += in - stream.avail_in;
    written += out - stream.avail_out;
  }
  inflateEnd(&stream);
  if (state != Z_STREAM_END || written != bytes) fail_zip(label, "cannot be unpacked");
  return content;
}

}  // namespace

std::vector<ZipMember> zip_members(PlainFile& file, std::string const& path) {
  auto const directory = find_directory(file, path);
  auto const bytes = bytes_at(file, path, directory.place, directory.bytes);
  std::vector<ZipMember> members;
  std::size_t at = 0;
  for (std::uint64_t k = 0; k < directory.entries; ++k) {
    if (bytes.size() - at < kEntryBytes || bytes.compare(at, 4, kEntry) != 0) {
      fail_zip(path, "has a damaged directory");
    }
    auto const name = number_in(bytes, at + 28, 2), extra = number_in(bytes, at + 30, 2),
               comment = number_in(bytes, at + 32, 2);
    if (bytes.size() - at - kEntryBytes < name + extra + comment) {
      fail_zip(path, "has a damaged directory");
    }
    ZipMember member{.name = bytes.substr(at + kEntryBytes, name),
                     .flags = static_cast<std::uint16_t>(number_in(bytes, at + 8, 2)),
                     .method = static_cast<std::uint16_t>(number_in(bytes, at + 10, 2)),
                     .checksum = static_cast<std::uint32_t>(number_in(bytes, at + 16, 4)),
                     .packed = number_in(bytes, at + 20, 4),
                     .bytes = number_in(bytes, at + 24, 4),
                     .place = number_in(bytes, at + 42, 4)};
    take_wide_numbers(std::string_view(bytes).substr(at + kEntryBytes + name, extra), member);
    members.push_back(std::move(member));
    at += kEntryBytes + name + extra + comment;
  }
  return members;
}

std::string read_zip_member(PlainFile& file, std::string const& path, ZipMember const& member) {
  auto const label = path + ": " + member.name;
  VOXCYCLE_REQUIRE((member.flags & kEncrypted) == 0,
                   label << ": is encrypted. Store it without a password.");
  VOXCYCLE_REQUIRE(member.method == kStored || member.method == kDeflated,
                   label << ": is packed in a way (number " << member.method
                         << " of zip) that is not read. Write it with numpy.savez or "
                            "numpy.savez_compressed.");
  auto const local = bytes_at(file, path, member.place, kLocalBytes);
  if (!local.starts_with(kLocal)) fail_zip(label, "is not where the directory says");
  auto const begin = member.place + kLocalBytes + number_in(local, 26, 2) + number_in(local, 28, 2);
  auto packed = bytes_at(file, label, begin, member.packed);
  bool const possible = member.method == kStored ? member.bytes == member.packed
                                                 : member.bytes / kMostGain <= member.packed;
  if (!possible) fail_zip(label, "has an impossible size");
  auto content =
      member.method == kStored ? std::move(packed) : inflated(packed, member.bytes, label);
  if (crc32_of(content.data(), content.size(), 0) != member.checksum) {
    fail_zip(label, "has another checksum than it should");
  }
  return content;
}

}  // namespace voxcycle
