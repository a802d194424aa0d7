// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/comm/communicator.hpp"
#include "voxcycle/train/fingerprint.hpp"

#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// Things that all ranks must have in common, by name: {"threads a process", "2"}, ...
using CommonFacts = std::vector<std::pair<std::string, std::string>>;

/// @return the ranks whose text is not rank 0's, e.g. {"1", "3"}. **Collective**.
std::vector<std::string> ranks_that_differ(Communicator const& comm, std::string const& text);

/// Compares the facts of all ranks before the first step. **Collective**.
/// @throws Error on all ranks, saying which ranks differ from rank 0 in what.
void require_agreement(Communicator const& comm, CommonFacts const& facts);

/// Compares options, keys with values in any notation. **Collective**.
/// @throws Error on all ranks, naming the first one in which a rank differs from rank 0, both
/// values, and the ranks that differ in it.
void require_same_options(Communicator const& comm, Fingerprint const& options);

/// Hash of this program's own file, as hexadecimal text ("unknown" where it cannot be read).
std::string program_hash();

/// Hash of any text, as hexadecimal text.
std::string text_hash(std::string const& text);

/// Hash of the values' bits, as hexadecimal text.
std::string tensors_hash(std::vector<at::Tensor> const& tensors);

}  // namespace voxcycle
