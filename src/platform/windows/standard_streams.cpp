#include "platform/standard_streams.h"

#include <fcntl.h>
#include <io.h>

#include "platform/windows/system_parts.h"

namespace depute::platform {

// A newly opened file cannot get the number of a stream: files here have no numbers.
bool fill_standard_streams() {
  for (std::FILE* stream : {stdin, stdout, stderr}) _setmode(_fileno(stream), _O_BINARY);
  SetConsoleOutputCP(CP_UTF8);
  return true;
}

// Only of consoles that understand escape sequences, which are turned on.
bool is_terminal(std::FILE* stream) {
  const HANDLE console = standard_handle(_fileno(stream));
  DWORD mode = 0;
  return GetConsoleMode(console, &mode) && SetConsoleMode(console, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
}

Expected<File> take_standard_output() {
  auto output = File::of_stream(1);
  if (output) _dup2(_fileno(stderr), _fileno(stdout));  // and the handle with the number
  return output;
}

void write_to_standard_error(std::string_view text) {
  DWORD count = 0;
  WriteFile(standard_handle(2), text.data(), static_cast<DWORD>(text.size()), &count, nullptr);
}

}  // namespace depute::platform
