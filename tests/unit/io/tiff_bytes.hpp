// SPDX-License-Identifier: BSD-3-Clause
// TIFF files byte by byte, after TIFF 6.0 (Adobe, 1992): no library writes what the tests read.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace voxcycle {

struct TiffPage {
  std::uint32_t rows, columns;
  std::uint16_t bits = 8, format = 1;  ///< format 1: unsigned, 2: signed, 3: floating-point
  std::string pixels;                  ///< as they are stored
  std::uint16_t samples = 1, compression = 1;
  std::string description{};
  std::uint32_t tile = 0;     ///< edge of the tiles; their bytes follow each other in `pixels`
  std::uint32_t subfile = 0;  ///< 1: a thumbnail
};

/// Writes numbers in one order of bytes.
class TiffBytes {
 public:
  explicit TiffBytes(bool big_endian) : big_(big_endian) {
    bytes_ = big_ ? "MM" : "II";
    add(42, 2);
    add(0, 4);
  }

  void add_page(TiffPage const& page) {
    auto const data = here();
    bytes_ += page.pixels;
    Entry description{270, 2, static_cast<std::uint32_t>(page.description.size() + 1), here()};
    bytes_ += page.description + std::string(4, '\0');
    std::vector<Entry> entries{
        {254, 4, 1, page.subfile},     {256, 4, 1, page.columns},
        {257, 4, 1, page.rows},        {258, 3, 1, page.bits},
        {259, 3, 1, page.compression}, {262, 3, 1, page.samples == 3 ? 2U : 1U},
        {277, 3, 1, page.samples},     {339, 3, 1, page.format}};
    if (page.description.size() > 3) entries.push_back(description);
    auto const bytes = static_cast<std::uint32_t>(page.pixels.size());
    if (page.tile == 0) {
      entries.insert(entries.end(),
                     {{273, 4, 1, data}, {278, 4, 1, page.rows}, {279, 4, 1, bytes}});
    } else {
      auto const across = (page.columns + page.tile - 1) / page.tile;
      auto const count = across * ((page.rows + page.tile - 1) / page.tile);
      // One number stands in the entry itself.
      auto const places = count == 1 ? data : here();
      for (std::uint32_t k = 0; count > 1 && k < count; ++k) add(data + k * (bytes / count), 4);
      auto const sizes = count == 1 ? bytes : here();
      for (std::uint32_t k = 0; count > 1 && k < count; ++k) add(bytes / count, 4);
      entries.insert(entries.end(), {{322, 4, 1, page.tile},
                                     {323, 4, 1, page.tile},
                                     {324, 4, count, places},
                                     {325, 4, count, sizes}});
    }
    std::sort(entries.begin(), entries.end(),
              [](Entry const& a, Entry const& b) { return a.tag < b.tag; });
    if (here() % 2 != 0) bytes_ += '\0';
    put(next_, here());
    add(static_cast<std::uint32_t>(entries.size()), 2);
    for (auto const& entry : entries) {
      add(entry.tag, 2);
      add(entry.type, 2);
      add(entry.count, 4);
      bool const is_short = entry.type == 3;
      add(entry.value, is_short ? 2 : 4);
      if (is_short) add(0, 2);
    }
    next_ = here();
    add(0, 4);
  }
  std::string const& bytes() const { return bytes_; }

 private:
  struct Entry {
    std::uint16_t tag, type;
    std::uint32_t count, value;
  };
  std::uint32_t here() const { return static_cast<std::uint32_t>(bytes_.size()); }
  std::string number(std::uint32_t value, int count) const {
    std::string text;
    for (int k = 0; k < count; ++k) text += static_cast<char>(value >> 8 * k & 255);
    if (big_) std::reverse(text.begin(), text.end());
    return text;
  }
  void add(std::uint32_t value, int count) { bytes_ += number(value, count); }
  void put(std::uint32_t place, std::uint32_t value) { bytes_.replace(place, 4, number(value, 4)); }

  bool big_;
  std::string bytes_;
  std::uint32_t next_ = 4;  ///< where the place of the next page goes
};

inline std::string tiff_file(std::vector<TiffPage> const& pages, bool big_endian = false) {
  TiffBytes file(big_endian);
  for (auto const& page : pages) file.add_page(page);
  return file.bytes();
}

}  // namespace voxcycle
