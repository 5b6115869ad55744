#include "ops/schema.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "platform/parse_number.h"
#include "support/check.h"

namespace depute::internal {
namespace {

struct TypeName {
  std::string_view text;
  ArgType type;
};

constexpr TypeName type_names[] = {
    {"Tensor", ArgType::Tensor},
    {"SymInt", ArgType::Int},
    {"int", ArgType::Int},
    {"SymFloat", ArgType::Float},
    {"float", ArgType::Float},
    {"SymBool", ArgType::Bool},
    {"bool", ArgType::Bool},
    {"Scalar", ArgType::Scalar},
    {"number", ArgType::Scalar},
    {"str", ArgType::String},
    {"ScalarType", ArgType::ScalarType},
    {"MemoryFormat", ArgType::MemoryFormat},
    {"Layout", ArgType::Layout},
    {"Device", ArgType::Device},
    {"Generator", ArgType::Generator},
    {"Graph", ArgType::Graph},
    {"Operator", ArgType::Operator},
    {"Any", ArgType::Any},
};

constexpr std::size_t max_list_size = 64;  // N of int[N]

// A cursor over one schema line. It keeps the first error and then stops reading.
class SchemaReader {
 public:
  SchemaReader(std::string_view text, OpDef& def) : rest_(text), def_(def) {}

  std::string read() {
    std::size_t open = rest_.find('(');
    if (open == std::string_view::npos) return "expected '('";
    def_.name = Name(rest_.substr(0, open));
    rest_.remove_prefix(open + 1);
    read_arguments();
    expect(" -> ");
    read_returns();
    if (!rest_.empty()) fail("unexpected text after the schema");
    return std::move(fault_);
  }

 private:
  void fail(std::string_view message) {
    if (is_sound()) fault_ = fmt::format("{}, at '{}'", message, rest_);
    rest_ = {};
  }
  bool is_sound() const { return fault_.empty(); }

  bool take(std::string_view token) {
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  void expect(std::string_view token) {
    if (!take(token)) fail(fmt::format("expected '{}'", token));
  }
  // Takes the text up to `end`, and `end`; returns the text.
  std::string_view take_until(char end) {
    std::size_t close = rest_.find(end);
    if (close == std::string_view::npos) {
      fail(fmt::format("expected '{}'", end));
      return {};
    }
    std::string_view before = rest_.substr(0, close);
    rest_.remove_prefix(close + 1);
    return before;
  }

  std::string_view take_word() {
    std::size_t end = 0;
    while (end < rest_.size() &&
           (std::isalnum(static_cast<unsigned char>(rest_[end])) || rest_[end] == '_')) {
      ++end;
    }
    std::string_view word = rest_.substr(0, end);
    rest_.remove_prefix(end);
    if (word.empty()) fail("expected a word");
    return word;
  }

  struct TypeText {
    ArgType type;
    bool is_list, is_optional, optional_elements, is_written, is_aliased, is_symbolic;
    std::size_t list_size;  // N of int[N], else 0
  };

  TypeText read_type() {
    TypeText result{};
    std::string_view word = take_word();
    const TypeName* known = nullptr;
    for (const TypeName& name : type_names) {
      if (name.text == word) known = &name;
    }
    if (known == nullptr) {
      fail(fmt::format("unknown type '{}'", word));
      return result;
    }
    result.type = known->type;
    result.is_symbolic = word.starts_with("Sym") || known->type == ArgType::Scalar;
    if (take("(")) {
      result.is_written = take_until(')').find('!') != std::string_view::npos;
      result.is_aliased = !result.is_written;
    }
    if (take("?")) result.is_optional = true;
    if (take("[")) {
      result.is_list = true;
      std::swap(result.is_optional, result.optional_elements);
      if (!take("]")) {
        std::string_view count = take_word();
        auto read = std::from_chars(count.data(), count.data() + count.size(), result.list_size);
        if (read.ec != std::errc() || result.list_size > max_list_size)
          fail("the list length is missing or too large");
        expect("]");
      }
      if (take("?")) result.is_optional = true;
    }
    return result;
  }

  void read_arguments() {
    bool keyword_only = false;
    while (is_sound() && !take(")")) {
      take(", ");
      if (take("*, ") || take("*")) {
        keyword_only = true;
        continue;
      }
      TypeText type = read_type();
      expect(" ");
      ArgDef arg{.name = Name(take_word()),
                 .type = type.type,
                 .is_list = type.is_list,
                 .is_optional = type.is_optional,
                 .optional_elements = type.optional_elements,
                 .keyword_only = keyword_only,
                 .is_written = type.is_written,
                 .is_aliased = type.is_aliased,
                 .is_symbolic = type.is_symbolic};
      if (take("=")) arg.default_value = read_default(type);
      def_.args.push_back(std::move(arg));
    }
  }

  Argument read_default(const TypeText& type) {
    if (take("[")) {
      std::vector<Argument> elements;
      while (is_sound() && !take("]")) {
        take(", ");
        elements.push_back(read_literal(type.type));
      }
      return make_list(elements);
    }
    Argument single = read_literal(type.type);
    if (!type.is_list || single.is_none()) return single;
    return make_list(std::vector<Argument>(type.list_size, single));
  }

  Argument make_list(const std::vector<Argument>& elements) {
    auto& storage = def_.default_lists.emplace_back(std::make_unique<Argument[]>(elements.size()));
    std::ranges::copy(elements, storage.get());
    return Argument::list_of(std::span(storage.get(), elements.size()));
  }

  Argument read_literal(ArgType type) {
    if (take("None")) return Argument::none();
    if (take("True")) return Argument::of(true);
    if (take("False")) return Argument::of(false);
    if (take("\"")) {
      return Argument::string(take_until('"'));
    }
    std::string_view digits = rest_.substr(0, rest_.find_first_of(",)]"));
    Argument value = number(digits, type);
    rest_.remove_prefix(std::min(digits.size(), rest_.size()));
    return value;
  }

  // torch writes the default of a dtype as its number, and of a memory format as 0 for contiguous.
  Argument number(std::string_view digits, ArgType type) {
    const auto integer = parse_number<std::int64_t>(digits);
    const auto value = parse_number<double>(digits);
    const bool takes_floats = type == ArgType::Float || type == ArgType::Scalar;
    if (takes_floats ? !value : !integer) {
      fail("expected a value");
      return {};
    }
    if (type == ArgType::MemoryFormat) return Argument::of(MemoryFormat::Contiguous);
    if (type == ArgType::ScalarType) {
      return Argument::of(scalar_type_from_executorch(*integer).value_or(ScalarType::F32));
    }
    if (type == ArgType::Float || !integer) return Argument::of(*value);
    return Argument::of(*integer);
  }

  void read_returns() {
    if (take("()")) return;
    bool many = take("(");
    do {
      TypeText type = read_type();
      def_.returns.push_back({.type = type.type, .is_list = type.is_list});
      if (take(" ")) take_word();  // name of a result
      if (rest_.starts_with(",")) expect(", ");
    } while (many && is_sound() && !take(")"));
  }

  std::string_view rest_;
  OpDef& def_;
  std::string fault_;
};

constexpr std::string_view aten = "aten.", default_overload = ".default";

bool has_overload(std::string_view name) {
  return !name.starts_with(aten) || name.find('.', aten.size()) != std::string_view::npos;
}

// Appends `suffix` to the op's own name: "aten.relu.default" becomes "aten.relu_.default".
std::string renamed(std::string_view text, std::string_view suffix) {
  const std::string_view name = schema_name(text);
  const std::size_t name_end = has_overload(name) ? name.rfind('.') : name.size();
  return std::string(text.substr(0, name_end)).append(suffix).append(text.substr(name_end));
}

constexpr std::string_view inplace_suffix = "_";
constexpr std::string_view copy_suffix = "_copy";

}  // namespace

void parse_schema(std::string_view text, OpDef& def) {
  std::string fault = read_schema(text, def);
  CHECK(fault.empty()) << text << ": " << fault;
}

std::string read_schema(std::string_view text, OpDef& def) {
  def.schema = text;
  return SchemaReader(def.schema, def).read();
}

std::string_view schema_name(std::string_view text) {
  return text.substr(0, text.find('('));
}

std::string full_name(std::string_view name) {
  return std::string(name).append(has_overload(name) ? "" : default_overload);
}

std::string_view name_in_line(std::string_view name) {
  if (name.starts_with(aten) && name.ends_with(default_overload)) name.remove_suffix(default_overload.size());
  return name;
}

std::string full_schema(std::string_view line) {
  const std::string_view name = schema_name(line);
  std::string schema = full_name(name).append(line.substr(name.size()));
  constexpr std::string_view shortened = "...",
                             options = "Layout? layout=None, Device? device=None, bool? pin_memory=None";
  if (const std::size_t at = schema.find(shortened); at != std::string::npos)
    schema.replace(at, shortened.size(), options);
  if (schema.ends_with(')') && schema.find(" -> ") == std::string::npos) schema += " -> Tensor";
  return schema;
}

std::string inplace_name(std::string_view name) {
  return renamed(name, inplace_suffix);
}

std::string copy_name(std::string_view name) {
  return renamed(name, copy_suffix);
}

std::string inplace_schema(std::string_view text) {
  std::string variant = renamed(text, inplace_suffix);
  constexpr std::string_view tensor = "Tensor";
  for (std::size_t at : {variant.rfind(tensor), variant.find('(') + 1}) {  // the result, then self
    CHECK(variant.compare(at, tensor.size(), tensor) == 0) << text;
    at += tensor.size();
    if (variant.compare(at, 3, "(a)") == 0) variant.erase(at, 3);
    variant.insert(at, "(a!)");
  }
  return variant;
}

std::string copy_schema(std::string_view text) {
  std::string variant = renamed(text, copy_suffix);
  for (std::string_view mark : {"(a -> *)", "(a)"}) {
    for (std::size_t at = variant.find(mark); at != std::string::npos; at = variant.find(mark)) {
      variant.erase(at, mark.size());
    }
  }
  return variant;
}

}  // namespace depute::internal
