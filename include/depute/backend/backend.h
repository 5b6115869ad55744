// Backend: converts a subprogram into the bytes that its runtime delegate executes (ExecuTorch's
// BackendDetails).
//
//   class MyBackend : public Backend {
//    public:
//     std::string_view id() const override { return "MyBackend"; }
//     Result<PreprocessResult> preprocess(const Program& edge_program,
//                                         std::span<const CompileSpec> specs) const override;
//   };
//
// docs/backends.md walks through the demo backend, which is a good starting point for a new one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "depute/api.h"
#include "depute/backend/partitioner.h"
#include "depute/program/program.h"
#include "depute/program/result.h"

namespace depute {

struct PreprocessResult {
  std::shared_ptr<const Storage> processed_bytes = {};
  DebugHandleMap debug_handle_map = {};
  std::vector<NamedData> data_store_output = {};
  std::string delegate_info = {};
  // Bytes that the runtime delegate may read past the end of an input or output tensor. The planner leaves
  // this much room at the end of the arena. At most max_arena_padding.
  std::uint32_t arena_padding = 0;
  // True: the runtime delegate reads these bytes while the method runs, so they stay in the flatbuffer.
  // False: they may be stored in a segment, which the runtime frees after initialization.
  bool inline_bytes = false;
};

// A range of bytes in a payload and its purpose.
struct PayloadPart {
  enum class Kind : std::uint8_t { Header, Tables, Constant, Padding };
  std::uint64_t offset = 0;  // bytes from the start of the payload
  std::uint64_t bytes = 0;
  Kind kind = Kind::Tables;
  std::string name = {};  // readable name of a constant; may be empty
};

// A kind of element that the runtime half must know: the 43rd kind of node, "Tanh". Numbers count from 1 in the order
// in which the payload's format got them.
struct PayloadNeed {
  std::string kind;
  std::uint64_t number = 0;
  std::string name;
};

struct PayloadLayout {
  std::vector<PayloadPart> parts = {};  // disjoint; gaps of zeros count as padding, other gaps as unclaimed
  std::vector<std::string> data_keys = {};  // keys of the named data that the payload reads
  std::vector<PayloadNeed> needs = {};      // the highest number of each kind; `depute check` compares them
};

// A partition as passed to a backend: its subprogram and its compile specs.
struct Partition {
  const Program* program = nullptr;
  std::span<const CompileSpec> compile_specs = {};
};

// The partitions of one method in the order of their calls, and the results of preprocessing them.
struct MethodPartitions {
  std::string method;
  std::vector<Partition> partitions;
};
struct MethodResults {
  std::string method;
  std::vector<PreprocessResult> results;
};

class DEPUTE_API Backend {
 public:
  virtual ~Backend() = default;

  // Name under which the runtime delegate is registered: "XnnpackBackend".
  virtual std::string_view id() const = 0;

  // Lowers one partition. `edge_program` has one method, whose graph is the partition.
  // Inputs: first the constants owned by the partition (parameters, buffers, lifted constants, in this
  // order), then the call's arguments in order of first use. Outputs: first the mutations of owned buffers,
  // then the call's results in node order. A whole program that becomes one delegate keeps its own order.
  // Must be pure and thread-safe: partitions are preprocessed in parallel, on as many threads as the caller
  // allows.
  virtual Result<PreprocessResult> preprocess(const Program& edge_program,
                                              std::span<const CompileSpec> compile_specs) const = 0;

  // Lowers all partitions of all methods for this backend in one call; methods are in program order. Returns
  // one result per partition, in the same order, under the method's name; methods may be in any order. The
  // default calls preprocess() for each partition, on at most `jobs` threads.
  virtual Result<std::vector<MethodResults>> preprocess_multimethod(std::span<const MethodPartitions> methods,
                                                                    int jobs) const;

  // Cache key. Return a string that changes whenever the same partition and specs could give different bytes
  // (compiler and library versions). Only for backends that preprocess each partition independently. Empty,
  // the default, disables caching (CacheOptions).
  virtual std::string cache_version() const { return {}; }

  // Returns the element type in which a delegate with these compile specs receives and returns tensors of `type`.
  // to_backend() converts them outside of the delegate, and back to `type` inside of it. Only for values that have the
  // same numbers in both types, such as indices: a partitioner must not take a node where others could cross the
  // border. The default converts nothing; so does to_backend() of a whole program.
  virtual ScalarType border_type(ScalarType type,
                                 [[maybe_unused]] std::span<const CompileSpec> compile_specs) const {
    return type;
  }

  // True if preprocess() runs in another process, like Partitioner::is_remote().
  virtual bool is_remote() const { return false; }

  // Returns a readable form of a payload; `depute show` prints it below the delegate. The bytes come from a
  // file and may be corrupt: fails with the position of the error. The default returns an empty text.
  virtual Result<std::string> describe(std::span<const std::byte> processed_bytes) const;

  // Returns the parts of a payload, which `depute size` lists, and what it needs of its runtime half. The bytes may be corrupt, as in describe(). The
  // default returns no parts, and `depute size` lists the payload as a whole.
  virtual Result<PayloadLayout> layout(std::span<const std::byte> processed_bytes) const;
};

// A backend made of functions, for experiments and for backends without state:
//
//   entry.backend = std::make_unique<FunctionBackend>("MyBackend", [](const Program& program) {
//     return PreprocessResult{.processed_bytes = storage_of(print(program))};
//   });
class DEPUTE_API FunctionBackend : public Backend {
 public:
  // All functions must be pure and thread-safe, like those of Backend.
  using Preprocess = std::function<Result<PreprocessResult>(const Program&)>;
  using PreprocessWithSpecs =
      std::function<Result<PreprocessResult>(const Program&, std::span<const CompileSpec>)>;
  using Multimethod = std::function<Result<std::vector<MethodResults>>(std::span<const MethodPartitions>)>;

  // Without `multimethod`, the partitions are preprocessed one by one, which is the default of Backend.
  FunctionBackend(std::string id, PreprocessWithSpecs preprocess, Multimethod multimethod = {})
      : id_(std::move(id)), preprocess_(std::move(preprocess)), multimethod_(std::move(multimethod)) {}
  FunctionBackend(std::string id, Preprocess preprocess, Multimethod multimethod = {})
      : FunctionBackend(std::move(id),
                        PreprocessWithSpecs([preprocess = std::move(preprocess)](
                                                const Program& program, std::span<const CompileSpec>) {
                          return preprocess(program);
                        }),
                        std::move(multimethod)) {}

  std::string_view id() const override { return id_; }
  Result<PreprocessResult> preprocess(const Program& edge_program,
                                      std::span<const CompileSpec> compile_specs) const override {
    return preprocess_(edge_program, compile_specs);
  }
  Result<std::vector<MethodResults>> preprocess_multimethod(std::span<const MethodPartitions> methods,
                                                            int jobs) const override {
    return multimethod_ ? multimethod_(methods) : Backend::preprocess_multimethod(methods, jobs);
  }

 private:
  std::string id_;
  PreprocessWithSpecs preprocess_;
  Multimethod multimethod_;
};

// --- helpers for results

DEPUTE_API std::string debug_id_text(const DelegateDebugId& id);  // text for messages: 7, 'conv'

// Maps identifiers of a delegate's own instructions to debug handles of nodes, so that a delegate's profile can be
// attributed to the user's model.
//
//   DelegateMappingBuilder builder(DelegateMappingBuilder::Identifiers::Generated);
//   DEPUTE_TRY(auto id, builder.insert({conv, relu}));        // 0
//   result.debug_handle_map = builder.mapping();       // {0: (1, 2)}
//
// Identifiers are generated (0, 1, ...) or given by the caller (int or string), never both in one map.
class DEPUTE_API DelegateMappingBuilder {
 public:
  enum class Identifiers : std::uint8_t { Generated, Given };
  explicit DelegateMappingBuilder(Identifiers identifiers) : identifiers_(identifiers) {}

  // Adds one entry. A backend op counts as the nodes it replaced. Handles of 0 (nodes without a handle) are
  // dropped.
  // Fails for a null node, an entry without handles, a duplicate identifier, a missing one with
  // Identifiers::Given, and one given with Identifiers::Generated. A failed insert has no effect.
  Result<DelegateDebugId> insert(std::span<const Node* const> nodes,
                                 std::optional<DelegateDebugId> id = std::nullopt);
  Result<DelegateDebugId> insert(std::initializer_list<const Node*> nodes,
                                 std::optional<DelegateDebugId> id = std::nullopt);
  Result<DelegateDebugId> insert_handles(std::span<const std::uint32_t> handles,
                                         std::optional<DelegateDebugId> id = std::nullopt);

  // Entries in insertion order; the handles of each entry are ascending and unique.
  const DebugHandleMap& mapping() const { return mapping_; }

 private:
  Identifiers identifiers_;
  std::int64_t next_ = 0;
  DebugHandleMap mapping_;
  std::unordered_set<DelegateDebugId> ids_;  // identifiers in mapping_
};

// Blobs by key, shared by delegates and methods. Backends return one per partition; the compiler merges them over
// the program.
//
//   NamedDataStore store;
//   DEPUTE_TRY_STATUS(store.add("conv1.weight", storage, 64));
//   result.data_store_output = std::move(store).take();
//
// A key names one blob in the whole program, even if the blob goes to an external file. A key may be added
// again with the same bytes: the largest alignment and the first layout win. If one entry has no external
// tag, the blob lies in the program; with several tags, it lies in the file of the first tag. The writer
// stores equal blobs under several keys once.
class DEPUTE_API NamedDataStore {
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

// Merges the named data of all delegates of a program, including nested delegates, in order. Nested delegates
// look their data up in the same way at run time.
DEPUTE_API Result<NamedDataStore> merge_named_data(const Program& program);

}  // namespace depute
