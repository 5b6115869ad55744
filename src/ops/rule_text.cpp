#include "ops/rule_text.h"

#include <fmt/format.h>

#include <functional>
#include <map>
#include <numbers>
#include <numeric>
#include <optional>
#include <string>

#include "depute/program/infer.h"
#include "ops/idioms.h"
#include "ops/math/formula.h"
#include "platform/parse_number.h"
#include "support/check.h"
#include "support/try.h"

namespace depute::internal {

using RuleItem = BuilderArgument;
using RuleItems = std::vector<RuleItem>;

// A call that a rule is applied to, and what the rule's names stand for.
struct RuleScope {
  Builder& b;
  const OpCall& call;
  std::vector<std::pair<std::string_view, RuleItem>> names = {};
  bool keeps = false;

  RuleItem find(std::string_view name) const {
    for (std::size_t i = names.size(); i-- > 0;) {
      if (names[i].first == name) return names[i].second;
    }
    const Argument& argument = call[name];
    const bool is_tensor = argument.is_value() && argument.as_value()->type().is_tensor();
    return is_tensor ? RuleItem(argument.as_value()) : RuleItem(argument);
  }
  RuleItem build(std::string_view op, const RuleItems& items) {
    std::vector<Value*> results = b.call_all(op, items);
    return results.size() == 1 ? RuleItem(results[0]) : RuleItem(std::move(results));
  }
};
using RulePart = std::function<RuleItem(RuleScope& scope)>;

namespace {

bool is_tensor(const RuleItem& item) {
  return item.kind == RuleItem::Kind::Value && item.single != nullptr;
}
bool is_number(const RuleItem& item) {
  return item.kind == RuleItem::Kind::Ready && item.ready.is_number();
}
const TensorType& type_of(const RuleItem& item) {
  CHECK(is_tensor(item));
  return item.single->tensor();
}
std::string text_of(const RuleItem& item) {
  return std::string(item.ready.as_symbol().str());
}

// --- operators

struct RuleOperator {
  std::string_view sign;
  const char* op;         // of two tensors, or of a tensor and a number
  const char* of_number;  // of a tensor and a number, if it has an op of its own
  double (*compute)(double a, double b);
  int level;  // operators of a higher level bind tighter
};
constexpr RuleOperator rule_operators[] = {
    {"|", "aten.logical_or.default", nullptr, [](double a, double b) -> double { return a != 0 || b != 0; },
     0},
    {"&", "aten.logical_and.default", nullptr, [](double a, double b) -> double { return a != 0 && b != 0; },
     1},
    {"==", "aten.eq.Tensor", "aten.eq.Scalar", [](double a, double b) -> double { return a == b; }, 2},
    {"!=", "aten.ne.Tensor", "aten.ne.Scalar", [](double a, double b) -> double { return a != b; }, 2},
    {"<=", "aten.le.Tensor", "aten.le.Scalar", [](double a, double b) -> double { return a <= b; }, 2},
    {">=", "aten.ge.Tensor", "aten.ge.Scalar", [](double a, double b) -> double { return a >= b; }, 2},
    {"<", "aten.lt.Tensor", "aten.lt.Scalar", [](double a, double b) -> double { return a < b; }, 2},
    {">", "aten.gt.Tensor", "aten.gt.Scalar", [](double a, double b) -> double { return a > b; }, 2},
    {"+", "aten.add.Tensor", nullptr, [](double a, double b) { return a + b; }, 3},
    {"-", "aten.sub.Tensor", nullptr, [](double a, double b) { return a - b; }, 3},
    {"*", "aten.mul.Tensor", nullptr, [](double a, double b) { return a * b; }, 4},
    {"/", "aten.div.Tensor", nullptr, [](double a, double b) { return a / b; }, 4},
};
constexpr int arithmetic_level = 3, highest_level = 4;

// Numbers as in Python; of other things that are known, whether they are the same.
RuleItem computed(const RuleOperator& with, const Argument& a, const Argument& b) {
  if (!a.is_number() || !b.is_number()) {
    CHECK(with.level == 2) << with.sign;
    bool is_same = a.kind == b.kind;
    if (is_same && !a.is_none())
      is_same = a.kind == Argument::Kind::String ? a.as_symbol() == b.as_symbol() : a.as_int() == b.as_int();
    return is_same == (with.sign == "==");
  }
  const double number = with.compute(a.as_double(), b.as_double());
  if (with.level < arithmetic_level) return number != 0;
  const bool is_float =
      a.kind == Argument::Kind::Float || b.kind == Argument::Kind::Float || with.sign == "/";
  return is_float ? RuleItem(number) : RuleItem(static_cast<std::int64_t>(number));
}

RuleItem apply(RuleScope& in, const RuleOperator& with, const RuleItem& a, const RuleItem& b) {
  if (!is_tensor(a) && !is_tensor(b)) return computed(with, a.ready, b.ready);
  if (is_tensor(a))
    return in.build(with.of_number != nullptr && is_number(b) ? with.of_number : with.op, {a, b});
  if (with.sign == "+" || with.sign == "*") return in.build(with.op, {b, a});
  const bool is_inverse = with.sign == "/" && is_number(a) && a.ready.as_double() == 1;
  return is_inverse ? in.build("aten.reciprocal.default", {b}) : in.build(with.op, {a, b});
}

// --- functions that build nothing, or only what they need

struct RuleFunction {
  std::string_view name;
  RuleItem (*apply)(RuleScope& in, const RuleItems& x);
};
RuleItem converted(RuleScope& in, const RuleItem& x, ScalarType dtype) {
  return to_dtype(in.b, in.b.own(x.single), dtype);
}
RuleItem failed(RuleScope& in, Failure failure) {
  in.b.fail(std::move(failure).error());
  return Argument::none();
}
constexpr RuleFunction rule_functions[] = {
    {"dtype", [](RuleScope&, const RuleItems& x) -> RuleItem { return type_of(x[0]).dtype; }},
    {"is_float", [](RuleScope&, const RuleItems& x) -> RuleItem { return is_floating(type_of(x[0]).dtype); }},
    {"is_complex",
     [](RuleScope&, const RuleItems& x) -> RuleItem { return is_complex(type_of(x[0]).dtype); }},
    {"is_number", [](RuleScope&, const RuleItems& x) -> RuleItem { return is_number(x[0]); }},
    {"rank",
     [](RuleScope&, const RuleItems& x) -> RuleItem {
       return static_cast<std::int64_t>(type_of(x[0]).rank());
     }},
    {"sizes", [](RuleScope&, const RuleItems& x) -> RuleItem { return type_of(x[0]).sizes; }},
    {"dims",
     [](RuleScope&, const RuleItems& x) -> RuleItem {
       std::vector<std::int64_t> dims(type_of(x[0]).rank());
       std::iota(dims.begin(), dims.end(), 0);
       return dims;
     }},
    {"to",
     [](RuleScope& in, const RuleItems& x) { return converted(in, x[0], x[1].ready.as_scalar_type()); }},
    {"as_result",
     [](RuleScope& in, const RuleItems& x) -> RuleItem {
       auto types = in.call.def().infer(in.call);
       return types ? converted(in, x[0], (*types)[0].tensor.dtype)
                    : failed(in, Failure(std::move(types).error()));
     }},
    {"computed", [](RuleScope& in,
                    const RuleItems& x) { return converted(in, x[0], compute_type(type_of(x[0]).dtype)); }},
    {"fail", [](RuleScope& in, const RuleItems& x) { return failed(in, argument_error(text_of(x[0]))); }},
    {"refuse", [](RuleScope& in, const RuleItems& x) { return failed(in, type_error(text_of(x[0]))); }},
    {"keep", [](RuleScope& in, const RuleItems&) -> RuleItem { return in.keeps = true; }},
};
// Their operand is the name of an argument.
constexpr RuleFunction rule_functions_of_arguments[] = {
    {"promoted",
     [](RuleScope& in, const RuleItems& x) -> RuleItem {
       return operand(in.b, in.call, text_of(x[0])).value();
     }},
    {"wide",
     [](RuleScope& in, const RuleItems& x) -> RuleItem {
       return float_operand(in.b, in.call, text_of(x[0])).value();
     }},
    {"known",
     [](RuleScope& in, const RuleItems& x) -> RuleItem {
       auto number = constant_number(in.call, text_of(x[0]));
       return number ? RuleItem(*number) : failed(in, Failure(std::move(number).error()));
     }},
};

// Sizes, or tensors.
RuleItem list_of(RuleScope& in, const RuleItems& items) {
  if (!items.empty() && is_tensor(items[0])) {
    std::vector<Value*> values;
    for (const RuleItem& item : items) values.push_back(in.b.own(item.single));
    return values;
  }
  Dims sizes;
  for (const RuleItem& item : items) sizes.push_back(as_sym_int(item.ready));
  return sizes;
}

// Rules that others use; each may use those before it, and the arguments of the call.
constexpr std::string_view shared_rules[] = {
    // Losses: the reduction of the elements; d^2 / 2 near 0, and beyond `bend` its tangent there; y * (log(y) - x),
    // 0 where y is 0; Stirling's formula for log(y!) where y > 1.
    "reduced(loss) = reduction == 1 ? mean(loss) : reduction == 2 ? sum(loss) : loss",
    "weighted(loss) = weight == none ? loss : loss * computed(weight)",
    "bent_square(d, bend) = near = d * d * 0.5; far = (d - 0.5 * bend) * bend; where(d < bend, near, far)",
    "divergence(x, y) = own = where(y != 0, y * log(y), 0); own - y * x",
    "log_factorial(y) = s = y * log(y) - y; s = s + log(y * (2 * pi)) * 0.5; where(y > 1, s, 0)",
    "dot_over(x, y, dim) = sum.dim_IntList(x * y, dim)",
    "relu6_of(x) = hardtanh(x, 0, 6)",
    "is_negative(x) = is_float(x) ? atan2(x, scalar_tensor(-1, dtype(x))) < 0 : x < 0",  // also of -0
    "power_of_two(x) = pow.Scalar(2.0, x)",                                              // exact for integers
    "scaled_sum(a, b, factor) = add.Tensor(a, factor == 1 ? b : b * factor)",
    // log(1 + exp(beta * x)) / beta, or x itself where this could overflow
    "softplus_of(x, beta, threshold) = scaled = beta == 1 ? x : x * beta; soft = log1p(exp(scaled)); "
    "whole = beta == 1 ? soft : soft / beta; where(scaled > threshold, x, whole)",
};

std::optional<RuleItem> constant_of(std::string_view name) {
  if (name == "none") return Argument::none();
  if (name == "true" || name == "false") return name == "true";
  if (name == "inf") return infinity;
  if (name == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (name == "pi") return std::numbers::pi;
  if (const auto dtype = scalar_type_from_name(name)) return *dtype;
  return std::nullopt;
}

}  // namespace

struct RuleText::Rule {
  std::string text;  // names point into it
  std::vector<std::string_view> parameters, mentioned;
  std::vector<std::pair<std::string_view, RulePart>> names;
  std::vector<RulePart> results;

  void evaluate_names(RuleScope& in) const {
    for (const auto& [name, part] : names) in.names.emplace_back(name, part(in));
  }
};

namespace {

class RuleReader {
 public:
  using Shared = std::map<std::string_view, std::unique_ptr<const RuleText::Rule>>;

  RuleReader(std::string_view text, const Shared& shared) : shared_(shared) {
    rule_->text = text;
    text_ = rule_->text;
  }

  // Reads "name(parameter, ...) = rule".
  void read_shared(Shared& shared) {
    const std::string_view name = take_name();
    expect("(");
    do rule_->parameters.push_back(take_name());
    while (take(","));
    expect(")");
    expect("=");
    shared[name] = read();
  }
  std::unique_ptr<const RuleText::Rule> read() {
    for (std::string_view before = text_;; before = text_) {
      const std::string_view name = take_name();
      if (name.empty() || !take("=") || text_.starts_with('=')) {
        text_ = before;
        break;
      }
      rule_->names.emplace_back(name, read_value());
      expect(";");
    }
    do rule_->results.push_back(read_value());
    while (take(","));
    CHECK(text_.empty()) << rule_->text << ": " << text_;
    return std::move(rule_);
  }

 private:
  bool take(std::string_view token) {
    if (!text_.starts_with(token)) return false;
    text_.remove_prefix(token.size());
    text_.remove_prefix(std::min(text_.find_first_not_of(' '), text_.size()));
    return true;
  }
  void expect(std::string_view token) { CHECK(take(token)) << rule_->text << ": " << text_; }
  std::string_view take_name() {
    constexpr std::string_view digits = "0123456789.",
                               letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789.";
    if (text_.empty() || digits.find(text_[0]) != std::string_view::npos) return {};
    const std::string_view name = text_.substr(0, text_.find_first_not_of(letters));
    take(name);
    return name;
  }

  RulePart read_value() {
    RulePart test = read_operators(0);
    if (!take("?")) return test;
    RulePart yes = read_value();
    expect(":");
    return [test = std::move(test), yes = std::move(yes), no = read_value()](RuleScope& in) {
      return test(in).ready.as_bool() ? yes(in) : no(in);
    };
  }
  RulePart read_operators(int level) {
    if (level > highest_level) return read_signed();
    RulePart left = read_operators(level + 1);
    for (;;) {
      const auto* found = std::ranges::find_if(
          rule_operators, [&](const RuleOperator& one) { return one.level == level && take(one.sign); });
      if (found == std::end(rule_operators)) return left;
      left = [left = std::move(left), right = read_operators(level + 1), found](RuleScope& in) {
        const RuleItem b = right(in);
        return apply(in, *found, left(in), b);
      };
    }
  }
  RulePart read_signed() {
    if (take("!")) {
      return [part = read_signed()](RuleScope& in) {
        const RuleItem x = part(in);
        return is_tensor(x) ? in.build("aten.logical_not.default", {x}) : RuleItem(!x.ready.as_bool());
      };
    }
    if (!take("-")) return read_operand();
    return [part = read_signed()](RuleScope& in) {
      const RuleItem x = part(in);
      if (is_tensor(x)) return in.build("aten.neg.default", {x});
      return x.ready.is_int() ? RuleItem(-x.ready.as_int()) : RuleItem(-x.ready.as_double());
    };
  }
  RulePart read_operand() {
    if (take("(")) {
      RulePart inner = read_value();
      expect(")");
      return inner;
    }
    if (take("[")) {
      return [parts = read_parts("]")](RuleScope& in) { return list_of(in, all(in, parts)); };
    }
    const std::string_view name = take_name();
    if (name.empty()) return read_constant();
    if (take("(")) return read_call(name);
    if (const auto constant = constant_of(name)) return [constant](RuleScope&) { return *constant; };
    rule_->mentioned.push_back(name);
    RulePart value = [name](RuleScope& in) { return in.find(name); };
    if (!take("[")) return value;
    std::size_t index = static_cast<std::size_t>(text_[0] - '0');
    text_.remove_prefix(1);
    expect("]");
    return [value = std::move(value), index](RuleScope& in) -> RuleItem { return value(in).values[index]; };
  }
  RulePart read_constant() {
    RuleItem constant = Argument::none();
    if (text_.starts_with('\'')) {
      const std::string quoted(text_.substr(1, text_.find('\'', 1) - 1));
      text_.remove_prefix(quoted.size() + 1);
      expect("'");
      constant = quoted.c_str();
    } else {
      double number = 0;
      const auto [end, error] = platform::read_float(text_.data(), text_.data() + text_.size(), number);
      CHECK(error == std::errc()) << rule_->text << ": " << text_;
      const std::string_view digits = text_.substr(0, static_cast<std::size_t>(end - text_.data()));
      const bool is_float = digits.find_first_of(".e") != std::string_view::npos;
      constant = is_float ? RuleItem(number) : RuleItem(static_cast<std::int64_t>(number));
      take(digits);
    }
    return [constant](RuleScope&) { return constant; };
  }
  std::vector<RulePart> read_parts(std::string_view end) {
    std::vector<RulePart> parts;
    while (!take(end)) {
      parts.push_back(read_value());
      if (!take(",")) CHECK(text_.starts_with(end)) << rule_->text << ": " << text_;
    }
    return parts;
  }
  RulePart read_call(std::string_view name) {
    const auto* of_argument = std::ranges::find(rule_functions_of_arguments, name, &RuleFunction::name);
    if (of_argument != std::end(rule_functions_of_arguments)) {
      const RuleItem argument = std::string(take_name()).c_str();
      expect(")");
      return [of_argument, argument](RuleScope& in) { return of_argument->apply(in, {argument}); };
    }
    std::vector<RulePart> parts = read_parts(")");
    const auto* function = std::ranges::find(rule_functions, name, &RuleFunction::name);
    if (function != std::end(rule_functions))
      return [function, parts](RuleScope& in) { return function->apply(in, all(in, parts)); };
    if (const auto found = shared_.find(name); found != shared_.end())
      return
          [rule = found->second.get(), parts](RuleScope& in) { return evaluate(in, *rule, all(in, parts)); };
    const bool has_overload = name.find('.') != std::string_view::npos;
    std::string op =
        name == "where" ? "aten.where.self" : fmt::format("aten.{}{}", name, has_overload ? "" : ".default");
    return [op, parts](RuleScope& in) { return in.build(op, all(in, parts)); };
  }

  // From the last to the first.
  static RuleItems all(RuleScope& in, const std::vector<RulePart>& parts) {
    RuleItems items(parts.size(), Argument::none());
    for (std::size_t i = parts.size(); i-- > 0;) items[i] = parts[i](in);
    return items;
  }
  static RuleItem evaluate(RuleScope& in, const RuleText::Rule& shared, RuleItems items) {
    const std::size_t outer = in.names.size();
    for (std::size_t i = 0; i < items.size(); ++i)
      in.names.emplace_back(shared.parameters[i], std::move(items[i]));
    shared.evaluate_names(in);
    RuleItem result = shared.results[0](in);
    in.names.erase(in.names.begin() + static_cast<std::ptrdiff_t>(outer), in.names.end());
    return result;
  }

  std::unique_ptr<RuleText::Rule> rule_ = std::make_unique<RuleText::Rule>();
  std::string_view text_;
  const Shared& shared_;
};

const RuleReader::Shared& read_shared_rules() {
  static const RuleReader::Shared& all = *[] {
    auto* rules = new RuleReader::Shared;  // never destroyed
    for (std::string_view rule : shared_rules) RuleReader(rule, *rules).read_shared(*rules);
    return rules;
  }();
  return all;
}

}  // namespace

RuleText::RuleText(std::string_view text) : rule_(RuleReader(text, read_shared_rules()).read()) {}
RuleText::~RuleText() = default;

Replacement RuleText::build(Builder& b, const OpCall& call, Operands operands) const {
  RuleScope in{b, call};
  for (const ArgDef& arg : call.def().args) {
    const std::string_view name = arg.name.str();
    const bool is_converted = operands != Operands::AsGiven && arg.is_promoted;
    if (!is_converted || std::ranges::find(rule_->mentioned, name) == rule_->mentioned.end()) continue;
    const ScalarType promoted = promoted_type(call);
    const ScalarType dtype = operands == Operands::Promoted   ? promoted
                             : operands == Operands::Computed ? compute_type(promoted)
                                                              : computing_type(promoted);
    in.names.emplace_back(name, operand(dtype, b, call, name).value());
  }
  rule_->evaluate_names(in);
  std::vector<Value*> results;
  for (const RulePart& part : rule_->results) {
    const RuleItem item = part(in);
    if (in.keeps) return std::vector<Value*>{};
    if (item.kind == RuleItem::Kind::Values) return item.values;
    if (!is_tensor(item)) return type_error("at least one operand must be a tensor");
    results.push_back(b.own(item.single));
  }
  if (operands == Operands::AsGiven) return results;
  TRY(const std::vector<Type> types, call.def().infer(call));
  for (std::size_t i = 0; i < results.size(); ++i)
    results[i] = to_dtype(b, results[i], types[i].tensor.dtype);
  return results;
}

}  // namespace depute::internal
