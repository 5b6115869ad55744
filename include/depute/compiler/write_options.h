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
#include "depute/program/name.h"
#include "depute/program/result.h"

namespace depute {

// A .ptd file for the data whose names match a pattern.
struct DataFile {
  std::string path = {};
  // A name in the model, in which '*' matches any text: "layers.*", "*lora*". Data made from several
  // constants match if one of the names matches.
  std::string pattern = "*";
  friend bool operator==(const DataFile&, const DataFile&) = default;
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
};

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
