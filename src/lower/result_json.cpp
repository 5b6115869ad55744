#include "lower/result_json.h"

#include <fmt/format.h>

#include <limits>
#include <unordered_map>

#include "ir/debug_handles.h"
#include "lower/number_runs.h"

namespace depute {

// --- the map from a delegate's ids to debug handles
//
//   [0, [1, 2]]   the id 0 has the handles 1 and 2
//   [3, 7, 12]    the ids 3 to 7 have one handle each, starting at 12

struct HandleRows {
  DebugHandleMap map = {};
  std::int64_t room =
      0;  // numbers that ranges may stand for, beyond one each: a few bytes could stand for any number
};

namespace {

constexpr std::int64_t max_handle = std::numeric_limits<std::uint32_t>::max();

class RowWriter {
 public:
  explicit RowWriter(std::int64_t room) : room_(room) {}

  void add(const DelegateDebugId& id, const std::vector<std::uint32_t>& handles) {
    const auto* number = std::get_if<std::int64_t>(&id);
    if (number == nullptr || handles.size() != 1) {
      close_run();
      NumberRuns numbers;
      for (const std::uint32_t handle : handles) add(numbers, handle);
      rows_.push_back({write_json(id), write_json(numbers)});
    } else if (length_ > 0 && *number == first_ + length_ && handles[0] == handle_ + length_ && room_ > 0) {
      ++length_;
      --room_;
    } else {
      close_run();
      first_ = *number;
      handle_ = handles[0];
      length_ = 1;
    }
  }

  JsonValue take() && {
    close_run();
    return std::move(rows_);
  }

 private:
  void add(NumberRuns& numbers, std::int64_t handle) {
    const std::size_t before = numbers.runs.size();
    if (room_ > 0)
      numbers.add(handle);
    else
      numbers.runs.emplace_back(handle, handle);
    if (numbers.runs.size() == before) --room_;
  }

  void close_run() {
    if (length_ == 1) rows_.push_back({first_, JsonValue::array({handle_})});
    if (length_ > 1) rows_.push_back({first_, first_ + length_ - 1, handle_});
    length_ = 0;
  }

  JsonValue rows_ = JsonValue::array();
  std::int64_t room_;
  std::int64_t first_ = 0;
  std::int64_t handle_ = 0;
  std::int64_t length_ = 0;
};

class RowReader {
 public:
  explicit RowReader(HandleRows& rows) : map_(rows.map), room_(rows.room) {}

  Status read(const Json& row) {
    std::vector<Json> cells;
    TRY_STATUS(row.for_each([&](const Json& cell) -> Status {
      cells.push_back(cell);
      return {};
    }));
    if (cells.size() == 2 && cells[1].is_list()) return read_handles(cells[0], cells[1]);
    if (cells.size() == 3) return read_run(row, cells);
    return row.fault(fmt::format("{} is neither [id, handles] nor [first id, last id, handle]", row.text()));
  }

 private:
  Status read_handles(const Json& id, const Json& list) {
    NumberRuns numbers;
    TRY_STATUS(read_json(list, numbers));
    auto& [key, handles] = map_.emplace_back();
    TRY_STATUS(read_json(id, key));
    for (const auto& [first, last] : numbers.runs) {
      if (first < 0 || last < first || last > max_handle)
        return list.fault(fmt::format("[{},{}] is not a range of debug handles", first, last));
      TRY_STATUS(take_room(list, last - first));
      for (std::int64_t handle = first; handle <= last; ++handle)
        handles.push_back(static_cast<std::uint32_t>(handle));
    }
    return {};
  }

  Status read_run(const Json& row, const std::vector<Json>& cells) {
    std::int64_t numbers[3] = {};
    for (std::size_t i = 0; i < 3; ++i) TRY_STATUS(read_json(cells[i], numbers[i]));
    const auto& [first, last, handle] = numbers;
    const bool is_sound = handle >= 0 && first >= 0 && last >= first && handle <= max_handle - (last - first);
    if (!is_sound) return row.fault(fmt::format("{} is not a range of ids", row.text()));
    TRY_STATUS(take_room(row, last - first));
    for (std::int64_t id = first; id <= last; ++id)
      map_.emplace_back(id, std::vector{static_cast<std::uint32_t>(handle + (id - first))});
    return {};
  }

  Status take_room(const Json& place, std::int64_t numbers) {
    if (numbers > room_)
      return place.fault(fmt::format("ranges stand for {} more numbers than a map of this partition may have",
                                     numbers - room_));
    room_ -= numbers;
    return {};
  }

  DebugHandleMap& map_;
  std::int64_t room_;
};

}  // namespace

static JsonValue json_of(const HandleRows& rows) {
  RowWriter writer(rows.room);
  for (const auto& [id, handles] : rows.map) writer.add(id, handles);
  return std::move(writer).take();
}

static Status read_leaf(const Json& json, HandleRows& rows) {
  RowReader reader(rows);
  return json.for_each([&](const Json& row) { return reader.read(row); });
}

// --- named data and results

struct StoredLayout {
  std::string dtype;
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;
};

void fields(auto& visit, StoredLayout& layout) {
  visit("dtype", layout.dtype, "sizes", layout.sizes);
  visit.optional("strides", layout.strides);
}

struct StoredData {
  NamedData data;
  std::optional<StoredLayout> layout;
  std::optional<std::string> constant;
  std::optional<StoredBytes> blob;
};

void fields(auto& visit, StoredData& stored) {
  visit("key", stored.data.key);
  visit.optional("alignment", stored.data.alignment, "tag", stored.data.external_tag);
  visit.omit_empty("layout", stored.layout, "constant", stored.constant, "blob", stored.blob);
}

struct StoredResult {
  PreprocessResult result;
  StoredBytes payload;
  HandleRows rows;
  std::vector<StoredData> data;
};

void fields(auto& visit, StoredResult& stored) {
  visit.optional("info", stored.result.delegate_info, "padding", stored.result.arena_padding, "inline",
                 stored.result.inline_bytes);
  visit("payload", stored.payload);
  visit.optional("map", stored.rows, "data", stored.data);
}

namespace {

// Maps the storages of a partition to their constant. If several constants share a storage, the first one.
using ConstantNames = std::unordered_map<const Storage*, Name>;

ConstantNames constant_names(const Program& partition) {
  ConstantNames names;
  for (const auto& [key, data] : partition.data) {
    if (const auto storage = dense_bytes(data); storage == data.storage) names.emplace(storage.get(), key);
  }
  return names;
}

// Room for ranges of 16 ids for each handle of the partition. A map that has more is written without ranges.
std::int64_t room_for_ranges(const Program& partition) {
  constexpr std::size_t base = 4096;
  constexpr std::size_t ids_of_handle = 16;
  return static_cast<std::int64_t>(base + ids_of_handle * debug_handles(partition).size());
}

StoredLayout stored_layout(const TensorType& type) {
  StoredLayout layout{.dtype = std::string(name(type.dtype))};
  for (const SymInt& size : type.sizes) layout.sizes.push_back(size.value());
  for (const SymInt& stride : type.strides) layout.strides.push_back(stride.value());
  return layout;
}

Result<TensorType> type_of(const StoredLayout& layout) {
  const auto dtype = scalar_type_from_name(layout.dtype);
  if (!dtype) return failure("result", "layout.dtype", fmt::format("there is no type '{}'", layout.dtype));
  if (!layout.strides.empty() && layout.strides.size() != layout.sizes.size())
    return failure("result", "layout.strides", "there is not one for each size");
  return make_tensor(*dtype, Dims(layout.sizes.begin(), layout.sizes.end()),
                     Dims(layout.strides.begin(), layout.strides.end()));
}

Result<std::shared_ptr<const Storage>> bytes_of(const StoredData& stored, const Program& partition,
                                                const ReadBytes& read) {
  if (!stored.constant) return read(stored.blob.value_or(StoredBytes()));
  const TensorData* data = partition.find_data(Name::scoped(*stored.constant));
  if (data == nullptr)
    return failure("result", "data",
                   fmt::format("it names a constant that is not there: '{}'", *stored.constant));
  return dense_bytes(*data);
}

}  // namespace

Result<JsonValue> json_of_result(const PreprocessResult& result, const Program& partition,
                                 const WriteBytes& write) {
  StoredResult stored{.result = {.delegate_info = result.delegate_info,
                                 .arena_padding = result.arena_padding,
                                 .inline_bytes = result.inline_bytes},
                      .rows = {result.debug_handle_map, room_for_ranges(partition)}};
  TRY(stored.payload, write(*result.processed_bytes));
  const ConstantNames constants = constant_names(partition);
  for (const NamedData& named : result.data_store_output) {
    StoredData& row = stored.data.emplace_back(StoredData{.data = named});
    if (named.layout) row.layout = stored_layout(*named.layout);
    if (const auto constant = constants.find(named.storage.get()); constant != constants.end()) {
      row.constant = constant->second.str();
    } else {
      TRY(row.blob, write(*named.storage));
    }
  }
  return write_json(stored);
}

Result<PreprocessResult> result_of_json(const Json& json, const Program& partition, const ReadBytes& read) {
  StoredResult stored;
  stored.rows.room = room_for_ranges(partition);
  TRY_STATUS(read_json(json, stored));
  PreprocessResult result = std::move(stored.result);
  TRY(result.processed_bytes, read(stored.payload));
  result.debug_handle_map = std::move(stored.rows.map);
  for (StoredData& row : stored.data) {
    TRY(row.data.storage, bytes_of(row, partition, read));
    row.blob.reset();  // texts of all blobs together can be large
    if (row.layout) {
      TRY(row.data.layout, type_of(*row.layout));
    }
    result.data_store_output.push_back(std::move(row.data));
  }
  return result;
}

}  // namespace depute
