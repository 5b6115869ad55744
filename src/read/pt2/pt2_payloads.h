// Finds the weights and constants of one model in a .pt2 archive by fully qualified name. They stay in the
// mapped file; tied tensors share one storage.
//
//   {"config": {"conv.weight": {"path_name": "weight_0", "use_pickle": false, "tensor_meta": {...}}, ...}}
//
// This is the layout since torch 2.9; earlier versions store all tensors in one torch.save file.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "read/json.h"
#include "read/pt2/archive.h"
#include "read/pt2/torch_save.h"

namespace depute {

class Payloads {
 public:
  // No tensors.
  Payloads() = default;
  // `config` lists tensors whose files lie in `directory` ("mlp/data/weights/").
  static Result<Payloads> from_config(const Archive& archive, const ArchiveEntry& config,
                                      std::string directory, const ReadLimits& limits);
  // Like from_config(), for a program in memory with storages instead of files.
  static Result<Payloads> from_memory(const SchemaValue& config, const ExportedModel& model, std::string name,
                                      const ReadLimits& limits);
  // Reads a dictionary saved by torch.save.
  static Result<Payloads> from_torch_save(const Archive& archive, const ArchiveEntry& entry,
                                          const ReadLimits& limits);

  bool contains(std::string_view name) const;
  // Loads a tensor; `name` must be contained.
  Result<SavedTensor> load(std::string_view name);

 private:
  struct Config;  // the JSON of a config and its members
  Status read_config(JsonDocument document);
  Result<SavedTensor> load_member(const Json& member, std::size_t depth = 0);
  Result<SavedTensor> load_subclass(const Json& class_name, const Json& member, std::size_t depth);
  Result<std::shared_ptr<const Storage>> storage(const Json& path_json);

  const Archive* archive_ = nullptr;
  const ExportedModel* model_ = nullptr;  // used instead of archive_ if not null
  ReadLimits limits_;
  std::string directory_;
  std::shared_ptr<Config> config_;
  std::shared_ptr<TorchSave> torch_save_;
  std::unordered_map<std::string_view, PickleId> saved_;                         // names of torch_save_
  std::map<std::string, std::shared_ptr<const Storage>, std::less<>> storages_;  // by file name
};

}  // namespace depute
