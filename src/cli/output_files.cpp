// SPDX-License-Identifier: BSD-3-Clause
#include "cli/output_files.hpp"

#include "voxcycle/core/atomic_file.hpp"
#include "voxcycle/core/error.hpp"

#include <filesystem>

namespace voxcycle {
namespace {

/// Whether `written` is the file of `read`, which may be FILE:dataset.
bool is_same_file(std::string read, std::string const& written) {
  for (auto end = read.size(); end != std::string::npos; end = read.rfind(':')) {
    read.resize(end);
    std::error_code none;
    if (std::filesystem::equivalent(read, written, none)) return true;
  }
  return false;
}

}  // namespace

void require_outputs(Invocation const& call,
                     std::vector<std::pair<std::string, std::string>> const& outputs,
                     std::vector<InputFile> inputs) {
  if (call.has("config")) inputs.emplace_back("--config", call.flags.at("config"));
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    auto const& [name, path] = outputs[k];
    for (auto const& [what, input] : inputs) {
      VOXCYCLE_REQUIRE(!is_same_file(input, path), name << ' ' << path
                                                        << " would overwrite a file that is read ("
                                                        << what << "). Choose another name.");
    }
    for (std::size_t other = 0; other < k; ++other) {
      bool const twice = std::filesystem::absolute(path).lexically_normal() ==
                         std::filesystem::absolute(outputs[other].second).lexically_normal();
      VOXCYCLE_REQUIRE(!twice, name << " and " << outputs[other].first << " are both " << path
                                    << ", so that one would overwrite the other. Choose another "
                                       "name.");
    }
    require_writable(path);
  }
}

void require_outputs_of(Invocation const& call, std::vector<std::string> const& flags,
                        std::vector<InputFile> const& inputs) {
  std::vector<std::pair<std::string, std::string>> outputs;
  for (auto const& flag : flags) {
    if (call.has(flag)) outputs.emplace_back("--" + flag, call.flags.at(flag));
  }
  require_outputs(call, outputs, inputs);
}

}  // namespace voxcycle
