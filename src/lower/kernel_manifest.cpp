#include "lower/kernel_manifest.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/text/text.h"
#include "ops/contents.h"
#include "support/trim.h"
#include "support/try.h"

namespace depute {
namespace {

constexpr std::string_view help =
    "a line is \"library::op(Tensor x, float scale=1.0) -> Tensor => library::op.out\"; the kernel may be "
    "left out";

// "library::op" or "library::op.overload".
struct QualifiedName {
  std::string_view library, op, overload;
};

std::optional<QualifiedName> read_name(std::string_view whole) {
  const std::size_t colons = whole.find("::");
  if (colons == whole.npos) return std::nullopt;
  QualifiedName name{.library = whole.substr(0, colons), .op = whole.substr(colons + 2), .overload = {}};
  if (const std::size_t dot = name.op.find('.'); dot != name.op.npos) {
    name.overload = name.op.substr(dot + 1);
    name.op = name.op.substr(0, dot);
    if (!text::is_plain_name(name.overload)) return std::nullopt;
  }
  if (!text::is_plain_name(name.library) || !text::is_plain_name(name.op)) return std::nullopt;
  return name;
}

// The kernel name that ExecuTorch's own ahead-of-time flow looks up.
std::string usual_kernel(std::string_view op, const QualifiedName& name, std::string_view schema) {
  const bool has_results = schema.find(" -> ") != schema.npos;
  const bool only_writes =
      has_results && std::ranges::none_of(aliased_results(schema), &AliasedResult::is_own);
  if (only_writes) return std::string(op);
  if (name.overload.empty() || name.overload == "default")
    return fmt::format("{}::{}.out", name.library, name.op);
  return fmt::format("{}_out", op);
}

}  // namespace

Failure manifest_error(std::string_view name, std::size_t line, std::string_view message,
                       std::string_view hint) {
  return failure("kernels", fmt::format("{}:{}", name, line), message, hint);
}

Result<std::vector<ManifestOp>> parse_kernel_manifest(std::string_view manifest, std::string_view name) {
  std::vector<ManifestOp> ops;
  for (std::size_t line = 1; !manifest.empty(); ++line) {
    const std::size_t end = std::min(manifest.find('\n'), manifest.size());
    std::string_view text = trimmed(manifest.substr(0, end));
    manifest.remove_prefix(std::min(end + 1, manifest.size()));
    if (text.empty() || text.starts_with('#')) continue;
    const std::size_t arrow = text.rfind("=>");
    const std::string_view schema = trimmed(text.substr(0, arrow));
    const std::string_view op = schema.substr(0, schema.find('('));
    const std::optional<QualifiedName> op_name = read_name(op);
    if (!op_name || op.size() == schema.size())
      return manifest_error(name, line, "expected the schema of an op", help);
    std::string kernel = usual_kernel(op, *op_name, schema);
    if (arrow != text.npos) kernel = trimmed(text.substr(arrow + 2));
    if (!read_name(kernel))
      return manifest_error(name, line, fmt::format("'{}' is not a kernel name", kernel), help);
    std::string full_name = fmt::format("{}.{}.{}", op_name->library, op_name->op,
                                        op_name->overload.empty() ? "default" : op_name->overload);
    std::string full_schema = full_name + std::string(schema.substr(op.size()));
    ops.push_back({.spec = {.name = std::move(full_name),
                            .kernel = std::move(kernel),
                            .schema = std::move(full_schema)},
                   .library = op_name->library,
                   .line = line});
  }
  return ops;
}

}  // namespace depute
