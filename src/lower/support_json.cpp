#include "lower/support_json.h"

namespace depute {
namespace {

using SupportJson = nlohmann::ordered_json;

SupportJson json_of(const SupportLimit& limit) {
  SupportJson json = {{"of", limit.of}, {"kind", limit.kind}};
  if (limit.least) json["least"] = *limit.least;
  if (limit.most) json["most"] = *limit.most;
  if (!limit.values.empty()) json["values"] = limit.values;
  return json;
}

SupportLimit support_limit_of(const SupportJson& json) {
  SupportLimit limit = {.of = json.value("of", std::string()), .kind = json.value("kind", std::string())};
  if (json.contains("least")) limit.least = json.at("least").get<double>();
  if (json.contains("most")) limit.most = json.at("most").get<double>();
  limit.values = json.value("values", std::vector<std::string>());
  return limit;
}

}  // namespace

SupportJson json_of(const SupportRow& row) {
  SupportJson json = {{"op", row.op}, {"conditions", row.conditions}};
  json["types"] = row.types;
  json["mixes_types"] = row.mixes_types;
  json["layouts"] = row.layouts;
  json["forms"] = SupportJson::array();
  for (const std::vector<SupportLimit>& form : row.forms) {
    SupportJson& limits = json["forms"].emplace_back(SupportJson::array());
    for (const SupportLimit& limit : form) limits.push_back(json_of(limit));
  }
  return json;
}

std::string support_json(std::span<const SupportRow> rows) {
  SupportJson json = SupportJson::array();
  for (const SupportRow& row : rows) json.push_back(json_of(row));
  return json.dump();
}

SupportRow support_row_of(const SupportJson& json) {
  SupportRow row = {.op = json.at("op").get<std::string>(),
                    .conditions = json.value("conditions", std::string()),
                    .types = json.value("types", std::vector<std::string>()),
                    .mixes_types = json.value("mixes_types", false),
                    .layouts = json.value("layouts", std::vector<std::string>())};
  for (const SupportJson& form : json.value("forms", SupportJson::array())) {
    std::vector<SupportLimit>& limits = row.forms.emplace_back();
    for (const SupportJson& limit : form) limits.push_back(support_limit_of(limit));
  }
  return row;
}

}  // namespace depute
