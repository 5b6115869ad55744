// NamedDataStore: blobs by key that delegates and methods share, as backends hand them over and as they are
// merged over a program.
//
//   NamedDataStore store;
//   DEPUTE_TRY_STATUS(store.add("conv1.weight", storage, 64));
//   result.data_store_output = std::move(store).take();
//
// A key names one blob in the whole program, also where it goes to an external file. Giving it again with the
// same bytes is fine: the strictest alignment holds, and a key that somebody wants in the program itself lies
// there for all; one with several tags lies in the file of the first. The first layout that is given holds.
// Equal blobs under several keys are stored once by the writer.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "depute/program.h"
#include "depute/result.h"

#pragma GCC visibility push(default)

namespace depute {

class NamedDataStore {
 public:
  // Fails on an empty key, no storage, an alignment (bytes) that is_alignment() refuses, a tag that cannot be
  // part of a file's name, a layout that its bytes do not have, and a key that is known with other bytes.
  // `owner` is named in that case: "delegate xnnpack0".
  Status add(NamedData data, std::string_view owner = {});
  Status add(std::string_view key, std::shared_ptr<const Storage> storage, std::size_t alignment = 16);
  // The tensor's elements in row-major order, with their layout.
  Status add(std::string_view key, const TensorData& tensor, std::size_t alignment = 16);

  const std::vector<NamedData>& entries() const { return entries_; }  // in the order of their first add
  const std::string& owner(std::size_t entry) const { return owners_[entry]; }  // of its first add
  std::vector<NamedData> take() && { return std::move(entries_); }

 private:
  std::vector<NamedData> entries_;
  std::vector<std::string> owners_;  // of each entry
  std::unordered_map<std::string, std::size_t> known_;
};

bool have_same_bytes(const Storage& a, const Storage& b);

// The data of all delegates of a program, and of those nested in them, in order: their runtime halves look
// for them in the same way.
Result<NamedDataStore> merge_named_data(const Program& program);

}  // namespace depute

#pragma GCC visibility pop
