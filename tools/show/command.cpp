// depute show: prints any file that the compiler reads or writes as text.
#include <fmt/format.h>

#include "cli/commands.h"
#include "depute/compiler/compiler.h"
#include "depute/program/text.h"
#include "depute/tools/bundle.h"
#include "read/ptd.h"
#include "read/pte.h"
#include "read/read_program.h"
#include "support/mapped_file.h"
#include "support/try.h"
#include "tools/bundle/bundle_text.h"
#include "tools/bundle/program_part.h"
#include "tools/show/program_json.h"
#include "tools/show/selected_operators.h"
#include "tools/show/show_pte.h"

namespace depute {
namespace {

struct ShowArguments {
  std::string file;
  bool data = false;
  bool originals = false;
  bool sources = false;
  bool json = false;
  bool selected_operators = false;
};

std::vector<Option> show_options(ShowArguments& arguments) {
  return {{.names = "FILE",
           .target = &arguments.file,
           .help = "A .pt2, .pte, .bpte, .ptd or .ir file; - is standard input",
           .may_be_empty = true,
           .is_required = true},
          {"--data", &arguments.data, "Print all constants whole, so that the text can be compiled"},
          {"--originals", &arguments.originals, "Print the subprograms that delegates were made from"},
          {"--sources", &arguments.sources, "Print the user's Python line beside each node"},
          {"--json", &arguments.json, "As JSON, without constants' bytes"},
          {.names = "--selected-operators",
           .target = &arguments.selected_operators,
           .help = "The operators of a .pte file and their types, as the selected_operators.yaml of a "
                   "selective build",
           .excludes = "--json"}};
}

Result<std::string> show_program(const ShowArguments& arguments, std::shared_ptr<const MappedFile> file) {
  TRY(const Program program, read_program(std::move(file)));
  if (arguments.json) return program_json(program);
  PrintOptions options{.originals = arguments.originals, .sources = arguments.sources};
  if (arguments.data) options.max_inline_bytes = ~std::size_t{0};
  return print(program, options);
}

Result<std::string> show(const ShowArguments& arguments, const Registry& registry) {
  TRY(const std::shared_ptr<const MappedFile> file, open_input(arguments.file));
  TRY(const std::span<const std::byte> bytes, program_part(file->bytes(), arguments.file));
  if (arguments.selected_operators && !is_pte(bytes))
    return failure("usage", "--selected-operators", "only a .pte file has a list of operators",
                   "lower the model first");
  if (!is_pte(bytes) && !is_ptd(bytes)) return show_program(arguments, file);
  if (arguments.json) return failure("usage", "--json", ".pte, .bpte and .ptd files are shown as text only");
  if (is_ptd(bytes)) {
    TRY(const PtdFile ptd, read_ptd(bytes, arguments.file));
    return ptd_text(ptd);
  }
  TRY(const PteContents pte, read_pte(bytes, arguments.file));
  if (arguments.selected_operators) return selected_operators(pte, arguments.file);
  Result<std::string> text = pte_text(pte, bytes, registry);
  if (!text) text.error().where = fmt::format("{}: {}", arguments.file, text.error().where);
  if (!text || !is_bundle(file->bytes())) return text;
  TRY(const Bundle bundle, read_bundle(file->bytes(), arguments.file));
  return bundle_text(bundle, file->bytes().size()) + *text;
}

Result<int> run_show(const ShowArguments& arguments, const Registry& registry) {
  TRY(const std::string text, show(arguments, registry));
  return print_out(text);
}

}  // namespace

Command show_command(const Compiler& compiler) {
  return make_command<ShowArguments>(
      "show", "Print a .pt2, .pte, .bpte, .ptd or .ir file as text", show_options,
      [&compiler](const ShowArguments& arguments) { return run_show(arguments, compiler.registry()); });
}

}  // namespace depute
