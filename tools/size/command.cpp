// depute size: shows the use of each byte of a compiled program, and bytes that it contains several times.
#include <limits>
#include <memory>

#include "cli/commands.h"
#include "depute/compiler/compiler.h"
#include "depute/tools/byte_ledger.h"
#include "read/read_program.h"
#include "support/mapped_file.h"

namespace depute {
namespace {

struct SizeArguments {
  std::string file;
  int top = 10;
  bool json = false;
};

int run_size(const SizeArguments& arguments, const Registry& registry) {
  Result<std::shared_ptr<const MappedFile>> file = open_input(arguments.file);
  if (!file) return report_error(file.error());
  Result<ByteLedger> ledger = byte_ledger((*file)->bytes(), arguments.file, registry);
  if (!ledger) return report_error(ledger.error());
  return print_out(arguments.json ? ledger_json(*ledger)
                                  : ledger_text(*ledger, static_cast<std::size_t>(arguments.top)));
}

}  // namespace

Command size_command(const Compiler& compiler) {
  auto arguments = std::make_shared<SizeArguments>();
  return {.name = "size",
          .help = "Tell where the bytes of a .pte or .ptd file go",
          .options =
              [arguments] {
                return std::vector<Option>{
                    {.names = "FILE",
                     .target = &arguments->file,
                     .help = "A .pte or .ptd file; - is standard input",
                     .may_be_empty = true,
                     .is_required = true},
                    {.names = "--json", .target = &arguments->json, .help = "As JSON, with every entry"},
                    {.names = "--top",
                     .target = &arguments->top,
                     .help = "Lines in each group, by default 10; 0: all",
                     .value = "N",
                     .range = {{0, std::numeric_limits<int>::max()}},
                     .excludes = "--json"}};
              },
          .run = [arguments, &compiler] { return run_size(*arguments, compiler.registry()); }};
}

}  // namespace depute
