#include "read/pt2/read_pt2.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/debug_handles.h"
#include "read/pt2/pt2_graph.h"
#include "read/pt2/pt2_layout.h"
#include "read/pt2/pt2_signature.h"
#include "read/quote.h"
#include "support/guarded.h"
#include "support/try.h"

namespace depute {
namespace {

constexpr std::int64_t schema_major = 8;

// State shared by the models of one program.
struct ProgramScope {
  Program& program;
  ProgramCounters counters;
  std::unordered_set<std::string> symbols;  // of all models read so far
};

Status check_version(const Json& root) {
  TRY(Json version, root.field("schema_version"));
  TRY(Json major_json, version.field("major"));
  TRY(std::int64_t major, major_json.integer());
  if (major == schema_major) return {};
  return major_json.fault(fmt::format("schema version {} is not known, only {} is", major, schema_major),
                          "export the model again with torch 2.8 to 2.14");
}

// Reads the pytrees of arguments and results in torch's notation.
Status read_specs(const Json& graph_module, Method& method) {
  TRY(Json calls, graph_module.optional_field("module_call_graph"));
  if (calls.is_null()) return {};
  return calls.for_each([&](const Json& call) -> Status {
    TRY(Json name_json, call.field("fqn"));
    TRY(std::string_view name, name_json.string());
    TRY(Json signature, call.optional_field("signature"));
    if (!name.empty() || signature.is_null()) return {};
    TRY(Json in_json, signature.field("in_spec"));
    TRY(std::string_view in_spec, in_json.string());
    TRY(Json out_json, signature.field("out_spec"));
    TRY(std::string_view out_spec, out_json.string());
    method.in_spec = in_spec;
    method.out_spec = out_spec;
    return {};
  });
}

Status read_graph(const Json& graph_module, ProgramScope& scope, MethodScope& method_scope, Payloads& weights,
                  Payloads& constants) {
  Method& method = method_scope.method;
  TRY(Json graph, graph_module.field("graph"));
  TRY(Json signature_json, graph_module.field("signature"));
  GraphReader reader(method_scope, *method.graph, 0);
  SignatureReader signature(scope.program, method, reader, weights, constants);
  TRY_STATUS(reader.index_types(graph));
  TRY_STATUS(signature.read_inputs(signature_json, graph));
  TRY_STATUS(reader.read_nodes(graph));
  TRY_STATUS(reader.read_outputs(graph));
  return signature.read_outputs(signature_json);
}

Result<Payloads> open_payloads(const Archive& archive, const PayloadEntries& entries,
                               const ReadLimits& limits) {
  if (entries.torch_save != nullptr) return Payloads::from_torch_save(archive, *entries.torch_save, limits);
  if (entries.config == nullptr) return Payloads();
  return Payloads::from_config(archive, *entries.config, entries.directory, limits);
}

Status read_method(const JsonDocument& document, Payloads& weights, Payloads& constants,
                   const std::string& name, ProgramScope& scope) {
  Json root(document);
  TRY_STATUS(check_version(root));
  SymbolReader symbols(scope.program.ranges, scope.symbols, name + ".");
  TRY(Json ranges, root.optional_field("range_constraints"));
  TRY_STATUS(symbols.read_ranges(ranges));
  Method& method = scope.program.add_method(Name::scoped(name));
  MethodScope method_scope{
      .method = method, .symbols = symbols, .counters = scope.counters, .program = scope.program};
  TRY(Json graph_module, root.field("graph_module"));
  TRY_STATUS(read_graph(graph_module, scope, method_scope, weights, constants));
  TRY_STATUS(read_specs(graph_module, method));
  scope.symbols.insert(symbols.used().begin(), symbols.used().end());
  return {};
}

Result<Program> read_archive(std::shared_ptr<const MappedFile> file, const ReadOptions& options) {
  ReadBudget budget(options.limits);
  std::string path = file->path();
  TRY(Archive archive, Archive::open({.bytes = file->bytes(), .file = std::move(file), .storage = nullptr},
                                     path, options.limits, budget));
  TRY(std::vector<ModelEntries> models, find_models(archive, options.limits));
  if (models.size() > 1 && !options.method.empty()) {
    return failure("read_pt2", path,
                   fmt::format("the archive has {} models, so its one method cannot be named {}",
                               models.size(), quote(options.method)));
  }
  Program program(options.ops);
  ProgramScope scope{.program = program, .counters = {}, .symbols = {}};
  for (const ModelEntries& model : models) {
    std::string name = options.method;
    if (name.empty()) name = models.size() == 1 && model.name == "model" ? "forward" : model.name;
    TRY(JsonDocument document, JsonDocument::parse(archive, *model.program, options.limits));
    TRY(Payloads weights, open_payloads(archive, model.weights, options.limits));
    TRY(Payloads constants, open_payloads(archive, model.constants, options.limits));
    TRY_STATUS(read_method(document, weights, constants, name, scope));
  }
  return program;
}

void add_delegates(Program& program, const ExportedModel& model) {
  for (const auto& [name, given] : model.delegates) {
    auto delegate = std::make_unique<Delegate>(*given);
    delegate->name = Name::scoped(name);
    delegate->names = NameScope::current();
    program.delegates.push_back(std::move(delegate));
  }
}

// Renumbers the nodes of each delegate, which comes from a separate program with handles from 1.
Status renumber_delegates(Program& program, std::uint32_t last) {
  for (auto& delegate : program.delegates) {
    TRY_STATUS(next_debug_handle(last, last_debug_handle(*delegate)));
    move_debug_handles(*delegate, last);
    last = std::max(last, last_debug_handle(*delegate));
  }
  return {};
}

Result<Program> read_values(const ExportedModel& model, const std::string& name, const ReadOptions& options) {
  JsonDocument document = JsonDocument::of(model.program, name, options.limits);
  TRY(Payloads weights, Payloads::from_memory(model.weights, model, name + ": weights", options.limits));
  TRY(Payloads constants,
      Payloads::from_memory(model.constants, model, name + ": constants", options.limits));
  Program program(options.ops);
  add_delegates(program, model);
  ProgramScope scope{.program = program, .counters = {}, .symbols = {}};
  std::string method = options.method.empty() ? "forward" : options.method;
  TRY_STATUS(read_method(document, weights, constants, method, scope));
  TRY_STATUS(renumber_delegates(program, scope.counters.nodes));
  return program;
}

}  // namespace

Result<Program> read_pt2(std::shared_ptr<const MappedFile> file, const ReadOptions& options) {
  return guarded([&] {
    const NameScope::Use use(NameScope::current_or_new());
    return read_archive(std::move(file), options);
  });
}

Result<Program> read_model(const ExportedModel& model, const std::string& name, const ReadOptions& options) {
  return guarded([&] {
    const NameScope::Use use(NameScope::current_or_new());
    return read_values(model, name, options);
  });
}

}  // namespace depute
