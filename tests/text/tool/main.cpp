// depute-text runs one step of the compiler on a program in text form: the tool behind tests/text/run.py.
//
//   depute-text VERB [--option value]... < program.ir
//
// The result goes to standard output; diagnostics go to standard error, one a line, and the exit code is 1.
// To add a verb, write a function from a program and its options to the text that it prints, and name it in
// `verbs`.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <functional>
#include <iostream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "backends/tosa/tosa_backend.h"
#include "backends/tosa/write_graph.h"
#include "backends/xnnpack/print_graph.h"
#include "backends/xnnpack/xnnpack_backend.h"
#include "depute/compiler/normalize.h"
#include "depute/program/op.h"
#include "depute/program/program.h"
#include "depute/program/text.h"
#include "ir/text/compact.h"
#include "ir/verify.h"
#include "normalize/passes.h"
#include "plan/kernels.h"
#include "plan/plan.h"
#include "plan/plan_text.h"
#include "platform/standard_streams.h"
#include "tests/text/tool/partition.h"
#include "tests/text/tool/payload.h"
#include "tests/text/tool/size.h"

namespace {

using namespace depute;

// What follows the verb: `--name value` pairs, `--name` alone (an empty value), and words.
struct Options {
  std::map<std::string, std::string, std::less<>> named;
  std::vector<std::string> words;

  bool has(std::string_view name) const { return named.contains(name); }
  std::string_view text(std::string_view name) const {
    return has(name) ? named.find(name)->second : std::string_view();
  }
  std::size_t number(std::string_view name, std::size_t otherwise) const {
    auto found = named.find(name);
    if (found == named.end()) return otherwise;
    std::from_chars(found->second.data(), found->second.data() + found->second.size(), otherwise);
    return otherwise;
  }
};

struct Outcome {
  std::string text;
  std::vector<Diagnostic> diagnostics;  // a failure unless empty
};

PrintOptions print_options(const Options& options) {
  PrintOptions chosen;
  chosen.max_inline_bytes = options.number("max-inline-bytes", chosen.max_inline_bytes);
  chosen.originals = options.has("originals");
  chosen.sources = options.has("sources");
  return chosen;
}

std::string print_with(const Program& program, const Options& options) {
  return print(program, print_options(options));
}

std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> words;
  while (!list.empty()) {
    std::size_t end = std::min(list.find(','), list.size());
    words.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return words;
}

// --- verbs

// Reads, verifies, prints, and checks that what was printed reads back as the same program.
Outcome run_parse(const Program& program, const Options& options) {
  if (auto diagnostics = verify(program); !diagnostics.empty()) return {{}, diagnostics};
  std::string text = print_with(program, options);
  auto again = parse_program(text, "<printed>");
  if (!again) return {{}, {again.error()}};
  if (auto difference = first_difference(program, *again)) {
    return {{}, {failure("parse", "<printed>", "reads back differently: " + *difference).error()}};
  }
  const std::string compact = print_compact(program, print_options(options));
  again = parse_compact(std::as_bytes(std::span(compact)));
  if (!again) return {{}, {again.error()}};
  if (auto difference = first_difference(program, *again)) {
    return {{}, {failure("parse", "<compact>", "reads back differently: " + *difference).error()}};
  }
  return {text, {}};
}

Outcome run_verify(const Program& program, const Options&) {
  return {"ok\n", verify(program)};
}

Outcome run_hash(const Program& program, const Options& options) {
  return {structural_hash(program, options.has("with-data")).hex() + "\n", {}};
}

// "sram:1:64:16" -> bank sram, memory id 1, 64 bytes, alignment 16
MemoryBank bank_of(std::string_view text) {
  std::array<std::string_view, 4> parts;
  for (std::string_view& part : parts) {
    part = text.substr(0, text.find(':'));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
  }
  const auto number = [](std::string_view digits) {
    std::uint64_t value = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return value;
  };
  return {.name = std::string(parts[0]),
          .size = number(parts[2]),
          .memory_id = static_cast<std::uint32_t>(number(parts[1])),
          .alignment = number(parts[3])};
}

// Plans all methods; with --callers-inputs, --callers-outputs or --callers-state the caller gives that memory, with
// --external-constants the data of constants are outside. --banks NAME:ID:BYTES:ALIGNMENT,... has memory banks,
// --pins BANK=SELECTOR,... pins values to them.
Outcome run_plan(const Program& program, const Options& options) {
  WriteOptions plan_options;
  plan_options.alloc_inputs = !options.has("callers-inputs");
  plan_options.alloc_outputs = !options.has("callers-outputs");
  plan_options.alloc_state = !options.has("callers-state");
  if (options.has("external-constants")) plan_options.ptd = {{"constants.ptd"}};
  for (const std::string& text : split(options.text("banks"))) plan_options.banks.push_back(bank_of(text));
  for (const std::string& text : split(options.text("pins"))) {
    const std::size_t equals = std::min(text.find('='), text.size());
    plan_options.memory_pins.push_back(
        {text.substr(0, equals), text.substr(std::min(equals + 1, text.size()))});
  }
  if (auto status = verify_input(program); !status) return {{}, {status.error()}};
  auto plan = make_plan(program, plan_options);
  if (!plan) return {{}, {plan.error()}};
  std::string text;
  for (const std::string& module : plan->kernel_modules) text += "needs " + module + "\n";
  for (const ExecutionPlan& method : plan->methods) text += plan_text(method);
  return {text, {}};
}

// The whole program as one XNNPACK delegate.
Outcome run_xnnpack(const Program& program, const Options&) {
  auto graph = xnnpack::build_graph(program);
  if (!graph) return {{}, {graph.error()}};
  return {xnnpack::print_graph(*graph), {}};
}

// Finds a pass by name, of normalization or of the undelegated nodes. Returns null for an unknown name.
const Pass* find_pass(std::string_view name) {
  for (std::span<const Pass> known : {all_passes(), undelegated_passes()}) {
    auto pass = std::ranges::find(known, name, &Pass::name);
    if (pass != known.end()) return &*pass;
  }
  return nullptr;
}

// Runs the passes that --passes names, or all, and checks the program after each. --keep names ops to leave
// whole.
Outcome run_normalize(const Program& program, const Options& options) {
  NormalizeOptions normalize_options{.verify = true};
  OpsToNotDecompose kept;
  if (options.has("keep")) {
    for (const std::string& op : split(options.named.at("keep"))) kept.ops.emplace_back(op);
  }
  normalize_options.ops_to_not_decompose.push_back(std::move(kept));
  std::vector<Pass> passes(all_passes().begin(), all_passes().end());
  if (options.has("passes")) {
    passes.clear();
    for (const std::string& name : split(options.named.at("passes"))) {
      const Pass* pass = find_pass(name);
      if (pass == nullptr) return {{}, {failure("normalize", name, "there is no such pass").error()}};
      passes.push_back(*pass);
    }
  }
  Program result = clone(program);
  if (auto status = run_passes(result, passes, normalize_options); !status) return {{}, {status.error()}};
  return {print_with(result, options), {}};
}

// The op table: schema, flags and ExecuTorch's kernel of each op, with tabs between; with --own the
// compiler's own, with --find the ops of these
// names that it knows. The program is not looked at.
Outcome run_ops(const Program&, const Options& options) {
  constexpr std::array<std::pair<OpFlag, std::string_view>, 8> flag_names = {
      {{OpFlag::Core, "core"},
       {OpFlag::Pointwise, "pointwise"},
       {OpFlag::View, "view"},
       {OpFlag::Random, "random"},
       {OpFlag::AutocastLower, "autocast_lower"},
       {OpFlag::AutocastF32, "autocast_f32"},
       {OpFlag::AutocastPromote, "autocast_promote"},
       {OpFlag::AutocastInside, "autocast_inside"}}};
  std::vector<const OpDef*> ops;
  if (options.has("find")) {
    for (const std::string& name : split(options.named.at("find"))) {
      if (const OpDef* def = torch_ops()->find(Name(name)); def != nullptr) ops.push_back(def);
    }
  } else {
    const std::span<const OpDef* const> all = options.has("own") ? compiler_ops() : all_ops();
    ops.assign(all.begin(), all.end());
  }
  std::string text;
  for (const OpDef* def : ops) {
    text += def->schema + '\t';
    for (auto [flag, name] : flag_names) {
      if (def->is(flag)) text.append(text.back() == '\t' ? "" : " ").append(name);
    }
    text += '\t' + def->out_name + '\n';
  }
  return {text, {}};
}

// Prints the kernels of the runtime, a line each: library, name.
Outcome run_kernels(const Program&, const Options&) {
  std::string text;
  for (const KernelLibrary& library : kernel_libraries()) {
    for (std::string_view kernel : library.kernels)
      text.append(library.name).append("\t").append(kernel).append("\n");
  }
  return {text, {}};
}

// Tags of a partitioner, or of several (partition.h).
Outcome run_partition(const Program& program, const Options& options) {
  auto text = partition_text(program, options.named);
  if (!text) return {{}, {text.error()}};
  return {*text, {}};
}

// The whole program as one TOSA delegate, read from its bytes. --spec TOSA-1.0+FP has another profile or version.
Outcome run_tosa(const Program& program, const Options& options) {
  tosa::Device device = tosa::whole_tosa;
  if (options.has("spec")) {
    const CompileSpec spec{std::string(tosa::version_key), bytes(options.text("spec"))};
    if (const Status read = tosa::read_version_spec(spec, device); !read) return {{}, {read.error()}};
  }
  auto graph = tosa::translate(program, device);
  if (!graph) return {{}, {graph.error()}};
  auto text = tosa::describe_graph(tosa::write_graph(*graph));
  if (!text) return {{}, {text.error()}};
  return {*text, {}};
}

// Of the .pte that the word behind the verb names; the program says nothing.
Outcome run_payload(const Program&, const Options& options) {
  auto text = payload_text(options.words.empty() ? "" : options.words[0]);
  if (!text) return {{}, {text.error()}};
  return {*text, {}};
}

// Where the bytes of the program go, as a .pte or, with --ptd, as the data file beside it (size.h).
Outcome run_size(const Program& program, const Options& options) {
  auto text = size_text(program, options.named);
  if (!text) return {{}, {text.error()}};
  return {*text, {}};
}

struct Verb {
  std::string_view name;
  Outcome (*run)(const Program& program, const Options& options);
};

constexpr std::array verbs = {
    Verb{"hash", run_hash},       Verb{"kernels", run_kernels}, Verb{"normalize", run_normalize},
    Verb{"ops", run_ops},         Verb{"parse", run_parse},     Verb{"partition", run_partition},
    Verb{"payload", run_payload}, Verb{"plan", run_plan},       Verb{"size", run_size},
    Verb{"tosa", run_tosa},       Verb{"verify", run_verify},   Verb{"xnnpack", run_xnnpack},
};

Options read_options(int count, char** arguments) {
  Options options;
  for (int i = 0; i < count; ++i) {
    std::string_view argument = arguments[i];
    if (!argument.starts_with("--")) {
      options.words.emplace_back(argument);
      continue;
    }
    bool has_value = i + 1 < count && !std::string_view(arguments[i + 1]).starts_with("--");
    options.named.emplace(argument.substr(2), has_value ? arguments[i + 1] : "");
    if (has_value) ++i;
  }
  return options;
}

int usage() {
  std::cerr << "usage: depute-text VERB [--option value]... < program.ir\nverbs:";
  for (const Verb& verb : verbs) std::cerr << ' ' << verb.name;
  std::cerr << '\n';
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (!depute::platform::fill_standard_streams()) return 1;
  auto verb = argc < 2 ? verbs.end() : std::ranges::find(verbs, std::string_view(argv[1]), &Verb::name);
  if (verb == verbs.end()) return usage();
  std::string text{std::istreambuf_iterator<char>(std::cin), {}};
  auto program = parse_program(text, "<stdin>");
  Outcome outcome =
      program ? verb->run(*program, read_options(argc - 2, argv + 2)) : Outcome{{}, {program.error()}};
  for (const Diagnostic& diagnostic : outcome.diagnostics) std::cerr << diagnostic.str() << '\n';
  if (!outcome.diagnostics.empty()) return 1;
  std::cout << outcome.text;
  return 0;
}
