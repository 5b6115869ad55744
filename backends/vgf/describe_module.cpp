#include "describe_module.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <unordered_map>

#include "instructions.h"
#include "ir/small_float.h"
#include "spirv.h"
#include "support/try.h"

namespace depute::vgf {
namespace {

using spirv::Id;
using spirv::Opcode;
using Operands = std::span<const std::uint32_t>;

constexpr std::size_t max_listed = 16;  // elements of a constant, and dimensions of a type

std::int64_t signed_number(std::uint32_t low, std::uint32_t width) {
  if (width == 0 || width >= 32) return static_cast<std::int32_t>(low);
  const auto unused = static_cast<int>(32 - width);
  return static_cast<std::int32_t>(low << unused) >> unused;
}

class ModuleDescriber {
 public:
  Result<std::string> describe(std::span<const std::uint32_t> words) {
    if (words.size() < spirv::header_words || words[0] != spirv::magic)
      return failure("vgf", "", "a module is no SPIR-V");
    words = words.subspan(spirv::header_words);
    while (!words.empty()) {
      const std::size_t count = words[0] >> 16;
      if (count == 0 || count > words.size())
        return failure("vgf", "", "an instruction does not fit its module");
      read(static_cast<Opcode>(words[0] & 0xffff), words.subspan(1, count - 1));
      words = words.subspan(count);
    }
    return std::move(text_);
  }

 private:
  struct Type {
    std::string name;
    std::uint32_t width = 0;
    bool is_float = false;
  };

  // Instructions with fewer operands than they need are left out.
  void read(Opcode opcode, Operands operands) {
    const auto has = [&](std::size_t count) { return operands.size() >= count; };
    switch (opcode) {
      case Opcode::TypeBool:
        if (has(1)) types_[operands[0]] = {"bool", 0, false};
        break;
      case Opcode::TypeInt:
        if (has(3)) types_[operands[0]] = {fmt::format("i{}", operands[1]), operands[1], false};
        break;
      case Opcode::TypeFloat:
        if (has(2))
          types_[operands[0]] = {fmt::format("{}{}", has(3) ? "bf" : "f", operands[1]), operands[1], true};
        break;
      case Opcode::TypeTensor:
        if (has(4)) types_[operands[0]] = {type(operands[1]) + value(operands[3])};
        break;
      case Opcode::Constant:
        if (has(3)) values_[operands[1]] = number(operands);
        break;
      case Opcode::ConstantTrue:
      case Opcode::ConstantFalse:
        if (has(2)) values_[operands[1]] = opcode == Opcode::ConstantTrue ? "true" : "false";
        break;
      case Opcode::ConstantNull:
        if (has(2)) values_[operands[1]] = fmt::format("zeros {}", type(operands[0]));
        break;
      case Opcode::ConstantComposite:
        if (has(2)) values_[operands[1]] = list(operands.subspan(2));
        break;
      case Opcode::ConstantCompositeReplicate:
        if (has(3))
          values_[operands[1]] = fmt::format("{} everywhere in {}", value(operands[2]), type(operands[0]));
        break;
      case Opcode::GraphConstant:
        if (has(3)) values_[operands[1]] = fmt::format("constant {} {}", operands[2], type(operands[0]));
        break;
      case Opcode::GraphInput:
        if (has(3))
          text_ += fmt::format("%{}: {} = input {}\n", operands[1], type(operands[0]), value(operands[2]));
        break;
      case Opcode::GraphSetOutput:
        if (has(2)) text_ += fmt::format("output {} = {}\n", value(operands[1]), value(operands[0]));
        break;
      case Opcode::ExtInst:
        if (has(4)) add_operator(operands);
        break;
      default:
        break;
    }
  }

  void add_operator(Operands operands) {
    const auto op = static_cast<tosa::Op>(std::uint64_t{operands[3]} + 1);
    text_ += fmt::format("%{}: {} = {}(", operands[1], type(operands[0]), tosa::name(op));
    const auto attributes = attributes_of(op);
    Operands rest = operands.subspan(4);
    std::string last;
    for (const Attribute attribute : attributes) {
      if (rest.empty()) break;
      last += fmt::format(" {} {}", attribute_names.at(static_cast<std::size_t>(attribute)), value(rest[0]));
      rest = rest.subspan(1);
    }
    for (std::size_t i = 0; i < rest.size(); ++i) text_ += (i == 0 ? "" : ", ") + value(rest[i]);
    text_ += ")" + last + "\n";
  }

  std::string type(Id id) const {
    const auto found = types_.find(id);
    return found == types_.end() ? fmt::format("type %{}", id) : found->second.name;
  }

  std::string value(Id id) const {
    const auto found = values_.find(id);
    return found == values_.end() ? fmt::format("%{}", id) : found->second;
  }

  // The numbers of nested lists one behind another, and the first of them only, so that a text stays short.
  std::string list(Operands elements) const {
    std::string text;
    for (std::size_t i = 0; i < elements.size() && i < max_listed && text.size() < max_text; ++i)
      text += (i == 0 ? "" : ", ") + value(elements[i]);
    const bool is_cut = elements.size() > max_listed || text.size() >= max_text;
    return "[" + text.substr(0, max_text) + (is_cut ? ", ...]" : "]");
  }

  std::string number(Operands operands) const {
    const auto found = types_.find(operands[0]);
    const Type type = found == types_.end() ? Type{} : found->second;
    const std::uint32_t low = operands[2];
    if (!type.is_float && operands.size() > 3)
      return fmt::format("{}", static_cast<std::int64_t>((std::uint64_t{operands[3]} << 32) | low));
    if (!type.is_float) return fmt::format("{}", signed_number(low, type.width));
    if (type.name == "f16") return fmt::format("{}", half_to_float(static_cast<std::uint16_t>(low)));
    return fmt::format("{}", std::bit_cast<float>(type.width == 16 ? low << 16 : low));
  }

  static constexpr std::size_t max_text = 200;

  std::unordered_map<Id, Type> types_;
  std::unordered_map<Id, std::string> values_;
  std::string text_;
};

}  // namespace

Result<std::string> describe_module(std::span<const std::uint32_t> words) {
  return ModuleDescriber().describe(words);
}

}  // namespace depute::vgf
