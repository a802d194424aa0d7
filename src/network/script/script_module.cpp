// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/network/script_module.hpp"

#include "voxcycle/core/error.hpp"

#include <algorithm>
#include <map>
#include <memory>

#include "network/script/python_files.hpp"
#include <torch/csrc/jit/api/compilation_unit.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/frontend/lexer.h>
#include <torch/csrc/jit/frontend/parser.h>
#include <torch/csrc/jit/frontend/resolver.h>
#include <torch/csrc/jit/frontend/sugared_value.h>
#include <torch/nn/module.h>

namespace voxcycle {
namespace {

namespace jit = torch::jit;

using Classes = std::map<std::string, jit::ClassDef>;

/// Of all files. What stands there beside classes is for Python's own tools.
Classes parse_classes() {
  Classes classes;
  for (auto const& [name, text] : python_files()) {
    jit::Parser parser(std::make_shared<jit::Source>(text, name));
    auto& lexer = parser.lexer();
    while (lexer.cur().kind != jit::TK_EOF) {
      if (lexer.cur().kind == jit::TK_CLASS_DEF) {
        jit::ClassDef const parsed(parser.parseClass());
        classes.emplace(parsed.name().name(), parsed);
      } else {
        lexer.next();
      }
    }
  }
  return classes;
}

/// With those that the class inherits and does not have itself.
std::vector<jit::Def> methods_of(std::string const& name) {
  static Classes const classes = parse_classes();
  auto found = classes.find(name);
  VOXCYCLE_REQUIRE(found != classes.end(), "network: there is no class " << name << " in Python.");
  std::map<std::string, jit::Def> methods;
  while (found != classes.end()) {
    for (auto const& statement : found->second.body()) {
      if (statement.kind() != jit::TK_DEF) continue;
      jit::Def const method(statement);
      methods.emplace(method.name().name(), method);
    }
    found = classes.find(jit::Var(found->second.superclass().get()).name().name());
  }
  std::vector<jit::Def> all;
  for (auto const& [method_name, method] : methods) all.push_back(method);
  return all;
}

/// Adds the tensors of an object and of its submodules.
void add_tensors(jit::Value* object, jit::SourceRange const& range, jit::GraphFunction& method,
                 std::vector<jit::SugaredValuePtr>& tensors) {
  for (auto const& attribute : object->type()->expectRef<c10::ClassType>().getAttributes()) {
    auto const& type = attribute.getType();
    if (!type->isSubtypeOf(*c10::TensorType::get()) && !type->is_module()) continue;
    auto const value = jit::SimpleValue(object).attr(range, method, attribute.getName());
    if (type->is_module()) {
      add_tensors(value->asValue(range, method), range, method, tensors);
    } else {
      tensors.push_back(value);
    }
  }
}

/// `self` in a method. Beside the object's attributes it has, for loops that are compiled step by
/// step, all_tensors, its own and its submodules', and ascending_x and descending_x: its submodules
/// x1, x2, ... in the order of their numbers.
class SelfValue : public jit::SugaredValue {
 public:
  explicit SelfValue(jit::Value* value) : value_(value), simple_(value) {}
  std::string kind() const override { return simple_.kind(); }
  jit::Value* asValue(jit::SourceRange const& /*range*/, jit::GraphFunction& /*method*/) override {
    return value_;
  }
  bool hasAttr(jit::SourceRange const& range, jit::GraphFunction& method,
               std::string const& name) override {
    return simple_.hasAttr(range, method, name);
  }
  jit::SugaredValuePtr attr(jit::SourceRange const& range, jit::GraphFunction& method,
                            std::string const& name) override {
    if (name == "all_tensors") {
      std::vector<jit::SugaredValuePtr> tensors;
      add_tensors(value_, range, method, tensors);
      return std::make_shared<jit::SugaredTupleValue>(tensors);
    }
    auto const start = name.find('_') + 1;
    auto const order = name.substr(0, start);
    if (order != "ascending_" && order != "descending_") return simple_.attr(range, method, name);
    auto const stem = name.substr(start);
    std::map<long, jit::SugaredValuePtr> numbered;
    for (auto const& attribute : value_->type()->expectRef<c10::ClassType>().getAttributes()) {
      auto const& full = attribute.getName();
      if (!full.starts_with(stem) ||
          full.find_first_not_of("0123456789", stem.size()) != std::string::npos) {
        continue;
      }
      numbered[std::stol(full.substr(stem.size()))] = simple_.attr(range, method, full);
    }
    std::vector<jit::SugaredValuePtr> values;
    for (auto const& [number, value] : numbered) values.push_back(value);
    if (order == "descending_") std::reverse(values.begin(), values.end());
    return std::make_shared<jit::SugaredTupleValue>(values);
  }
  void setAttr(jit::SourceRange const& range, jit::GraphFunction& method, std::string const& name,
               jit::Value* value) override {
    simple_.setAttr(range, method, name, value);
  }

 private:
  jit::Value* value_;
  jit::SimpleValue simple_;
};

class Self : public jit::SimpleSelf {
 public:
  using SimpleSelf::SimpleSelf;
  jit::SugaredValuePtr makeSugared(jit::Value* value) const override {
    value->setType(getClassType());
    return std::make_shared<SelfValue>(value);
  }
};

jit::Module module_of(torch::nn::Module const& layer, std::string const& name,
                      Scripted const* scripted, jit::Module const* frame) {
  VOXCYCLE_REQUIRE(scripted != nullptr, "network: " << name << " has no script.");
  Script script = scripted->script();
  script.parameters = layer.named_parameters(/*recurse=*/false).pairs();
  script.buffers = layer.named_buffers(/*recurse=*/false).pairs();
  for (auto const& child : layer.named_children()) {
    auto const* below = dynamic_cast<Scripted const*>(child.value().get());
    script.attributes.emplace_back(
        child.key(), module_of(*child.value(), child.key(), below, nullptr)._ivalue());
  }
  if (frame != nullptr) script.attributes.emplace_back("frame", frame->_ivalue());
  return script_module(script);
}

}  // namespace

jit::Module script_module(Script const& script) {
  jit::Module module(script.name);
  // Python's eval() and train() set it.
  module.register_attribute("training", c10::BoolType::get(), false);
  for (auto const& [name, value] : script.parameters) {
    module.register_parameter(name, value.detach().clone(), /*is_buffer=*/false);
  }
  for (auto const& [name, value] : script.buffers) {
    module.register_buffer(name, value.detach().clone());
  }
  for (auto const& [name, value] : script.attributes) {
    module.register_attribute(name, value.type(), value);
  }
  auto const methods = methods_of(script.name);
  std::vector<jit::ResolverPtr> const resolvers(methods.size(), jit::nativeResolver());
  Self const self(module.type());
  module._ivalue()->compilation_unit()->define(*module.type()->name(), {}, {}, methods, resolvers,
                                               &self);
  return module;
}

jit::Module script_module(Network const& network, jit::Module const& frame) {
  return module_of(network.module(), "network", &network, &frame);
}

}  // namespace voxcycle
