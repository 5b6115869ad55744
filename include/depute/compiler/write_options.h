// Options and results of to_executorch() and write() (compiler.h): the layout of a .pte file, the reasons why a
// program cannot be executed, and a summary of the written file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "depute/api.h"
#include "depute/compiler/memory_planner.h"
#include "depute/program/name.h"
#include "depute/program/result.h"

namespace depute {

// A .ptd file for the data whose names match a pattern.
struct DataFile {
  std::string path = {};
  // A name in the model, in which '*' matches any text: "layers.*", "*lora*". Data made from several
  // constants match if one of the names matches.
  std::string pattern = "*";
  // If not 0, no file is larger: the rest goes to files like it, "model_2.ptd", "model_3.ptd", ... Of several limits of
  // one file the smallest applies.
  std::uint64_t max_bytes = 0;
  friend bool operator==(const DataFile&, const DataFile&) = default;
};

// A memory of the device that holds planned values, a part or all of it.
struct MemoryBank {
  std::string name;
  std::uint64_t size = 0;       // bytes for one method, with the padding behind values that delegates read
  std::uint32_t memory_id = 0;  // arena of the runtime, from 1: its size is non_const_buffer_sizes[memory_id]
  std::uint64_t alignment = 0;  // of values, in bytes; a power of two. Values always lie at multiples of 16
  friend bool operator==(const MemoryBank&, const MemoryBank&) = default;
};

inline constexpr std::uint32_t max_memory_id = 64;

// Values that must lie in one bank: the results of the nodes that the selector selects, as pins of backends do
// (backend/pins.h), and inputs and buffers with such a name.
struct MemoryPin {
  std::string bank;
  std::string selector;
  friend bool operator==(const MemoryPin&, const MemoryPin&) = default;
};

struct WriteOptions {
  int jobs = 1;  // threads used to produce lazy constants and to hash them
  // Files for the plan's external constants and the delegates' named data. Data go to the first file that
  // matches, or stay in the .pte if none does. A file without data is not written, because runtimes reject
  // it. Named data with a tag always go to the file of the tag: external_path().
  std::vector<DataFile> ptd = {};
  // True: delegate bytes become segments, which a runtime can load separately and free. False: they lie in
  // the flatbuffer, whose size is limited to 2 GiB. With PreprocessResult::inline_bytes they always lie in
  // the flatbuffer.
  bool extract_delegate_segments = true;
  // Alignments in the file in bytes, powers of two up to max_alignment (program.h): of all segments, and of
  // delegate bytes.
  std::uint64_t segment_alignment = 128;
  std::uint64_t delegate_alignment = 16;
  // If false, the runtime's caller provides the memory of inputs or outputs before each call, and no memory
  // is planned for them.
  bool alloc_inputs = true;
  bool alloc_outputs = true;
  // Write the model's line of each instruction, which debuggers of the runtime read.
  bool stack_traces = false;
  // Memories that planned values are distributed to, the fastest first; empty: values lie in arena 1 of any
  // size, buffers that are kept between calls in arena 2. The plan minimizes the bytes that are read and
  // written outside of the first bank; bytes in the third bank count twice, and so on.
  std::vector<MemoryBank> banks = {};
  std::vector<MemoryPin> memory_pins = {};
  // If false, no memory is planned for buffers that are kept between calls. The caller provides it before each
  // call, with their initial content, by their names in the file: Method::get_attribute() in the runtime.
  bool alloc_state = true;
  std::uint64_t constant_alignment =
      16;  // of constants in their segment, in bytes; a power of two; 16 at least
  // Decides where planned values lie. With `pin` and without banks, each memory that it names is a bank of any size;
  // values without a pin lie in memory 1. `place` and banks exclude each other.
  MemoryPlanner planner = {};
};

// Fails for banks, pins or planners that no program can be planned with, such as two banks of one name.
DEPUTE_API Status check_memory(const WriteOptions& options);

struct WrittenFile {
  std::string path;
  std::uint64_t bytes = 0;
};

struct WriteSummary {
  std::uint64_t file_bytes = 0;
  std::uint64_t flatbuffer_bytes = 0;
  std::uint64_t constant_bytes = 0;         // segment 0
  std::vector<WrittenFile> external_files;  // .ptd
  std::vector<std::string> warnings;
};

// Path of a tag's .ptd file beside `path`: "dir/model_lora.ptd" for "dir/model.pte" or "dir/model.ptd".
// The second file of a DataFile with a limit has the tag "2".
DEPUTE_API std::string external_path(const std::string& path, const std::string& tag);

// A written program: the .pte and the .ptd files that it needs. The bytes are empty if they went to files.
struct PteFile {
  std::string name;  // path of the .pte; .ptd files lie beside it
  WriteSummary summary;
  std::vector<std::byte> pte;
  std::map<std::string, std::vector<std::byte>> external;  // .ptd files by path
};

class Node;
class Program;

// A reason why a program cannot be executed.
struct Refusal {
  Name method;
  const Node* node = nullptr;  // node of `program`, perhaps in a body; null: the cause is not one node
  Diagnostic cause;
  std::shared_ptr<const Program> program = {};  // the lowered program, from to_executorch()
};

}  // namespace depute
