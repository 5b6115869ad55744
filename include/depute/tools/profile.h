// Profile: execution time by line, module and kernel. Joins an ETDump, which ExecuTorch's runtime writes if
// built with event tracing, with the debug map of `depute lower --debug-map`.
//
//   DEPUTE_TRY(Profile profile, profile_of({.dump = bytes, .dump_name = "m.etdp", .map = json}));
//   for (const ProfileRow& row : profile.methods[0].by_line) total += row.ticks;  // the method's ticks
//
// Ticks are units of the dump: nanoseconds on most platforms. Ticks are never split: an instruction that
// executes nodes of several lines is one row with all of these lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "depute/api.h"
#include "depute/program/data.h"
#include "depute/program/result.h"

namespace depute {

struct ProfileRow {
  std::string name = {};    // lines, module, kernel or delegate
  std::uint64_t ticks = 0;  // total of all runs
  std::uint64_t calls = 0;  // total of all runs; 0 for rows that are no calls
};

// An event that a backend traced inside a delegate.
struct ProfiledPiece {
  std::string identifier = {};  // identifier chosen by the backend
  std::string lines = {};       // lines of the model if the debug map has the identifier; else empty
  std::string module = {};
  std::vector<std::uint32_t> handles = {};  // debug handles of its nodes, sorted
  std::uint64_t ticks = 0;
  std::uint64_t calls = 0;
};

struct ProfiledInstruction {
  std::int64_t index = 0;
  std::string name = {};                    // "aten::tan.out", "xnnpack0 (XnnpackBackend)"
  std::string callee = {};                  // the kernel, or the backend: "aten::tan.out", "XnnpackBackend"
  std::vector<std::uint32_t> handles = {};  // debug handles of its nodes, sorted
  std::string lines = {};                   // "model.py:12, 14"; empty if unknown
  std::string module = {};                  // innermost module that contains all nodes
  std::uint64_t ticks = 0;
  std::uint64_t calls = 0;
  std::vector<ProfiledPiece> pieces = {};
};

struct MethodProfile {
  std::string method = {};  // empty without a debug map or program
  std::uint64_t runs = 0;
  std::uint64_t ticks = 0;  // total of all runs, including time between instructions
  // Ticks of the fastest and of the slowest run.
  std::uint64_t least = 0;
  std::uint64_t most = 0;
  std::vector<ProfiledInstruction> instructions = {};  // executed instructions by index
  // The rows of each table sum to `ticks`; largest first.
  std::vector<ProfileRow> by_line = {};
  std::vector<ProfileRow> by_module = {};
  std::vector<ProfileRow> by_kernel = {};  // also by delegate
};

// A traced event, in the order of the dump.
struct ProfileEvent {
  std::uint64_t run = 0;  // of all runs of the dump
  std::string name = {};  // that of the method, instruction or piece
  std::string lines = {};
  std::string module = {};
  std::uint64_t start = 0;  // ticks since the first event of the dump
  std::uint64_t ticks = 0;
  bool is_piece = false;  // traced by a backend, whose clock may be another
};

// A tensor that the runtime traced, in the order of the dump.
struct ProfiledTensor {
  std::uint64_t run = 0;          // of the dump's runs of methods
  std::int64_t instruction = -1;  // -1: a result of the method
  std::string name = {};          // that of the instruction or piece; "result" of the method
  std::string lines = {};
  std::string module = {};
  TensorData data = {};
};

struct Profile {
  std::string dump = {};
  bool has_lines = false;   // a debug map was given
  bool has_pieces = false;  // a backend traced events inside a delegate
  std::vector<MethodProfile> methods = {};
  std::vector<ProfileRow> outside = {};      // events outside runs, such as loading
  std::vector<ProfileEvent> events = {};     // with ProfileInputs::with_events
  std::vector<ProfiledTensor> tensors = {};  // with ProfileInputs::values
};

struct ProfileInputs {
  std::span<const std::byte> dump = {};
  std::string dump_name = {};           // file names are for messages
  std::span<const std::byte> map = {};  // may be empty
  std::string map_name = {};
  std::span<const std::byte> program = {};  // .pte; may be empty
  std::string program_name = {};
  std::string method = {};  // method of all runs; needed if the dump fits several methods
  bool with_events = false;
  // The debug buffer of a tracer that traced values, too ("intermediate outputs"); may be null.
  std::shared_ptr<const Storage> values = {};
  std::string values_name = {};
};

// Fails if a file is damaged, the dump contains no run, or the dump does not belong to the program.
DEPUTE_API Result<Profile> profile_of(const ProfileInputs& inputs);

// Formats the profile in 80 columns, with the first `top` rows of each table (0: all). `color` adds terminal
// escapes.
DEPUTE_API std::string profile_text(const Profile& profile, std::size_t top, bool color = false);
// The tensors as arrays: "run_0.instruction_3", "run_0.result"; further ones of the same name end in "_1", "_2".
DEPUTE_API NamedArrays profile_arrays(const Profile& profile);
DEPUTE_API std::string profile_json(const Profile& profile);
DEPUTE_API std::string profile_html(const Profile& profile);  // an HTML page without scripts
// A row for each instruction and each piece, for spreadsheets and pandas.
DEPUTE_API std::string profile_tsv(const Profile& profile);
// The events as a trace that Perfetto (ui.perfetto.dev) and chrome://tracing show.
DEPUTE_API std::string profile_timeline(const Profile& profile);

}  // namespace depute
