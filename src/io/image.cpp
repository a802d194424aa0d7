// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/io/image.hpp"

#include "voxcycle/core/text.hpp"
#include "voxcycle/core/usage_error.hpp"
#include "voxcycle/io/png.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace voxcycle {
namespace {

/// So many whole numbers look like labels.
constexpr std::size_t kFewNumbers = 8;
/// Tables of phases are not longer: an image of so many numbers is no segmented one.
constexpr std::size_t kMostPhases = 65536;

/// How often each number occurs; nothing where there are more than `most` of them.
std::optional<std::map<double, std::int64_t>> count_numbers(std::span<double const> values,
                                                            std::size_t most) {
  std::map<double, std::int64_t> counts;
  double last = std::numeric_limits<double>::quiet_NaN();
  std::int64_t* count = nullptr;  // of the last one: neighbours are mostly alike
  for (double const value : values) {
    if (value != last) {
      count = &counts[value];
      last = value;
      if (counts.size() > most) return {};
    }
    ++*count;
  }
  return counts;
}

VoxelField cropped(std::string const& location, VoxelField&& whole, Crop const& crop) {
  std::array<std::int64_t, 3> end{};
  for (std::size_t k = 0; k < 3; ++k) {
    auto const n = whole.grid.voxels[k];
    end[k] = crop.end[k].value_or(n);
    if (crop.first[k] < end[k] && end[k] <= n) continue;
    throw UsageError(location + ": there are no voxels " + std::to_string(crop.first[k]) + " to " +
                     std::to_string(end[k] - 1) + " along " + "xyz"[k] + ", it has " +
                     std::to_string(n) + ". Correct the crop.");
  }
  VoxelField part{
      .grid = whole.grid, .values = {}, .planes = {}, .told_spacing = whole.told_spacing};
  for (int k = 0; k < 3; ++k) {
    double const h = whole.grid.spacing(k);
    part.grid.voxels[k] = end[k] - crop.first[k];
    part.grid.lengths[k] = h * static_cast<double>(part.grid.voxels[k]);
    part.origin[k] = whole.origin[k] + h * static_cast<double>(crop.first[k]);
  }
  part.planes.count = part.grid.voxels[0];
  auto const [nx, ny, nz] = whole.grid.voxels;
  part.values.reserve(static_cast<std::size_t>(part.grid.voxel_count()));
  for (auto x = crop.first[0]; x < end[0]; ++x) {
    for (auto y = crop.first[1]; y < end[1]; ++y) {
      auto const row = whole.values.begin() + (x * ny + y) * nz;
      part.values.insert(part.values.end(), row + crop.first[2], row + end[2]);
    }
  }
  return part;
}

/// "(17 % of the voxels, the first at (x, y, z) = (0, 1, 2))".
std::string where(VoxelField const& field, double label) {
  auto const first = std::find(field.values.begin(), field.values.end(), label);
  auto const count = std::count(first, field.values.end(), label);
  return "(" +
         format_percent(static_cast<double>(count) / static_cast<double>(field.values.size())) +
         " of the voxels, the first at " + place_text(field.grid, first - field.values.begin()) +
         ")";
}

/// Of every label its value, and the values in the places of the labels.
std::vector<PhaseShare> give_values(std::string const& location, VoxelField& field,
                                    Phases const& phases) {
  auto const counts = count_numbers(field.values, kMostPhases);
  if (!counts) {
    throw UsageError(location + ": holds more than " + std::to_string(kMostPhases) +
                     " different numbers, too many for phases. Set a --threshold, or say --phases "
                     "self if they are values.");
  }
  std::map<double, double> value_of(phases.of_labels.begin(), phases.of_labels.end());
  std::vector<std::string> known;
  for (auto const& [label, count] : *counts) known.push_back(shortest_text(label));
  known.resize(std::min<std::size_t>(known.size(), 2 * kFewNumbers));
  for (auto const& [label, value] : value_of) {
    if (counts->count(label) > 0) continue;
    throw UsageError(location + ": the phase " + shortest_text(label) +
                     " does not occur (it holds " + join(known) +
                     "). Leave it out of --phases, or correct its label.");
  }
  for (auto const& [label, count] : *counts) {
    if (value_of.count(label) > 0) continue;
    throw UsageError(location + ": the label " + shortest_text(label) + " has no value " +
                     where(field, label) + ". Add " + shortest_text(label) + ":VALUE to --phases.");
  }
  std::vector<PhaseShare> shares;
  for (auto const& [label, count] : *counts) shares.push_back({label, value_of[label], count});
  double last = std::numeric_limits<double>::quiet_NaN(), to = 0.0;
  for (double& value : field.values) {
    if (value != last) {
      last = value;
      to = value_of.at(value);
    }
    value = to;
  }
  return shares;
}

/// Each number as a phase that is its own value; nothing where there are many numbers.
std::vector<PhaseShare> few_numbers(std::span<double const> values) {
  std::vector<PhaseShare> shares;
  if (auto const counts = count_numbers(values, kFewNumbers)) {
    for (auto const& [value, count] : *counts) shares.push_back({value, value, count});
  }
  return shares;
}

/// @param option  how phases are given, up to their text
std::string doubt_of(std::vector<PhaseShare> const& shares, std::int64_t voxels,
                     std::string const& option) {
  bool const whole = std::all_of(shares.begin(), shares.end(), [](PhaseShare const& share) {
    return share.label == std::floor(share.label);
  });
  if (shares.size() < 2 || !whole) return {};
  std::vector<std::string> names, proposed;
  for (auto const& share : shares) {
    names.push_back(
        shortest_text(share.label) + " (" +
        format_percent(static_cast<double>(share.voxels) / static_cast<double>(voxels)) + ")");
    proposed.push_back(shortest_text(share.label) + ":VALUE");
  }
  return "the whole numbers " + join(names) +
         " look like labels, not like what the phases conduct. Give their values, " + option +
         join(proposed, ",") + ", or say " + option + "self if they are the values.";
}

}  // namespace

Phases parse_phases(std::string const& name, std::string const& text) {
  if (text == "self") return {.are_values = true, .of_labels = {}};
  Phases phases;
  for (auto const& part : split_list(text)) {
    auto const colon = part.find(':');
    bool const has_value = colon != std::string::npos && colon + 1 < part.size();
    VOXCYCLE_REQUIRE(has_value, name << " = '" << text << "': the phase '" << part
                                     << "' has no value. Give LABEL:VALUE, e.g. 0:0,1:1,2:0.3, or "
                                        "self.");
    auto const label = parse_number<double>(std::string_view(part).substr(0, colon));
    VOXCYCLE_REQUIRE(label && std::isfinite(*label),
                     name << " = '" << text << "': in '" << part
                          << "' a value has no label. Give LABEL:VALUE, e.g. 0:0,1:1,2:0.3, or "
                             "self.");
    auto const value = parse_number<double>(std::string_view(part).substr(colon + 1));
    VOXCYCLE_REQUIRE(value && *value >= 0 && std::isfinite(*value),
                     name << " = '" << text << "': the phase " << shortest_text(*label)
                          << " cannot have "
                          << "the value '" << part.substr(colon + 1) << "'. Give a number from 0.");
    for (auto const& other : phases.of_labels) {
      VOXCYCLE_REQUIRE(other.first != *label, name << " = '" << text << "': the phase "
                                                   << shortest_text(*label)
                                                   << " stands there twice. Remove one.");
    }
    phases.of_labels.emplace_back(*label, *value);
  }
  VOXCYCLE_REQUIRE(!phases.of_labels.empty(), name << " is empty. Give LABEL:VALUE, e.g. "
                                                   << "0:0,1:1,2:0.3, or self.");
  return phases;
}

Crop parse_crop(std::string const& name, std::string const& text) {
  auto const parts = split_list(text);
  Crop crop;
  auto const number = [&](std::string_view part) {
    auto const value = parse_number<std::int64_t>(part);
    return value >= 0 ? value : std::nullopt;
  };
  bool valid = parts.size() == 3;
  for (std::size_t k = 0; valid && k < 3; ++k) {
    std::string_view const part = parts[k];
    auto const colon = part.find(':');
    valid = colon != std::string_view::npos;
    if (!valid) break;
    auto const low = part.substr(0, colon), high = part.substr(colon + 1);
    if (!high.empty()) crop.end[k] = number(high);
    crop.first[k] = low.empty() ? 0 : number(low).value_or(-1);
    valid = crop.first[k] >= 0 && (high.empty() || crop.end[k] > crop.first[k]);
  }
  VOXCYCLE_REQUIRE(valid, name << " = '" << text
                               << "' is no box of voxels. Give x0:x1,y0:y1,z0:z1, the first voxel "
                                  "and the one behind the last, e.g. 0:64,:,32:96.");
  return crop;
}

Image read_image(std::string const& location, ImageOptions const& options) {
  bool const has_labels = options.phases && !options.phases->are_values;
  auto reading = options.field;
  if (options.crop || has_labels) reading.planes = {};  // which phases occur, the whole tells
  Image image{.field = read_voxel_field(location, reading), .phases = {}, .doubt = ""};
  VoxelField& field = image.field;
  if (options.crop) field = cropped(location, std::move(field), *options.crop);
  auto const first = field.planes.begin * field.grid.voxels[1] * field.grid.voxels[2];
  require_finite(location, field.grid, field.values, first);
  if (options.threshold) {
    for (double& value : field.values) value = value < *options.threshold ? 0.0 : 1.0;
  }
  if (has_labels) image.phases = give_values(location, field, *options.phases);
  if (options.field.planes) keep_planes(field, options.field.planes(field.grid));
  if (has_labels) return image;
  require_not_negative(location, field.grid, field.values, first);
  image.phases = few_numbers(field.values);
  if (!options.phases) image.doubt = doubt_of(image.phases, field.grid.voxel_count(), "--phases ");
  return image;
}

std::string label_doubt(std::span<double const> values, std::string const& option) {
  return doubt_of(few_numbers(values), std::ssize(values), option);
}

void require_two_values(std::string const& location, Image const& image) {
  auto const& values = image.field.values;
  double const first = values.front();
  bool const one =
      std::all_of(values.begin(), values.end(), [&](double value) { return value == first; });
  VOXCYCLE_REQUIRE(!one, location << ": all " << values.size() << " voxels have the value "
                                  << shortest_text(first)
                                  << (first > 0 ? " (its conductivity is that, in every direction)"
                                                : " (nothing conducts)")
                                  << ". Check the image, its phases, threshold and crop.");
}

std::string middle_plane_png(VoxelField const& field) {
  auto const [nx, ny, nz] = field.grid.voxels;
  auto const plane =
      std::span(field.values)
          .subspan(static_cast<std::size_t>(nx / 2 * ny * nz), static_cast<std::size_t>(ny * nz));
  constexpr std::int64_t pixels = 512;
  auto const [low, high] = range_of_finite(plane);
  return slice_to_png(plane, ny, nz, low, high, ColorMap::sequential,
                      static_cast<int>(std::max<std::int64_t>(1, pixels / std::max(ny, nz))));
}

}  // namespace voxcycle
