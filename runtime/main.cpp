// The program depute-run: the commands of `depute` that need ExecuTorch's runtime, linked with it.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <span>

#include "cli/commands.h"
#include "depute/compiler/compiler.h"
#include "depute/compiler/worker.h"
#include "runtime/run_program.h"

int main(int argc, char** argv) {
  depute::set_up_process();
  const std::span<char*> words(argv, static_cast<std::size_t>(argc));
  static depute::Compiler compiler;
  const depute::Command commands[] = {depute::run_command(depute::run_program),
                                      depute::verify_command(compiler, depute::run_program)};
  int code = depute::exit_error;
  try {
    code = depute::run_words(words.subspan(words.empty() ? 0 : 1), commands);
  } catch (const std::exception& error) {
    code = depute::report_error(depute::diagnostic_of(error));
  }
  depute::clean_up_process();
  std::fflush(nullptr);
  std::_Exit(code);
}
