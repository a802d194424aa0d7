// SPDX-License-Identifier: BSD-3-Clause
// TIFF: a file whose pages are planes, or numbered files with a plane each:
// array[page][row][column]. Source: TIFF 6.0 (Adobe, 1992), and BigTIFF, as libtiff reads them.
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/text.hpp"

#include <cstdarg>
#include <memory>
#include <string>

#include "io/field_formats.hpp"
#include "io/plain_numbers.hpp"
#include "io/slice_files.hpp"
#include <tiffio.h>

namespace voxcycle {
namespace {

/// What libtiff said last on this thread.
thread_local std::string tiff_reason;

void keep_tiff_reason(char const* /*module*/, char const* pattern, std::va_list arguments) {
  char text[256];
  std::vsnprintf(text, sizeof(text), pattern, arguments);
  tiff_reason = text;
}

using TiffHandle = std::unique_ptr<TIFF, void (*)(TIFF*)>;

std::string tiff_words() {
  return tiff_reason.empty() ? "libtiff gives no reason" : "libtiff: " + tiff_reason;
}

TiffHandle open_tiff(std::string const& path) {
  static bool const quiet = [] {
    TIFFSetWarningHandler(nullptr);
    TIFFSetErrorHandler(keep_tiff_reason);
    return true;
  }();
  static_cast<void>(quiet);
  require_regular_file(path);
  tiff_reason.clear();
  // m: a file that is cut while it is read must not end the program.
  TiffHandle file(TIFFOpen(path.c_str(), "rm"), TIFFClose);
  VOXCYCLE_REQUIRE(file != nullptr, path << ": cannot be opened as TIFF (" << tiff_words()
                                         << "). It may be truncated or of another kind: write "
                                            "it again.");
  return file;
}

template <class Value>
Value tiff_field(TIFF* file, std::uint32_t tag) {
  Value value{};
  TIFFGetFieldDefaulted(file, tag, &value);
  return value;
}

/// What the pages of a stack share.
struct PageForm {
  std::int64_t rows = 0, columns = 0;
  std::string type;                     ///< "uint8", of one bit "bit"
  PlainNumber const* number = nullptr;  ///< null: one bit a pixel

  bool operator==(PageForm const&) const = default;
  std::string words() const {
    return format("%ld x %ld pixels of ", long(rows), long(columns)) + type;
  }
};

/// The type of number, e.g. "uint16"; "" for none that TIFF names.
std::string tiff_type(std::uint16_t kind, std::uint16_t bits) {
  if (bits == 1) return "bit";
  char const* const name = kind == SAMPLEFORMAT_UINT     ? "uint"
                           : kind == SAMPLEFORMAT_INT    ? "int"
                           : kind == SAMPLEFORMAT_IEEEFP ? "float"
                                                         : "";
  return *name == '\0' ? "" : name + std::to_string(bits);
}

/// @throws Error for pages of anything but one number a pixel.
PageForm form_of_page(TIFF* file, std::string const& label) {
  auto const samples = tiff_field<std::uint16_t>(file, TIFFTAG_SAMPLESPERPIXEL);
  VOXCYCLE_REQUIRE(samples == 1, label << ": has " << samples << " numbers a pixel (RGB or the "
                                       << "like), not one. Store it in grey, or as labels.");
  auto const packing = tiff_field<std::uint16_t>(file, TIFFTAG_COMPRESSION);
  VOXCYCLE_REQUIRE(TIFFIsCODECConfigured(packing) != 0,
                   label << ": is compressed in a way (number " << packing
                         << " of TIFF) that this libtiff does not have. Store it uncompressed, "
                            "or with deflate or LZW.");
  auto const bits = tiff_field<std::uint16_t>(file, TIFFTAG_BITSPERSAMPLE);
  PageForm form{.rows = tiff_field<std::uint32_t>(file, TIFFTAG_IMAGELENGTH),
                .columns = tiff_field<std::uint32_t>(file, TIFFTAG_IMAGEWIDTH),
                .type = tiff_type(tiff_field<std::uint16_t>(file, TIFFTAG_SAMPLEFORMAT), bits)};
  std::vector<std::string> names;
  for (auto const& number : plain_numbers()) {
    if (number.name == form.type) form.number = &number;
    if (number.name != "bool") names.push_back(number.name);
  }
  VOXCYCLE_REQUIRE(form.number != nullptr || bits == 1,
                   label << ": holds numbers of " << bits << " bits of no type that is read. Store "
                         << "one of " << join(names) << ", or bits.");
  return form;
}

/// Numbers of a row as libtiff gives them: in this machine's order of bytes, bits from the highest.
void convert_row(PageForm const& form, char const* row, std::int64_t columns, double* to) {
  if (form.number != nullptr) {
    form.number->convert(row, static_cast<std::size_t>(columns), to);
    return;
  }
  for (std::int64_t k = 0; k < columns; ++k) {
    to[k] = (static_cast<unsigned char>(row[k / 8]) >> (7 - k % 8)) & 1;
  }
}

constexpr std::uint64_t kMaxTileBytes = std::uint64_t{1} << 28;

bool read_rows(TIFF* file, PageForm const& form, double* to) {
  std::vector<char> row(static_cast<std::size_t>(TIFFScanlineSize64(file)));
  for (std::int64_t k = 0; k < form.rows; ++k) {
    if (TIFFReadScanline(file, row.data(), static_cast<std::uint32_t>(k), 0) != 1) return false;
    convert_row(form, row.data(), form.columns, to + k * form.columns);
  }
  return true;
}

bool read_tiles(TIFF* file, PageForm const& form, double* to, std::string const& label) {
  std::int64_t const height = tiff_field<std::uint32_t>(file, TIFFTAG_TILELENGTH);
  std::int64_t const width = tiff_field<std::uint32_t>(file, TIFFTAG_TILEWIDTH);
  auto const bytes = TIFFTileSize64(file);
  VOXCYCLE_REQUIRE(bytes <= kMaxTileBytes, label << ": has tiles of " << height << " x " << width
                                                 << " pixels, out of range ("
                                                 << format_bytes(kMaxTileBytes)
                                                 << " at most). Store smaller tiles, or rows.");
  std::vector<char> tile(static_cast<std::size_t>(bytes));
  auto const row_bytes = TIFFTileRowSize64(file);
  if (height <= 0 || width <= 0 || tile.empty()) return false;
  for (std::int64_t row = 0; row < form.rows; row += height) {
    for (std::int64_t column = 0; column < form.columns; column += width) {
      if (TIFFReadTile(file, tile.data(), static_cast<std::uint32_t>(column),
                       static_cast<std::uint32_t>(row), 0, 0) < 0) {
        return false;
      }
      for (std::int64_t k = 0; k < std::min(height, form.rows - row); ++k) {
        convert_row(form, tile.data() + static_cast<std::uint64_t>(k) * row_bytes,
                    std::min(width, form.columns - column), to + (row + k) * form.columns + column);
      }
    }
  }
  return true;
}

/// The number after `name` in the description that ImageJ writes, 1 if there is none.
std::int64_t imagej_count(std::string const& description, std::string const& name) {
  auto const begin = description.find("\n" + name + "=");
  if (!description.starts_with("ImageJ=") || begin == std::string::npos) return 1;
  auto const from = begin + name.size() + 2;
  auto const text = description.substr(from, description.find_first_of("\r\n", from) - from);
  return parse_number<std::int64_t>(text).value_or(1);
}

/// ImageJ's stacks of several channels or times, and those beyond 4 GB, of which only the first
/// page is one of TIFF.
void require_one_series(TIFF* file, std::string const& path, std::int64_t pages) {
  char const* found = nullptr;
  if (TIFFGetField(file, TIFFTAG_IMAGEDESCRIPTION, &found) != 1) return;
  std::string const description = found;
  std::vector<std::string> directions;  // pages along one are planes, whatever it is called
  for (std::string const name : {"channels", "slices", "frames"}) {
    auto const count = imagej_count(description, name);
    if (count > 1) directions.push_back(std::to_string(count) + ' ' + name);
  }
  VOXCYCLE_REQUIRE(directions.size() < 2, path << ": holds " << join(directions, " times ")
                                               << " (ImageJ says so). Store one stack as a file.");
  auto const images = imagej_count(description, "images");
  VOXCYCLE_REQUIRE(images <= pages, path << ": has " << pages << " of the " << images
                                         << " pages that ImageJ announces. Store it as BigTIFF.");
}

/// A reduced copy of another page.
bool is_thumbnail(TIFF* file) {
  return (tiff_field<std::uint32_t>(file, TIFFTAG_SUBFILETYPE) & FILETYPE_REDUCEDIMAGE) != 0;
}

/// Planes of the same form, one after the other.
struct Stack {
  PageForm form;
  std::string first;  ///< what the form is of
  std::int64_t pages = 0;
  std::vector<double> values;

  void add(TIFF* file, std::string const& label) {
    auto const found = form_of_page(file, label);
    if (pages == 0) {
      form = found;
      first = label;
    }
    VOXCYCLE_REQUIRE(found == form, label << ": has " << found.words() << ", but " << first
                                          << " has " << form.words()
                                          << ". Give a stack of equal pages.");
    require_possible({pages + 1, form.rows, form.columns}, label);
    auto const size = static_cast<std::size_t>(form.rows * form.columns);
    values.resize(values.size() + size);
    double* const to = values.data() + values.size() - size;
    bool const done =
        TIFFIsTiled(file) != 0 ? read_tiles(file, form, to, label) : read_rows(file, form, to);
    VOXCYCLE_REQUIRE(done, label << ": cannot be read to its end (" << tiff_words()
                                 << "). The file may be truncated or damaged: write it again.");
    ++pages;
  }
};

/// @param alone  the file is the whole stack; else it is a plane of it
void read_pages(std::string const& path, bool alone, Stack& stack) {
  auto const file = open_tiff(path);
  std::int64_t const count = TIFFNumberOfDirectories(file.get());
  if (alone) {
    auto const form = form_of_page(file.get(), path);
    require_possible({count, form.rows, form.columns}, path);
    stack.values.reserve(static_cast<std::size_t>(count * form.rows * form.columns));
  }
  require_one_series(file.get(), path, count);
  std::int64_t read = 0;
  for (std::int64_t page = 1;; ++page) {
    auto const label = alone ? path + ", page " + std::to_string(page) : path;
    if (page > 1) {
      if (TIFFLastDirectory(file.get()) != 0) break;
      VOXCYCLE_REQUIRE(TIFFReadDirectory(file.get()) == 1,
                       label << ": cannot be read (" << tiff_words()
                             << "). The file may be truncated: write it again.");
    }
    if (is_thumbnail(file.get())) continue;
    VOXCYCLE_REQUIRE(alone || read == 0, path << ": is one of several files, but has several "
                                              << "pages. Give slices of one page each, or one "
                                                 "file with all pages.");
    stack.add(file.get(), label);
    ++read;
  }
}

}  // namespace

bool is_tiff_location(std::string const& location) {
  return is_tiff_name(location) || is_folder(location);
}

StoredField read_tiff_field(std::string const& location) {
  auto const files = slice_files(location);
  Stack stack;
  for (auto const& file : files) read_pages(file, files.size() == 1, stack);
  return {.shape = {stack.pages, stack.form.rows, stack.form.columns},
          .values = std::move(stack.values)};
}

}  // namespace voxcycle
