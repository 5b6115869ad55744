// depute show: prints any file that the compiler reads or writes as text.
#include <fmt/format.h>

#include <limits>
#include <memory>

#include "cli/commands.h"
#include "depute/compiler/compiler.h"
#include "depute/program/text.h"
#include "read/ptd.h"
#include "read/pte.h"
#include "read/read_program.h"
#include "support/mapped_file.h"
#include "tools/show/program_json.h"
#include "tools/show/show_pte.h"

namespace depute {
namespace {

struct ShowArguments {
  std::string file;
  bool data = false;
  bool originals = false;
  bool sources = false;
  bool json = false;
};

int show_program(const ShowArguments& arguments, std::shared_ptr<const MappedFile> file) {
  Result<Program> program = read_program(std::move(file));
  if (!program) return report_error(program.error());
  if (arguments.json) return print_out(program_json(*program));
  PrintOptions options{.originals = arguments.originals, .sources = arguments.sources};
  if (arguments.data) options.max_inline_bytes = std::numeric_limits<std::size_t>::max();
  return print_out(print(*program, options));
}

int run_show(const ShowArguments& arguments, const Registry& registry) {
  Result<std::shared_ptr<const MappedFile>> file = open_input(arguments.file);
  if (!file) return report_error(file.error());
  const auto bytes = (*file)->bytes();
  if (!is_pte(bytes) && !is_ptd(bytes)) return show_program(arguments, *file);
  if (arguments.json) {
    return report_usage({.code = "usage",
                         .where = "--json",
                         .message = ".pte and .ptd files are shown as text only",
                         .hint = {},
                         .source = {}});
  }
  if (is_pte(bytes)) {
    auto pte = read_pte(bytes, arguments.file);
    if (!pte) return report_error(pte.error());
    auto text = pte_text(*pte, bytes, registry);
    if (text) return print_out(*text);
    text.error().where = fmt::format("{}: {}", arguments.file, text.error().where);
    return report_error(text.error());
  }
  auto ptd = read_ptd(bytes, arguments.file);
  return ptd ? print_out(ptd_text(*ptd)) : report_error(ptd.error());
}

}  // namespace

Command show_command(const Compiler& compiler) {
  auto arguments = std::make_shared<ShowArguments>();
  return {
      .name = "show",
      .help = "Print a .pt2, .pte or .ir file as text",
      .options =
          [arguments] {
            return std::vector<Option>{
                {.names = "FILE",
                 .target = &arguments->file,
                 .help = "A .pt2, .pte, .ptd or .ir file; - is standard input",
                 .may_be_empty = true,
                 .is_required = true},
                {.names = "--data",
                 .target = &arguments->data,
                 .help = "Print all constants whole, so that the text can be compiled"},
                {.names = "--originals",
                 .target = &arguments->originals,
                 .help = "Print the subprograms that delegates were made from"},
                {.names = "--sources",
                 .target = &arguments->sources,
                 .help = "Print the user's Python line beside each node"},
                {.names = "--json", .target = &arguments->json, .help = "As JSON, without constants' bytes"}};
          },
      .run = [arguments, &compiler] { return run_show(*arguments, compiler.registry()); }};
}

}  // namespace depute
