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

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "depute/backend/partitioner.h"
#include "depute/program/program.h"
#include "depute/program/result.h"

#pragma GCC visibility push(default)

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

struct PayloadLayout {
  std::vector<PayloadPart> parts = {};  // disjoint; gaps of zeros count as padding, other gaps as unclaimed
  std::vector<std::string> data_keys = {};  // keys of the named data that the payload reads
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

class Backend {
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
  // the default, disables caching (result_cache.h).
  virtual std::string cache_version() const { return {}; }

  // True if preprocess() runs in another process, like Partitioner::is_remote().
  virtual bool is_remote() const { return false; }

  // Returns a readable form of a payload; `depute show` prints it below the delegate. The bytes come from a
  // file and may be corrupt: fails with the position of the error. The default returns an empty text.
  virtual Result<std::string> describe(std::span<const std::byte> processed_bytes) const;

  // Returns the parts of a payload; `depute size` lists them. The bytes may be corrupt, as in describe(). The
  // default returns no parts, and `depute size` lists the payload as a whole.
  virtual Result<PayloadLayout> layout(std::span<const std::byte> processed_bytes) const;
};

}  // namespace depute

#pragma GCC visibility pop
