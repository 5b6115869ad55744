// NamedDataStore: blobs by key, shared by delegates and methods. Backends return one per partition; the
// compiler merges them over the program.
//
//   NamedDataStore store;
//   DEPUTE_TRY_STATUS(store.add("conv1.weight", storage, 64));
//   result.data_store_output = std::move(store).take();
//
// A key names one blob in the whole program, even if the blob goes to an external file. A key may be added
// again with the same bytes: the largest alignment and the first layout win. If one entry has no external
// tag, the blob lies in the program; with several tags, it lies in the file of the first tag. The writer
// stores equal blobs under several keys once.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "depute/program/program.h"
#include "depute/program/result.h"

#pragma GCC visibility push(default)

namespace depute {

class NamedDataStore {
 public:
  // Fails for an empty key, no storage, an alignment (bytes) that is_alignment() rejects, and a tag that is
  // no valid part of a file name. Fails for a layout that does not fit the bytes, and for an existing key
  // with other bytes. The last error names `owner`: "delegate xnnpack0".
  Status add(NamedData data, std::string_view owner = {});
  Status add(std::string_view key, std::shared_ptr<const Storage> storage, std::size_t alignment = 16);
  // Adds the tensor's elements in row-major order, with their layout.
  Status add(std::string_view key, const TensorData& tensor, std::size_t alignment = 16);

  const std::vector<NamedData>& entries() const { return entries_; }            // in order of the first add
  const std::string& owner(std::size_t entry) const { return owners_[entry]; }  // owner of the first add
  std::vector<NamedData> take() && { return std::move(entries_); }

 private:
  std::vector<NamedData> entries_;
  std::vector<std::string> owners_;  // per entry
  std::unordered_map<std::string, std::size_t> known_;
};

bool have_same_bytes(const Storage& a, const Storage& b);

// Merges the named data of all delegates of a program, including nested delegates, in order. Nested delegates
// look their data up in the same way at run time.
Result<NamedDataStore> merge_named_data(const Program& program);

}  // namespace depute

#pragma GCC visibility pop
