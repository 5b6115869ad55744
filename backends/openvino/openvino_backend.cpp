// Runs one child process per partition, so that its bytes are always those of a first compile, for any number
// of partitions and jobs. The bytes stay inline in the flatbuffer, since an imported model keeps pointers
// into them.
#include "openvino_backend.h"

#include <algorithm>
#include <utility>

#include "child_process.h"
#include "compile.h"
#include "depute/backend/backend.h"
#include "depute/program/op.h"
#include "keep_precision.h"
#include "openvino_partitioner.h"
#include "quantized_ops.h"
#include "toolkit.h"

namespace depute::openvino {
namespace {

constexpr std::string_view device_key = "device";
constexpr std::string_view precision_key = "precision";
constexpr std::string_view version_key = "openvino_version";
constexpr std::string_view isa_key = "openvino_isa";

std::string_view text_of(const CompileSpec& spec) {
  return {reinterpret_cast<const char*>(spec.value.data()), spec.value.size()};
}

// Returns the precision in the specs. All other specs must match this machine, since blobs are made for it.
Result<std::string> read_specs(std::span<const CompileSpec> specs) {
  if (!toolkit()) return Failure(Diagnostic(toolkit().error()));
  const std::vector<CompileSpec> known = compile_specs(toolkit()->target, default_precision);
  std::string precision(default_precision);
  for (const CompileSpec& spec : specs) {
    if (spec.key == precision_key && is_precision(text_of(spec))) {
      precision = text_of(spec);
      continue;
    }
    const auto same = std::ranges::find(known, spec.key, &CompileSpec::key);
    if (same == known.end()) return failure("openvino", "", "unknown compile spec '" + spec.key + "'");
    if (*same != spec)
      return failure("openvino", "",
                     "compile spec '" + spec.key + "' requests '" + std::string(text_of(spec)) +
                         "', but this build has '" + std::string(text_of(*same)) + "' here");
  }
  return precision;
}

// OpenVINO names its nodes after the program's nodes.
Result<DebugHandleMap> debug_handles(const Program& program) {
  DelegateMappingBuilder mapping(DelegateMappingBuilder::Identifiers::Given);
  for (const Node& node : program.methods[0]->graph->nodes()) {
    std::vector<std::uint32_t> handles;
    for_each_origin(node, [&](const NodeOrigin& origin) {
      if (origin.debug_handle != 0) handles.push_back(origin.debug_handle);
    });
    if (handles.empty() || node.display_name().empty()) continue;
    DEPUTE_TRY(auto id, mapping.insert_handles(handles, DelegateDebugId(std::string(node.display_name()))));
    static_cast<void>(id);
  }
  return mapping.mapping();
}

Result<PreprocessResult> result_of(const Program& program, std::shared_ptr<const Storage> blob) {
  const auto target = blob_target(blob->bytes());
  if (!target)
    return failure("openvino", "", "OpenVINO exported a blob without the properties of its target");
  DEPUTE_TRY(DebugHandleMap handles, debug_handles(program));
  return PreprocessResult{.processed_bytes = std::move(blob),
                          .debug_handle_map = std::move(handles),
                          .data_store_output = {},
                          .delegate_info = str(*target),
                          .arena_padding = 0,
                          .inline_bytes = true};
}

}  // namespace

std::vector<CompileSpec> compile_specs(const BlobTarget& target, std::string_view precision) {
  return {{std::string(device_key), bytes("CPU")},
          {std::string(precision_key), bytes(precision)},
          {std::string(version_key), bytes(target.version)},
          {std::string(isa_key), bytes(target.isa)}};
}

Result<PreprocessResult> OpenvinoBackend::preprocess(const Program& edge_program,
                                                     std::span<const CompileSpec> specs) const {
  const std::vector<MethodPartitions> one = {{"forward", {{&edge_program, specs}}}};
  DEPUTE_TRY(std::vector<MethodResults> results, preprocess_multimethod(one, 1));
  return std::move(results.at(0).results.at(0));
}

Result<std::vector<MethodResults>> OpenvinoBackend::preprocess_multimethod(
    std::span<const MethodPartitions> methods, int jobs) const {
  std::vector<ChildTask> tasks;
  for (const auto& [method, partitions] : methods) {
    for (const Partition& partition : partitions) {
      DEPUTE_TRY(std::string precision, read_specs(partition.compile_specs));
      tasks.push_back({method, [program = partition.program, precision = std::move(precision)](
                                   std::ostream& out) { return compile(*program, precision, out); }});
    }
  }
  std::vector<Result<std::shared_ptr<const Storage>>> blobs = run_in_children(tasks, jobs);
  std::vector<MethodResults> results;
  std::size_t next = 0;
  for (const auto& [method, partitions] : methods) {
    MethodResults& of_method = results.emplace_back(MethodResults{method, {}});
    for (const Partition& partition : partitions) {
      DEPUTE_TRY(auto blob, std::move(blobs[next++]));
      DEPUTE_TRY(PreprocessResult result, result_of(*partition.program, std::move(blob)));
      of_method.results.push_back(std::move(result));
    }
  }
  return results;
}

std::string OpenvinoBackend::cache_version() const {
  return toolkit() ? "1, " + str(toolkit()->target) : std::string();
}

Result<std::string> OpenvinoBackend::describe(std::span<const std::byte> processed_bytes) const {
  const auto target = blob_target(processed_bytes);
  if (!target)
    return failure("openvino", "offset 0",
                   "not a blob of OpenVINO's CPU plugin with the properties of its target");
  std::string text = "made for " + str(*target) + "\n";
  if (!toolkit()) return text + "cannot be checked on this machine: " + toolkit().error().message + "\n";
  if (*target == toolkit()->target) return text + "loads with the OpenVINO of this machine\n";
  return text + "does not load here: this machine has " + str(toolkit()->target) + "\n";
}

BackendEntry openvino_backend() {
  BackendEntry entry;
  entry.name = "openvino";
  entry.description = "ExecuTorch's OpenvinoBackend: compiled by OpenVINO for the CPU of this machine";
  entry.backend = std::make_unique<OpenvinoBackend>();
  entry.make_partitioner = make_openvino_partitioner;
  entry.support = [] {
    std::vector<SupportRow> rows;
    if (!toolkit()) return rows;
    for (const OpDef* def : all_ops()) {
      if (toolkit()->ops.contains(table_name(def->name)) || is_quantized_op(def->name))
        rows.push_back({.op = std::string(def->name.str()), .conditions = "static sizes"});
    }
    return rows;
  };
  entry.options = option_meanings();
  return entry;
}

}  // namespace depute::openvino
