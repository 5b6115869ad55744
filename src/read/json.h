// JSON values that know their position in the file, so that every error can report it.
//
//   TRY(JsonDocument document, JsonDocument::parse(archive, entry, limits));
//   Json root(document);
//   TRY(Json graph, root.field("graph"));
//   TRY(Json graph_name, graph.field("name"));
//   TRY(std::string_view name, graph_name.string());
//
//   models/model.json: graph.name (byte 17): expected a string
//
// A Json keeps the address of its parent: take each step into a named local, as above. Documents are parsed
// as a whole by simdjson, in the mapped file if possible; byte offsets are computed only for errors. A
// document can also consist of values in memory (SchemaValue).
#pragma once

#include <simdjson.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "depute/compiler/exported_model.h"
#include "read/limits.h"
#include "read/pt2/archive.h"
#include "support/try.h"

namespace depute {

class JsonDocument {
 public:
  // `name` names the document in errors. The bytes must outlive the document, with `readable_behind` readable
  // bytes after them; if these are too few, the bytes are copied.
  static Result<JsonDocument> parse(EntryBytes bytes, std::string name, const ReadLimits& limits);
  static Result<JsonDocument> parse(const Archive& archive, const ArchiveEntry& entry,
                                    const ReadLimits& limits);
  // Creates a document from values in memory, which must outlive it.
  static JsonDocument of(const SchemaValue& values, std::string name, const ReadLimits& limits);

  const std::string& name() const { return name_; }
  std::string_view text() const { return text_; }
  const ReadLimits& limits() const { return limits_; }
  simdjson::dom::element root() const { return root_; }
  const SchemaValue* values() const { return values_; }  // null for a parsed text

 private:
  JsonDocument() = default;

  std::string name_;
  EntryBytes bytes_;
  std::string_view text_;
  ReadLimits limits_;
  std::unique_ptr<simdjson::dom::document> parsed_;
  simdjson::dom::element root_;
  const SchemaValue* values_ = nullptr;
};

class Json {
 public:
  explicit Json(const JsonDocument& document)
      : document_(&document), element_(document.root()), value_(document.values()) {}

  // field() requires the member; optional_field() returns null if it is missing.
  Result<Json> field(std::string_view key) const;
  Result<Json> optional_field(std::string_view key) const;
  // Returns the only member of an object that represents a choice: {"as_int": 3}.
  Result<std::pair<std::string_view, Json>> choice() const;

  bool is_null() const;
  bool is_string() const { return value_ != nullptr ? holds<std::string>() : element_.is_string(); }
  bool is_list() const { return value_ != nullptr ? holds<SchemaValue::List>() : element_.is_array(); }
  bool is_object() const { return value_ != nullptr ? holds<SchemaValue::Object>() : element_.is_object(); }
  // Returns the JSON text without white space, for messages.
  std::string text() const { return value_ != nullptr ? "a value" : simdjson::minify(element_); }
  Result<std::string_view> string() const;
  Result<std::int64_t> integer() const;
  Result<std::uint64_t> natural() const;
  Result<double> number() const;  // also accepts an integer, "Infinity", "-Infinity" and "NaN"
  Result<bool> boolean() const;

  Result<std::size_t> member_count() const;
  // Calls visit(Json element) or visit(std::string_view key, Json member) for each until one fails.
  template <typename Visit>
  Status for_each(Visit&& visit) const {
    std::size_t i = 0;
    const auto take = [&](const auto& element) -> Status {
      TRY_STATUS(check_count(i));
      TRY_STATUS(visit(Json(*this, element, i)));
      ++i;
      return {};
    };
    if (value_ != nullptr) {
      TRY(const SchemaValue::List* list, as<SchemaValue::List>("a list"));
      for (const SchemaValue& element : *list) TRY_STATUS(take(element));
      return {};
    }
    TRY(simdjson::dom::array array, as_array());
    for (simdjson::dom::element element : array) TRY_STATUS(take(element));
    return {};
  }
  template <typename Visit>
  Status for_each_member(Visit&& visit) const {
    if (value_ != nullptr) {
      TRY(const SchemaValue::Object* members, as<SchemaValue::Object>("an object"));
      for (const auto& [key, member] : *members) {
        TRY_STATUS(visit(std::string_view(key), Json(*this, member, std::string_view(key))));
      }
      return {};
    }
    TRY(simdjson::dom::object object, as_object());
    for (simdjson::dom::key_value_pair member : object) {
      TRY_STATUS(visit(member.key, Json(*this, member.value, member.key)));
    }
    return {};
  }

  const ReadLimits& limits() const { return document_->limits(); }
  // Returns an error at the position of this value.
  Failure fault(std::string_view message, std::string_view hint = {}) const;

 private:
  Json(const Json& parent, simdjson::dom::element element, std::string_view key)
      : document_(parent.document_), parent_(&parent), key_(key), element_(element) {}
  Json(const Json& parent, simdjson::dom::element element, std::size_t index)
      : document_(parent.document_), parent_(&parent), key_(nullptr, index), element_(element) {}
  Json(const Json& parent, const SchemaValue& value, std::string_view key)
      : document_(parent.document_), parent_(&parent), key_(key), value_(&value) {}
  Json(const Json& parent, const SchemaValue& value, std::size_t index)
      : document_(parent.document_), parent_(&parent), key_(nullptr, index), value_(&value) {}
  template <typename T>
  bool holds() const {
    return std::holds_alternative<T>(value_->value);
  }
  // Casts a value in memory.
  template <typename T>
  Result<const T*> as(std::string_view what) const {
    if (const T* held = std::get_if<T>(&value_->value); held != nullptr) return held;
    return needed(what);
  }
  Failure needed(std::string_view what) const;
  Result<simdjson::dom::array> as_array() const;
  Result<simdjson::dom::object> as_object() const;
  Status check_count(std::size_t index) const {
    if (index < limits().list_elements) return {};
    return too_long();
  }
  Failure too_long() const;
  bool is_missing() const;  // represents a missing member

  const JsonDocument* document_;
  const Json* parent_ = nullptr;
  // Key of the member in its object; with null data, the size is the index in a list.
  std::string_view key_;
  simdjson::dom::element element_;
  const SchemaValue* value_ = nullptr;  // used instead of element_ if not null
};

}  // namespace depute
