// Writes the archive of a program: its description as JSON, and an entry for each storage of its constants.
//
//   parameter "fc.weight": f32[4, 4]   ->   weights config {"fc.weight": {"path_name": "weight_0", ...}}
//                                           data/weights/weight_0: 64 bytes
#include "write/write_pt2.h"

#include <fmt/format.h>

#include <map>

#include "depute/compiler/exported_model.h"
#include "ir/program_names.h"
#include "support/guarded.h"
#include "support/output.h"
#include "support/try.h"
#include "write/pt2_program.h"
#include "write/zip_writer.h"

namespace depute {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view archive_root = "part";

// Collects the weights or the constants of an archive.
class Payloads {
 public:
  // `prefix` starts the names of entries: "weight_0".
  Payloads(std::string_view folder, std::string_view prefix) : folder_(folder), prefix_(prefix) {}

  void add(const std::string& name, const TensorData& data, bool is_parameter, bool shares_memory) {
    // Keeps only the tensor's own elements if no other tensor shares the storage.
    const bool is_part = !shares_memory && data.byte_size() < data.storage->size();
    const TensorData kept = is_part ? data.contiguous() : data;
    const auto [entry, is_new] = entries_.try_emplace(kept.storage.get(), storages_.size());
    if (is_new) storages_.push_back(kept.storage);
    config_[name] = {{"path_name", fmt::format("{}_{}", prefix_, entry->second)},
                     {"is_param", is_parameter},
                     {"use_pickle", false},
                     {"tensor_meta", pt2_tensor_meta(kept.type, kept.offset)}};
  }

  Status write(ZipWriter& zip) const {
    for (std::size_t i = 0; i < storages_.size(); ++i) {
      const std::string name = fmt::format("{}/data/{}/{}_{}", archive_root, folder_, prefix_, i);
      TRY_STATUS(zip.add(name, storages_[i]->bytes()));
    }
    return zip.add(fmt::format("{}/data/{}/model_{}_config.json", archive_root, folder_, folder_),
                   pt2_text({{"config", config_}}));
  }

 private:
  std::string folder_;
  std::string prefix_;
  Json config_ = Json::object();
  std::vector<std::shared_ptr<const Storage>> storages_;  // kept alive: `entries_` compares addresses
  std::map<const Storage*, std::size_t> entries_;
};

}  // namespace

Status write_pt2(const Program& program, Output& output) {
  if (program.methods.size() != 1) {
    return failure("write_pt2", "", fmt::format("an archive has one method, not {}", program.methods.size()));
  }
  const Method& method = *program.methods[0];
  TRY(Json model, pt2_program(program, method));
  std::map<const Storage*, int> uses;
  for (const auto& [key, data] : program.data) ++uses[data.storage.get()];
  Payloads weights("weights", "weight");
  Payloads constants("constants", "tensor");
  for (const InputSpec& spec : method.inputs) {
    if (!spec.has_data()) continue;
    const TensorData* data = program.find_data(spec.target);
    const bool is_parameter = spec.kind == InputSpec::Kind::Parameter;
    const bool is_state = is_parameter || (spec.kind == InputSpec::Kind::Buffer && spec.persistent);
    (is_state ? weights : constants)
        .add(std::string(spec.target.str()), *data, is_parameter, uses[data->storage.get()] > 1);
  }
  ZipWriter zip(output);
  auto add = [&](std::string_view name, std::string_view text) {
    return zip.add(fmt::format("{}/{}", archive_root, name), text);
  };
  TRY_STATUS(weights.write(zip));
  TRY_STATUS(constants.write(zip));
  TRY_STATUS(add("models/model.json", pt2_text(model)));
  TRY_STATUS(add("data/sample_inputs/model.pt", ""));
  TRY_STATUS(add("archive_format", "pt2"));
  TRY_STATUS(add("archive_version", "0"));
  TRY_STATUS(add(".data/version", "6\n"));
  TRY_STATUS(add("byteorder", "little"));
  return zip.finish();
}

Result<std::vector<std::byte>> pt2_bytes(const Program& program) {
  return guarded([&]() -> Result<std::vector<std::byte>> {
    const NameScope::Use use(names_of(program));
    std::vector<std::byte> bytes;
    OutputBytes output(bytes);
    TRY_STATUS(write_pt2(program, output));
    TRY_STATUS(output.commit());
    return bytes;
  });
}

}  // namespace depute
