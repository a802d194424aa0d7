// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/evaluate/export.hpp"
#include "voxcycle/network/script_module.hpp"

#include <vector>

#include <ATen/ATen.h>
#include <torch/csrc/jit/serialization/pickle.h>
#include <torch/script.h>

namespace voxcycle {

std::string export_sample(at::Tensor const& nu, at::Tensor const& f, at::Tensor const& u) {
  // A dictionary from here would need more than Python's weights_only lets through.
  c10::List<at::Tensor> tensors;
  for (auto const& tensor : {nu, f, u}) {
    if (tensor.defined()) tensors.push_back(tensor.contiguous().clone());
  }
  auto const sum = script_module({.name = "Checksum"}).run_method("checksum_of", tensors);
  tensors.push_back(at::tensor(sum.toInt(), at::kLong));
  std::vector<c10::IValue> const all(tensors.begin(), tensors.end());
  auto const bytes = torch::jit::pickle_save(c10::ivalue::Tuple::create(all));
  return {bytes.begin(), bytes.end()};
}

}  // namespace voxcycle
