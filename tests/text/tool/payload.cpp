#include "tests/text/tool/payload.h"

#include "backends/xnnpack/payload/verify_payload.h"
#include "backends/xnnpack/xnnpack_backend.h"
#include "read/pte.h"
#include "support/mapped_file.h"
#include "support/try.h"

namespace depute {
namespace {

std::vector<NamedData> named_data_of(const PteContents& pte, std::span<const std::byte> bytes,
                                     const std::shared_ptr<const MappedFile>& file) {
  std::vector<NamedData> all;
  for (const PteNamedData& named : pte.named_data) {
    const PteSegment& segment = pte.segments[named.segment];
    auto storage = Storage::mapped(file, bytes.subspan(pte.segment_base + segment.offset, segment.size));
    all.push_back({.key = named.key, .storage = std::move(storage)});
  }
  return all;
}

}  // namespace

Result<std::string> payload_text(const std::string& pte_path) {
  TRY(std::shared_ptr<const MappedFile> file, MappedFile::open(pte_path));
  TRY(PteContents pte, read_pte(file->bytes(), pte_path));
  const std::vector<NamedData> data = named_data_of(pte, file->bytes(), file);
  std::string text;
  for (const ExecutionPlan& method : pte.methods) {
    for (const PlanDelegate& delegate : method.delegates) {
      if (delegate.backend_id != xnnpack::backend_id) continue;
      auto fault = xnnpack::find_payload_fault(delegate_bytes(pte, delegate, file->bytes()), data);
      text += (fault ? fault->message : "sound") + "\n";
    }
  }
  return text;
}

}  // namespace depute
