// SPDX-License-Identifier: BSD-3-Clause
// torch's operators on tensors of an emulated GPU: the operators of the CPU, on views of the same
// memory that the CPU may touch.
#include <limits>
#include <string>
#include <vector>

#include "graphs.hpp"
#include "memory.hpp"
#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>
#include <ATen/NativeFunctions.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/util/ParallelGuard.h>
#include <torch/library.h>

namespace voxcycle::emulated_gpu {
namespace {

constexpr c10::DispatchKeySet kKeys(c10::DispatchKey::CUDA);

/// The tensor as the CPU may touch it; tensors of the host are themselves.
at::Tensor view_of(at::Tensor const& x) {
  if (!x.defined() || !x.is_cuda()) return x;
  // Without elements it may be a result that gets its shape from the operator.
  if (x.numel() == 0) return at::empty_like(x, x.options().device(at::kCPU));
  void* const data = kernel_view(x.device().index(), x.const_data_ptr());
  return at::from_blob(data, x.sizes(), x.strides(), x.options().device(at::kCPU));
}

/// A tensor of the host moved to a GPU.
at::Tensor moved(at::Tensor const& x, at::Device device) {
  if (!x.defined()) return x;
  at::Tensor there = at::empty_strided(x.sizes(), x.strides(), x.options().device(device));
  view_of(there).copy_(x);
  return there;
}

/// An operator's arguments on their way to the CPU.
class Arguments {
 public:
  explicit Arguments(std::string name) : name_(std::move(name)) {}

  at::Tensor operator()(at::Tensor const& x) {
    if (!x.defined()) return x;
    if (x.is_cuda()) {
      TORCH_CHECK(!device_ || device_->index() == x.device().index(), name_,
                  ": tensors of two GPUs");
      device_ = x.device();
    } else {
      host_ = host_ || x.dim() > 0;  // numbers may come from anywhere
    }
    return view_of(x);
  }

  c10::IValue operator()(c10::IValue const& value) {
    if (value.isTensor()) return (*this)(value.toTensor());
    if (value.isTensorList()) {
      c10::List<at::Tensor> list;
      for (at::Tensor const& x : value.toTensorVector()) list.push_back((*this)(x));
      return list;
    }
    if (value.isOptionalTensorList()) {
      c10::List<std::optional<at::Tensor>> list;
      for (std::optional<at::Tensor> const& x : value.toOptionalTensorVector()) {
        list.push_back(x ? std::optional((*this)(*x)) : x);
      }
      return list;
    }
    if (value.isDevice()) {
      if (value.toDevice().is_cuda()) {
        device_ = value.toDevice().has_index()
                      ? value.toDevice()
                      : c10::impl::getDeviceGuardImpl(c10::kCUDA)->getDevice();
      }
      return at::Device(at::kCPU);
    }
    return value;
  }

  at::Device device() const {
    TORCH_CHECK(!host_, name_, ": a tensor of the host among those of a GPU");
    TORCH_CHECK(device_, name_, ": no tensor of a GPU");
    return *device_;
  }

 private:
  std::string name_;
  std::optional<at::Device> device_;
  bool host_ = false;
};

/// The argument that a result is, where the schema says so ("Tensor(a!)"), or null.
c10::IValue const* same_as(c10::Argument const& result, c10::FunctionSchema const& schema,
                           std::vector<c10::IValue> const& arguments) {
  auto const* const alias = result.alias_info();
  if (alias == nullptr) return nullptr;
  TORCH_CHECK(alias->isWrite(), schema.name(), ": a view, which the emulated GPU does not know");
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    auto const* const other = schema.arguments()[i].alias_info();
    if (other != nullptr && other->beforeSets() == alias->beforeSets()) return &arguments[i];
  }
  return nullptr;
}

c10::IValue moved(c10::IValue const& value, at::Device device) {
  if (value.isTensor()) return moved(value.toTensor(), device);
  if (!value.isTensorList()) return value;
  c10::List<at::Tensor> list;
  for (at::Tensor const& x : value.toTensorVector()) list.push_back(moved(x, device));
  return list;
}

/// An operator has given `result`, which had no elements, the shape and values of `found`.
void take_shape(at::Tensor const& result, at::Tensor const& found) {
  if (result.sizes() == found.sizes()) return;
  TORCH_CHECK(result.numel() == 0, "emulated GPU: a result that changes its shape");
  at::Tensor const there = moved(found, result.device());
  auto* const impl = result.unsafeGetTensorImpl();
  impl->set_storage_keep_dtype(there.storage());
  impl->set_sizes_and_strides(there.sizes(), there.strides());
}

void do_by_cpu(c10::OperatorHandle const& op, torch::jit::Stack* stack) {
  auto const& schema = op.schema();
  count_launch(schema.name());
  std::vector<c10::IValue> const originals = torch::jit::pop(*stack, schema.arguments().size());
  Arguments to_cpu(schema.name());
  for (auto const& value : originals) stack->push_back(to_cpu(value));
  // Operators that write to arguments return references to them.
  std::vector<c10::IValue> const kept(stack->end() - static_cast<std::ptrdiff_t>(originals.size()),
                                      stack->end());
  at::Device const device = to_cpu.device();
  c10::ParallelGuard const serial(true);  // a GPU's bits do not depend on the host's threads
  op.callBoxed(stack);
  auto const results = torch::jit::pop(*stack, schema.returns().size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    auto const* const original = same_as(schema.returns()[i], schema, originals);
    if (!results[i].isTensor() && !results[i].isTensorList()) count_host_wait();
    if (original != nullptr) take_shape(original->toTensor(), results[i].toTensor());
    stack->push_back(original != nullptr ? *original : moved(results[i], device));
  }
}

/// The same memory without a share in it, as what a graph has recorded knows tensors.
at::Tensor borrowed(at::Tensor const& x) {
  if (!x.defined() || !x.is_cuda()) return x;
  c10::Storage memory(c10::Storage::use_byte_size_t(), x.storage().nbytes(),
                      c10::DataPtr(x.storage().mutable_data(), x.device()), nullptr, false);
  auto result = at::detail::make_tensor<at::TensorImpl>(std::move(memory), kKeys, x.dtype());
  auto* const impl = result.unsafeGetTensorImpl();
  impl->set_sizes_and_strides(x.sizes(), x.strides(), x.storage_offset());
  return result;
}

/// change(x) for each tensor in the value.
template <class Change>
c10::IValue changed(c10::IValue const& value, Change const& change) {
  if (value.isTensor()) return change(value.toTensor());
  if (value.isTensorList()) {
    c10::List<at::Tensor> list;
    for (at::Tensor const& x : value.toTensorVector()) list.push_back(change(x));
    return list;
  }
  if (!value.isOptionalTensorList()) return value;
  c10::List<std::optional<at::Tensor>> list;
  for (auto const& x : value.toOptionalTensorVector())
    list.push_back(x ? std::optional(change(*x)) : x);
  return list;
}

/// Puts the operator down for the graph. To know the shapes of its results it is done once, with
/// copies of what it writes to: nothing has happened to its arguments then.
void put_down(c10::OperatorHandle const& op, torch::jit::Stack* stack) {
  auto const& schema = op.schema();
  auto const arguments = torch::jit::pop(*stack, schema.arguments().size());
  torch::jit::Stack trial, kept;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    auto const* const alias = schema.arguments()[i].alias_info();
    bool const written = alias != nullptr && alias->isWrite();
    trial.push_back(written ? changed(arguments[i],
                                      [](at::Tensor const& x) {
                                        return x.defined() && x.is_cuda()
                                                   ? moved(view_of(x), x.device())
                                                   : x;
                                      })
                            : arguments[i]);
  }
  do_by_cpu(op, &trial);
  std::vector<c10::IValue> results;
  for (std::size_t i = 0; i < schema.returns().size(); ++i) {
    TORCH_CHECK(trial[i].isTensor() || trial[i].isTensorList(), schema.name(),
                ": a value for the host, in a graph");
    auto const* const original = same_as(schema.returns()[i], schema, arguments);
    if (original != nullptr) take_shape(original->toTensor(), view_of(trial[i].toTensor()));
    results.push_back(original != nullptr ? *original : trial[i]);
    stack->push_back(results.back());
  }
  for (auto const& argument : arguments) kept.push_back(changed(argument, borrowed));
  for (std::size_t i = 0; i < results.size(); ++i) {
    results[i] = changed(results[i], borrowed);
    if (same_as(schema.returns()[i], schema, arguments) != nullptr) continue;
    changed(results[i], [](at::Tensor const& x) {
      if (x.is_floating_point()) view_of(x).fill_(std::numeric_limits<double>::quiet_NaN());
      return x;
    });
  }
  record([op, kept, results] {
    torch::jit::Stack again = kept;
    do_by_cpu(op, &again);
    for (std::size_t i = 0; i < results.size(); ++i) {
      auto const found =
          again[i].isTensor() ? std::vector{again[i].toTensor()} : again[i].toTensorVector();
      auto const to =
          results[i].isTensor() ? std::vector{results[i].toTensor()} : results[i].toTensorVector();
      for (std::size_t k = 0; k < to.size(); ++k)
        if (to[k].defined() && !to[k].is_same(found[k])) view_of(to[k]).copy_(view_of(found[k]));
    }
  });
}

void by_cpu(c10::OperatorHandle const& op, torch::jit::Stack* stack) {
  is_recording() ? put_down(op, stack) : do_by_cpu(op, stack);
}

at::Tensor empty(at::IntArrayRef size, std::optional<at::ScalarType> type,
                 std::optional<at::Layout> /*layout*/, std::optional<at::Device> device,
                 std::optional<bool> /*pinned*/, std::optional<at::MemoryFormat> format) {
  c10::OptionalDeviceGuard const guard(device);
  return at::detail::empty_generic(size, c10::GetAllocator(c10::kCUDA), kKeys,
                                   c10::dtype_or_default(type), format);
}

at::Tensor empty_strided(at::IntArrayRef size, at::IntArrayRef stride,
                         std::optional<at::ScalarType> type, std::optional<at::Layout> /*layout*/,
                         std::optional<at::Device> device, std::optional<bool> /*pinned*/) {
  c10::OptionalDeviceGuard const guard(device);
  return at::detail::empty_strided_generic(size, stride, c10::GetAllocator(c10::kCUDA), kKeys,
                                           c10::dtype_or_default(type));
}

/// Between host and GPU and within a GPU.
at::Tensor& copy(at::Tensor& to, at::Tensor const& from, bool non_blocking) {
  if (is_recording()) {
    TORCH_CHECK(to.is_cuda() && from.is_cuda(), "a copy from or to the host, in a graph");
    record([there = borrowed(to), from_there = borrowed(from)] {
      view_of(there).copy_(view_of(from_there));
    });
    return to;
  }
  if (to.is_cpu() || (from.is_cpu() && !non_blocking)) count_host_wait();
  count_launch("copy_");
  view_of(to).copy_(view_of(from));
  return to;
}

/// by_cpu of a convolution whose channels are such as cuDNN certainly takes: those of bf16 in
/// eights.
void convolution(c10::OperatorHandle const& op, torch::jit::Stack* stack) {
  auto const& arguments = op.schema().arguments();
  auto const inputs = torch::jit::last(*stack, arguments.size());
  for (std::size_t k = 0; k < arguments.size(); ++k) {
    if (!inputs[k].isTensor()) continue;
    at::Tensor const& tensor = inputs[k].toTensor();
    if (tensor.scalar_type() != at::kBFloat16 || tensor.dim() != 5) continue;
    bool const is_weight = arguments[k].name() == "weight";
    TORCH_CHECK(tensor.size(1) % 8 == 0 && (!is_weight || tensor.size(0) % 8 == 0),
                "emulated cuDNN: no engine for ", arguments[k].name(), " ", tensor.sizes());
  }
  by_cpu(op, stack);
}

TORCH_LIBRARY_IMPL(_, CUDA, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&by_cpu>());
}

TORCH_LIBRARY_IMPL(aten, CUDA, m) {
  m.impl("empty.memory_format", &empty);
  m.impl("empty_strided", &empty_strided);
  m.impl("copy_", &copy);
  m.impl("as_strided", &at::native::as_strided_tensorimpl);
  m.impl("view",
         static_cast<at::Tensor (*)(at::Tensor const&, at::IntArrayRef)>(&at::native::view));
  m.impl("_reshape_alias", &at::native::_reshape_alias);
  m.impl("unfold", &at::native::unfold);
  // These would ask for a GPU's own libraries.
  m.impl("convolution", torch::CppFunction::makeFromBoxedFunction<&convolution>());
  m.impl("convolution_backward", torch::CppFunction::makeFromBoxedFunction<&convolution>());
}

}  // namespace
}  // namespace voxcycle::emulated_gpu
