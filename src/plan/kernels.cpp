#include "plan/kernels.h"

#include <algorithm>
#include <array>
#include <utility>

#include "support/check.h"

namespace depute {
namespace {

constexpr std::array<std::pair<std::string_view, ArgType>, 8> type_names{{
    {"Tensor", ArgType::Tensor},
    {"int", ArgType::Int},
    {"float", ArgType::Float},
    {"bool", ArgType::Bool},
    {"Scalar", ArgType::Scalar},
    {"str", ArgType::String},
    {"ScalarType", ArgType::ScalarType},
    {"MemoryFormat", ArgType::MemoryFormat},
}};

bool take_suffix(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}

// Parses "Tensor?[] indices", "int[]? dim" or "bool keepdim".
KernelArg parse_arg(std::string_view text) {
  KernelArg arg;
  std::size_t space = text.find(' ');
  CHECK(space != text.npos) << text;
  arg.name = text.substr(space + 1);
  std::string_view type = text.substr(0, space);
  arg.is_written = take_suffix(type, "(a!)");
  arg.is_optional = take_suffix(type, "?");
  arg.is_list = take_suffix(type, "[]");
  if (arg.is_list) arg.optional_elements = take_suffix(type, "?");
  const auto* found = std::ranges::find(type_names, type, &std::pair<std::string_view, ArgType>::first);
  CHECK(found != type_names.end()) << text;
  arg.type = found->second;
  return arg;
}

}  // namespace

FoundKernel find_kernel(std::string_view name) {
  for (const KernelLibrary& library : kernel_libraries()) {
    auto found = std::ranges::lower_bound(library.kernels, name, {}, &Kernel::name);
    if (found != library.kernels.end() && found->name == name) return {&*found, &library};
  }
  return {};
}

KernelSignature parse_signature(const Kernel& kernel) {
  KernelSignature signature;
  std::size_t close = kernel.signature.find(") -> ");
  CHECK(kernel.signature.starts_with('(') && close != kernel.signature.npos) << kernel.name;
  std::string_view args = kernel.signature.substr(1, close - 1);
  while (!args.empty()) {
    std::size_t comma = std::min(args.find(", "), args.size());
    signature.args.push_back(parse_arg(args.substr(0, comma)));
    args.remove_prefix(std::min(comma + 2, args.size()));
  }
  std::string_view results = kernel.signature.substr(close + 5);
  if (results == "Tensor[]") {
    signature.result = KernelResult::TensorList;
  } else if (results.find("Tensor") != results.npos) {
    signature.result_count = static_cast<std::size_t>(1 + std::ranges::count(results, ','));
  } else {
    signature.result = KernelResult::Value;
  }
  return signature;
}

}  // namespace depute
