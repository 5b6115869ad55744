#include "depute/program/op.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <unordered_map>

#include "depute/program/builder.h"
#include "ops/derived_types.h"
#include "ops/kernel_rules.h"
#include "ops/math/complex_forms.h"
#include "ops/op_table.h"
#include "ops/out_variant.h"
#include "ops/schema.h"
#include "ops/tensors/choices.h"
#include "support/check.h"
#include "support/parallel_for.h"

namespace depute {
namespace {

using internal::OpLine;
using internal::OpRules;

// Decomposes an op with "_copy" into its view: the planner decides whether memory is shared.
Result<std::vector<Value*>> call_functional(Builder& b, const OpCall& call) {
  return b.call_all(call.def().functional.str(), call.args());
}

// --- the table: lines are parsed on first use

enum class Variant : std::uint8_t { None, InPlace, Copy, Out };

struct Entry {
  Entry(const OpLine& of_line, Variant of_variant) : line(&of_line), variant(of_variant) {}

  const OpLine* line;
  Variant variant;
  std::atomic<const OpDef*> def = nullptr;  // never destroyed
};

void mark_promoted(OpDef& def, std::string_view names) {
  while (!names.empty()) {
    std::size_t end = std::min(names.find(' '), names.size());
    int index = def.arg_index(Name(names.substr(0, end)));
    CHECK(index >= 0) << def.schema << ": " << names;
    ArgDef& arg = def.args[static_cast<std::size_t>(index)];
    arg.is_promoted = true;
    arg.takes_numbers = def.is(OpFlag::Pointwise) && !arg.is_written;
    names.remove_prefix(std::min(end + 1, names.size()));
  }
}

void fill_rules(OpDef& def, const OpRules& rules) {
  def.flags = rules.flags;
  def.origin = rules.origin;
  def.view_kind = rules.view_kind;
  // Types follow from a decomposition, except those of ops that call any other: their results are of its nodes.
  const bool is_derived = rules.infer == nullptr && rules.decompose != nullptr && !def.is(OpFlag::Variadic);
  def.infer = is_derived ? internal::infer_from_decomposition : rules.infer;
  def.decompose = rules.decompose;
  def.identity = rules.identity;
  def.write_back = rules.write_back;
  def.macs = rules.macs;
  if (rules.data_dependent_size != nullptr) def.data_dependent_size = Name(rules.data_dependent_size);
  if (rules.functional != nullptr) def.functional = Name(rules.functional);
  if (rules.promotes != nullptr) mark_promoted(def, rules.promotes);
  if (rules.out == nullptr) return;
  std::string_view out = rules.out;
  def.out_name = out.find("::") == std::string_view::npos ? fmt::format("aten::{}", out) : std::string(out);
}

const OpDef* parse(const Entry& entry) {
  const OpLine& line = *entry.line;
  auto parsed = std::make_unique<OpDef>();
  OpDef& def = *parsed;
  const std::string schema = internal::schema_of(line);
  switch (entry.variant) {
    case Variant::None:
      internal::parse_schema(schema, def);
      fill_rules(def, line.rules);
      return parsed.release();
    case Variant::InPlace:
      internal::parse_schema(internal::inplace_schema(schema), def);
      def.flags = line.rules.flags & (OpFlag::Pointwise | OpFlag::Random | OpFlag::View | OpFlag::MayView);
      def.infer = infer_same_type;
      if (line.rules.promotes != nullptr) mark_promoted(def, line.rules.promotes);
      break;
    case Variant::Copy:
      internal::parse_schema(internal::copy_schema(schema), def);
      def.view_kind = line.rules.view_kind;
      def.infer = line.rules.infer;
      def.decompose = call_functional;
      break;
    case Variant::Out:
      internal::parse_schema(internal::out_schema(line, *internal::out_variant(line)), def);
      def.flags = line.rules.flags & OpFlag::Random;
      break;
  }
  def.functional = Name(internal::schema_name(schema));
  return parsed.release();
}

constexpr std::size_t expected_ops = 1200;
constexpr std::size_t expected_bytes = 128 << 10;

class TorchOps final : public OpTable {
 public:
  TorchOps() {
    by_name_.reserve(expected_ops);
    entries_.reserve(expected_ops);
#define DEPUTE_ADD_OPS(family) \
  for (const OpLine& line : internal::family##_ops()) add(line);
    DEPUTE_OP_FAMILIES(DEPUTE_ADD_OPS)
#undef DEPUTE_ADD_OPS
  }

  const OpDef* find(Name op) const override {
    Entry* entry = entry_of(op);
    if (entry == nullptr) entry = out_variant(op);
    return entry == nullptr ? nullptr : &parsed(*entry);
  }

  // Only ops with a line of their own have rules; variants have none.
  KernelRules kernel_rules(Name op) const {
    const Entry* entry = entry_of(op);
    if (entry == nullptr || entry->variant != Variant::None) return {};
    const OpRules& rules = entry->line->rules;
    return {rules.accepts == nullptr ? std::string_view() : rules.accepts, rules.fit};
  }
  std::string_view choosing_argument(Name op) const {
    const Entry* entry = entry_of(op);
    const bool is_none =
        entry == nullptr || entry->variant != Variant::None || entry->line->rules.chosen_by == nullptr;
    return is_none ? std::string_view() : entry->line->rules.chosen_by;
  }
  DecomposeFunction complex_form(Name op) const {
    const Entry* entry = entry_of(op);
    return entry == nullptr || entry->variant != Variant::None ? nullptr : entry->line->rules.on_complex;
  }

  std::span<const OpDef* const> all(OpOrigin origin) {
    listed_.run([&] {
      for (Entry* entry : entries_) {
        const OpDef& def = parsed(*entry);
        (def.origin == OpOrigin::Compiler ? own_ : all_).push_back(&def);
      }
    });
    return origin == OpOrigin::Compiler ? own_ : all_;
  }

 private:
  void add(const OpLine& line) {
    const std::string_view name = internal::schema_name(line.schema);
    add(line, Variant::None, name);
    if ((line.rules.flags & OpFlag::InPlaceVariant) != OpFlag::None) {
      add(line, Variant::InPlace, variant_names_.emplace_back(internal::inplace_name(name)));
    }
    if ((line.rules.flags & OpFlag::CopyVariant) != OpFlag::None) {
      add(line, Variant::Copy, variant_names_.emplace_back(internal::copy_name(name)));
    }
    if (line.rules.has_scalar) add(scalar_lines_.emplace_back(line).line);
  }

  void add(const OpLine& line, Variant variant, std::string_view name) {
    const auto [at, is_new] = by_name_.try_emplace(name, line, variant);
    CHECK(is_new) << name << " has two lines";
    entries_.push_back(&at->second);
  }

  Entry* entry_of(Name op) const {
    const auto found = by_name_.find(internal::name_in_line(op.str()));
    return found == by_name_.end() ? nullptr : &found->second;
  }

  // Out variants are named when the first op without a line is looked up: few programs have any.
  Entry* out_variant(Name op) const {
    if (!op.str().starts_with("aten.")) return nullptr;
    out_named_.run([&] {
      // Names given by a line or its kernel take precedence over derived names.
      for (const bool is_explicit : {true, false}) {
        for (const Entry* entry : entries_) {
          if (entry->variant != Variant::None) continue;
          auto variant = internal::out_variant(*entry->line);
          if (!variant || variant->is_explicit != is_explicit) continue;
          out_variants_.try_emplace(std::move(variant->name), *entry->line, Variant::Out);
        }
      }
    });
    const auto found = out_variants_.find(std::string(op.str()));
    return found == out_variants_.end() ? nullptr : &found->second;
  }

  static const OpDef& parsed(Entry& entry) {
    const OpDef* def = entry.def.load(std::memory_order_acquire);
    if (def != nullptr) return *def;
    static std::recursive_mutex parsing;  // not one for each entry: most are never parsed
    const std::lock_guard held(parsing);
    def = entry.def.load(std::memory_order_relaxed);
    if (def == nullptr) entry.def.store(def = parse(entry), std::memory_order_release);
    return *def;
  }

  std::pmr::monotonic_buffer_resource memory_{expected_bytes};  // about a thousand entries, freed together
  // Keyed by text, not by Name: a process uses few of these names, and interning all would cost time.
  mutable std::pmr::unordered_map<std::string_view, Entry> by_name_{&memory_};
  std::deque<std::string> variant_names_;
  std::deque<internal::ScalarLine> scalar_lines_;
  std::vector<Entry*> entries_;  // in the order of their lines
  mutable Once out_named_;
  mutable std::unordered_map<std::string, Entry> out_variants_;  // by name
  Once listed_;
  std::vector<const OpDef*> all_;
  std::vector<const OpDef*> own_;
};

TorchOps& table() {
  static auto* instance = new TorchOps;  // never destroyed: definitions outlive every static
  return *instance;
}

}  // namespace

bool OpDef::mutates() const {
  return std::ranges::any_of(args, [](const ArgDef& arg) { return arg.is_written; });
}

bool OpDef::is_pure() const {
  return origin != OpOrigin::Compiler && !mutates() && !is(OpFlag::Assertion) && !is(OpFlag::Random) &&
         !is(OpFlag::ControlFlow);
}

bool OpDef::promotes() const {
  return std::ranges::any_of(args, [](const ArgDef& arg) { return arg.is_promoted; });
}

int OpDef::arg_index(Name arg_name) const {
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (args[i].name == arg_name) return static_cast<int>(i);
  }
  return -1;
}

bool OpDef::is_kernel_argument(std::size_t arg) const {
  static const Name pin_memory("pin_memory");
  if (arg_index(pin_memory) < 0) return true;
  const ArgDef& def = args[arg];
  return def.type != ArgType::ScalarType && def.type != ArgType::Layout && def.type != ArgType::Device &&
         def.name != pin_memory;
}

KernelRules kernel_rules(const OpDef& def) {
  return def.origin == OpOrigin::Torch ? table().kernel_rules(def.name) : KernelRules{};
}

std::string_view choosing_argument(const OpDef& def) {
  return def.origin == OpOrigin::Torch ? table().choosing_argument(def.name) : std::string_view();
}

DecomposeFunction complex_form(const OpDef& def) {
  DecomposeFunction form = def.origin == OpOrigin::Torch ? table().complex_form(def.name) : nullptr;
  if (form != nullptr) return form;
  return def.is(OpFlag::View) ? internal::each_part : def.decompose;
}

const std::shared_ptr<const OpTable>& torch_ops() {
  // Never destroyed, like its ops.
  static const auto* ops = new std::shared_ptr<const OpTable>(std::shared_ptr<const void>(), &table());
  return *ops;
}

std::span<const OpDef* const> all_ops() {
  return table().all(OpOrigin::Torch);
}

std::span<const OpDef* const> compiler_ops() {
  return table().all(OpOrigin::Compiler);
}

}  // namespace depute
