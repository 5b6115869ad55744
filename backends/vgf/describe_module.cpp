#include "describe_module.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <unordered_map>
#include <utility>

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

constexpr std::size_t max_text = 200;

// Cuts a text that names others, each of which may name others: in a hostile file they would grow without end.
std::string shortened(std::string text) {
  if (text.size() <= max_text) return text;
  text.resize(max_text);
  return text + "...";
}

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
    if (operands.size() < operands_of(opcode)) return;
    switch (opcode) {
      case Opcode::TypeBool:
        types_[operands[0]] = {"bool", 0, false};
        break;
      case Opcode::TypeInt:
        types_[operands[0]] = {fmt::format("i{}", operands[1]), operands[1], false};
        break;
      case Opcode::TypeFloat:
        types_[operands[0]] = {fmt::format("{}{}", operands.size() > 2 ? "bf" : "f", operands[1]),
                               operands[1], true};
        break;
      case Opcode::TypeTensor:
        types_[operands[0]] = {shortened(type(operands[1]) + value(operands[3]))};
        break;
      case Opcode::GraphInput:
        text_ += fmt::format("%{}: {} = input {}\n", operands[1], type(operands[0]), value(operands[2]));
        break;
      case Opcode::GraphSetOutput:
        text_ += fmt::format("output {} = {}\n", value(operands[1]), value(operands[0]));
        break;
      case Opcode::ExtInst:
        add_operator(operands);
        break;
      default:
        if (std::string text = constant_text(opcode, operands); !text.empty())
          values_[operands[1]] = shortened(std::move(text));
    }
  }

  // The number of operands that an instruction has at least, of those that are read.
  static std::size_t operands_of(Opcode opcode) {
    switch (opcode) {
      case Opcode::TypeBool:
        return 1;
      case Opcode::TypeFloat:
      case Opcode::ConstantTrue:
      case Opcode::ConstantFalse:
      case Opcode::ConstantNull:
      case Opcode::ConstantComposite:
      case Opcode::GraphSetOutput:
        return 2;
      case Opcode::TypeTensor:
      case Opcode::ExtInst:
        return 4;
      default:
        return 3;
    }
  }

  // Returns an empty text for what is no constant.
  std::string constant_text(Opcode opcode, Operands operands) const {
    switch (opcode) {
      case Opcode::Constant:
        return number(operands);
      case Opcode::ConstantTrue:
        return "true";
      case Opcode::ConstantFalse:
        return "false";
      case Opcode::ConstantNull:
        return "zeros " + type(operands[0]);
      case Opcode::ConstantComposite:
        return list(operands.subspan(2));
      case Opcode::ConstantCompositeReplicate:
        return fmt::format("{} everywhere in {}", value(operands[2]), type(operands[0]));
      case Opcode::GraphConstant:
        return fmt::format("constant {} {}", operands[2], type(operands[0]));
      default:
        return {};
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

  std::string list(Operands elements) const {
    std::string text = "[";
    for (std::size_t i = 0; i < elements.size() && i < max_listed; ++i)
      text += (i == 0 ? "" : ", ") + value(elements[i]);
    return text + (elements.size() > max_listed ? ", ...]" : "]");
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

  std::unordered_map<Id, Type> types_;
  std::unordered_map<Id, std::string> values_;
  std::string text_;
};

}  // namespace

Result<std::string> describe_module(std::span<const std::uint32_t> words) {
  return ModuleDescriber().describe(words);
}

}  // namespace depute::vgf
