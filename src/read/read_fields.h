// Reads a JSON object into a struct that lists its members by fields() (support/fields.h).
//
//   SupportLimit limit;
//   TRY_STATUS(read_json(json, limit));
//
//   reports/a.json: nodes[3].name (byte 17): expected a string
//
// Members that fields() does not visit are ignored.
#pragma once

#include <fmt/format.h>

#include <limits>
#include <string>
#include <utility>

#include "depute/program/name.h"
#include "platform/parse_number.h"
#include "read/json.h"
#include "read/quote.h"
#include "support/fields.h"
#include "support/try.h"

namespace depute {

template <typename T>
Status read_json(const Json& json, T& value);

class FieldReader : public FieldVisits<FieldReader> {
 public:
  static constexpr bool reads = true;

  explicit FieldReader(const Json& object) : object_(object) {}

  void visit(std::string_view key, auto& value, Member member) {
    if (status_) status_ = read(key, value, member);
  }

  Status take() && { return std::move(status_); }

 private:
  Status read(std::string_view key, auto& value, Member member) {
    const bool is_required = member == Member::Required;
    TRY(const Json json, is_required ? object_.field(key) : object_.optional_field(key));
    if (!is_required && json.is_null()) return {};
    return read_json(json, value);
  }

  const Json& object_;
  Status status_;
};

template <typename T>
Status read_word(const Json& json, Words<T> words, T& value) {
  TRY(const std::string_view text, json.string());
  std::string known;
  for (const auto& [word, meant] : words) {
    if (word == text) {
      value = meant;
      return {};
    }
    known += fmt::format("{}{}", known.empty() ? "" : ", ", word);
  }
  return json.fault(fmt::format("{} must be one of {}", quote(text), known));
}

template <std::integral T>
Status read_integer(const Json& json, T& value) {
  std::conditional_t<std::unsigned_integral<T>, std::uint64_t, std::int64_t> number = 0;
  if constexpr (std::unsigned_integral<T>) {
    TRY(number, json.natural());
  } else {
    TRY(number, json.integer());
  }
  if (!std::in_range<T>(number))
    return json.fault(fmt::format("{} is not in the range from {} to {}", number,
                                  std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
  value = static_cast<T>(number);
  return {};
}

template <typename T>
Status read_members(const Json& json, T& members) {
  return json.for_each_member([&](std::string_view text, const Json& member) -> Status {
    typename T::key_type key{};
    if constexpr (std::integral<typename T::key_type>) {
      const auto number = parse_number<typename T::key_type>(text);
      if (!number) return member.fault(fmt::format("its key {} is not a number", quote(text)));
      key = *number;
    } else {
      key = text;
    }
    return read_json(member, members[key]);
  });
}

template <typename First, typename Second>
Status read_pair(const Json& json, std::pair<First, Second>& pair) {
  std::size_t count = 0;
  TRY_STATUS(json.for_each([&](const Json& element) -> Status {
    ++count;
    if (count == 1) return read_json(element, pair.first);
    if (count == 2) return read_json(element, pair.second);
    return {};
  }));
  if (count != 2) return json.fault(fmt::format("expected a list of two values, got {}", count));
  return {};
}

// Reads the values that write_json() writes. A type with another form has read_leaf(const Json&, T&).
template <typename T>
Status read_json(const Json& json, T& value) {
  if constexpr (requires { read_leaf(json, value); }) {
    return read_leaf(json, value);
  } else if constexpr (requires(FieldReader& visit) { fields(visit, value); }) {
    FieldReader reader(json);
    fields(reader, value);
    return std::move(reader).take();
  } else if constexpr (HasWords<T>) {
    return read_word<T>(json, words_of(value), value);
  } else if constexpr (std::same_as<T, bool>) {
    TRY(value, json.boolean());
    return {};
  } else if constexpr (std::integral<T>) {
    return read_integer(json, value);
  } else if constexpr (std::floating_point<T>) {
    TRY(value, json.number());
    return {};
  } else if constexpr (std::same_as<T, std::string> || std::same_as<T, Name>) {
    TRY(const std::string_view text, json.string());
    value = T(text);
    return {};
  } else if constexpr (requires { value.has_value(); }) {
    return read_json(json, value.emplace());
  } else if constexpr (requires { typename T::mapped_type; }) {
    return read_members(json, value);
  } else if constexpr (requires { std::tuple_size<T>::value; }) {
    return read_pair(json, value);
  } else if constexpr (std::same_as<T, std::variant<std::int64_t, std::string>>) {
    if (json.is_string()) return read_json(json, value.template emplace<std::string>());
    return read_json(json, value.template emplace<std::int64_t>());
  } else {
    return json.for_each([&](const Json& element) { return read_json(element, value.emplace_back()); });
  }
}

}  // namespace depute
