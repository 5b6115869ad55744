#include "read/pt2_payloads.h"

#include <fmt/format.h>

#include "read/pt2_types.h"
#include "read/quote.h"
#include "support/try.h"

namespace depute {

// Lies still in memory: the members refer to the Jsons above them.
struct Payloads::Config {
  explicit Config(JsonDocument parsed) : document(std::move(parsed)), root(document), table(root) {}

  JsonDocument document;
  Json root;
  Json table;
  std::unordered_map<std::string_view, Json> members;
};

Result<Payloads> Payloads::from_config(const Archive& archive, const ArchiveEntry& config,
                                       std::string directory, const ReadLimits& limits) {
  Payloads payloads;
  payloads.archive_ = &archive;
  payloads.limits_ = limits;
  payloads.directory_ = std::move(directory);
  TRY(JsonDocument document, JsonDocument::parse(archive, config, limits));
  payloads.config_ = std::make_shared<Config>(std::move(document));
  Config& c = *payloads.config_;
  TRY(c.table, c.root.field("config"));
  TRY(std::size_t count, c.table.member_count());
  c.members.reserve(count);
  TRY_STATUS(c.table.for_each_member([&](std::string_view name, const Json& member) -> Status {
    if (!c.members.emplace(name, member).second) return member.fault("a second tensor of this name");
    return {};
  }));
  return payloads;
}

Result<Payloads> Payloads::from_torch_save(const Archive& archive, const ArchiveEntry& entry,
                                           const ReadLimits& limits) {
  Payloads payloads;
  if (entry.size == 0) return payloads;  // how torch writes an empty dictionary
  TRY(TorchSave file, TorchSave::open(archive, entry, limits));
  payloads.torch_save_ = std::make_shared<TorchSave>(std::move(file));
  TRY(auto entries, payloads.torch_save_->dictionary());
  for (const auto& [name, id] : entries) payloads.saved_.emplace(name, id);
  return payloads;
}

bool Payloads::contains(std::string_view name) const {
  return config_ ? config_->members.contains(name) : saved_.contains(name);
}

Result<SavedTensor> Payloads::load(std::string_view name) {
  if (config_) return load_member(config_->members.at(name));
  return torch_save_->tensor(saved_.at(name));
}

Result<SavedTensor> Payloads::load_member(const Json& member) {
  TRY(Json path_json, member.field("path_name"));
  TRY(std::string_view path, path_json.string());
  const ArchiveEntry* entry = archive_->find(directory_ + std::string(path));
  if (entry == nullptr)
    return path_json.fault(fmt::format("the archive has no entry {}", quote(directory_ + std::string(path))));
  TRY(Json pickle_json, member.optional_field("use_pickle"));
  bool is_pickled = false;
  if (!pickle_json.is_null()) {
    TRY(is_pickled, pickle_json.boolean());
  }
  if (is_pickled) {
    TRY(TorchSave file, TorchSave::open(*archive_, *entry, limits_));
    return file.tensor(file.root());
  }
  SavedTensor tensor;
  TRY(Json meta, member.field("tensor_meta"));
  if (meta.is_null()) return meta.fault("a tensor is needed here, not another object");
  TRY(tensor.data.type, read_tensor_type(meta, read_constant_size));
  TRY(Json offset_json, meta.field("storage_offset"));
  TRY(SymInt offset, read_constant_size(offset_json));
  tensor.data.offset = offset.value();
  auto& storage = storages_[std::string(path)];
  if (!storage) {
    TRY(storage, archive_->storage(*entry));
  }
  tensor.data.storage = storage;
  if (!fits_storage(tensor.data)) {
    return meta.fault(fmt::format("the tensor reaches beyond its storage of {} bytes", storage->size()));
  }
  return tensor;
}

}  // namespace depute
