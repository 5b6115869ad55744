// JSON values that know their place in the file, so that every error can name it.
//
//   TRY(JsonDocument document, JsonDocument::parse(archive, entry, limits));
//   Json root(document);
//   TRY(Json graph, root.field("graph"));
//   TRY(std::string_view name, graph_name.string());   // or "models/model.json: graph.name (byte 17): not a
//   string"
//
// A Json remembers the Json it was taken from by address: take each step into a named local, as above.
// Documents are parsed whole by simdjson, in the mapped file where that is possible; byte offsets are found
// only when an error needs one. A document may also be values that lie in memory as such (SchemaValue).
#pragma once

#include <simdjson.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "depute/exported_model.h"
#include "read/archive.h"
#include "read/limits.h"
#include "support/try.h"

namespace depute {

class JsonDocument {
 public:
  // `name` is what errors call the document. The bytes must live as long as it, with `readable_behind`
  // readable bytes after them (they are copied when that is too few).
  static Result<JsonDocument> parse(EntryBytes bytes, std::string name, const ReadLimits& limits);
  static Result<JsonDocument> parse(const Archive& archive, const ArchiveEntry& entry,
                                    const ReadLimits& limits);
  // A document without a text. The values must live as long as it.
  static JsonDocument of(const SchemaValue& values, std::string name, const ReadLimits& limits);

  const std::string& name() const { return name_; }
  std::string_view text() const { return text_; }
  const ReadLimits& limits() const { return limits_; }
  simdjson::dom::element root() const { return root_; }
  const SchemaValue* values() const { return values_; }  // null of a text

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

  // A member that must be there; a member that may be missing (then it is null).
  Result<Json> field(std::string_view key) const;
  Result<Json> optional_field(std::string_view key) const;
  // The one member of an object that stands for a choice: {"as_int": 3}.
  Result<std::pair<std::string_view, Json>> choice() const;

  bool is_null() const;
  Result<std::string_view> string() const;
  Result<std::int64_t> integer() const;
  Result<double> number() const;  // also an integer, and the texts "Infinity", "-Infinity", "NaN"
  Result<bool> boolean() const;

  Result<std::size_t> member_count() const;
  // Calls visit(Json element) or visit(std::string_view key, Json member) for each, until one fails.
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
  // An error at this place.
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
  // Of a value in memory.
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
  bool is_missing() const;  // stands for a member that is not there

  const JsonDocument* document_;
  const Json* parent_ = nullptr;
  // The member of an object; without text the element of an array, and its size is the index.
  std::string_view key_;
  simdjson::dom::element element_;
  const SchemaValue* value_ = nullptr;  // in the place of element_
};

}  // namespace depute
