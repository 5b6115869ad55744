// depute size: shows the use of each byte of a compiled program, and bytes that it contains several times.
#include "cli/commands.h"
#include "depute/compiler/compiler.h"
#include "depute/tools/byte_ledger.h"
#include "read/read_program.h"
#include "support/mapped_file.h"
#include "support/try.h"

namespace depute {
namespace {

struct SizeArguments {
  std::string file;
  std::uint64_t top = 10;
  bool json = false;
};

Result<int> run_size(const SizeArguments& arguments, const Registry& registry) {
  TRY(const std::shared_ptr<const MappedFile> file, open_input(arguments.file));
  TRY(const ByteLedger ledger, byte_ledger(file->bytes(), arguments.file, registry));
  return print_out(arguments.json ? ledger_json(ledger) : ledger_text(ledger, arguments.top));
}

std::vector<Option> size_options(SizeArguments& arguments) {
  return {{.names = "FILE",
           .target = &arguments.file,
           .help = "A .pte or .ptd file; - is standard input",
           .may_be_empty = true,
           .is_required = true},
          {"--json", &arguments.json, "As JSON, with every entry"},
          top_option(arguments.top, "Lines in each group, by default 10; 0: all", "--json")};
}

}  // namespace

Command size_command(const Compiler& compiler) {
  return make_command<SizeArguments>(
      "size", "Tell where the bytes of a .pte or .ptd file go", size_options,
      [&compiler](const SizeArguments& arguments) { return run_size(arguments, compiler.registry()); });
}

}  // namespace depute
