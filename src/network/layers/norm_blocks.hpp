// SPDX-License-Identifier: BSD-3-Clause
// Normalisation and activation for GPUs: what network/layers/norm_rows.hpp does on rows of
// channels, as block programs. A thread stays with a few neighbouring channels, which it loads
// together, so that it reads coefficients once and the threads of a block read consecutive
// elements; sums are taken in an order that depends on the shape alone. They are to take as long as
// the memory does: what counts is that enough bytes are on their way, and then few instructions an
// element.
#pragma once

#include "voxcycle/core/block_program.hpp"

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "network/layers/norm_rows.hpp"

namespace voxcycle::norm_blocks {

using norm_rows::Bf16;
using norm_rows::F16;

VOXCYCLE_BOTH inline float load(Bf16 value) {
  return __builtin_bit_cast(float, static_cast<std::uint32_t>(value.bits) << 16);
}
VOXCYCLE_BOTH inline float load(float value) {
  return value;
}
VOXCYCLE_BOTH inline double load(double value) {
  return value;
}
/// Round to nearest even, as the CPU does; NaN stays NaN. (Of a GPU it has all bits set but the
/// sign, and rounding would overflow into it.)
VOXCYCLE_BOTH inline void store(float value, Bf16* to) {
  auto const bits = __builtin_bit_cast(std::uint32_t, value);
  to->bits = value != value
                 ? std::uint16_t{0x7fc0}
                 : static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}
VOXCYCLE_BOTH inline void store(float value, float* to) {
  *to = value;
}
VOXCYCLE_BOTH inline void store(double value, double* to) {
  *to = value;
}

/// W neighbouring channels of a row, 16 bytes where the number of channels allows it.
template <class T, int W>
struct alignas(W * sizeof(T)) Vector {
  T values[W];
};

/// The most values in a vector: what a GPU moves in one instruction.
template <class T>
constexpr int widest = 16 / static_cast<int>(sizeof(T));

/// How [samples, rows, channels] is cut: columns of `vector` neighbouring channels, one a thread;
/// chunks of rows; and groups of columns where there are more than threads. It depends on neither
/// addresses nor the number of samples, so that a sample has the same sums in every batch.
struct Tiles {
  /// Rows a thread. At most as many as are summed up in Compute before double; they make a block
  /// read 128 KB, beside which what it does before and after its loop is little.
  static constexpr int max_rows = 32, fewest_rows = 2;
  /// Blocks a sample, from which on threads take more rows: some eight for each multiprocessor of a
  /// large GPU, so that none is without work for long when others finish.
  static constexpr std::int64_t enough_blocks = 1024;

  std::int64_t samples, rows, channels, chunk_rows, chunks, groups;
  int vector, columns;

  Tiles(std::int64_t samples_in, std::int64_t rows_in, std::int64_t channels_in, int widest_vector)
      : samples(samples_in), rows(rows_in), channels(channels_in), vector(widest_vector) {
    while (channels % vector != 0) vector /= 2;
    columns = static_cast<int>(channels / vector);
    groups = (columns + block_threads - 1) / block_threads;
    chunk_rows = fewest_rows * (groups == 1 ? block_threads / columns : 1);
    for (int n = fewest_rows; n < max_rows && chunk_rows * enough_blocks < rows * groups; n *= 2) {
      chunk_rows *= 2;
    }
    chunks = (rows + chunk_rows - 1) / chunk_rows;
  }
  std::int64_t blocks() const { return samples * chunks * groups; }
};

/// The part of block `index`.
struct Tile {
  std::int64_t sample, chunk, first_element;
  int rows, first_column, width, rows_a_pass;

  VOXCYCLE_BOTH Tile(Tiles const& tiles, std::int64_t index) {
    // In 32 bits, for a GPU divides 64 bits in a hundred instructions.
    auto const block = static_cast<std::uint32_t>(index);
    auto const groups = static_cast<std::uint32_t>(tiles.groups);
    auto const chunks = static_cast<std::uint32_t>(tiles.chunks);
    sample = block / groups / chunks;
    chunk = block / groups % chunks;
    std::int64_t const first_row = chunk * tiles.chunk_rows, left = tiles.rows - first_row;
    rows = static_cast<int>(left < tiles.chunk_rows ? left : tiles.chunk_rows);
    first_column = static_cast<int>(block % groups) * block_threads;
    int const columns = tiles.columns - first_column;
    width = columns < block_threads ? columns : block_threads;
    rows_a_pass = block_threads / width;
    first_element = (sample * tiles.rows + first_row) * tiles.channels +
                    static_cast<std::int64_t>(first_column) * tiles.vector;
  }
};

/// One coefficient a channel: of all samples (stride 0), or of each.
template <class Compute>
struct Coefficient {
  Compute const* values = nullptr;
  std::int64_t stride = 0;
};

/// Operands of all four functions; unused ones are null. Their meaning is that of norm_rows.hpp,
/// also in that out may be x or dy: a thread reads an element before it writes it.
template <class T, class Compute>
struct Job {
  std::int64_t samples, rows, channels;
  T const *x = nullptr, *dy = nullptr;
  T* out = nullptr;           ///< y or dx
  double* partial = nullptr;  ///< [samples, 2 channels, chunks]
  Coefficient<Compute> a, b, mean, p, q;
  Compute leak = 0;

  Tiles tiles() const { return Tiles(samples, rows, channels, widest<T>); }
};

/// The four programs for vectors of W channels. Where addresses are not Aligned to vectors, the
/// same threads read and write the same values one by one.
template <class T, class Compute, int W, bool Aligned>
class Programs {
 public:
  /// Doubles in `shared` of the programs of sums.
  static constexpr int shared_size = 2 * W * block_threads;

  VOXCYCLE_BOTH Programs(Job<T, Compute> const& job, Tiles const& tiles, std::int64_t index)
      : job_(job), tiles_(tiles), tile_(tiles, index) {}

  /// Sums of x and x^2.
  template <class Block>
  VOXCYCLE_BOTH void moments(Block& block, double* shared) const {
    block.each([=, this](int thread) {
      Sums sums;
      Values x[ahead<1>];
      for_rows<ahead<1>>(
          thread, [&](int i, std::int64_t at) { x[i] = read(job_.x + at); },
          [&](int i, std::int64_t) {
            for (int c = 0; c < W; ++c) {
              Compute const value = load(x[i].values[c]);
              sums.add(c, value, value * value);
            }
          });
      sums.write(shared + thread);
    });
    write_sums(block, shared);
  }

  /// Sums of g and g (x - mean), g = dy leaky'(a x + b).
  template <class Block>
  VOXCYCLE_BOTH void backward_moments(Block& block, double* shared) const {
    block.each([=, this](int thread) {
      Channels const a = channels(job_.a, thread), b = channels(job_.b, thread);
      Channels const mean = channels(job_.mean, thread);
      Sums sums;
      Values x[ahead<2>], dy[ahead<2>];
      for_rows<ahead<2>>(
          thread,
          [&](int i, std::int64_t at) {
            x[i] = read(job_.x + at);
            dy[i] = read(job_.dy + at);
          },
          [&](int i, std::int64_t) {
            for (int c = 0; c < W; ++c) {
              Compute const value = load(x[i].values[c]), d = load(dy[i].values[c]);
              Compute const g = a.values[c] * value + b.values[c] > 0 ? d : job_.leak * d;
              sums.add(c, g, g * (value - mean.values[c]));
            }
          });
      sums.write(shared + thread);
    });
    write_sums(block, shared);
  }

  /// y = leaky(a x + b)
  template <class Block>
  VOXCYCLE_BOTH void forward(Block& block) const {
    block.each([=, this](int thread) {
      Channels const a = channels(job_.a, thread), b = channels(job_.b, thread);
      Values x[ahead<1>];
      for_rows<ahead<1>>(
          thread, [&](int i, std::int64_t at) { x[i] = read(job_.x + at); },
          [&](int i, std::int64_t at) {
            Values y;
            for (int c = 0; c < W; ++c) {
              Compute const value = a.values[c] * load(x[i].values[c]) + b.values[c];
              store(value > 0 ? value : job_.leak * value, y.values + c);
            }
            write(y, job_.out + at);
          });
    });
    block.sync();
  }

  /// dx = a g + p x + q
  template <class Block>
  VOXCYCLE_BOTH void backward(Block& block) const {
    block.each([=, this](int thread) {
      Channels const a = channels(job_.a, thread), b = channels(job_.b, thread);
      Channels const p = channels(job_.p, thread), q = channels(job_.q, thread);
      Values x[ahead<2>], dy[ahead<2>];
      for_rows<ahead<2>>(
          thread,
          [&](int i, std::int64_t at) {
            x[i] = read(job_.x + at);
            dy[i] = read(job_.dy + at);
          },
          [&](int i, std::int64_t at) {
            Values dx;
            for (int c = 0; c < W; ++c) {
              Compute const value = load(x[i].values[c]), d = load(dy[i].values[c]);
              Compute const g = a.values[c] * value + b.values[c] > 0 ? d : job_.leak * d;
              store(a.values[c] * g + p.values[c] * value + q.values[c], dx.values + c);
            }
            write(dx, job_.out + at);
          });
    });
    block.sync();
  }

 private:
  using Values = Vector<T, W>;
  using Channels = Vector<Compute, W>;
  /// Rows whose loads are under way before the first is used: 64 bytes a thread where vectors have
  /// 16. Three blocks then have 48 KB on their way to a multiprocessor; an H100's memory is busy
  /// from some 17 KB on.
  template <int operands>
  static constexpr int ahead = Aligned ? std::min<int>(64 / operands / sizeof(Values), 8) : 1;

  /// Two sums a channel.
  struct Sums {
    VOXCYCLE_BOTH void add(int c, Compute to_first, Compute to_second) {
      first[c] += to_first;
      second[c] += to_second;
    }
    VOXCYCLE_BOTH void write(double* shared) const {
      for (int c = 0; c < W; ++c) {
        shared[c * block_threads] = static_cast<double>(first[c]);
        shared[(W + c) * block_threads] = static_cast<double>(second[c]);
      }
    }
    Compute first[W] = {}, second[W] = {};
  };

  VOXCYCLE_BOTH static Values read(T const* from) {
    if constexpr (Aligned) {
      return *reinterpret_cast<Values const*>(from);
    } else {
      Values values;
      for (int c = 0; c < W; ++c) values.values[c] = from[c];
      return values;
    }
  }
  VOXCYCLE_BOTH static void write(Values const& values, T* to) {
    if constexpr (Aligned) {
      *reinterpret_cast<Values*>(to) = values;
    } else {
      for (int c = 0; c < W; ++c) to[c] = values.values[c];
    }
  }

  VOXCYCLE_BOTH int first_channel(int column) const { return (tile_.first_column + column) * W; }

  VOXCYCLE_BOTH Channels channels(Coefficient<Compute> const& coefficient, int thread) const {
    Compute const* const from = coefficient.values + tile_.sample * coefficient.stride +
                                first_channel(thread % tile_.width);
    Channels result;
    for (int c = 0; c < W; ++c) result.values[c] = from[c];
    return result;
  }

  /// Calls take(i, element) for `count` rows of a thread, then use(i, element) for the same rows,
  /// and so on; last for those that are left.
  template <int count, class Take, class Use>
  VOXCYCLE_BOTH void for_rows(int thread, Take const& take, Use const& use) const {
    int const row = thread / tile_.width, passes = tile_.rows_a_pass;
    if (row >= passes) return;
    std::int64_t const step = passes * tiles_.channels;
    std::int64_t at = tile_.first_element + row * tiles_.channels + (thread % tile_.width) * W;
    int left = (tile_.rows - row + passes - 1) / passes;
    for (; left >= count; left -= count, at += count * step) {
      for (int i = 0; i < count; ++i) take(i, at + i * step);
      for (int i = 0; i < count; ++i) use(i, at + i * step);
    }
    for (int i = 0; i < count - 1; ++i) {
      if (i < left) take(i, at + i * step);
    }
    for (int i = 0; i < count - 1; ++i) {
      if (i < left) use(i, at + i * step);
    }
  }

  /// Adds up shared [2 W, block_threads] over the threads of each column, into job.partial.
  template <class Block>
  VOXCYCLE_BOTH void write_sums(Block& block, double* shared) const {
    int const width = tile_.width, threads = width * tile_.rows_a_pass;
    // In two steps, the first with a sum for each thread of the block (`parts` a value of a
    // column): additions that wait for one another take longer than all others.
    int parts = block_threads / (2 * W * width);
    parts = parts < 1 ? 1 : parts > 16 ? 16 : parts;
    int const lanes = parts * width;
    block.sync();
    block.each([=](int thread) {
      for (int i = thread; i < 2 * W * lanes; i += block_threads) {
        double* const values = shared + i / lanes * block_threads;
        double sum = 0.0;
        for (int j = i % lanes; j < threads; j += lanes) sum += values[j];
        values[i % lanes] = sum;  // read by this thread alone before the barrier
      }
    });
    block.sync();
    block.each([=, this](int thread) {
      for (int i = thread; i < 2 * W * width; i += block_threads) {
        int const value = i / width, column = i % width;
        double sum = 0.0;
        for (int part = 0; part < parts; ++part) {
          sum += shared[value * block_threads + part * width + column];
        }
        std::int64_t const row =
            (2 * tile_.sample + value / W) * tiles_.channels + first_channel(column) + value % W;
        job_.partial[row * tiles_.chunks + tile_.chunk] = sum;
      }
    });
    block.sync();
  }

  Job<T, Compute> const& job_;
  Tiles const& tiles_;
  Tile const tile_;
};

/// Calls body(std::type_identity of the Programs for a job).
template <class T, class Compute, int W = widest<T>, class Body>
void with_programs(Job<T, Compute> const& job, Body const& body) {
  if constexpr (W > 1) {
    if (job.tiles().vector < W) return with_programs<T, Compute, W / 2>(job, body);
  }
  auto const address = [](T const* values) { return reinterpret_cast<std::uintptr_t>(values); };
  std::uintptr_t const all = address(job.x) | address(job.dy) | address(job.out);
  if (all % sizeof(Vector<T, W>) == 0) {
    body(std::type_identity<Programs<T, Compute, W, true>>{});
  } else if constexpr (W > 1) {
    body(std::type_identity<Programs<T, Compute, W, false>>{});
  }
}

/// For the widest vectors.
struct Shared {
  double values[2 * widest<Bf16> * block_threads];
};

// Block `index` of each program, for the CPU; a GPU has kernels of all Programs.

template <class T, class Compute, class Block>
void moments(Block& block, Shared& shared, Job<T, Compute> const& job, std::int64_t index) {
  with_programs(job, [&]<class P>(std::type_identity<P>) {
    P(job, job.tiles(), index).moments(block, shared.values);
  });
}
template <class T, class Compute, class Block>
void backward_moments(Block& block, Shared& shared, Job<T, Compute> const& job,
                      std::int64_t index) {
  with_programs(job, [&]<class P>(std::type_identity<P>) {
    P(job, job.tiles(), index).backward_moments(block, shared.values);
  });
}
template <class T, class Compute, class Block>
void forward(Block& block, Job<T, Compute> const& job, std::int64_t index) {
  with_programs(job,
                [&]<class P>(std::type_identity<P>) { P(job, job.tiles(), index).forward(block); });
}
template <class T, class Compute, class Block>
void backward(Block& block, Job<T, Compute> const& job, std::int64_t index) {
  with_programs(
      job, [&]<class P>(std::type_identity<P>) { P(job, job.tiles(), index).backward(block); });
}

}  // namespace voxcycle::norm_blocks
