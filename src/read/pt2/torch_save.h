// Reads tensors from torch.save files: a zip archive with a pickle and one entry per storage.
//
//   TRY(TorchSave file, TorchSave::open(archive, entry, limits));
//   TRY(auto entries, file.dictionary());              // {"conv.weight": id, ...}
//   TRY(SavedTensor tensor, file.tensor(entries[0].second));
//
// Archives up to torch 2.8 store all weights this way, later ones only weights of tensor subclasses. The
// pickle is never executed: a tensor is recognized by the name of the torch function that would rebuild it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "depute/program/data.h"
#include "read/pt2/archive.h"
#include "read/pt2/pickle.h"

namespace depute {

// A tensor, or a tensor subclass whose parts are tensors: torchao's quantized weights have "qdata", "scale",
// ... An unknown kind of subclass has no parts.
struct SavedTensor {
  TensorData data;            // empty for a subclass
  std::string subclass_name;  // the Python class; empty for a plain tensor
  std::vector<SavedTensor> parts;
  std::string name;  // of a part: the attribute that holds it
};

class TorchSave {
 public:
  // `archive` must outlive the tensors only if its bytes have no owner (ArchiveSource).
  static Result<TorchSave> open(const Archive& archive, const ArchiveEntry& entry, const ReadLimits& limits);

  PickleId root() const { return pickle_.root; }
  // Returns the text keys of the dictionary that the file holds, with their values.
  Result<std::vector<std::pair<std::string_view, PickleId>>> dictionary() const;
  Result<SavedTensor> tensor(PickleId id);

 private:
  explicit TorchSave(Archive archive) : archive_(std::move(archive)) {}
  Status check_byte_order() const;
  Result<SavedTensor> tensor(PickleId id, std::size_t depth);
  Result<SavedTensor> rebuild(const std::string& function, std::span<const PickleId> args, std::size_t depth);
  Result<SavedTensor> plain(std::span<const PickleId> args, bool has_dtype);
  Result<SavedTensor> from_type(std::span<const PickleId> args, std::size_t depth);
  Status add_parts(PickleId state, std::size_t depth, SavedTensor& subclass);
  Result<std::shared_ptr<const Storage>> storage(PickleId id, ScalarType* dtype);
  Status read_dims(PickleId id, Dims& sizes) const;
  Failure fail(std::string_view what) const;

  Archive archive_;
  std::string prefix_;
  EntryBytes bytes_;
  Pickle pickle_;
  ReadLimits limits_;
  std::size_t part_count_ = 0;
  std::map<std::string, std::shared_ptr<const Storage>, std::less<>> storages_;
};

}  // namespace depute
