// Reads tensors from the files torch.save writes: a zip archive with a pickle and one entry per storage.
//
//   TRY(TorchSave file, TorchSave::open(archive, entry, limits));
//   TRY(auto entries, file.dictionary());              // {"conv.weight": id, ...}
//   TRY(SavedTensor tensor, file.tensor(entries[0].second));
//
// Archives of torch 2.8 and before keep their weights this way, later ones the weights that are tensor
// subclasses. Nothing in the pickle is run: a tensor is recognised by the name of torch's own function that
// would rebuild it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "depute/data.h"
#include "read/archive.h"
#include "read/pickle.h"

namespace depute {

// A tensor, or a tensor subclass whose parts are tensors: torchao's quantised weights have "qdata", "scale",
// ... A subclass of a kind that is not understood has no parts.
struct SavedTensor {
  TensorData data;            // not of a subclass
  std::string subclass_name;  // the Python class; empty for a plain tensor
  std::vector<SavedTensor> parts;
  std::string name;  // of a part: the attribute that holds it
};

class TorchSave {
 public:
  // `archive` must outlive the file's tensors only if its bytes have no owner (ArchiveSource).
  static Result<TorchSave> open(const Archive& archive, const ArchiveEntry& entry, const ReadLimits& limits);

  PickleId root() const { return pickle_.root; }
  // Text keys of the dictionary that is the file's value.
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
