#include "ops/schema.h"

#include <charconv>

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

// A cursor over one schema line.
class SchemaReader {
 public:
  SchemaReader(std::string_view text, OpDef& def) : text_(text), rest_(text), def_(def) {}

  void read() {
    std::size_t open = rest_.find('(');
    CHECK(open != std::string_view::npos) << text_;
    def_.name = Symbol(rest_.substr(0, open));
    rest_.remove_prefix(open + 1);
    read_arguments();
    expect(" -> ");
    read_returns();
    CHECK(rest_.empty()) << text_;
  }

 private:
  bool take(std::string_view token) {
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  void expect(std::string_view token) { CHECK(take(token)) << text_ << " at " << rest_; }

  std::string_view take_word() {
    std::size_t end = 0;
    while (end < rest_.size() &&
           (std::isalnum(static_cast<unsigned char>(rest_[end])) || rest_[end] == '_')) {
      ++end;
    }
    std::string_view word = rest_.substr(0, end);
    rest_.remove_prefix(end);
    CHECK(!word.empty()) << text_ << " at " << rest_;
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
    CHECK(known != nullptr) << text_ << ": type " << word;
    result.type = known->type;
    result.is_symbolic = word.starts_with("Sym") || known->type == ArgType::Scalar;
    if (take("(")) {
      std::size_t close = rest_.find(')');
      result.is_written = rest_.substr(0, close).find('!') != std::string_view::npos;
      result.is_aliased = !result.is_written;
      rest_.remove_prefix(close + 1);
    }
    if (take("?")) result.is_optional = true;
    if (take("[")) {
      result.is_list = true;
      std::swap(result.is_optional, result.optional_elements);
      if (!take("]")) {
        std::string_view count = take_word();
        std::from_chars(count.data(), count.data() + count.size(), result.list_size);
        expect("]");
      }
      if (take("?")) result.is_optional = true;
    }
    return result;
  }

  void read_arguments() {
    bool keyword_only = false;
    while (!take(")")) {
      take(", ");
      if (take("*, ") || take("*")) {
        keyword_only = true;
        continue;
      }
      TypeText type = read_type();
      expect(" ");
      ArgDef arg{.name = Symbol(take_word()),
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
      while (!take("]")) {
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
    Argument list;
    list.kind = Argument::Kind::List;
    list.count = static_cast<std::uint32_t>(elements.size());
    list.elements = storage.get();
    return list;
  }

  Argument read_literal(ArgType type) {
    if (take("None")) return Argument::none();
    if (take("True")) return Argument::of(true);
    if (take("False")) return Argument::of(false);
    if (take("\"")) {
      std::size_t close = rest_.find('"');
      Argument text = Argument::string(rest_.substr(0, close));
      rest_.remove_prefix(close + 1);
      return text;
    }
    std::size_t end = rest_.find_first_of(",)]");
    std::string_view digits = rest_.substr(0, end);
    rest_.remove_prefix(end);
    return number(digits, type);
  }

  // torch writes the default of a dtype as its own number, and of a memory format as 0 for contiguous.
  Argument number(std::string_view digits, ArgType type) {
    double value = 0;
    auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    CHECK(read.ec == std::errc() && read.ptr == digits.data() + digits.size()) << text_ << ": " << digits;
    auto integer = static_cast<std::int64_t>(value);
    if (type == ArgType::MemoryFormat) return Argument::of(MemoryFormat::Contiguous);
    if (type == ArgType::ScalarType) {
      return Argument::of(scalar_type_from_executorch(integer).value_or(ScalarType::F32));
    }
    bool is_integer = digits.find_first_of(".e") == std::string_view::npos;
    if (type == ArgType::Int || (type == ArgType::Scalar && is_integer)) return Argument::of(integer);
    return Argument::of(value);
  }

  void read_returns() {
    if (take("()")) return;
    bool many = take("(");
    do {
      TypeText type = read_type();
      def_.returns.push_back({.type = type.type, .is_list = type.is_list});
      if (take(" ")) take_word();  // a result's name
      if (rest_.starts_with(",")) expect(", ");
    } while (many && !take(")"));
  }

  std::string_view text_;
  std::string_view rest_;
  OpDef& def_;
};

// "aten.relu.default" with `suffix` behind the op's own name: "aten.relu_.default".
std::string renamed(std::string_view text, std::string_view suffix) {
  std::size_t name_end = schema_name(text).rfind('.');
  return std::string(text.substr(0, name_end)).append(suffix).append(text.substr(name_end));
}

}  // namespace

void parse_schema(std::string_view text, OpDef& def) {
  def.schema = text;
  SchemaReader(def.schema, def).read();
}

std::string_view schema_name(std::string_view text) {
  return text.substr(0, text.find('('));
}

std::string inplace_schema(std::string_view text) {
  std::string twin = renamed(text, "_");
  constexpr std::string_view tensor = "Tensor";
  for (std::size_t at : {twin.rfind(tensor), twin.find('(') + 1}) {  // the result, then self
    CHECK(twin.compare(at, tensor.size(), tensor) == 0) << text;
    at += tensor.size();
    if (twin.compare(at, 3, "(a)") == 0) twin.erase(at, 3);
    twin.insert(at, "(a!)");
  }
  return twin;
}

std::string copy_schema(std::string_view text) {
  std::string twin = renamed(text, "_copy");
  for (std::string_view mark : {"(a -> *)", "(a)"}) {
    for (std::size_t at = twin.find(mark); at != std::string::npos; at = twin.find(mark)) {
      twin.erase(at, mark.size());
    }
  }
  return twin;
}

}  // namespace depute::internal
