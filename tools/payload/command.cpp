// depute payload: writes the bytes that a delegate of a .pte hands to its backend, for the vendor's own tools.
//
//   depute payload model.pte --delegate 1 -o part.bin       delegate 1 as `depute show model.pte` counts them
#include <fmt/format.h>

#include "cli/commands.h"
#include "platform/parse_number.h"
#include "read/pte.h"
#include "support/mapped_file.h"
#include "support/number_text.h"
#include "support/output_set.h"
#include "support/try.h"
#include "tools/bundle/program_part.h"

namespace depute {
namespace {

struct PayloadArguments {
  std::string file;
  std::string method;
  std::string delegate;
  std::string output;
};

Result<const PlanDelegate*> find_delegate(const ExecutionPlan& method, const PayloadArguments& arguments) {
  const std::size_t count = method.delegates.size();
  const std::string all = fmt::format("method {} has {}", method.name, plural(count, "delegate"));
  if (arguments.delegate.empty() && count == 1) return &method.delegates[0];
  if (arguments.delegate.empty() || count == 0) return failure("usage", "--delegate", all, "a number from 0");
  const auto number = parse_number<std::uint64_t>(arguments.delegate);
  if (!number || *number >= count)
    return failure("usage", "--delegate", fmt::format("'{}': {}", arguments.delegate, all),
                   "a number from 0");
  return &method.delegates[*number];
}

Result<std::string> write_payload(const PayloadArguments& arguments) {
  OutputSet outputs;
  outputs.add_input(arguments.file);
  TRY_STATUS(outputs.reserve("-o", arguments.output));
  TRY(const std::shared_ptr<const MappedFile> file, open_input(arguments.file));
  TRY(const std::span<const std::byte> program, program_part(file->bytes(), arguments.file));
  TRY(const PteContents pte, read_pte(program, arguments.file));
  TRY(const ExecutionPlan* method, find_method(pte, arguments.method));
  TRY(const PlanDelegate* delegate, find_delegate(*method, arguments));
  const std::span<const std::byte> bytes = delegate_bytes(pte, *delegate, program);
  TRY_STATUS(outputs.write(arguments.output,
                           std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size())));
  TRY_STATUS(outputs.put_in_place());
  return fmt::format("{}: {} of {} ({})\n", arguments.output, plural(bytes.size(), "byte"),
                     printable(delegate->backend_id), printable(method->name));
}

Result<int> run_payload(const PayloadArguments& arguments) {
  TRY(const std::string text, write_payload(arguments));
  return print_to(is_standard_output(arguments.output) ? stderr : stdout, text);
}

std::vector<Option> payload_options(PayloadArguments& arguments) {
  return {
      {.names = "PROGRAM",
       .target = &arguments.file,
       .help = "A .pte or .bpte file; - is standard input",
       .is_required = true},
      {"--delegate", &arguments.delegate, "Which delegate of the method, from 0 as `show` counts them", "N"},
      {"--method", &arguments.method, "The method, if there are several", "NAME"},
      {.names = "-o,--output",
       .target = &arguments.output,
       .help = "The file to write",
       .value = "FILE",
       .is_required = true}};
}

}  // namespace

Command payload_command() {
  return make_command<PayloadArguments>("payload", "Write the bytes of a delegate of a .pte file",
                                        payload_options, run_payload);
}

}  // namespace depute
