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
// only when an error needs one.
#pragma once

#include <simdjson.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

  const std::string& name() const { return name_; }
  std::string_view text() const { return text_; }
  const ReadLimits& limits() const { return limits_; }
  simdjson::dom::element root() const { return root_; }

 private:
  JsonDocument() = default;

  std::string name_;
  EntryBytes bytes_;
  std::string_view text_;
  ReadLimits limits_;
  std::unique_ptr<simdjson::dom::document> parsed_;
  simdjson::dom::element root_;
};

class Json {
 public:
  explicit Json(const JsonDocument& document) : document_(&document), element_(document.root()) {}

  // A member that must be there; a member that may be missing (then it is null).
  Result<Json> field(std::string_view key) const;
  Result<Json> optional_field(std::string_view key) const;
  // The one member of an object that stands for a choice: {"as_int": 3}.
  Result<std::pair<std::string_view, Json>> choice() const;

  bool is_null() const { return is_missing_ || element_.is_null(); }
  Result<std::string_view> string() const;
  Result<std::int64_t> integer() const;
  Result<double> number() const;  // also an integer, and the texts "Infinity", "-Infinity", "NaN"
  Result<bool> boolean() const;

  Result<std::size_t> member_count() const;
  // Calls visit(Json element) or visit(std::string_view key, Json member) for each, until one fails.
  template <typename Visit>
  Status for_each(Visit&& visit) const {
    TRY(simdjson::dom::array array, as_array());
    std::size_t i = 0;
    for (simdjson::dom::element element : array) {
      TRY_STATUS(check_count(i));
      TRY_STATUS(visit(Json(*this, element, i)));
      ++i;
    }
    return {};
  }
  template <typename Visit>
  Status for_each_member(Visit&& visit) const {
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
      : document_(parent.document_), parent_(&parent), index_(index), element_(element) {}
  Result<simdjson::dom::array> as_array() const;
  Result<simdjson::dom::object> as_object() const;
  Status check_count(std::size_t index) const;

  const JsonDocument* document_;
  const Json* parent_ = nullptr;
  std::string_view key_;     // of an object's member
  std::size_t index_ = 0;    // of an array's element
  bool is_missing_ = false;  // stands for a member that is not there
  simdjson::dom::element element_;
};

}  // namespace depute
