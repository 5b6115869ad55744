// Joins an ETDump with a debug map. A run does not name its method, so it is matched with the method whose
// instructions call the run's kernels and delegates.
//
//   OPERATOR_CALL 0: 400, native_call_tan.out 0: 340, Method::execute: 510
//     ->  instruction 0, aten::tan.out, model.py:7: 400; between instructions: 110
#include "depute/tools/profile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "read/etdump.h"
#include "read/pte.h"
#include "read/read_debug_map.h"
#include "support/try.h"
#include "tools/bundle/program_part.h"

namespace depute {
namespace {

constexpr std::string_view whole_run = "Method::execute";
constexpr std::string_view delegate_call = "DELEGATE_CALL";
constexpr std::string_view kernel_call = "OPERATOR_CALL";
constexpr std::string_view kernel_prefix = "native_call_";
constexpr std::string_view between = "between instructions";
constexpr std::string_view no_line = "no line known";
constexpr std::string_view no_module = "no module known";
constexpr std::size_t told_lines = 6;

struct Spent {
  std::uint64_t ticks = 0;
  std::uint64_t calls = 0;

  void add(std::uint64_t more) {
    ticks += more;
    ++calls;
  }
};

struct PieceSpent : Spent {
  std::string counted;  // "Convolution #3", or empty
};

// Runtime names of pieces may contain details that the compiler does not know: the third convolution of a
// call may be "Convolution (NHWC, F32) GEMM #1". This counter numbers them by the text before the bracket.
class PieceCounter {
 public:
  std::string count(const std::string& identifier) {
    if (!seen_.insert(identifier).second) {  // each name occurs once per call, so a new call begins
      seen_ = {identifier};
      counts_.clear();
    }
    const std::size_t bracket = identifier.find(" (");
    if (bracket == std::string::npos) return {};
    const std::string name = identifier.substr(0, bracket);
    return fmt::format("{} #{}", name, ++counts_[name]);
  }

 private:
  std::set<std::string> seen_;
  std::map<std::string, std::size_t> counts_;
};

// One method's instruction, and the time of all its runs.
struct InstructionSpent {
  std::map<std::string_view, Spent> events;  // by name; the longest event includes the others
  std::map<std::string, PieceSpent> pieces;  // by identifier
  PieceCounter counter;

  void add_piece(const std::string& identifier, std::uint64_t ticks) {
    PieceSpent& piece = pieces[identifier];
    piece.add(ticks);
    piece.counted = counter.count(identifier);
  }

  Spent outermost() const {
    Spent most;
    for (const auto& [name, spent] : events) {
      if (spent.ticks >= most.ticks) most = spent;
    }
    return most;
  }
  // The runtime's kernel name, such as "tan.out"; empty for a delegate.
  std::string_view kernel() const {
    for (const auto& [name, spent] : events) {
      if (name.starts_with(kernel_prefix)) return name.substr(kernel_prefix.size());
    }
    return {};
  }
  bool is_delegate() const { return events.contains(delegate_call); }
};

std::string identifier_of(const auto& event) {
  return event.delegate_text.empty() ? std::to_string(event.delegate_id) : std::string(event.delegate_text);
}

using Handles = std::vector<std::uint32_t>;

// Visits the pieces of a delegate call and of nested delegates, whose backends name the same instruction.
template <typename Visit>
void for_each_piece(const MappedInstruction& entry, const Visit& visit) {
  if (entry.pieces) {
    for (const auto& [identifier, handles] : *entry.pieces) {
      const auto* name = std::get_if<std::string>(&identifier);
      visit(name != nullptr ? *name : std::to_string(std::get<std::int64_t>(identifier)), handles);
    }
  }
  for (const MappedInstruction& nested : entry.delegates) for_each_piece(nested, visit);
}

// A map for a program without a debug map: instructions without nodes.
DebugMap map_of(const PteContents& program) {
  DebugMap map;
  for (const ExecutionPlan& method : program.methods) {
    std::vector<MappedInstruction>& instructions = map.methods[method.name].instructions;
    for (const Instruction& each : method.instructions) {
      MappedInstruction& entry = instructions.emplace_back();
      const auto index = static_cast<std::size_t>(each.index);
      if (each.kind == Instruction::Kind::KernelCall) {
        entry.kind = "kernel";
        entry.name = method.operators[index].str();
      } else if (each.kind == Instruction::Kind::DelegateCall) {
        entry.kind = "delegate";
        entry.name = method.delegates[index].backend_id;
      } else if (each.kind == Instruction::Kind::JumpFalseCall) {
        entry.kind = "jump";
      }
    }
  }
  return map;
}

// Looks up lines and modules of nodes.
class Places {
 public:
  explicit Places(const DebugMap& map) : map_(map) {}

  // "model.py:12, 14 util.py:3".
  std::string lines(const std::vector<std::uint32_t>& handles) const {
    std::map<std::string, std::set<std::int64_t>> by_file;
    for (const MappedNode* node : nodes(handles)) {
      if (!node->file.empty()) by_file[node->file].insert(node->line.value_or(0));
    }
    std::string text;
    for (const auto& [file, lines] : by_file) {
      std::vector<std::int64_t> shown(lines.begin(), lines.end());
      const std::size_t more = shown.size() > told_lines ? shown.size() - told_lines : 0;
      shown.resize(shown.size() - more);
      text += fmt::format("{}{}:{}", text.empty() ? "" : " ", file, fmt::join(shown, ", "));
      if (more > 0) text += fmt::format(" and {} more", more);
    }
    return text;
  }

  // The innermost common module: "features" for features.0 and features.1.
  std::string module(const std::vector<std::uint32_t>& handles) const {
    std::optional<std::string> common;
    for (const MappedNode* node : nodes(handles)) {
      common = common ? common_module(*common, node->module) : node->module;
    }
    return common.value_or("");
  }

 private:
  static std::string common_module(const std::string& a, const std::string& b) {
    std::size_t end = 0;
    for (std::size_t i = 0; i <= std::min(a.size(), b.size()); ++i) {
      const bool ends_a = i == a.size() || a[i] == '.';
      const bool ends_b = i == b.size() || b[i] == '.';
      if (ends_a && ends_b) end = i;
      if (i == a.size() || i == b.size() || a[i] != b[i]) break;
    }
    return a.substr(0, end);
  }

  // Returns the nodes of the handles. A delegate call stands for the delegate's nodes, which are no calls.
  std::vector<const MappedNode*> nodes(const std::vector<std::uint32_t>& handles) const {
    std::vector<const MappedNode*> found;
    const auto add = [&](std::uint32_t handle) -> const MappedNode* {
      const auto node = map_.nodes.find(handle);
      return node == map_.nodes.end() ? nullptr : &node->second;
    };
    for (const std::uint32_t handle : handles) {
      const MappedNode* node = add(handle);
      if (node == nullptr) continue;
      found.push_back(node);
      if (!node->handles) continue;
      for (const std::uint32_t inner : *node->handles) {
        if (const MappedNode* other = add(inner)) found.push_back(other);
      }
    }
    return found;
  }

  const DebugMap& map_;
};

// Rows by name, sorted by time.
class SpentRows {
 public:
  void add(const std::string& name, std::uint64_t ticks, std::uint64_t calls) {
    ProfileRow& row = rows_[name];
    row.ticks += ticks;
    row.calls += calls;
  }
  std::vector<ProfileRow> sorted() const {
    std::vector<ProfileRow> rows;
    for (const auto& [name, row] : rows_) rows.push_back({name, row.ticks, row.calls});
    std::ranges::stable_sort(rows, std::ranges::greater(), &ProfileRow::ticks);
    return rows;
  }

 private:
  std::map<std::string, ProfileRow> rows_;
};

class Joiner {
 public:
  Joiner(const ProfileInputs& inputs, const EtDump& dump, const DebugMap& map)
      : inputs_(inputs), dump_(dump), map_(map), places_(map) {}

  Result<Profile> run() {
    SpentRows outside;
    for (const EtRun& run : dump_.runs) {
      std::string& method = method_of_run_.emplace_back();
      if (is_execution(run)) {
        TRY(method, method_of(run));
        add_run(methods_[method], run);
      } else {
        for (const EtEvent& event : run.events) outside.add(std::string(event.name), event.ticks, 1);
      }
    }
    if (methods_.empty())
      return failure(
          "profile", inputs_.dump_name, "the dump has no run of a method",
          "trace at least one call, in a runtime that was built with EXECUTORCH_ENABLE_EVENT_TRACER");
    Profile profile{
        .dump = inputs_.dump_name, .has_lines = !inputs_.map.empty(), .outside = outside.sorted()};
    for (const auto& [name, spent] : methods_)
      profile.methods.push_back(join(name, spent, profile.has_pieces));
    if (inputs_.with_events) add_events(profile);
    if (inputs_.values != nullptr) TRY_STATUS(add_tensors(profile));
    return profile;
  }

 private:
  struct MethodSpent {
    std::vector<std::uint64_t> runs;
    std::map<std::int32_t, InstructionSpent> instructions;
  };

  static bool is_execution(const EtRun& run) {
    return std::ranges::any_of(run.events, [](const EtEvent& event) { return event.name == whole_run; });
  }

  // Without a map, all runs belong to one unnamed method.
  Result<std::string> method_of(const EtRun& run) const {
    if (map_.methods.empty()) return std::string();
    if (!inputs_.method.empty() && map_.methods.count(inputs_.method) == 0)
      return failure("usage", "--method", fmt::format("there is no method '{}'", inputs_.method));
    std::vector<std::string> fitting;
    for (const auto& [name, method] : map_.methods) {
      if ((inputs_.method.empty() || name == inputs_.method) && fits(run, method.instructions))
        fitting.push_back(name);
    }
    std::ranges::sort(fitting);
    if (fitting.size() > 1) keep_known(run, fitting);
    if (fitting.size() == 1) return fitting[0];
    const std::string& other = inputs_.map.empty() ? inputs_.program_name : inputs_.map_name;
    if (fitting.empty())
      return failure("profile", inputs_.dump_name,
                     fmt::format("a run calls what no method of {} does", other),
                     "give the debug map that was written with the program");
    return failure("usage", "--method",
                   fmt::format("a run may be of each of the methods {}", fmt::join(fitting, ", ")),
                   "tell which by --method NAME");
  }

  // Delegate calls look alike. Prefers the only method that knows all traced pieces of its delegates.
  void keep_known(const EtRun& run, std::vector<std::string>& fitting) const {
    std::vector<std::string> known;
    std::ranges::copy_if(fitting, std::back_inserter(known), [&](const std::string& name) {
      return knows_pieces(run, map_.methods.at(name).instructions);
    });
    if (known.size() == 1) fitting = std::move(known);
  }

  static bool knows_pieces(const EtRun& run, const std::vector<MappedInstruction>& instructions) {
    std::map<std::int32_t, PieceCounter> counters;
    return std::ranges::all_of(run.events, [&](const EtEvent& event) {
      if (event.instruction < 0 || !event.is_inside_delegate()) return true;
      const std::string identifier = identifier_of(event);
      const std::string counted = counters[event.instruction].count(identifier);
      const MappedInstruction& entry = instructions[static_cast<std::size_t>(event.instruction)];
      bool is_known = false;
      for_each_piece(entry, [&](const std::string& name, const Handles&) {
        is_known |= name == identifier || (!counted.empty() && name == counted);
      });
      return is_known;
    });
  }

  static bool fits(const EtRun& run, const std::vector<MappedInstruction>& instructions) {
    return fits_events(run, instructions) && calls_first(run, instructions);
  }

  // All calls before the first jump must be in the run.
  static bool calls_first(const EtRun& run, const std::vector<MappedInstruction>& instructions) {
    std::set<std::int32_t> called;
    for (const EtEvent& event : run.events) called.insert(event.instruction);
    for (std::size_t i = 0; i < instructions.size() && instructions[i].kind != "jump"; ++i) {
      const bool is_call = instructions[i].kind == "kernel" || instructions[i].kind == "delegate";
      if (is_call && !called.contains(static_cast<std::int32_t>(i))) return false;
    }
    return true;
  }

  static bool fits_events(const EtRun& run, const std::vector<MappedInstruction>& instructions) {
    return std::ranges::all_of(run.events, [&](const EtEvent& event) {
      if (event.instruction < 0) return true;
      const auto index = static_cast<std::size_t>(event.instruction);
      if (index >= instructions.size()) return false;
      const MappedInstruction& entry = instructions[index];
      if (event.is_inside_delegate() || event.name == delegate_call) return entry.kind == "delegate";
      if (event.name == kernel_call) return entry.kind == "kernel";
      if (!event.name.starts_with(kernel_prefix)) return true;
      const std::string kernel = fmt::format("::{}", event.name.substr(kernel_prefix.size()));
      return entry.kind == "kernel" && entry.name.ends_with(kernel);
    });
  }

  static void add_run(MethodSpent& method, const EtRun& run) {
    std::uint64_t whole = 0;
    for (const EtEvent& event : run.events) {
      if (event.name == whole_run) whole += event.ticks;
      if (event.instruction < 0) continue;
      InstructionSpent& instruction = method.instructions[event.instruction];
      if (event.is_inside_delegate()) {
        instruction.add_piece(identifier_of(event), event.ticks);
      } else {
        instruction.events[event.name].add(event.ticks);
      }
    }
    method.runs.push_back(whole);
  }

  // Names and places of a method's events, by instruction and by piece; the instruction itself has an empty identifier.
  using EventNames = std::map<std::pair<std::int64_t, std::string>, ProfileEvent>;

  static EventNames event_names(const MethodProfile& method) {
    EventNames names;
    for (const ProfiledInstruction& each : method.instructions) {
      names[{each.index, ""}] = {.name = each.name, .lines = each.lines, .module = each.module};
      for (const ProfiledPiece& piece : each.pieces)
        names[{each.index, piece.identifier}] = {
            .name = piece.identifier, .lines = piece.lines, .module = piece.module, .is_piece = true};
    }
    return names;
  }

  void add_events(Profile& profile) const {
    std::map<std::string, EventNames> names;
    for (const MethodProfile& method : profile.methods) names[method.method] = event_names(method);
    std::uint64_t first = std::numeric_limits<std::uint64_t>::max();
    for (const EtRun& run : dump_.runs)
      for (const EtEvent& event : run.events) first = std::min(first, event.start);
    for (std::size_t i = 0; i < dump_.runs.size(); ++i) {
      const bool is_run = is_execution(dump_.runs[i]);
      for (const EtEvent& event : dump_.runs[i].events) {
        ProfileEvent made = {.name = std::string(event.name)};
        if (is_run && event.name == whole_run && !method_of_run_[i].empty()) made.name = method_of_run_[i];
        if (is_run && event.instruction >= 0) {
          // A kernel traces itself inside its instruction.
          if (!event.is_inside_delegate() && event.name.starts_with(kernel_prefix)) continue;
          made = names[method_of_run_[i]].at(
              {event.instruction, event.is_inside_delegate() ? identifier_of(event) : ""});
        }
        made.run = i;
        made.start = event.start - first;
        made.ticks = event.ticks;
        profile.events.push_back(std::move(made));
      }
    }
  }

  Status add_tensors(Profile& profile) const {
    std::map<std::string, EventNames> names;
    for (const MethodProfile& method : profile.methods) names[method.method] = event_names(method);
    std::uint64_t run = 0;
    for (std::size_t i = 0; i < dump_.runs.size(); ++i) {
      if (!is_execution(dump_.runs[i])) continue;
      for (const EtTensor& tensor : dump_.runs[i].tensors) {
        ProfiledTensor& made = profile.tensors.emplace_back(ProfiledTensor{
            .run = run, .instruction = tensor.is_result ? -1 : tensor.instruction, .name = "result"});
        if (!tensor.is_result) describe(made, tensor, names[method_of_run_[i]]);
        TRY(made.data, elements_of(tensor));
      }
      ++run;
    }
    return {};
  }

  // The pieces of a delegate that traced no times have no names but their identifiers.
  static void describe(ProfiledTensor& made, const EtTensor& tensor, const EventNames& names) {
    const bool is_piece = tensor.delegate_id != -1 || !tensor.delegate_text.empty();
    const std::string piece = is_piece ? identifier_of(tensor) : "";
    auto found = names.find({tensor.instruction, piece});
    if (found == names.end()) found = names.find({tensor.instruction, ""});
    made.name = found == names.end() ? "instruction" : found->second.name;
    if (is_piece && made.name != piece) made.name += " " + piece;
    if (found == names.end()) return;
    made.lines = found->second.lines;
    made.module = found->second.module;
  }

  Result<TensorData> elements_of(const EtTensor& tensor) const {
    TensorData data{.type = make_tensor(tensor.dtype, Dims(tensor.sizes.begin(), tensor.sizes.end()))};
    std::uint64_t size = item_size(tensor.dtype);
    bool is_inside = tensor.sizes.size() <= max_rank;
    for (const std::int64_t each : tensor.sizes)
      is_inside &= !__builtin_mul_overflow(size, static_cast<std::uint64_t>(each), &size);
    const std::uint64_t all = inputs_.values->size();
    if (!is_inside || size > all || tensor.offset > all - size)
      return failure(
          "profile", inputs_.values_name,
          fmt::format("it has {} bytes; a tensor {} lies at {}", all, str(data.type), tensor.offset),
          "give the debug buffer that was written with the dump");
    if (tensor.offset % item_size(tensor.dtype) == 0) {
      data.storage = Storage::part(inputs_.values, tensor.offset, size);
    } else {  // kernels read aligned elements
      data.storage = Storage::lazy(size, [values = inputs_.values, offset = tensor.offset, size] {
        const std::span<const std::byte> bytes = values->bytes().subspan(offset, size);
        return std::vector<std::byte>(bytes.begin(), bytes.end());
      });
    }
    return data;
  }

  MethodProfile join(const std::string& name, const MethodSpent& spent, bool& has_pieces) const {
    MethodProfile method{.method = name,
                         .runs = spent.runs.size(),
                         .least = *std::ranges::min_element(spent.runs),
                         .most = *std::ranges::max_element(spent.runs)};
    for (const std::uint64_t ticks : spent.runs) method.ticks += ticks;
    SpentRows lines;
    SpentRows modules;
    SpentRows kernel_rows;
    std::uint64_t rest = method.ticks;
    for (const auto& [index, each] : spent.instructions) {
      ProfiledInstruction instruction = join_instruction(name, index, each);
      has_pieces |= !instruction.pieces.empty();
      rest -= std::min(rest, instruction.ticks);
      kernel_rows.add(instruction.name, instruction.ticks, instruction.calls);
      add_places(instruction, lines, modules);
      method.instructions.push_back(std::move(instruction));
    }
    for (SpentRows* rows : {&lines, &modules, &kernel_rows}) {
      if (rest > 0) rows->add(std::string(between), rest, 0);
    }
    method.by_line = lines.sorted();
    method.by_module = modules.sorted();
    method.by_kernel = kernel_rows.sorted();
    return method;
  }

  // Pieces with lines get their own rows; the rest of the delegate's time goes to a row with all its lines.
  static void add_places(const ProfiledInstruction& instruction, SpentRows& lines, SpentRows& modules) {
    const auto row = [](SpentRows& rows, const std::string& name, std::string_view none, std::uint64_t ticks,
                        std::uint64_t calls) {
      rows.add(name.empty() ? std::string(none) : name, ticks, calls);
    };
    std::uint64_t rest = instruction.ticks;
    for (const ProfiledPiece& piece : instruction.pieces) {
      if (piece.lines.empty() || piece.ticks > rest) continue;
      rest -= piece.ticks;
      row(lines, piece.lines, no_line, piece.ticks, piece.calls);
      row(modules, piece.module, no_module, piece.ticks, piece.calls);
    }
    row(lines, instruction.lines, no_line, rest, instruction.calls);
    row(modules, instruction.module, no_module, rest, instruction.calls);
  }

  ProfiledInstruction join_instruction(const std::string& method, std::int32_t index,
                                       const InstructionSpent& spent) const {
    const Spent all = spent.outermost();
    ProfiledInstruction instruction{.index = index, .ticks = all.ticks, .calls = all.calls};
    const auto found = map_.methods.find(method);
    const MappedInstruction* entry =
        found == map_.methods.end() ? nullptr : &found->second.instructions[static_cast<std::size_t>(index)];
    if (entry != nullptr) {
      instruction.name =
          entry->delegate.empty() ? entry->name : fmt::format("{} ({})", entry->delegate, entry->name);
      instruction.callee = entry->name;
      instruction.handles = entry->handles;
      std::ranges::sort(instruction.handles);
      instruction.lines = places_.lines(entry->handles);
      instruction.module = places_.module(entry->handles);
    } else {
      instruction.name = spent.is_delegate() ? fmt::format("delegate of instruction {}", index)
                                             : std::string(spent.kernel());
    }
    if (instruction.name.empty())
      instruction.name = entry == nullptr || entry->kind.empty() ? "instruction" : entry->kind;
    std::map<std::string, std::ptrdiff_t> surplus;
    if (entry != nullptr) surplus = surplus_of(*entry, spent);
    for (const auto& [identifier, piece] : spent.pieces) {
      const bool is_known = !piece.counted.empty() && surplus[name_of_counted(piece.counted)] == 0;
      instruction.pieces.push_back(join_piece(entry, identifier, is_known ? piece.counted : "", piece));
    }
    std::ranges::stable_sort(instruction.pieces, std::ranges::greater(), &ProfiledPiece::ticks);
    return instruction;
  }

  // Counts by name how many more pieces the compiler made than the runtime traced. If the number is not 0,
  // pieces cannot be matched: the runtime dropped or added some.
  static std::map<std::string, std::ptrdiff_t> surplus_of(const MappedInstruction& entry,
                                                          const InstructionSpent& spent) {
    std::map<std::string, std::ptrdiff_t> surplus;
    for_each_piece(entry, [&](const std::string& name, const Handles&) { ++surplus[name_of_counted(name)]; });
    for (const auto& [identifier, piece] : spent.pieces) --surplus[name_of_counted(piece.counted)];
    return surplus;
  }

  // Returns "Convolution" for "Convolution #3".
  static std::string name_of_counted(const std::string& text) {
    return text.substr(0, std::min(text.size(), text.rfind(" #")));
  }

  // Matches a piece by its identifier or its counted name.
  ProfiledPiece join_piece(const MappedInstruction* entry, const std::string& identifier,
                           const std::string& counted, const Spent& spent) const {
    ProfiledPiece piece{.identifier = identifier, .ticks = spent.ticks, .calls = spent.calls};
    if (entry == nullptr) return piece;
    for_each_piece(*entry, [&](const std::string& name, const Handles& handles) {
      if (name != identifier && (counted.empty() || name != counted)) return;
      piece.handles = handles;
      std::ranges::sort(piece.handles);
      piece.lines = places_.lines(handles);
      piece.module = places_.module(handles);
    });
    return piece;
  }

  const ProfileInputs& inputs_;
  const EtDump& dump_;
  const DebugMap& map_;
  Places places_;
  std::map<std::string, MethodSpent> methods_;
  std::vector<std::string> method_of_run_;  // empty for what is outside of runs
};

}  // namespace

Result<Profile> profile_of(const ProfileInputs& inputs) {
  TRY(const EtDump dump, read_etdump(inputs.dump, inputs.dump_name));
  DebugMap map;
  if (!inputs.map.empty()) {
    TRY(map, read_debug_map(inputs.map, inputs.map_name));
  } else if (!inputs.program.empty()) {
    TRY(const std::span<const std::byte> bytes, program_part(inputs.program, inputs.program_name));
    TRY(const PteContents program, read_pte(bytes, inputs.program_name));
    map = map_of(program);
  }
  return Joiner(inputs, dump, map).run();
}

}  // namespace depute
