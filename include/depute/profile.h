// Where a program spends its time: an ETDump, which ExecuTorch's runtime writes when it was built with event
// tracing, joined with the debug map of `depute lower --debug-map`.
//
//   DEPUTE_TRY(Profile profile, profile_of({.dump = bytes, .dump_name = "m.etdp", .map = json}));
//   for (const ProfileRow& row : profile.methods[0].by_line) total += row.ticks;  // the method's ticks
//
// Ticks are those of the dump: nanoseconds unless the platform counts otherwise. Nothing is divided: an
// instruction that executes nodes of several lines is a row of its own with these lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "depute/result.h"

#pragma GCC visibility push(default)

namespace depute {

struct ProfileRow {
  std::string name = {};    // a line, a module, a kernel or delegate
  std::uint64_t ticks = 0;  // of all runs
  std::uint64_t calls = 0;  // of all runs; 0 of what is no call
};

// What a backend traced inside of a delegate.
struct ProfiledPiece {
  std::string identifier = {};  // the backend's own
  std::string lines = {};       // of the model, where the debug map has the identifier; else empty
  std::string module = {};
  std::uint64_t ticks = 0;
  std::uint64_t calls = 0;
};

struct ProfiledInstruction {
  std::int64_t index = 0;
  std::string name = {};    // "aten::tan.out", "xnnpack0 (XnnpackBackend)"
  std::string lines = {};   // "model.py:12, 14"; empty where nothing is known
  std::string module = {};  // the innermost one that all its nodes are in
  std::uint64_t ticks = 0;
  std::uint64_t calls = 0;
  std::vector<ProfiledPiece> pieces = {};
};

struct MethodProfile {
  std::string method = {};  // empty without a debug map or program
  std::uint64_t runs = 0;
  std::uint64_t ticks = 0;  // of all runs, between instructions included
  std::uint64_t least = 0;  // of a run
  std::uint64_t most = 0;
  std::vector<ProfiledInstruction> instructions = {};  // that were executed, by index
  // Each sums to `ticks`; what takes most first.
  std::vector<ProfileRow> by_line = {};
  std::vector<ProfileRow> by_module = {};
  std::vector<ProfileRow> by_kernel = {};  // and by delegate
};

struct Profile {
  std::string dump = {};
  bool has_lines = false;   // there was a debug map
  bool has_pieces = false;  // some delegate's backend traced what it executes
  std::vector<MethodProfile> methods = {};
  std::vector<ProfileRow> outside = {};  // events outside of runs: loading
};

struct ProfileInputs {
  std::span<const std::byte> dump = {};
  std::string dump_name = {};           // names are for messages
  std::span<const std::byte> map = {};  // may be empty
  std::string map_name = {};
  std::span<const std::byte> program = {};  // .pte; may be empty
  std::string program_name = {};
  std::string method = {};  // of all runs, where the dump fits several
};

// Fails where a file is damaged, where the dump has no run, and where it is not of this program.
Result<Profile> profile_of(const ProfileInputs& inputs);

// In 80 columns; of each table the `top` first rows, 0: all. `colour`: escapes for a terminal.
std::string profile_text(const Profile& profile, std::size_t top, bool colour = false);
std::string profile_json(const Profile& profile);
std::string profile_html(const Profile& profile);  // a page without scripts

}  // namespace depute

#pragma GCC visibility pop
