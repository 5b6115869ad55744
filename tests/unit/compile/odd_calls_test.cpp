// Calls with odd arguments, made from the schemas of the op table: whatever a program calls an op with, the
// compiler lowers it or refuses it, and never finds a bug of its own.
//
// Every program has one call. DEPUTE_ODD_CALLS is the number of programs for each op, DEPUTE_ODD_SEED the
// first seed, DEPUTE_ODD_OP the name of the only op.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "depute/compiler/compiler.h"
#include "depute/program/infer.h"
#include "depute/program/op.h"
#include "depute/program/text.h"
#include "support/guarded.h"

namespace depute {
namespace {

using Random = std::mt19937_64;

class OddCall {
 public:
  OddCall(const OpDef& def, std::uint64_t seed) : def_(def), random_(seed) {}

  // A program whose only node calls the op.
  Program make() {
    Program program;
    Method& method = program.add_method(Name("forward"));
    graph_ = method.graph.get();
    dtype_ = one_of(dtypes);
    for (std::size_t rank = pick(5); rank > 0; --rank) shape_.push_back(SymInt(one_of(usual_sizes)));
    if (chance(10) && !shape_.empty()) {
      shape_[pick(shape_.size())] = SymInt::symbol("s0");
      program.ranges["s0"] = {2, 64};
    }
    std::vector<Argument> args;
    std::vector<NamedArgument> kwargs;
    add_arguments(args, kwargs);
    Node* node = graph_->add(def_.name, args, kwargs, results_of(args, kwargs));
    std::vector<Argument> outputs;
    for (Value* result : node->results()) outputs.push_back(Argument::of(result));
    if (outputs.empty()) outputs.push_back(Argument::of(1));
    graph_->set_outputs(outputs);
    method.inputs.resize(graph_->inputs().size());
    method.outputs.resize(outputs.size());
    return program;
  }

 private:
  static constexpr std::array dtypes = {ScalarType::F32, ScalarType::F32,  ScalarType::F32, ScalarType::I64,
                                        ScalarType::F64, ScalarType::F16,  ScalarType::U8,  ScalarType::I32,
                                        ScalarType::I8,  ScalarType::Bool, ScalarType::C64, ScalarType::BF16};
  static constexpr std::array<std::int64_t, 10> usual_sizes = {1, 2, 3, 3, 4, 4, 6, 8, 0, 1};
  static constexpr std::array<std::int64_t, 16> integers = {0,
                                                            1,
                                                            1,
                                                            2,
                                                            2,
                                                            3,
                                                            4,
                                                            -1,
                                                            -1,
                                                            -2,
                                                            8,
                                                            64,
                                                            1000,
                                                            -65,
                                                            std::numeric_limits<std::int64_t>::max(),
                                                            std::numeric_limits<std::int64_t>::min()};
  static constexpr std::array<double, 10> numbers = {0,
                                                     1,
                                                     -1,
                                                     0.5,
                                                     1e-5,
                                                     2.5,
                                                     -0.0,
                                                     1e30,
                                                     std::numeric_limits<double>::infinity(),
                                                     std::numeric_limits<double>::quiet_NaN()};
  static constexpr std::array texts = {"sum",   "mean",     "none",    "prod",      "amax", "amin",
                                       "add",   "multiply", "floor",   "trunc",     "ij",   "xy",
                                       "left",  "linear",   "lower",   "higher",    "tanh", "constant",
                                       "right", "nearest",  "reflect", "replicate", "odd",  "circular"};

  std::size_t pick(std::size_t count) { return random_() % count; }
  bool chance(std::size_t percent) { return pick(100) < percent; }
  template <typename List>
  typename List::value_type one_of(const List& list) {
    return list[pick(list.size())];
  }

  Dims near_shape() {
    Dims shape = shape_;
    const std::size_t kind = pick(20);
    if (kind < 12) return shape;
    if (kind == 12) shape.clear();
    if (kind == 13) shape.push_back(SymInt(one_of(usual_sizes)));
    if (kind == 14 && !shape.empty()) shape.pop_back();
    if (kind == 15 && !shape.empty()) shape[pick(shape.size())] = SymInt(1);
    if (kind == 16 && !shape.empty()) shape[pick(shape.size())] = SymInt(one_of(usual_sizes));
    if (kind == 17 && shape.size() > 1) std::swap(shape.front(), shape.back());
    if (kind < 18) return shape;
    shape.clear();
    for (std::size_t rank = pick(6); rank > 0; --rank) shape.push_back(SymInt(one_of(usual_sizes)));
    return shape;
  }

  ScalarType dtype_for(std::string_view name) {
    const bool is_index = name.find("ind") != name.npos || name.find("target") != name.npos;
    if (is_index && chance(85)) return chance(70) ? ScalarType::I64 : ScalarType::I32;
    const bool is_mask = name.find("mask") != name.npos || name.find("condition") != name.npos;
    if (is_mask && chance(85)) return ScalarType::Bool;
    return chance(85) ? dtype_ : one_of(dtypes);
  }

  Argument tensor(std::string_view name) {
    Type type = tensor_type(make_tensor(dtype_for(name), near_shape()));
    return Argument::of(graph_->add_input(Name(name), type));
  }

  Argument integer(std::string_view name) {
    if (chance(90) && name.find("dim") != name.npos) {
      const auto rank = static_cast<std::int64_t>(shape_.size());
      return Argument::of(static_cast<std::int64_t>(pick(2 * shape_.size() + 3)) - rank - 1);
    }
    return Argument::of(chance(30) ? one_of(integers) : static_cast<std::int64_t>(pick(4)));
  }

  Argument scalar() {
    if (chance(8)) {
      Type type = sym_type(Type::Kind::SymInt, nullptr);
      return Argument::of(graph_->add_input(Name("n"), type));
    }
    if (chance(8)) return Argument::of(chance(50));
    return chance(50) ? Argument::of(one_of(integers)) : Argument::of(one_of(numbers));
  }

  Argument single(const ArgDef& arg) {
    const std::string_view name = arg.name.str();
    switch (arg.type) {
      case ArgType::Tensor:
        return arg.is_promoted && chance(15) ? scalar() : tensor(name);
      case ArgType::Int:
        return integer(name);
      case ArgType::Float:
        return Argument::of(one_of(numbers));
      case ArgType::Bool:
        return Argument::of(chance(50));
      case ArgType::Scalar:
        return scalar();
      case ArgType::String:
        return Argument::string(one_of(texts));
      case ArgType::ScalarType:
        return Argument::of(one_of(dtypes));
      case ArgType::MemoryFormat:
        return Argument::of(chance(70) ? MemoryFormat::Contiguous : MemoryFormat::ChannelsLast);
      case ArgType::Layout:
        return Argument::of(Layout::Strided);
      case ArgType::Device:
        return Argument::text(Argument::Kind::Device, Name("cpu"));
      case ArgType::Generator:
      case ArgType::Graph:
      case ArgType::Operator:
      case ArgType::Any:
        return Argument::none();
    }
    return Argument::none();
  }

  Argument argument(const ArgDef& arg) {
    if (arg.is_optional && chance(35)) return Argument::none();
    if (!arg.is_list || (arg.type != ArgType::Tensor && chance(4))) return single(arg);
    std::vector<Argument> elements;
    const std::size_t usual = arg.type == ArgType::Int && chance(60) ? shape_.size() : 1 + pick(3);
    for (std::size_t count = chance(10) ? pick(7) : usual; count > 0; --count)
      elements.push_back(arg.optional_elements && chance(30) ? Argument::none() : single(arg));
    return graph_->list(elements);
  }

  void add_arguments(std::vector<Argument>& args, std::vector<NamedArgument>& kwargs) {
    bool is_positional = true;
    for (const ArgDef& arg : def_.args) {
      const bool has_default = arg.default_value.has_value() && chance(40);
      is_positional = is_positional && !arg.keyword_only && !has_default;
      if (has_default) continue;
      Argument value = argument(arg);
      if (is_positional) args.push_back(value);
      if (!is_positional) kwargs.push_back({arg.name, value});
    }
  }

  // What the op's rule gives; a guess where it gives nothing.
  std::vector<ResultSpec> results_of(std::span<const Argument> args, std::span<const NamedArgument> kwargs) {
    std::vector<ResultSpec> results;
    if (def_.infer != nullptr && chance(95)) {
      auto types = guarded([&] { return result_types(OpCall(def_, args, kwargs)); });
      if (types) {
        for (Type& type : *types) results.push_back({Name("y"), std::move(type)});
        return results;
      }
    }
    for (const ReturnDef& result : def_.returns) {
      Type type = result.type == ArgType::Tensor ? tensor_type(make_tensor(dtype_, near_shape()))
                                                 : sym_type(Type::Kind::SymInt, nullptr);
      for (std::size_t count = result.is_list ? pick(4) : 1; count > 0; --count)
        results.push_back({Name("y"), type});
    }
    return results;
  }

  const OpDef& def_;
  Random random_;
  Graph* graph_ = nullptr;
  Dims shape_;
  ScalarType dtype_ = ScalarType::F32;
};

bool takes_graphs(const OpDef& def) {
  return std::ranges::any_of(def.args, [](const ArgDef& arg) {
    return arg.type == ArgType::Graph || arg.type == ArgType::Operator;
  });
}

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

void lower(const Compiler& compiler, Program program, const char* backend) {
  const std::string text = print(program);
  if (std::getenv("DEPUTE_ODD_TRACE") != nullptr)
    std::fprintf(stderr, "PROGRAM %s\n%s\n", backend, text.c_str());
  LowerOptions options;
  if (*backend != 0) options.backends.push_back({.name = backend});
  const auto file = [&]() -> Result<PteFile> {
    DEPUTE_TRY(Exported exported, compiler.load(std::move(program)));
    DEPUTE_TRY(Delegated lowered, compiler.lower(std::move(exported), options));
    DEPUTE_TRY(const Executable executable, to_executorch(std::move(lowered)));
    return write(executable);
  }();
  EXPECT_TRUE(file || file.error().code != "internal") << file.error().str() << "\n" << text;
}

TEST(OddCalls, AreLoweredOrRefused) {
  const Compiler compiler;
  const std::uint64_t count = setting("DEPUTE_ODD_CALLS", 2);
  const std::uint64_t first = setting("DEPUTE_ODD_SEED", 1);
  const char* only = std::getenv("DEPUTE_ODD_OP");
  for (const OpDef* def : all_ops()) {
    if (takes_graphs(*def) || (only != nullptr && def->name != only)) continue;
    for (std::uint64_t seed = first; seed < first + count; ++seed) {
      lower(compiler, OddCall(*def, seed).make(), "");
      if (def->is(OpFlag::Core)) lower(compiler, OddCall(*def, seed).make(), "xnnpack");
    }
  }
}

}  // namespace
}  // namespace depute
