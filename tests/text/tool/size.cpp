#include "tests/text/tool/size.h"

#include "depute/compiler/compiler.h"
#include "depute/tools/byte_ledger.h"
#include "support/try.h"

namespace depute {

Result<std::string> size_text(const Program& program, const SizeWords& options) {
  const Compiler compiler;
  LowerOptions lower_options;
  if (auto backend = options.find("backend"); backend != options.end())
    lower_options.backends = {{backend->second}};
  TRY(Exported exported, compiler.load(clone(program)));
  TRY(Delegated lowered, compiler.lower(std::move(exported), lower_options));
  WriteOptions write_options;
  write_options.extract_delegate_segments = !options.contains("inline");
  const std::string data_file = "data.ptd";
  const bool of_data = options.contains("ptd");
  if (of_data) write_options.ptd = {{data_file}};
  TRY(const Executable executable, to_executorch(std::move(lowered), write_options));
  TRY(const PteFile file, write(executable));
  TRY(const ByteLedger ledger, byte_ledger(of_data ? file.external.at(data_file) : file.pte,
                                           of_data ? data_file : file.name, compiler.registry()));
  if (options.contains("json")) return ledger_json(ledger);
  const auto top = options.find("top");
  return ledger_text(ledger, top == options.end() ? 10 : std::stoul(top->second));
}

}  // namespace depute
