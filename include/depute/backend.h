// Backend: turns a subprogram into the bytes its runtime counterpart understands. ExecuTorch's
// BackendDetails.
//
//   class MyBackend : public Backend {
//    public:
//     std::string_view id() const override { return "MyBackend"; }
//     Result<PreprocessResult> preprocess(const Program& edge_program,
//                                         std::span<const CompileSpec> specs) const override;
//   };
//
// docs/backends.md walks through the demo backend, which is the one to copy.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "depute/partitioner.h"
#include "depute/program.h"
#include "depute/result.h"

#pragma GCC visibility push(default)

namespace depute {

struct PreprocessResult {
  std::shared_ptr<const Storage> processed_bytes = {};
  DebugHandleMap debug_handle_map = {};
  std::vector<NamedData> data_store_output = {};
  std::string delegate_info = {};
  // Bytes that the runtime half may read past the end of a tensor it is given: the arena ends that much
  // later. At most max_arena_padding.
  std::uint32_t arena_padding = 0;
  // True: the runtime half still reads the bytes when the method runs, so they lie in the flatbuffer, which
  // stays in memory. False: they may be a segment, which the runtime frees once they are loaded.
  bool inline_bytes = false;
};

// A stretch of a payload's bytes, and what it is for.
struct PayloadPart {
  enum class Kind : std::uint8_t { Header, Tables, Constant, Padding };
  std::uint64_t offset = 0;  // from the payload's start
  std::uint64_t bytes = 0;
  Kind kind = Kind::Tables;
  std::string name = {};  // of a constant: what it is, as people know it; may be empty
};

struct PayloadLayout {
  std::vector<PayloadPart> parts = {};      // side by side; what lies between them is counted as padding
  std::vector<std::string> data_keys = {};  // of named data that the payload asks for
};

// A partition as a backend gets it: its subprogram, and the specs it was tagged with.
struct Partition {
  const Program* program = nullptr;
  std::span<const CompileSpec> compile_specs = {};
};

// The partitions of one method, in the order of their calls, and what a backend made of them.
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

  // The name the runtime registers its half under: "XnnpackBackend".
  virtual std::string_view id() const = 0;

  // `edge_program` has one method, whose graph is one partition. Its inputs are the constants that moved in
  // (parameters, then buffers, then lifted constants), then the arguments of the call in the order in which
  // nodes use them; its outputs the mutations of buffers that moved in, then the results of the call in node
  // order. A whole program that becomes one delegate keeps its own order. Must be pure and thread-safe:
  // partitions are preprocessed side by side, on as many threads as the caller allows.
  virtual Result<PreprocessResult> preprocess(const Program& edge_program,
                                              std::span<const CompileSpec> compile_specs) const = 0;

  // All partitions of all methods for this backend at once, methods in program order. Gives one result per
  // partition, in their order, under the method's name; methods may come in any order. The default calls
  // preprocess for each partition, on at most `jobs` threads.
  virtual Result<std::vector<MethodResults>> preprocess_multimethod(std::span<const MethodPartitions> methods,
                                                                    int jobs) const;

  // Results may be kept on disk (result_cache.h) if this is not empty: what they depend on beside a partition
  // and its specs, as the versions of what makes them, so that a new version does not get old results. For
  // backends that preprocess each partition by itself, whatever the others are. The default keeps nothing.
  virtual std::string cache_version() const { return {}; }

  // As Partitioner::asks_elsewhere(), of partitions.
  virtual bool asks_elsewhere() const { return false; }

  // A payload as lines of text, for people: `depute show` prints them below the delegate. The bytes come from
  // a file and may be anything; what is no sound payload is an error that names the place in it. The default
  // has nothing to say, an empty text.
  virtual Result<std::string> describe(std::span<const std::byte> processed_bytes) const;

  // What a payload's bytes are for: `depute size` lists them. As of describe, the bytes may be anything. The
  // default has no parts: the payload is told as a whole.
  virtual Result<PayloadLayout> layout(std::span<const std::byte> processed_bytes) const;
};

}  // namespace depute

#pragma GCC visibility pop
