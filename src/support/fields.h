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

#include "support/printable.h"

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
template <typename T>
void append_json(std::string& text, const T& value, std::size_t depth);

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

  FieldWriter() = default;
  // Appends the members to `text`, at a depth of braces.
  FieldWriter(std::string& text, std::size_t depth) : text_(&text), depth_(depth) { text += '{'; }

  template <typename T>
  void visit(const char* key, T&& value, Member member) {
    if constexpr (std::same_as<T, JsonValue>) {
      add(key, std::move(value));
    } else if (member < Member::OmitEmpty || !is_empty(value)) {
      add(key, value);
    } else if (member == Member::NullEmpty) {
      add(key, JsonValue(nullptr));
    }
  }

  JsonValue take() && { return std::move(members_); }
  void close() { *text_ += has_members_ ? "\n" + std::string(depth_, ' ') + '}' : "}"; }

 private:
  template <typename T>
  void add(const char* key, T&& value) {
    if (text_ == nullptr) {
      members_.emplace_back(key, write_json(value));
      return;
    }
    *text_ += has_members_ ? ",\n" : "\n";
    has_members_ = true;
    text_->append(depth_ + 1, ' ').append(1, '"').append(key).append("\": ");
    append_json(*text_, value, depth_ + 1);
  }

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
  std::string* text_ = nullptr;  // null: members_ are collected
  std::size_t depth_ = 0;
  bool has_members_ = false;
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

// How a type is written: structs with fields() as objects and enums with words_of() as words, also in containers. Pairs
// and tuples become lists, maps become objects, and values without fields that have str() become text. A type with
// another form has json_of(const T&).
enum class JsonForm { Json, Members, Own, Word, Text, Pointer, Map, List, Tuple, Variant, Plain };

template <typename T>
consteval JsonForm json_form() {
  constexpr bool is_text = std::convertible_to<const T&, std::string_view>;
  if (std::same_as<T, JsonValue>) return JsonForm::Json;
  if (HasFields<T>) return JsonForm::Members;
  if (requires(const T& value) {
        { json_of(value) } -> std::same_as<JsonValue>;
      })
    return JsonForm::Own;
  if (HasWords<T>) return JsonForm::Word;
  if (requires(const T& value) { value.str(); }) return JsonForm::Text;
  if (requires(const T& value) { *value; } && !is_text) return JsonForm::Pointer;
  if (requires { typename T::mapped_type; }) return JsonForm::Map;
  if (std::ranges::range<const T> && !is_text) return JsonForm::List;
  if (requires { std::tuple_size<T>::value; }) return JsonForm::Tuple;
  if (requires(const T& value) { value.valueless_by_exception(); }) return JsonForm::Variant;
  return JsonForm::Plain;
}

template <typename T>
JsonValue write_json(const T& value) {
  constexpr JsonForm form = json_form<T>();
  if constexpr (form == JsonForm::Members) {
    FieldWriter writer;
    fields(writer, const_cast<T&>(value));  // readers need the same function to take a mutable struct
    return std::move(writer).take();
  } else if constexpr (form == JsonForm::Own) {
    return json_of(value);
  } else if constexpr (form == JsonForm::Word) {
    return word_in<T>(words_of(value), value);
  } else if constexpr (form == JsonForm::Text) {
    return std::string(value.str());
  } else if constexpr (form == JsonForm::Pointer) {
    return value ? write_json(*value) : JsonValue(nullptr);
  } else if constexpr (form == JsonForm::Map) {
    JsonValue::object_t members;
    for (const auto& [key, member] : value) members.emplace_back(key_text(key), write_json(member));
    return members;
  } else if constexpr (form == JsonForm::List) {
    JsonValue::array_t elements;
    if constexpr (std::ranges::sized_range<const T>) elements.reserve(std::ranges::size(value));
    for (const auto& element : value) elements.push_back(write_json(element));
    return elements;
  } else if constexpr (form == JsonForm::Tuple) {
    return std::apply([](const auto&... parts) { return JsonValue::array({write_json(parts)...}); }, value);
  } else if constexpr (form == JsonForm::Variant) {
    return std::visit([](const auto& held) { return write_json(held); }, value);
  } else {
    return value;
  }
}

template <typename T>
void append_list(std::string& text, const T& list, std::size_t depth) {
  const char* separator = "\n";
  text += '[';
  for (const auto& element : list) {
    text.append(separator).append(depth + 1, ' ');
    separator = ",\n";
    append_json(text, element, depth + 1);
  }
  if (*separator == ',') text.append(1, '\n').append(depth, ' ');
  text += ']';
}

// Names from files may contain any bytes: replaces invalid UTF-8, and escapes what cannot be printed. Without an indent,
// the text is one line.
inline std::string json_text(const JsonValue& json, int indent = -1) {
  return printable_json(json.dump(indent, ' ', false, JsonValue::error_handler_t::replace));
}

inline bool is_plain(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= ' ' && c < 0x7f && c != '"' && c != '\\'; });
}

// Appends what write_json() returns, indented by 1, one value after the other: of large reports there is never a tree.
template <typename T>
void append_json(std::string& text, const T& value, std::size_t depth) {
  constexpr JsonForm form = json_form<T>();
  if constexpr (form == JsonForm::Members) {
    FieldWriter writer(text, depth);
    fields(writer, const_cast<T&>(value));
    writer.close();
  } else if constexpr (form == JsonForm::List) {
    append_list(text, value, depth);
  } else if constexpr (std::same_as<T, std::string>) {
    if (is_plain(value)) {
      text.append(1, '"').append(value).append(1, '"');
    } else {
      text += json_text(write_json(value));
    }
  } else {
    const std::string dumped = json_text(write_json(value), 1);
    for (const char c : dumped) {
      text += c;
      if (c == '\n') text.append(depth, ' ');
    }
  }
}

// Returns the text of write_json(value), ended by a line feed.
template <typename T>
std::string json_document(const T& value) {
  std::string text;
  append_json(text, value, 0);
  text += '\n';
  return text;
}

// Returns the JSON text, ended by a line feed.
inline std::string dump_json(const JsonValue& json, int indent) {
  return json_text(json, indent) + "\n";
}

}  // namespace depute
