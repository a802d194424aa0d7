// SPDX-License-Identifier: BSD-3-Clause
// Normalisation and activation for GPUs: what network/norm_rows.hpp does on rows of channels, as
// block programs. A thread stays with one channel, so that it reads coefficients once and the
// threads of a block read consecutive elements; sums are taken in an order that depends on the
// shape alone.
#pragma once

#include "voxcycle/core/block_program.hpp"

#include <cstdint>

#include "norm_rows.hpp"

namespace voxcycle::norm_blocks {

using norm_rows::Bf16;

VOXCYCLE_BOTH inline float load(Bf16 value) {
  return __builtin_bit_cast(float, static_cast<std::uint32_t>(value.bits) << 16);
}
VOXCYCLE_BOTH inline float load(float value) {
  return value;
}
VOXCYCLE_BOTH inline double load(double value) {
  return value;
}
/// Round to nearest even, as the CPU does.
VOXCYCLE_BOTH inline void store(float value, Bf16* to) {
  auto const bits = __builtin_bit_cast(std::uint32_t, value);
  to->bits = static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}
VOXCYCLE_BOTH inline void store(float value, float* to) {
  *to = value;
}
VOXCYCLE_BOTH inline void store(double value, double* to) {
  *to = value;
}

/// How [samples, rows, channels] is cut into blocks: chunks of rows, and groups of channels where
/// there are more than threads.
struct Tiles {
  /// Elements a block, about: some dozen a thread.
  static constexpr std::int64_t elements = 1 << 14;

  std::int64_t samples, rows, channels, chunk_rows, chunks, groups;

  VOXCYCLE_BOTH Tiles(std::int64_t samples_in, std::int64_t rows_in, std::int64_t channels_in)
      : samples(samples_in),
        rows(rows_in),
        channels(channels_in),
        chunk_rows(channels < elements ? elements / channels : 1),
        chunks((rows + chunk_rows - 1) / chunk_rows),
        groups((channels + block_threads - 1) / block_threads) {}
  VOXCYCLE_BOTH std::int64_t blocks() const { return samples * chunks * groups; }
};

/// The part of block `index`.
struct Tile {
  std::int64_t sample, chunk, first_row, last_row, channels, first_element;
  int first_channel, width, rows_a_pass;

  VOXCYCLE_BOTH Tile(Tiles const& tiles, std::int64_t index)
      : sample(index / (tiles.chunks * tiles.groups)),
        chunk(index / tiles.groups % tiles.chunks),
        first_row(chunk * tiles.chunk_rows),
        last_row(first_row + tiles.chunk_rows < tiles.rows ? first_row + tiles.chunk_rows
                                                           : tiles.rows),
        channels(tiles.channels),
        first_element(sample * tiles.rows * channels),
        first_channel(static_cast<int>(index % tiles.groups) * block_threads),
        width(channels - first_channel < block_threads ? static_cast<int>(channels) - first_channel
                                                       : block_threads),
        rows_a_pass(block_threads / width) {}

  /// The channel of a thread; threads beyond width * rows_a_pass have no work.
  VOXCYCLE_BOTH int channel(int thread) const { return first_channel + thread % width; }

  /// Calls work(element) for the elements of a thread.
  template <class Work>
  VOXCYCLE_BOTH void for_elements(int thread, Work work) const {
    if (thread >= rows_a_pass * width) return;
    for (std::int64_t row = first_row + thread / width; row < last_row; row += rows_a_pass) {
      work(first_element + row * channels + channel(thread));
    }
  }
};

/// One coefficient a channel: of all samples (stride 0), or of each.
template <class Compute>
struct Coefficient {
  Compute const* values = nullptr;
  std::int64_t stride = 0;
  VOXCYCLE_BOTH Compute at(std::int64_t sample, int channel) const {
    return values[sample * stride + channel];
  }
};

/// Operands of all four functions; unused ones are null. Their meaning is that of norm_rows.hpp.
template <class T, class Compute>
struct Job {
  std::int64_t samples, rows, channels;
  T const *x = nullptr, *dy = nullptr;
  T* out = nullptr;           ///< y or dx
  double* partial = nullptr;  ///< [samples, 2 channels, chunks]
  Coefficient<Compute> a, b, mean, p, q;
  Compute slope = 0;

  VOXCYCLE_BOTH Tiles tiles() const { return Tiles(samples, rows, channels); }
};

struct Shared {
  double first[block_threads], second[block_threads];
};

/// Two running sums of a thread, in Compute for short stretches and double beyond.
template <class Compute>
class PairSum {
 public:
  VOXCYCLE_BOTH void add(Compute first, Compute second) {
    first_ += first;
    second_ += second;
    if (++count_ % stretch == 0) flush();
  }
  VOXCYCLE_BOTH void write(double& first, double& second) {
    flush();
    first = wide_first_;
    second = wide_second_;
  }

 private:
  static constexpr int stretch = 32;
  VOXCYCLE_BOTH void flush() {
    wide_first_ += static_cast<double>(first_);
    wide_second_ += static_cast<double>(second_);
    first_ = second_ = 0;
  }
  Compute first_ = 0, second_ = 0;
  double wide_first_ = 0.0, wide_second_ = 0.0;
  int count_ = 0;
};

/// The threads of one channel added in order, into job.partial.
template <class T, class Compute, class Block>
VOXCYCLE_BOTH void write_pair_sums(Block& block, Shared& shared, Job<T, Compute> const& job,
                                   Tile const& tile, std::int64_t chunks) {
  block.sync();
  block.each([=, &shared, &job](int thread) {
    if (thread >= tile.width) return;
    double first = 0.0, second = 0.0;
    for (int i = thread; i < tile.rows_a_pass * tile.width; i += tile.width) {
      first += shared.first[i];
      second += shared.second[i];
    }
    std::int64_t const row = 2 * tile.sample * tile.channels + tile.channel(thread);
    job.partial[row * chunks + tile.chunk] = first;
    job.partial[(row + tile.channels) * chunks + tile.chunk] = second;
  });
  block.sync();
}

/// Sums of x and x^2.
template <class T, class Compute, class Block>
VOXCYCLE_BOTH void moments(Block& block, Shared& shared, Job<T, Compute> const& job,
                           std::int64_t index) {
  Tiles const tiles = job.tiles();
  Tile const tile(tiles, index);
  block.each([=, &shared, &job](int thread) {
    PairSum<Compute> sum;
    tile.for_elements(thread, [&](std::int64_t i) {
      Compute const value = load(job.x[i]);
      sum.add(value, value * value);
    });
    sum.write(shared.first[thread], shared.second[thread]);
  });
  write_pair_sums(block, shared, job, tile, tiles.chunks);
}

/// Sums of g and g (x - mean), g = dy leaky'(a x + b).
template <class T, class Compute, class Block>
VOXCYCLE_BOTH void backward_moments(Block& block, Shared& shared, Job<T, Compute> const& job,
                                    std::int64_t index) {
  Tiles const tiles = job.tiles();
  Tile const tile(tiles, index);
  block.each([=, &shared, &job](int thread) {
    int const channel = tile.channel(thread);
    Compute const a = job.a.at(tile.sample, channel), b = job.b.at(tile.sample, channel);
    Compute const mean = job.mean.at(tile.sample, channel);
    PairSum<Compute> sum;
    tile.for_elements(thread, [&](std::int64_t i) {
      Compute const value = load(job.x[i]), d = load(job.dy[i]);
      Compute const g = a * value + b > 0 ? d : job.slope * d;
      sum.add(g, g * (value - mean));
    });
    sum.write(shared.first[thread], shared.second[thread]);
  });
  write_pair_sums(block, shared, job, tile, tiles.chunks);
}

/// y = leaky(a x + b)
template <class T, class Compute, class Block>
VOXCYCLE_BOTH void forward(Block& block, Job<T, Compute> const& job, std::int64_t index) {
  Tile const tile(job.tiles(), index);
  block.each([=, &job](int thread) {
    int const channel = tile.channel(thread);
    Compute const a = job.a.at(tile.sample, channel), b = job.b.at(tile.sample, channel);
    tile.for_elements(thread, [&](std::int64_t i) {
      Compute const value = a * load(job.x[i]) + b;
      store(value > 0 ? value : job.slope * value, job.out + i);
    });
  });
  block.sync();
}

/// dx = a g + p x + q
template <class T, class Compute, class Block>
VOXCYCLE_BOTH void backward(Block& block, Job<T, Compute> const& job, std::int64_t index) {
  Tile const tile(job.tiles(), index);
  block.each([=, &job](int thread) {
    int const channel = tile.channel(thread);
    Compute const a = job.a.at(tile.sample, channel), b = job.b.at(tile.sample, channel);
    Compute const p = job.p.at(tile.sample, channel), q = job.q.at(tile.sample, channel);
    tile.for_elements(thread, [&](std::int64_t i) {
      Compute const value = load(job.x[i]), d = load(job.dy[i]);
      Compute const g = a * value + b > 0 ? d : job.slope * d;
      store(a * g + p * value + q, job.out + i);
    });
  });
  block.sync();
}

}  // namespace voxcycle::norm_blocks
