// Makes, writes and reads the text of a lock for a lowered program. lock_changes.cpp compares two locks.
//
//   left in forward, 5d1e...
//     node %tan: f32[4] = aten.tan.default(%relu)
#include "depute/tools/lock.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "depute/program/inspect.h"
#include "depute/program/text.h"
#include "depute/program/walk.h"
#include "ir/content.h"
#include "ir/text/text.h"
#include "ops/own_ops.h"
#include "support/try.h"

namespace depute {
namespace {

constexpr std::string_view lock_title = "depute lock 2";
constexpr std::string_view lock_comment =
    "; Written by `depute lower --lock FILE --lock-update`; not edited by hand.";

// Returns the subject of a line: a quoted name, or the text up to the first blank or colon. For a line of a
// body, the body is included.
std::string name_in(std::string_view text) {
  std::size_t start = 0;
  if (text.starts_with('@')) start = std::min(text.find(' '), text.size() - 1) + 1;
  std::size_t end = text.find_first_of(": ", start);
  const std::size_t mark = text.substr(start).starts_with('%') ? start + 1 : start;
  if (text.substr(mark).starts_with('"')) {
    end = mark + 1;
    while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
    ++end;
  }
  return std::string(text.substr(0, std::min(end, text.size())));
}

LockLine make_line(std::string_view kind, std::string text, const SourceLocation& source = {}) {
  std::string name = name_in(text);
  return {.kind = std::string(kind), .name = std::move(name), .text = std::move(text), .source = source};
}

std::string weight_text(Name key, const TensorData& data) {
  return fmt::format("{}: {} {}", text::quoted(key.str()), str(data.type), content_digest(data).hex());
}

std::string range_text(const Range& range) {
  const auto bound = [](std::int64_t value) {
    return value == Range::max_bound ? "inf" : value == Range::min_bound ? "-inf" : std::to_string(value);
  };
  return fmt::format("[{}, {}]", bound(range.min), bound(range.max));
}

// Maps a delegate's results to their names inside the delegate, because the names of calls may change.
ValueNames names_inside(const std::vector<DelegateCall>& calls) {
  ValueNames names;
  for (const DelegateCall& call : calls) {
    const auto& original = call.delegate->original;
    if (original == nullptr || original->methods.empty()) continue;
    const Node& end = *original->methods[0]->graph->return_node();
    const std::size_t count = std::min(end.operand_count(), call.call->results().size());
    for (std::size_t i = 0; i < count; ++i) names.emplace(call.call->results()[i], end.operand(i)->name());
  }
  return names;
}

class PartMaker {
 public:
  PartMaker(const Program& program, const ValueNames& names, LockPart& part)
      : program_(program), names_(names), part_(part) {}

  void add_spec(const CompileSpec& spec) {
    part_.lines.push_back(make_line("spec", fmt::format("{}: {} bytes {}", text::quoted(spec.key),
                                                        spec.value.size(), sha256(spec.value).hex())));
  }

  // Adds the method's weights and undelegated nodes. Delegates have parts of their own.
  void add_method(const Method& method) {
    std::set<std::string_view> keys;
    for (const InputSpec& spec : method.inputs) {
      if (!spec.has_data() || !keys.insert(spec.target.str()).second) continue;
      if (const TensorData* data = program_.find_data(spec.target))
        part_.lines.push_back(make_line("weight", weight_text(spec.target, *data)));
    }
    for (const Graph* graph : graphs_of(method)) add_graph(method, *graph);
  }

 private:
  void add_graph(const Method& method, const Graph& graph) {
    const bool is_own = &graph == method.graph.get();
    const std::string body = is_own ? "" : fmt::format("@{} ", text::quoted(graph.name().str()));
    for (const Value* input : graph.inputs())
      part_.lines.push_back(
          make_line("input", fmt::format("{}{}: {}", body, value_text(*input), str(input->type()))));
    for (const Node& node : graph.nodes()) {
      if (is_delegate_call(node)) continue;
      part_.lines.push_back(make_line("node", body + print(node, {.marks = false, .names = &names_}),
                                      node.source != nullptr ? *node.source : SourceLocation()));
    }
    const Node& end = *graph.return_node();
    for (std::size_t i = 0; i < end.operand_count(); ++i)
      part_.lines.push_back(make_line("output", fmt::format("{}{}", body, value_text(*end.operand(i)))));
  }

  std::string value_text(const Value& value) const {
    const auto inside = names_.find(&value);
    const std::string_view name = (inside != names_.end() ? inside->second : value.name()).str();
    return "%" + (text::is_plain_name(name) ? std::string(name) : text::quoted(name));
  }

  const Program& program_;
  const ValueNames& names_;
  LockPart& part_;
};

std::string title_of(const LockPart& part) {
  if (part.partition.empty()) return fmt::format("left in {}", text::quoted(part.method));
  return fmt::format("partition {} of {}, {}", text::quoted(part.partition), text::quoted(part.method),
                     text::quoted(part.backend_id));
}

// The partition's own name is not hashed.
std::string hash_of(const LockPart& part) {
  Sha256 hasher;
  hasher.add(std::string_view(part.method));
  hasher.add(std::string_view(part.backend_id));
  for (const LockLine& line : part.lines) {
    hasher.add(std::string_view(line.kind));
    hasher.add(std::string_view(line.text));
  }
  return hasher.finish().hex();
}

}  // namespace

Lock make_lock(const Program& lowered, const Registry& registry, std::string made_by,
               std::vector<std::string> options) {
  Lock lock{.made_by = std::move(made_by), .options = std::move(options)};
  for (const auto& [name, range] : lowered.ranges)
    lock.sizes.push_back(fmt::format("{}: {}", text::quoted(name), range_text(range)));
  const std::vector<DelegateCall> calls = get_delegates(lowered);  // of one method after the other
  const ValueNames names = names_inside(calls);
  auto next = calls.begin();
  const ValueNames own_names;
  for (const auto& method : lowered.methods) {
    for (; next != calls.end() && next->method == method.get(); ++next) {
      const Delegate& delegate = *next->delegate;
      LockPart& part = lock.parts.emplace_back(LockPart{.method = std::string(method->name.str()),
                                                        .partition = std::string(delegate.name.str()),
                                                        .backend_id = delegate.backend_id});
      const Backend* backend = registry.find_backend(delegate.backend_id);
      if (backend != nullptr && !backend->cache_version().empty())
        part.lines.push_back(make_line("version", text::quoted(backend->cache_version())));
      if (delegate.original == nullptr) continue;
      PartMaker maker(*delegate.original, own_names, part);
      for (const CompileSpec& spec : delegate.compile_specs) maker.add_spec(spec);
      for (const auto& own : delegate.original->methods) maker.add_method(*own);
    }
    LockPart& left = lock.parts.emplace_back(LockPart{.method = std::string(method->name.str())});
    PartMaker(lowered, names, left).add_method(*method);
  }
  return lock;
}

std::string lock_text(const Lock& lock) {
  std::string text =
      fmt::format("{}\n{}\nmade by {}\n", lock_title, lock_comment, text::quoted(lock.made_by));
  for (const std::string& option : lock.options) text += fmt::format("option {}\n", text::quoted(option));
  for (const std::string& size : lock.sizes) text += fmt::format("size {}\n", size);
  for (const LockPart& part : lock.parts) {
    text += fmt::format("\n{}, {}\n", title_of(part), hash_of(part));
    for (const LockLine& line : part.lines) text += fmt::format("  {} {}\n", line.kind, line.text);
  }
  return text;
}

namespace {

class LockReader {
 public:
  LockReader(std::string_view text, std::string_view name) : text_(text), name_(name) {}

  Result<Lock> run() {
    if (next() != lock_title) return refuse("is not a lock of this version of Depute");
    Lock lock;
    while (!is_end_) {
      const std::string_view line = next();
      if (line.empty()) break;
      TRY_STATUS(read_head(lock, line));
    }
    while (!is_end_) {
      TRY(LockPart part, read_part(next()));
      lock.parts.push_back(std::move(part));
    }
    return lock;
  }

 private:
  Failure refuse(std::string_view what) const {
    return failure("lock", fmt::format("{}:{}", name_, number_), what,
                   "write it anew by --lock-update, and read what changed");
  }

  // Returns "" at the end, too.
  std::string_view next() {
    is_end_ = text_.empty();
    if (is_end_) return {};
    ++number_;
    const std::size_t end = std::min(text_.find('\n'), text_.size());
    const std::string_view line = text_.substr(0, end);
    text_.remove_prefix(std::min(end + 1, text_.size()));
    is_end_ = text_.empty();
    return line;
  }

  static bool take(std::string_view& line, std::string_view word) {
    if (!line.starts_with(word)) return false;
    line.remove_prefix(word.size());
    return true;
  }

  Result<std::string> take_quoted(std::string_view& line) const {
    std::string value;
    if (!take(line, "\"")) return refuse("a text in quotes is missing");
    for (std::size_t at = 0; at < line.size(); ++at) {
      char c = line[at];
      if (c == '"') {
        line.remove_prefix(at + 1);
        return value;
      }
      if (c == '\\' && !text::read_escape(line, ++at, c)) return refuse("an escape in it is not known");
      value += c;
    }
    return refuse("a text in quotes has no end");
  }

  Status read_head(Lock& lock, std::string_view line) {
    if (line.starts_with(';')) return {};
    if (take(line, "made by ")) {
      TRY(lock.made_by, take_quoted(line));
    } else if (take(line, "option ")) {
      TRY(lock.options.emplace_back(), take_quoted(line));
    } else if (take(line, "size ")) {
      lock.sizes.emplace_back(line);
    } else {
      return refuse("this line is not known");
    }
    return {};
  }

  Result<LockPart> read_part(std::string_view title) {
    LockPart part;
    if (take(title, "partition ")) {
      TRY(part.partition, take_quoted(title));
      if (!take(title, " of ")) return refuse("this line is not known");
      TRY(part.method, take_quoted(title));
      if (!take(title, ", ")) return refuse("this line is not known");
      TRY(part.backend_id, take_quoted(title));
    } else if (take(title, "left in ")) {
      TRY(part.method, take_quoted(title));
    } else {
      return refuse("this line is not known");
    }
    const std::size_t number = number_;
    while (text_.starts_with("  ")) {
      const std::string_view line = next().substr(2);
      const std::size_t blank = std::min(line.find(' '), line.size());
      part.lines.push_back(
          make_line(line.substr(0, blank), std::string(line.substr(std::min(blank + 1, line.size())))));
    }
    if (!is_end_ && !next().empty()) return refuse("this line is not known");
    if (title == ", " + hash_of(part)) return part;
    number_ = number;
    return refuse("the lines below do not have this hash: the lock is damaged or was edited");
  }

  std::string_view text_;
  std::string_view name_;
  std::size_t number_ = 0;
  bool is_end_ = false;
};

}  // namespace

Result<Lock> parse_lock(std::string_view text, std::string_view name) {
  return LockReader(text, name).run();
}

}  // namespace depute
