#include "read/pt2/pt2_layout.h"

#include <fmt/format.h>

#include <algorithm>

#include "read/foreign_file.h"
#include "read/quote.h"
#include "support/try.h"

namespace depute {
namespace {

constexpr std::string_view format_entry = "archive_format";
constexpr std::string_view old_program_entry = "serialized_exported_program.json";
constexpr std::string_view export_hint = "save the result of torch.export.export with torch.export.save";

Failure not_a_program(const Archive& archive, const ForeignFile& foreign) {
  return failure("read_pt2", archive.name(), not_a_program(foreign), foreign.hint);
}

// Fails if the entry exists and its text is not `expected`.
Status check_text(const Archive& archive, const std::string& name, std::string_view expected) {
  const ArchiveEntry* entry = archive.find(name);
  if (entry == nullptr) return {};
  TRY(EntryBytes bytes, archive.read(*entry));
  std::string_view text(reinterpret_cast<const char*>(bytes.bytes.data()), bytes.bytes.size());
  if (text == expected) return {};
  return failure("read_pt2", archive.place(*entry),
                 fmt::format("expected {}, got {}", quote(expected), quote(text)));
}

PayloadEntries find_payloads(const Archive& archive, const std::string& directory, const std::string& model,
                             std::string_view kind) {
  return {.config = archive.find(fmt::format("{}{}_{}_config.json", directory, model, kind)),
          .torch_save = archive.find(fmt::format("{}{}.pt", directory, model)),
          .directory = directory};
}

Result<std::vector<ModelEntries>> find_named_models(const Archive& archive, const std::string& prefix,
                                                    const ReadLimits& limits) {
  TRY_STATUS(check_text(archive, prefix + std::string(format_entry), "pt2"));
  TRY_STATUS(check_text(archive, prefix + "byteorder", "little"));
  constexpr std::string_view suffix = ".json";
  std::string directory = prefix + "models/";
  std::vector<ModelEntries> models;
  for (const ArchiveEntry& entry : archive.entries()) {
    if (!entry.name.starts_with(directory) || !entry.name.ends_with(suffix)) continue;
    if (entry.name.size() <= directory.size() + suffix.size()) continue;
    if (models.size() == limits.models) {
      return beyond(limits, &ReadLimits::models, failure("read_pt2", archive.name(), "too many models"));
    }
    std::string_view name = entry.name.substr(directory.size());
    name.remove_suffix(suffix.size());
    ModelEntries model{.name = std::string(name), .program = &entry, .weights = {}, .constants = {}};
    model.weights = find_payloads(archive, prefix + "data/weights/", model.name, "weights");
    model.constants = find_payloads(archive, prefix + "data/constants/", model.name, "constants");
    models.push_back(std::move(model));
  }
  if (!models.empty()) return models;
  if (auto foreign = recognize_foreign(archive)) return not_a_program(archive, *foreign);
  return failure("read_pt2", archive.name(),
                 fmt::format("the archive has no program: no entry {}*.json", directory), export_hint);
}

ModelEntries find_old_model(const Archive& archive, const std::string& prefix) {
  ModelEntries model{.name = "model", .program = nullptr, .weights = {}, .constants = {}};
  model.program = archive.find(prefix + std::string(old_program_entry));
  model.weights.torch_save = archive.find(prefix + "serialized_state_dict.pt");
  model.constants.torch_save = archive.find(prefix + "serialized_constants.pt");
  return model;
}

}  // namespace

Result<std::vector<ModelEntries>> find_models(const Archive& archive, const ReadLimits& limits) {
  if (auto prefix = archive.prefix_of(format_entry))
    return find_named_models(archive, std::string(*prefix), limits);
  if (auto prefix = archive.prefix_of(old_program_entry)) {
    return std::vector<ModelEntries>{find_old_model(archive, std::string(*prefix))};
  }
  if (auto foreign = recognize_foreign(archive)) return not_a_program(archive, *foreign);
  return failure("read_pt2", archive.name(), "not a .pt2 archive: there is no entry archive_format",
                 export_hint);
}

}  // namespace depute
