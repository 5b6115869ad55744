// Parses rules as users write them: linear=8da4w:group=32,off=module:lm_head.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "depute/compiler/quantize.h"
#include "depute/program/result.h"
#include "platform/parse_number.h"
#include "support/number_text.h"
#include "support/try.h"

namespace depute {
namespace {

struct Scheme {
  std::string_view name;
  int weight_bits;
  bool has_dynamic_input;
};
constexpr std::array<Scheme, 4> schemes = {
    {{"8da8w", 8, true}, {"8da4w", 4, true}, {"8w", 8, false}, {"4w", 4, false}}};

struct Kind {
  std::string_view name;
  QuantizeRule::Target target;
};
constexpr std::array<Kind, 3> kinds = {{{"linear", QuantizeRule::Target::Linear},
                                        {"embedding", QuantizeRule::Target::Embedding},
                                        {"conv", QuantizeRule::Target::Convolution}}};

// XNNPACK's group sizes are multiples of 32. 4-bit rules without a group size use 32.
constexpr std::int64_t group_step = 32;

constexpr std::string_view rule_examples =
    "for example linear=8da8w, linear=8da4w:group=32,off=module:lm_head, embedding=8w, conv=8da8w, static, "
    "auto:sqnr>=30";

Failure usage_error(std::string_view text, std::string message, std::string_view hint = rule_examples) {
  return failure("usage", "--quantize", fmt::format("'{}': {}", text, message), hint);
}

Status read_option(QuantizeRule& rule, std::string_view text, std::string_view option) {
  const std::size_t equals = option.find('=');
  const std::string_view key = option.substr(0, equals);
  const std::string_view value =
      equals == std::string_view::npos ? std::string_view() : option.substr(equals + 1);
  if (key == "only" || key == "off")
    return rule.pins.add(key == "only" ? Pins::Rule::Only : Pins::Rule::Off, value);
  if (rule.target == QuantizeRule::Target::Auto)
    return usage_error(text, fmt::format("unknown option '{}'; expected only or off", key));
  if (rule.target == QuantizeRule::Target::Static) {
    if (key == "ops") {
      if (value != "all" && value != "layers")
        return usage_error(text, "ops must be layers (and what lies between them) or all");
      rule.has_all_ops = value == "all";
      return {};
    }
    if (key == "activations") {
      if (value != "8" && value != "16") return usage_error(text, "activations must be 8 or 16 (bits)");
      rule.activation_bits = value == "8" ? 8 : 16;
      return {};
    }
    if (key != "weights")
      return usage_error(
          text, fmt::format("unknown option '{}'; expected weights, ops, activations, only or off", key));
    if (value != "tensor" && value != "channel")
      return usage_error(text, "weights must be channel (a scale for each output) or tensor (one scale)");
    rule.has_one_scale = value == "tensor";
    return {};
  }
  if (key != "group") {
    const std::vector<std::string> known = {"group", "only", "off"};
    return usage_error(text, fmt::format("unknown option '{}'; expected group, only or off", key),
                       did_you_mean(key, known, rule_examples));
  }
  rule.group = parse_number<decltype(rule.group)>(value).value_or(0);
  if (value != "row" && (rule.group < group_step || rule.group % group_step != 0))
    return usage_error(text, fmt::format("the group size must be a multiple of {}, or row", group_step));
  if (rule.weight_bits == 8) return usage_error(text, "groups require 4-bit weights");
  return {};
}

Status read_options(QuantizeRule& rule, std::string_view text, std::size_t colon) {
  for (std::size_t at = colon; at != std::string_view::npos;) {
    const std::size_t comma = text.find(',', at + 1);
    TRY_STATUS(read_option(rule, text, text.substr(at + 1, comma - at - 1)));
    at = comma;
  }
  return {};
}

std::optional<double> positive_number(std::string_view text) {
  const auto number = parse_number<double>(text);
  return number && *number > 0 && std::isfinite(*number) ? number : std::nullopt;
}

// "sqnr>=30" or "size<=12M".
Result<QuantizeGoal> parse_goal(std::string_view text, std::string_view goal) {
  const std::size_t relation = std::min(goal.find_first_of("<>"), goal.size());
  const std::string_view quantity = goal.substr(0, relation);
  const std::string_view bound = goal.substr(std::min(relation + 2, goal.size()));
  if (quantity == "sqnr" && goal.substr(relation).starts_with(">=")) {
    const auto decibels = positive_number(bound);
    if (decibels) return QuantizeGoal{.is_size = false, .bound = *decibels};
  } else if (quantity == "size" && goal.substr(relation).starts_with("<=")) {
    const auto bytes = bytes_of_text(bound);
    if (bytes && *bytes > 0) return QuantizeGoal{.is_size = true, .bound = static_cast<double>(*bytes)};
  }
  return usage_error(text, fmt::format("'{}' is no goal", goal),
                     "auto:sqnr>=30 (decibels) or auto:size<=12M (bytes)");
}

// A rule without a kind: static, or static:off=module:head.
constexpr std::string_view static_scheme = "static";
constexpr std::string_view auto_scheme = "auto";

Result<QuantizeRule> parse_auto_rule(std::string_view text) {
  QuantizeRule rule{
      .target = QuantizeRule::Target::Auto, .scheme = std::string(auto_scheme), .text = std::string(text)};
  const std::size_t start = std::min(auto_scheme.size() + 1, text.size());
  const std::size_t end = text.find(',', start);
  TRY(rule.goal, parse_goal(text, text.substr(start, end - start)));
  TRY_STATUS(read_options(rule, text, end));
  return rule;
}

}  // namespace

std::vector<std::string> quantize_rule_words() {
  std::vector<std::string> words;
  for (const Kind& kind : kinds) {
    for (const Scheme& scheme : schemes) {
      std::string word = fmt::format("{}={}", kind.name, scheme.name);
      if (parse_quantize_rule(word)) words.push_back(std::move(word));
    }
  }
  words.emplace_back(static_scheme);
  words.emplace_back(fmt::format("{}:sqnr>=30", auto_scheme));
  words.emplace_back(fmt::format("{}:size<=12M", auto_scheme));
  return words;
}

Result<QuantizeRule> parse_quantize_rule(std::string_view text) {
  QuantizeRule rule{.text = std::string(text)};
  if (text.substr(0, text.find(':')) == static_scheme) {
    rule.target = QuantizeRule::Target::Static;
    rule.scheme = static_scheme;
    TRY_STATUS(read_options(rule, text, text.find(':')));
    if (rule.activation_bits == 16 && !rule.has_all_ops)
      return usage_error(text, "activations of 16 bits require ops=all", "static:ops=all,activations=16");
    return rule;
  }
  if (text.substr(0, text.find(':')) == auto_scheme) return parse_auto_rule(text);
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) return usage_error(text, "expected KIND=SCHEME, static or auto:GOAL");
  const std::string_view target = text.substr(0, equals);
  const auto* kind = std::ranges::find(kinds, target, &Kind::name);
  if (kind == kinds.end()) {
    std::vector<std::string> names;
    for (const Kind& each : kinds) names.emplace_back(each.name);
    return usage_error(text,
                       fmt::format("'{}' is invalid; expected one of {}", target, fmt::join(names, ", ")),
                       did_you_mean(target, names, rule_examples));
  }
  rule.target = kind->target;
  const std::size_t colon = text.find(':', equals);
  const std::string_view name = text.substr(equals + 1, colon - equals - 1);
  const auto* scheme = std::ranges::find(schemes, name, &Scheme::name);
  if (scheme == schemes.end()) {
    std::vector<std::string> names;
    for (const Scheme& each : schemes) names.emplace_back(each.name);
    return usage_error(text,
                       fmt::format("'{}' is invalid; expected one of {}", name, fmt::join(names, ", ")));
  }
  if (rule.target == QuantizeRule::Target::Embedding && scheme->has_dynamic_input)
    return usage_error(text, "an embedding supports the schemes 8w and 4w");
  if (rule.target == QuantizeRule::Target::Convolution && scheme != schemes.data())
    return usage_error(text, "a convolution supports the scheme 8da8w");
  rule.weight_bits = scheme->weight_bits;
  rule.has_dynamic_input = scheme->has_dynamic_input;
  rule.scheme = scheme->name;
  if (rule.weight_bits == 4) rule.group = group_step;
  TRY_STATUS(read_options(rule, text, colon));
  return rule;
}

}  // namespace depute
