#include "read/pt2/pt2_payloads.h"

#include <fmt/format.h>

#include "read/pt2/pt2_types.h"
#include "read/quote.h"
#include "support/try.h"

namespace depute {

// Allocated once and never moved: members refer to the Jsons above them.
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
  TRY_STATUS(payloads.read_config(std::move(document)));
  return payloads;
}

Result<Payloads> Payloads::from_memory(const SchemaValue& config, const ExportedModel& model,
                                       std::string name, const ReadLimits& limits) {
  Payloads payloads;
  payloads.model_ = &model;
  payloads.limits_ = limits;
  TRY_STATUS(payloads.read_config(JsonDocument::of(config, std::move(name), limits)));
  return payloads;
}

Status Payloads::read_config(JsonDocument document) {
  config_ = std::make_shared<Config>(std::move(document));
  Config& c = *config_;
  TRY(c.table, c.root.field("config"));
  TRY(std::size_t count, c.table.member_count());
  c.members.reserve(count);
  return c.table.for_each_member([&](std::string_view name, const Json& member) -> Status {
    if (!c.members.emplace(name, member).second) return member.fault("a second tensor of this name");
    return {};
  });
}

Result<Payloads> Payloads::from_torch_save(const Archive& archive, const ArchiveEntry& entry,
                                           const ReadLimits& limits) {
  Payloads payloads;
  if (entry.size == 0) return payloads;  // torch's form of an empty dictionary
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

// Returns the bytes of a tensor that is not pickled; all tensors with the same path share them.
Result<std::shared_ptr<const Storage>> Payloads::storage(const Json& path_json) {
  TRY(std::string_view path, path_json.string());
  if (model_ != nullptr) {
    auto found = model_->storages.find(path);
    if (found == model_->storages.end()) return path_json.fault(fmt::format("no storage {}", quote(path)));
    return found->second;
  }
  auto& storage = storages_[std::string(path)];
  if (!storage) {
    TRY(storage, archive_->storage(*archive_->find(directory_ + std::string(path))));
  }
  return storage;
}

// Loads a tensor subclass of a program in memory.
Result<SavedTensor> Payloads::load_subclass(const Json& class_name, const Json& member, std::size_t depth) {
  if (depth > limits_.subclass_depth) {
    return beyond(limits_, &ReadLimits::subclass_depth,
                  member.fault("tensor subclasses are nested too deeply"));
  }
  SavedTensor subclass;
  TRY(subclass.subclass_name, class_name.string());
  TRY(Json parts, member.field("parts"));
  TRY_STATUS(parts.for_each_member([&](std::string_view name, const Json& json) -> Status {
    TRY(SavedTensor part, load_member(json, depth + 1));
    part.name = name;
    subclass.parts.push_back(std::move(part));
    return {};
  }));
  return subclass;
}

Result<SavedTensor> Payloads::load_member(const Json& member, std::size_t depth) {
  if (model_ != nullptr) {
    TRY(Json class_name, member.optional_field("subclass_name"));
    if (!class_name.is_null()) return load_subclass(class_name, member, depth);
  }
  TRY(Json path_json, member.field("path_name"));
  if (archive_ != nullptr) {
    TRY(std::string_view path, path_json.string());
    std::string entry_name = directory_ + std::string(path);
    const ArchiveEntry* entry = archive_->find(entry_name);
    if (entry == nullptr)
      return path_json.fault(fmt::format("the archive has no entry {}", quote(entry_name)));
    TRY(Json pickle_json, member.optional_field("use_pickle"));
    bool is_pickled = false;
    if (!pickle_json.is_null()) {
      TRY(is_pickled, pickle_json.boolean());
    }
    if (is_pickled) {
      TRY(TorchSave file, TorchSave::open(*archive_, *entry, limits_));
      return file.tensor(file.root());
    }
  }
  SavedTensor tensor;
  TRY(Json meta, member.field("tensor_meta"));
  if (meta.is_null()) return meta.fault("expected a tensor, got another object");
  TRY(tensor.data.type, read_tensor_type(meta, read_constant_size));
  TRY(Json offset_json, meta.field("storage_offset"));
  TRY(SymInt offset, read_constant_size(offset_json));
  tensor.data.offset = offset.value();
  TRY(tensor.data.storage, storage(path_json));
  if (!fits_storage(tensor.data)) {
    return meta.fault(fmt::format("the tensor exceeds its storage of {} bytes", tensor.data.storage->size()));
  }
  return tensor;
}

}  // namespace depute
