#include "read/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "read/json_place.h"
#include "read/quote.h"
#include "support/try.h"

namespace depute {
namespace {

// Locates the error in a text that simdjson rejects, since simdjson does not report a position.
class FaultFinder : public nlohmann::json_sax<nlohmann::json> {
 public:
  std::size_t position = 0;

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return true; }
  bool key(string_t&) override { return true; }
  bool end_object() override { return true; }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t at, const std::string&, const nlohmann::detail::exception&) override {
    position = at;
    return false;
  }
};

// Represents a missing member.
const SchemaValue missing_member;

std::string fault_place(std::string_view text) {
  FaultFinder finder;
  if (nlohmann::json::sax_parse(text, &finder) || finder.position == 0) return "";
  return fmt::format(" (byte {})", finder.position - 1);
}

}  // namespace

Result<JsonDocument> JsonDocument::parse(EntryBytes bytes, std::string name, const ReadLimits& limits) {
  if (bytes.bytes.size() > limits.json_bytes) {
    return beyond(limits, &ReadLimits::json_bytes,
                  failure("read_json", name, fmt::format("{} bytes", bytes.bytes.size())));
  }
  if (bytes.bytes.empty()) return failure("read_json", name, "the JSON text is empty");
  if (bytes.readable_behind < simdjson::SIMDJSON_PADDING) {
    std::vector<std::byte> padded(bytes.bytes.size() + simdjson::SIMDJSON_PADDING);
    std::ranges::copy(bytes.bytes, padded.begin());
    std::size_t size = bytes.bytes.size();
    bytes.inflated = std::move(padded);
    bytes.bytes = std::span(bytes.inflated).first(size);
  }
  JsonDocument document;
  document.name_ = std::move(name);
  document.limits_ = limits;
  document.bytes_ = std::move(bytes);
  document.text_ = {reinterpret_cast<const char*>(document.bytes_.bytes.data()),
                    document.bytes_.bytes.size()};
  // The parser's tables are freed after parsing; the document keeps only the values.
  simdjson::dom::parser parser(limits.json_bytes);
  document.parsed_ = std::make_unique<simdjson::dom::document>();
  auto fault = parser.allocate(document.text_.size(), limits.json_depth);
  if (!fault) {
    fault = parser.parse_into_document(*document.parsed_, document.text_.data(), document.text_.size(), false)
                .get(document.root_);
  }
  if (!fault) return document;
  if (fault == simdjson::MEMALLOC) throw std::bad_alloc();
  const std::string place = document.name_ + fault_place(document.text_);
  if (fault == simdjson::DEPTH_ERROR)
    return beyond(limits, &ReadLimits::json_depth, failure("read_json", place, "nested too deeply"));
  return failure("read_json", place, fmt::format("not valid JSON: {}", simdjson::error_message(fault)));
}

Result<JsonDocument> JsonDocument::parse(const Archive& archive, const ArchiveEntry& entry,
                                         const ReadLimits& limits) {
  TRY(EntryBytes bytes, archive.read(entry));
  return parse(std::move(bytes), archive.place(entry), limits);
}

JsonDocument JsonDocument::of(const SchemaValue& values, std::string name, const ReadLimits& limits) {
  JsonDocument document;
  document.name_ = std::move(name);
  document.limits_ = limits;
  document.values_ = &values;
  return document;
}

Failure Json::fault(std::string_view message, std::string_view hint) const {
  std::vector<JsonStep> steps;
  for (const Json* json = this; json->parent_ != nullptr; json = json->parent_) {
    const bool is_index = json->key_.data() == nullptr;
    steps.push_back({.key = is_index ? std::string_view() : json->key_,
                     .index = is_index ? json->key_.size() : 0,
                     .is_index = is_index});
  }
  std::ranges::reverse(steps);
  std::string where = document_->name();
  if (!steps.empty()) where += (where.empty() ? "" : ": ") + json_path(steps);
  bool has_text = value_ == nullptr;
  if (auto offset = has_text ? json_offset(document_->text(), steps) : std::nullopt) {
    where += fmt::format(" (byte {})", *offset);
  }
  return depute::failure("read_pt2", where, message, hint);
}

Result<Json> Json::field(std::string_view key) const {
  Result<Json> member = optional_field(key);
  if (member && member->is_missing()) return fault(fmt::format("the field {} is missing", quote(key)));
  return member;
}

Failure Json::needed(std::string_view what) const {
  return fault(fmt::format("expected {}", what));
}

bool Json::is_missing() const {
  return value_ == &missing_member;
}

bool Json::is_null() const {
  return value_ != nullptr ? holds<std::nullptr_t>() : element_.is_null();
}

Result<Json> Json::optional_field(std::string_view key) const {
  if (value_ != nullptr) {
    TRY(const SchemaValue::Object* members [[maybe_unused]], as<SchemaValue::Object>("an object"));
    const SchemaValue* member = value_->member(key);
    return Json(*this, member != nullptr ? *member : missing_member, key);
  }
  simdjson::dom::object object;
  if (element_.get_object().get(object)) return needed("an object");
  simdjson::dom::element element;
  if (object.at_key(key).get(element) == simdjson::SUCCESS) return Json(*this, element, key);
  return Json(*this, missing_member, key);
}

Result<std::pair<std::string_view, Json>> Json::choice() const {
  if (value_ == nullptr) {
    TRY(simdjson::dom::object object, as_object());
    if (object.size() == 1) {
      simdjson::dom::key_value_pair member = *object.begin();
      return std::pair(member.key, Json(*this, member.value, member.key));
    }
  }
  TRY(std::size_t count, member_count());
  if (count != 1) return fault(fmt::format("expected an object with one field, got {}", count));
  const auto& [key, member] = std::get<SchemaValue::Object>(value_->value)[0];
  return std::pair(std::string_view(key), Json(*this, member, std::string_view(key)));
}

Result<std::size_t> Json::member_count() const {
  if (value_ != nullptr) {
    TRY(const SchemaValue::Object* members, as<SchemaValue::Object>("an object"));
    return members->size();
  }
  TRY(simdjson::dom::object object, as_object());
  return object.size();
}

Result<std::string_view> Json::string() const {
  if (value_ != nullptr) {
    TRY(const std::string* text, as<std::string>("a string"));
    return std::string_view(*text);
  }
  std::string_view value;
  if (element_.get_string().get(value)) return needed("a string");
  return value;
}

Result<std::int64_t> Json::integer() const {
  constexpr std::string_view wanted = "an integer of 64 bits";
  if (value_ != nullptr) {
    TRY(const std::int64_t* number, as<std::int64_t>(wanted));
    return *number;
  }
  std::int64_t value = 0;
  if (element_.get_int64().get(value)) return needed(wanted);
  return value;
}

Result<std::uint64_t> Json::natural() const {
  std::uint64_t value = 0;
  if (value_ == nullptr && element_.get_uint64().get(value) == simdjson::SUCCESS) return value;
  const auto* held = value_ == nullptr ? nullptr : std::get_if<std::int64_t>(&value_->value);
  if (held == nullptr || *held < 0) return needed("an integer from 0 on");
  return static_cast<std::uint64_t>(*held);
}

Result<double> Json::number() const {
  if (value_ != nullptr) {
    if (const auto* integer = std::get_if<std::int64_t>(&value_->value)) return static_cast<double>(*integer);
    TRY(const double* number, as<double>("a number"));
    return *number;
  }
  double value = 0;
  if (element_.get_double().get(value) == simdjson::SUCCESS) return value;
  std::string_view text;
  if (element_.get_string().get(text) == simdjson::SUCCESS) {
    if (text == "Infinity") return std::numeric_limits<double>::infinity();
    if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
    if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  }
  return needed("a number");
}

Result<bool> Json::boolean() const {
  constexpr std::string_view wanted = "true or false";
  if (value_ != nullptr) {
    TRY(const bool* truth, as<bool>(wanted));
    return *truth;
  }
  bool value = false;
  if (element_.get_bool().get(value)) return needed(wanted);
  return value;
}

Result<simdjson::dom::array> Json::as_array() const {
  simdjson::dom::array array;
  if (element_.get_array().get(array)) return needed("a list");
  return array;
}

Result<simdjson::dom::object> Json::as_object() const {
  simdjson::dom::object object;
  if (element_.get_object().get(object)) return needed("an object");
  return object;
}

Failure Json::too_long() const {
  return beyond(limits(), &ReadLimits::list_elements, fault("the list is too long"));
}

}  // namespace depute
