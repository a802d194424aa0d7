// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace voxcycle {

/// Makes torch take the memory of large tensors from large_blocks() (from 32 MiB on: with smaller
/// ones a step of 0.2 s takes a tenth longer), of others in blocks that the C library can hand out
/// again. Torch asks for aligned blocks; glibc finds these only inside of larger ones, never in a
/// freed block of the same size, so that with keep_freed_memory() a training step comes to take
/// half as much again as it holds (measured at 64^3: 668 MiB instead of 515). Call once, before the
/// first tensor.
void reuse_tensor_memory();

}  // namespace voxcycle
