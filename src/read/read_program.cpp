#include "read/read_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "depute/program/text.h"
#include "ir/debug_handles.h"
#include "ir/program_names.h"
#include "ir/text/compact.h"
#include "read/foreign_file.h"
#include "read/pt2/read_pt2.h"
#include "read/pt2/srepr.h"
#include "support/guarded.h"
#include "support/try.h"

namespace depute {
namespace {

bool starts_like_zip(std::span<const std::byte> bytes) {
  return bytes.size() >= 2 && bytes[0] == std::byte{'P'} && bytes[1] == std::byte{'K'};
}

// Renames symbols in expressions; results are cached because expressions share parts.
class SymbolRenamer {
 public:
  explicit SymbolRenamer(std::string prefix) : prefix_(std::move(prefix)) {}

  const SymExpr* rename(const SymExpr* expr) {
    if (expr == nullptr) return nullptr;
    auto found = done_.find(expr);
    if (found != done_.end()) return found->second;
    const SymExpr* renamed = expr;
    if (expr->kind == SymExpr::Kind::Symbol) {
      renamed = sym_symbol(prefix_ + std::string(expr->name.str()));
    } else if (expr->kind == SymExpr::Kind::Call) {
      std::vector<const SymExpr*> args;
      args.reserve(expr->args.size());
      for (const SymExpr* arg : expr->args) args.push_back(rename(arg));
      renamed = sym_call_like(expr, std::move(args));
    }
    return done_[expr] = renamed;
  }

  void rename(Dims& dims) {
    for (SymInt& dim : dims) {
      if (!dim.is_constant()) dim = SymInt(rename(dim.expr()));
    }
  }

  void rename(Graph& graph, Value& value) {
    Type type = value.type();
    rename(type.tensor.sizes);
    rename(type.tensor.strides);
    type.expr = rename(type.expr);
    graph.set_type(value, std::move(type));
  }

  void rename(Graph& graph) {
    for (Value* input : graph.inputs()) rename(graph, *input);
    for (Node& node : graph.nodes()) {
      for (Value* result : node.results()) rename(graph, *result);
    }
  }

 private:
  std::string prefix_;
  std::unordered_map<const SymExpr*, const SymExpr*> done_;
};

// True if a symbol of `from` also has a range in `to`.
bool symbols_clash(const Program& to, const Program& from) {
  return std::ranges::any_of(from.ranges, [&](const auto& entry) { return to.ranges.contains(entry.first); });
}

void rename_symbols(Program& program, std::string_view name) {
  SymbolRenamer renamer(fmt::format("{}.", name));
  for (auto& method : program.methods) {
    renamer.rename(*method->graph);
    for (auto& body : method->bodies) renamer.rename(*body);
  }
  Ranges ranges;
  for (const auto& [text, range] : program.ranges) {
    // A symbol name like "encode.s0" is not an expression in text form.
    auto expr = parse_sym(text);
    const SymExpr* key = expr ? *expr : sym_symbol(text);
    ranges[range_key(renamer.rename(key))] = range;
  }
  program.ranges = std::move(ranges);
}

bool same_view(const TensorData& a, const TensorData& b) {
  return a.storage == b.storage && a.offset == b.offset && a.type == b.type;
}

}  // namespace

Result<Program> read_program(const std::string& path, const std::shared_ptr<const OpTable>& ops) {
  TRY(std::shared_ptr<const MappedFile> file, open_input(path));
  return read_program(std::move(file), ops);
}

Result<std::shared_ptr<const MappedFile>> open_input(const std::string& path) {
  return path == "-" ? MappedFile::standard_input() : MappedFile::open_any(path);
}

Result<std::shared_ptr<const MappedFile>> open_text(const std::string& path) {
  TRY(const ReadLimits limits, read_limits());
  TRY(std::shared_ptr<const MappedFile> file, open_input(path));
  if (file->bytes().size() <= limits.text_bytes) return file;
  return beyond(limits, &ReadLimits::text_bytes,
                failure("read", path, fmt::format("{} bytes", file->bytes().size())));
}

Result<Program> read_program(std::shared_ptr<const MappedFile> file,
                             const std::shared_ptr<const OpTable>& ops) {
  const std::string& path = file->path();
  if (file->bytes().empty()) return failure("read", path, "the file is empty");
  if (starts_like_zip(file->bytes())) {
    TRY(const ReadLimits limits, read_limits());
    return read_pt2(std::move(file), {.limits = limits, .ops = ops});
  }
  if (is_compact(file->bytes())) return parse_compact(file->bytes(), path, ops);
  auto foreign = recognize_foreign(file->bytes());
  // For a program in the text form the parser gives the better error.
  if (foreign && !(foreign->is_text && path.ends_with(".ir"))) {
    return failure("read", path, not_a_program(*foreign), foreign->hint);
  }
  std::string_view text(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
  return parse_program(text, path, ops);
}

namespace {

Status join(Program& to, Program from, Name name) {
  if (from.methods.size() != 1) {
    return failure("read", name.str(),
                   fmt::format("expected a file with one method, got {}", from.methods.size()));
  }
  if (to.find_method(name.str()) != nullptr)
    return failure("read", name.str(), "a method with this name exists already");
  if (!from.delegates.empty())
    return failure("read", name.str(), "a program with delegates cannot be added as a method");
  if (from.ops != to.ops) use_ops(from, to.ops);
  const std::uint32_t last = last_debug_handle(to);  // handles of each file start at 1
  TRY_STATUS(next_debug_handle(last, last_debug_handle(from)));
  move_debug_handles(from, last);
  if (symbols_clash(to, from)) rename_symbols(from, name.str());
  Method& method = *from.methods[0];
  method.name = name;
  std::unordered_map<Name, Name> renamed;
  for (auto& [key, data] : from.data) {
    const TensorData* other = to.find_data(key);
    bool clashes = other != nullptr && !same_view(*other, data);
    Name new_key = clashes ? to.unique_data_key(fmt::format("{}::{}", name.str(), key.str())) : key;
    renamed[key] = new_key;
    to.data[new_key] = std::move(data);
  }
  for (InputSpec& spec : method.inputs) {
    if (!spec.has_data()) continue;
    auto found = renamed.find(spec.target);
    if (found == renamed.end())
      return failure("read", name.str(), fmt::format("no data \"{}\" for an input", spec.target.str()));
    spec.target = found->second;
  }
  for (OutputSpec& spec : method.outputs) {
    if (spec.mutates_data() && renamed.contains(spec.target)) spec.target = renamed.at(spec.target);
  }
  to.ranges.insert(from.ranges.begin(), from.ranges.end());
  to.methods.push_back(std::move(from.methods[0]));
  return {};
}

}  // namespace

Status join_method(Program& to, Program from, Name name) {
  return guarded([&] {
    const NameScope::Use use(names_to_edit(to));
    to.names.keep(from.names);
    return join(to, std::move(from), name);
  });
}

}  // namespace depute
