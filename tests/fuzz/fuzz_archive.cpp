// Any bytes as a zip archive: entries are read, opened as archives of their own, and as files of torch.save,
// whose pickles are walked for tensors. Nothing may crash, and every tensor that is given out lies in its
// storage.
#include <cstdint>
#include <cstdlib>

#include "depute/program/data.h"
#include "read/pt2/archive.h"
#include "read/pt2/torch_save.h"

namespace {

using namespace depute;

void read_tensors(const Archive& archive, const ArchiveEntry& entry, const ReadLimits& limits) {
  auto file = TorchSave::open(archive, entry, limits);
  if (!file) return;
  (void)file->tensor(file->root());
  auto entries = file->dictionary();
  if (!entries) return;
  for (const auto& [name, id] : *entries) {
    auto tensor = file->tensor(id);
    if (!tensor || !tensor->subclass_name.empty()) continue;
    if (!fits_storage(tensor->data)) std::abort();
  }
}

void read_entries(const Archive& archive, const ReadLimits& limits, int depth) {
  for (const ArchiveEntry& entry : archive.entries()) {
    (void)archive.read(entry);
    auto storage = archive.storage(entry);
    if (storage && (*storage)->bytes().size() != entry.size) std::abort();
    read_tensors(archive, entry, limits);
    if (depth == 0) continue;
    if (auto nested = archive.nested(entry)) read_entries(*nested, limits, depth - 1);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ReadLimits limits;
  limits.inflated_bytes = 1 << 20;
  limits.pickle_values = 10'000;
  ReadBudget budget(limits);
  auto archive = Archive::open({.bytes = std::as_bytes(std::span(data, size))}, "fuzz.zip", limits, budget);
  if (archive) read_entries(*archive, limits, 1);
  return 0;
}
