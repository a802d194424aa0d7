// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

namespace voxcycle {

/// The key of the config that a name stands for which is none, where that is certain: what other
/// programs call it ("lr", "train.learning_rate": cycle.rate), or one of another section
/// ("train.batch": cycle.batch). "" where it is not.
/// @param keys  all there are
std::string key_meant(std::string const& name, std::vector<std::string> const& keys);

}  // namespace voxcycle
