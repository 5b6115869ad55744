#include "lower/result_json.h"

#include <fmt/format.h>

#include <iterator>
#include <limits>
#include <unordered_map>

#include "support/try.h"

namespace depute {
namespace {

using ResultJson = nlohmann::ordered_json;

// Upper bound on ids in one answer; more is treated as corrupt.
constexpr std::int64_t max_told_ids = 10'000'000;

// Maps the storages of a partition to their constant. If several constants share a storage, the first one.
using ConstantNames = std::unordered_map<const Storage*, Name>;

ConstantNames constant_names(const Program& partition) {
  ConstantNames names;
  for (const auto& [key, data] : partition.data) {
    if (const auto storage = dense_bytes(data); storage == data.storage) names.emplace(storage.get(), key);
  }
  return names;
}

ResultJson json_of(const DelegateDebugId& id) {
  if (const auto* number = std::get_if<std::int64_t>(&id)) return *number;
  return std::get<std::string>(id);
}

DelegateDebugId id_of(const ResultJson& json) {
  if (json.is_string()) return json.get<std::string>();
  return json.get<std::int64_t>();
}

ResultJson json_of(const TensorType& type) {
  ResultJson sizes = ResultJson::array();
  ResultJson strides = ResultJson::array();
  for (const SymInt& size : type.sizes) sizes.push_back(size.value());
  for (const SymInt& stride : type.strides) strides.push_back(stride.value());
  return {{"dtype", name(type.dtype)}, {"sizes", sizes}, {"strides", strides}};
}

// Writes three or more consecutive numbers as [first, last].
ResultJson json_of_handles(const std::vector<std::uint32_t>& handles) {
  ResultJson list = ResultJson::array();
  for (std::size_t i = 0; i < handles.size();) {
    std::size_t end = i + 1;
    while (end < handles.size() && handles[end] == handles[end - 1] + 1) ++end;
    if (end - i < 3) end = i + 1;
    list.push_back(end == i + 1 ? ResultJson(handles[i]) : ResultJson::array({handles[i], handles[end - 1]}));
    i = end;
  }
  return list;
}

// All handles of one result together are at most max_told_ids; `room` is the number still allowed.
Result<std::vector<std::uint32_t>> handles_of(const ResultJson& list, std::int64_t& room) {
  std::vector<std::uint32_t> handles;
  for (const ResultJson& entry : list) {
    const bool is_run = entry.is_array();
    const auto first = (is_run ? entry.at(0) : entry).get<std::int64_t>();
    const auto last = is_run ? entry.at(1).get<std::int64_t>() : first;
    const bool is_sound = first >= 0 && last >= first && last <= std::numeric_limits<std::uint32_t>::max() &&
                          last - first < room;
    if (!is_sound) return failure("result", "map", fmt::format("{} are no debug handles", entry.dump()));
    room -= last - first + 1;
    for (std::int64_t handle = first; handle <= last; ++handle)
      handles.push_back(static_cast<std::uint32_t>(handle));
  }
  return handles;
}

// [0, [1, 2]] maps the id 0 to the handles 1 and 2. [3, 7, 12] maps the ids 3 to 7 to one handle each,
// starting at 12.
class MapRows {
 public:
  void add(const DelegateDebugId& id, const std::vector<std::uint32_t>& handles) {
    const auto* number = std::get_if<std::int64_t>(&id);
    if (number == nullptr || handles.size() != 1) {
      close_run();
      rows_.push_back(ResultJson::array({json_of(id), json_of_handles(handles)}));
      return;
    }
    if (length_ > 0 && *number == first_ + length_ && handles[0] == handle_ + length_) {
      ++length_;
      return;
    }
    close_run();
    first_ = *number;
    handle_ = handles[0];
    length_ = 1;
  }

  ResultJson take() && {
    close_run();
    return std::move(rows_);
  }

 private:
  void close_run() {
    if (length_ == 1) rows_.push_back(ResultJson::array({first_, ResultJson::array({handle_})}));
    if (length_ > 1) rows_.push_back(ResultJson::array({first_, first_ + length_ - 1, handle_}));
    length_ = 0;
  }

  ResultJson rows_ = ResultJson::array();
  std::int64_t first_ = 0;
  std::int64_t handle_ = 0;
  std::int64_t length_ = 0;
};

Status add_row(const ResultJson& row, DebugHandleMap& map, std::int64_t& room) {
  if (!row.at(1).is_number()) {
    TRY(std::vector<std::uint32_t> handles, handles_of(row.at(1), room));
    map.emplace_back(id_of(row.at(0)), std::move(handles));
    return {};
  }
  const auto first = row.at(0).get<std::int64_t>();
  const auto last = row.at(1).get<std::int64_t>();
  const auto handle = row.at(2).get<std::int64_t>();
  const bool is_sound = handle >= 0 && first >= 0 && last >= first && last - first < room &&
                        handle + (last - first) <= std::numeric_limits<std::uint32_t>::max();
  if (!is_sound) return failure("result", "map", fmt::format("{} is no run of ids", row.dump()));
  room -= last - first + 1;
  for (std::int64_t id = first; id <= last; ++id)
    map.emplace_back(id, std::vector{static_cast<std::uint32_t>(handle + (id - first))});
  return {};
}

Result<TensorType> type_of(const ResultJson& json) {
  const auto dtype = scalar_type_from_name(json.at("dtype").get<std::string>());
  if (!dtype)
    return failure("result", "layout.dtype", fmt::format("there is no type {}", json.at("dtype").dump()));
  Dims sizes;
  Dims strides;
  for (const ResultJson& size : json.at("sizes")) sizes.push_back(SymInt(size.get<std::int64_t>()));
  for (const ResultJson& stride : json.value("strides", ResultJson::array()))
    strides.push_back(SymInt(stride.get<std::int64_t>()));
  if (!strides.empty() && strides.size() != sizes.size())
    return failure("result", "layout.strides", "there is not one for each size");
  return make_tensor(*dtype, std::move(sizes), std::move(strides));
}

Result<ResultJson> json_of(const NamedData& named, const ConstantNames& constants, const WriteBytes& write) {
  ResultJson json = {{"key", named.key}, {"alignment", named.alignment}, {"tag", named.external_tag}};
  if (named.layout) json["layout"] = json_of(*named.layout);
  if (const auto constant = constants.find(named.storage.get()); constant != constants.end()) {
    json["constant"] = std::string(constant->second.str());
  } else {
    TRY(json["blob"], write(*named.storage));
  }
  return json;
}

Result<std::shared_ptr<const Storage>> constant_bytes(const std::string& name, const Program& partition) {
  const TensorData* data = partition.find_data(Name(name));
  if (data == nullptr)
    return failure("result", "data", fmt::format("it names a constant that is not there: '{}'", name));
  return dense_bytes(*data);
}

Result<NamedData> data_of(const ResultJson& row, const Program& partition, const ReadBytes& read) {
  NamedData named{.key = row.at("key").get<std::string>(),
                  .storage = {},
                  .alignment = row.value("alignment", std::size_t{16}),
                  .external_tag = row.value("tag", std::string())};
  if (row.contains("layout")) {
    TRY(named.layout, type_of(row.at("layout")));
  }
  TRY(named.storage, row.contains("constant")
                         ? constant_bytes(row.at("constant").get<std::string>(), partition)
                         : read(row.at("blob")));
  return named;
}

}  // namespace

Result<ResultJson> json_of_result(const PreprocessResult& result, const Program& partition,
                                  const WriteBytes& write) {
  ResultJson json = {
      {"info", result.delegate_info}, {"padding", result.arena_padding}, {"inline", result.inline_bytes}};
  TRY(json["payload"], write(*result.processed_bytes));
  MapRows map;
  for (const auto& [id, handles] : result.debug_handle_map) map.add(id, handles);
  json["map"] = std::move(map).take();
  json["data"] = ResultJson::array();
  const ConstantNames constants = constant_names(partition);
  for (const NamedData& named : result.data_store_output) {
    TRY(ResultJson row, json_of(named, constants, write));
    json["data"].push_back(std::move(row));
  }
  return json;
}

Result<PreprocessResult> result_of_json(const ResultJson& json, const Program& partition,
                                        const ReadBytes& read) {
  PreprocessResult result;
  TRY(result.processed_bytes, read(json.at("payload")));
  std::int64_t room = max_told_ids;
  if (const auto map = json.find("map"); map != json.end()) {
    for (const ResultJson& row : *map) TRY_STATUS(add_row(row, result.debug_handle_map, room));
  }
  if (const auto data = json.find("data"); data != json.end()) {
    for (const ResultJson& row : *data) {
      TRY(NamedData named, data_of(row, partition, read));
      result.data_store_output.push_back(std::move(named));
    }
  }
  result.delegate_info = json.value("info", std::string());
  result.arena_padding = json.value("padding", std::uint32_t{0});
  result.inline_bytes = json.value("inline", false);
  return result;
}

}  // namespace depute
