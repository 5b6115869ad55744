// Lists the members of a struct once, for its JSON writer and for its reader (read/read_fields.h).
//
//   void fields(auto& visit, SupportLimit& limit) {
//     visit("of", limit.of, "kind", limit.kind);
//     visit.omit_empty("least", limit.least, "most", limit.most);
//   }
//
//   write_json(SupportLimit{.of = "x", .kind = "rank", .least = 1})
//     ->  {"of": "x", "kind": "rank", "least": 1.0}
//
// Members have the order of the visits. A struct that is only written has fields(FieldWriter&, const T&).
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

namespace depute {

using JsonValue = nlohmann::ordered_json;

// Handling of an empty value (no value, no text, no elements) in writing, and of a missing or null member in
// reading: unless the member is required, the struct keeps its value.
enum class Member : std::uint8_t {
  Required,   // written in any case
  Optional,   // written in any case, may be missing
  OmitEmpty,  // omitted if empty
  NullEmpty,  // null if empty
};

// The values of an enum and their spelling in JSON: words_of(value) returns all of them.
template <typename T>
using Words = std::span<const std::pair<std::string_view, T>>;

template <typename T>
concept HasWords = requires(T value) {
  { words_of(value) } -> std::convertible_to<Words<T>>;
};

template <typename T>
std::string_view word_in(Words<T> words, T value) {
  return std::ranges::find(words, value, &std::pair<std::string_view, T>::second)->first;
}

class FieldWriter;

template <typename T>
concept HasFields = requires(FieldWriter& visit, T& value) { fields(visit, value); };

template <typename T>
JsonValue write_json(const T& value);

// Calls of a visitor, each with keys and values in turn. The values of one call are computed in any order.
template <typename Self>
class FieldVisits {
 public:
  void operator()(auto&&... all) { each<Member::Required>(std::forward<decltype(all)>(all)...); }
  void optional(auto&&... all) { each<Member::Optional>(std::forward<decltype(all)>(all)...); }
  void omit_empty(auto&&... all) { each<Member::OmitEmpty>(std::forward<decltype(all)>(all)...); }
  void null_if_empty(auto&&... all) { each<Member::NullEmpty>(std::forward<decltype(all)>(all)...); }
  // Values that readers ignore, since other members determine them.
  void derived(auto&&... all) {
    if constexpr (!Self::reads) each<Member::Required>(std::forward<decltype(all)>(all)...);
  }

 private:
  template <Member member, typename T, typename... Rest>
  void each(const char* key, T&& value, Rest&&... rest) {
    static_cast<Self&>(*this).visit(key, std::forward<T>(value), member);
    if constexpr (sizeof...(rest) > 0) each<member>(std::forward<Rest>(rest)...);
  }
};

class FieldWriter : public FieldVisits<FieldWriter> {
 public:
  static constexpr bool reads = false;

  FieldWriter() { members_.reserve(12); }

  template <typename T>
  void visit(const char* key, T&& value, Member member) {
    if constexpr (std::same_as<T, JsonValue>) {
      members_.emplace_back(key, std::move(value));
    } else if (member < Member::OmitEmpty || !is_empty(value)) {
      members_.emplace_back(key, write_json(value));
    } else if (member == Member::NullEmpty) {
      members_.emplace_back(key, nullptr);
    }
  }

  // All writers allocate the same room and give it back, so that large documents leave no gaps in the heap.
  JsonValue take() && {
    members_.shrink_to_fit();
    return std::move(members_);
  }

 private:
  template <typename T>
  static bool is_empty(const T& value) {
    if constexpr (requires { value.has_value(); }) {
      return !value.has_value();
    } else if constexpr (requires { value.empty(); }) {
      return value.empty();
    } else {
      return false;
    }
  }

  JsonValue::object_t members_;
};

template <typename Key>
std::string key_text(const Key& key) {
  if constexpr (std::integral<Key>) {
    return std::to_string(key);
  } else if constexpr (requires { key.str(); }) {
    return std::string(key.str());
  } else {
    return key;
  }
}

// Writes structs with fields() and enums with words_of(), also in containers. Pairs and tuples become lists,
// maps become objects, and values without fields that have str() become text. A type with another form has
// json_of(const T&).
template <typename T>
JsonValue write_json(const T& value) {
  if constexpr (std::same_as<T, JsonValue>) {
    return value;
  } else if constexpr (HasFields<T>) {
    FieldWriter writer;
    fields(writer, const_cast<T&>(value));  // readers need the same function to take a mutable struct
    return std::move(writer).take();
  } else if constexpr (requires {
                         { json_of(value) } -> std::same_as<JsonValue>;
                       }) {
    return json_of(value);
  } else if constexpr (HasWords<T>) {
    return word_in<T>(words_of(value), value);
  } else if constexpr (requires { value.str(); }) {
    return std::string(value.str());
  } else if constexpr (requires { *value; } && !std::convertible_to<const T&, std::string_view>) {
    return value ? write_json(*value) : JsonValue(nullptr);  // an optional or a pointer
  } else if constexpr (requires { typename T::mapped_type; }) {
    JsonValue::object_t members;
    for (const auto& [key, member] : value) members.emplace_back(key_text(key), write_json(member));
    return members;
  } else if constexpr (std::ranges::range<const T> && !std::convertible_to<const T&, std::string_view>) {
    JsonValue::array_t elements;
    if constexpr (std::ranges::sized_range<const T>) elements.reserve(std::ranges::size(value));
    for (const auto& element : value) elements.push_back(write_json(element));
    return elements;
  } else if constexpr (requires { std::tuple_size<T>::value; }) {
    return std::apply([](const auto&... parts) { return JsonValue::array({write_json(parts)...}); }, value);
  } else if constexpr (requires { value.valueless_by_exception(); }) {
    return std::visit([](const auto& held) { return write_json(held); }, value);
  } else {
    return value;
  }
}

// Returns the JSON text, ended by a line feed. Replaces invalid UTF-8, which names from files may contain.
inline std::string dump_json(const JsonValue& json, int indent) {
  return json.dump(indent, ' ', false, JsonValue::error_handler_t::replace) + "\n";
}

}  // namespace depute
