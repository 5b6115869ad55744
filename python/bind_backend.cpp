// Makes backends and partitioners that are written in Python available to the compiler.
//
//   Partitioner.partition   <-  depute/_callbacks.py: partition()    checks what the user's code returns
//   BackendDetails          <-  depute/_callbacks.py: preprocess()
//
// Each call passes Python a copy of the program's graphs, which Python may keep. A Python exception is stored
// in Raised and rethrown where the compiler was called.
#include "depute/backend/backend.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <unordered_map>
#include <unordered_set>

#include "bind_data.h"
#include "depute/backend/partitioner.h"
#include "depute/backend/proposal.h"
#include "depute/program/walk.h"

namespace depute::python {
namespace {

nb::object callback(const char* name) {
  return nb::module_::import_("depute._callbacks").attr(name);
}

// --- partitioners

// The rows that _callbacks.partition() returns. A place is a graph number and a node number in Python's
// order; -1 is the graph's return.
using TagRow = std::tuple<std::string, std::string, std::vector<NamedBytes>>;  // tag, backend, specs
using PlaceRow = std::tuple<std::size_t, std::int64_t, std::string>;           // graph, node or input, text
struct Tagged {
  std::vector<TagRow> tags;
  std::vector<PlaceRow> nodes;
  std::vector<PlaceRow> inputs;
  std::vector<std::pair<std::size_t, std::int64_t>> no_copy;
  std::vector<PlaceRow> reasons;
};

class PythonPartitioner final : public Partitioner {
 public:
  PythonPartitioner(std::string name, nb::object partitioner, std::shared_ptr<Raised> raised)
      : name_(std::move(name)), partitioner_(share(std::move(partitioner))), raised_(std::move(raised)) {}

  OpsToNotDecompose ops_to_not_decompose(const Program& program) const override {
    OpsToNotDecompose answer;
    ProgramHandle handle = hold(clone(program));
    auto asked = ask_python(*raised_, [&] {
      nb::object given = callback("ops_to_not_decompose")(*partitioner_, handle);
      auto [ops, filter] = nb::cast<std::pair<std::vector<std::string>, nb::object>>(given);
      for (const std::string& op : ops) answer.ops.emplace_back(op);
      if (filter.is_none()) return true;
      answer.filter = [filter = share(filter), raised = raised_](const Node& node) {
        auto kept =
            ask_python(*raised, [&] { return nb::cast<bool>(nb::bool_((*filter)(read_node(node)))); });
        return kept.value();  // throws the Python exception; the compiler's caller reports it
      };
      return true;
    });
    asked.value();
    return answer;
  }

  Result<PartitionResult> partition(const Program& program, const Method& method) const override {
    ProgramHandle handle = hold(clone(program));
    // The rows contain Python bytes, which must be released while the GIL is held.
    return ask_python(*raised_, [&] {
      nb::object given = callback("partition")(*partitioner_, handle, std::string(method.name.str()));
      auto [tags, nodes, inputs, no_copy, reasons] =
          nb::cast<std::tuple<std::vector<TagRow>, std::vector<PlaceRow>, std::vector<PlaceRow>,
                              std::vector<std::pair<std::size_t, std::int64_t>>, std::vector<PlaceRow>>>(
              given);
      return result_of(Tagged{tags, nodes, inputs, no_copy, reasons}, method);
    });
  }

 private:
  PartitionResult result_of(const Tagged& tagged, const Method& method) const {
    PartitionResult result;
    for (const auto& [tag, backend, specs] : tagged.tags) {
      result.partition_tags[Name::scoped(tag)] = {.backend_id = backend,
                                                  .compile_specs = compile_specs_of(specs)};
    }
    const std::vector<const Graph*> graphs = graphs_of(method);  // in the order of read_method()
    std::vector<std::vector<const Node*>> nodes(graphs.size());
    for (std::size_t i = 0; i < graphs.size(); ++i) {
      for (const Node& node : graphs[i]->nodes()) nodes[i].push_back(&node);
    }
    std::unordered_set<const Node*> taken;
    for (const auto& [graph, place, tag] : tagged.nodes) {
      const Node* node =
          place < 0 ? graphs.at(graph)->return_node() : nodes.at(graph).at(static_cast<std::size_t>(place));
      result.node_tags.emplace_back(node, Name::scoped(tag));
      taken.insert(node);
    }
    const auto input = [&](std::size_t graph, std::int64_t place) {
      return graphs.at(graph)->inputs()[static_cast<std::size_t>(place)];
    };
    for (const auto& [graph, place, tag] : tagged.inputs) {
      result.constant_tags.emplace_back(input(graph, place), Name::scoped(tag));
    }
    for (const auto& [graph, place] : tagged.no_copy) result.no_copy.push_back(input(graph, place));
    std::unordered_map<const Node*, std::string> reasons;
    for (const auto& [graph, place, reason] : tagged.reasons) {
      reasons[nodes.at(graph).at(static_cast<std::size_t>(place))] = reason;
    }
    for (const auto& of_graph : nodes) {
      for (const Node* node : of_graph) {
        if (taken.contains(node)) {
          result.verdicts.emplace_back(node, Verdict{.delegated = true, .owner = name_});
        } else {
          auto reason = reasons.find(node);
          result.verdicts.emplace_back(
              node,
              refuse("untagged", reason == reasons.end() ? std::string_view() : reason->second).refusal);
        }
      }
    }
    return result;
  }

  std::string name_;
  SharedObject partitioner_;
  std::shared_ptr<Raised> raised_;
};

// --- backends

// The rows that _callbacks.preprocess() returns.
using HandleRow = std::pair<std::variant<std::int64_t, std::string>, std::vector<std::uint32_t>>;
using ResultRow = std::tuple<nb::bytes, std::vector<HandleRow>, nb::object, std::string, std::uint32_t, bool>;

PreprocessResult result_of(const nb::object& given) {
  auto [bytes, handles, data, info, padding, is_inline] = nb::cast<ResultRow>(given);
  PreprocessResult result;
  result.processed_bytes = Storage::owned(bytes_of(bytes));
  result.debug_handle_map = handles;
  if (!data.is_none()) result.data_store_output = nb::cast<const NamedDataStore&>(data).entries();
  result.delegate_info = info;
  result.arena_padding = padding;
  result.inline_bytes = is_inline;
  return result;
}

nb::list partition_rows(std::span<const MethodPartitions> methods) {
  nb::list rows;
  for (const auto& [method, partitions] : methods) {
    nb::list of_method;
    for (const Partition& partition : partitions) {
      std::vector<CompileSpec> specs(partition.compile_specs.begin(), partition.compile_specs.end());
      of_method.append(nb::make_tuple(hold(clone(*partition.program)), compile_specs_of(specs)));
    }
    rows.append(nb::make_tuple(method, of_method));
  }
  return rows;
}

std::vector<MethodResults> results_of(const nb::object& rows, PreprocessResult (*read)(const nb::object&)) {
  std::vector<MethodResults> all;
  for (nb::handle row : rows) {
    auto [method, results] = nb::cast<std::pair<std::string, std::vector<nb::object>>>(row);
    MethodResults& of_method = all.emplace_back();
    of_method.method = method;
    for (const nb::object& result : results) of_method.results.push_back(read(result));
  }
  return all;
}

class PythonBackend final : public Backend {
 public:
  PythonBackend(std::string id, nb::object backend, std::shared_ptr<Raised> raised)
      : id_(std::move(id)),
        cache_version_(nb::cast<std::string>(nb::getattr(backend, "cache_version", nb::str("")))),
        backend_(share(std::move(backend))),
        raised_(std::move(raised)) {}

  std::string_view id() const override { return id_; }
  std::string cache_version() const override { return cache_version_; }

  Result<PreprocessResult> preprocess(const Program& program,
                                      std::span<const CompileSpec> specs) const override {
    ProgramHandle handle = hold(clone(program));
    return ask_python(*raised_, [&] {
      std::vector<NamedBytes> given = compile_specs_of(std::vector(specs.begin(), specs.end()));
      return result_of(callback("preprocess")(*backend_, std::exchange(handle, {}), given));
    });
  }

  Result<std::vector<MethodResults>> preprocess_multimethod(std::span<const MethodPartitions> methods,
                                                            int jobs) const override {
    DEPUTE_TRY(bool own, ask_python(*raised_, [&] { return has_own_multimethod(*backend_); }));
    if (!own) return Backend::preprocess_multimethod(methods, jobs);
    return ask_python(*raised_, [&] {
      return results_of(callback("preprocess_multimethod")(*backend_, partition_rows(methods)), &result_of);
    });
  }

 private:
  std::string id_;
  std::string cache_version_;
  SharedObject backend_;
  std::shared_ptr<Raised> raised_;
};

// Wraps any backend and sends its partitions to other processes through a Python executor.
class ExecutorBackend final : public Backend {
 public:
  ExecutorBackend(std::string id, nb::object run, nb::object backend, std::shared_ptr<Raised> raised)
      : id_(std::move(id)),
        run_(share(std::move(run))),
        backend_(share(std::move(backend))),
        raised_(std::move(raised)) {}

  std::string_view id() const override { return id_; }

  Result<PreprocessResult> preprocess(const Program& program,
                                      std::span<const CompileSpec> specs) const override {
    const MethodPartitions only{.method = std::string(program.methods.front()->name.str()),
                                .partitions = {{&program, specs}}};
    DEPUTE_TRY(std::vector<MethodResults> all, preprocess_multimethod({&only, 1}, 1));
    return std::move(all.at(0).results.at(0));
  }

  Result<std::vector<MethodResults>> preprocess_multimethod(std::span<const MethodPartitions> methods,
                                                            int) const override {
    return ask_python(*raised_, [&] {
      return results_of((*run_)(id_, *backend_, partition_rows(methods)), &result_of_rows);
    });
  }

 private:
  std::string id_;
  SharedObject run_;
  SharedObject backend_;
  std::shared_ptr<Raised> raised_;
};

// --- helper classes for backends

nb::dict mapping_of(const DelegateMappingBuilder& builder) {
  nb::dict map;
  for (const auto& [id, handles] : builder.mapping()) {
    nb::list list;
    for (std::uint32_t handle : handles) list.append(handle);
    nb::object key = std::holds_alternative<std::string>(id) ? nb::cast(std::get<std::string>(id))
                                                             : nb::cast(std::get<std::int64_t>(id));
    map[key] = nb::tuple(list);
  }
  return map;
}

void add_named_data(NamedDataStore& store, const std::string& key, const nb::object& data,
                    std::size_t alignment, const std::string& tag) {
  NamedData named{.key = key, .alignment = alignment, .external_tag = tag};
  if (nb::isinstance<Constant>(data)) {
    const TensorData& tensor = nb::cast<const Constant&>(data).data;
    named.storage = dense_bytes(tensor);
    named.layout = make_tensor(tensor.type.dtype, tensor.type.sizes);
  } else {
    named.storage = Storage::owned(bytes_of(nb::cast<nb::bytes>(data)));
  }
  take(store.add(std::move(named)));
}

}  // namespace

std::unique_ptr<Backend> python_backend(const std::string& id, nb::object backend,
                                        std::shared_ptr<Raised> raised) {
  return std::make_unique<PythonBackend>(id, std::move(backend), std::move(raised));
}

bool has_own_multimethod(const nb::object& backend) {
  return nb::cast<bool>(callback("has_own_multimethod")(backend));
}

std::unique_ptr<Backend> executor_backend(const std::string& id, nb::object run, nb::object backend,
                                          std::shared_ptr<Raised> raised) {
  return std::make_unique<ExecutorBackend>(id, std::move(run), std::move(backend), std::move(raised));
}

// (key, bytes, alignment, tag, (element type, shape) of a tensor or None)
using DataRow = std::tuple<std::string, nb::bytes, std::size_t, std::string,
                           std::optional<std::pair<std::string, std::vector<std::int64_t>>>>;
using ResultRows =
    std::tuple<nb::bytes, std::vector<HandleRow>, std::vector<DataRow>, std::string, std::uint32_t, bool>;

nb::tuple rows_of(const PreprocessResult& result) {
  std::vector<DataRow> data;
  for (const NamedData& each : result.data_store_output) {
    std::optional<std::pair<std::string, std::vector<std::int64_t>>> layout;
    if (each.layout) {
      layout.emplace(std::string(torch_name(each.layout->dtype)), std::vector<std::int64_t>());
      for (const SymInt& size : each.layout->sizes) layout->second.push_back(size.value());
    }
    data.emplace_back(each.key, bytes_of(each.storage->bytes()), each.alignment, each.external_tag, layout);
  }
  nb::bytes payload =
      result.processed_bytes == nullptr ? nb::bytes("", 0) : bytes_of(result.processed_bytes->bytes());
  return nb::make_tuple(payload, result.debug_handle_map, data, result.delegate_info, result.arena_padding,
                        result.inline_bytes);
}

PreprocessResult result_of_rows(const nb::object& rows) {
  auto [bytes, handles, data, info, padding, is_inline] = nb::cast<ResultRows>(rows);
  PreprocessResult result;
  result.processed_bytes = Storage::owned(bytes_of(bytes));
  result.debug_handle_map = handles;
  for (const auto& [key, content, alignment, tag, layout] : data) {
    NamedData& named = result.data_store_output.emplace_back(
        NamedData{.key = key, .alignment = alignment, .external_tag = tag});
    named.storage = Storage::owned(bytes_of(content));
    if (layout) named.layout = make_tensor_data(layout->first, layout->second, content).type;
  }
  result.delegate_info = info;
  result.arena_padding = padding;
  result.inline_bytes = is_inline;
  return result;
}

std::unique_ptr<Partitioner> python_partitioner(const std::string& name, nb::object partitioner,
                                                std::shared_ptr<Raised> raised) {
  return std::make_unique<PythonPartitioner>(name, std::move(partitioner), std::move(raised));
}

void bind_backend(nb::module_& module) {
  nb::class_<NamedDataStore>(module, "NamedDataStore", "Blobs by key that delegates and methods share.")
      .def(nb::init<>())
      .def("_add", &add_named_data)
      .def("_entries", [](const NamedDataStore& self) {
        nb::list list;
        for (const NamedData& data : self.entries()) {
          list.append(nb::make_tuple(data.key, data.storage->size(), data.alignment, data.external_tag));
        }
        return list;
      });
  nb::class_<DelegateMappingBuilder>(module, "DelegateMappingBuilder")
      .def("__init__",
           [](DelegateMappingBuilder* self, bool generated) {
             using Identifiers = DelegateMappingBuilder::Identifiers;
             new (self) DelegateMappingBuilder(generated ? Identifiers::Generated : Identifiers::Given);
           })
      .def(
          "_insert",
          [](DelegateMappingBuilder& self, const std::vector<std::uint32_t>& handles,
             const std::optional<std::variant<std::int64_t, std::string>>& id) {
            return take(self.insert_handles(handles, id));
          },
          nb::arg("handles"), nb::arg("id").none())
      .def("_mapping", &mapping_of);
}

}  // namespace depute::python
