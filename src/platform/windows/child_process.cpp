// A started program is known by its address here, until wait_for_end() releases it. A group of processes is a job.
#include "platform/child_process.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <thread>

#include "platform/programs.h"
#include "platform/signals.h"
#include "platform/windows/start_words.h"
#include "platform/windows/system_parts.h"

namespace depute::platform {
namespace {

constexpr DWORD pipe_bytes = 1 << 16;
constexpr std::size_t max_sent =
    1 << 12;  // at once: a pipe that does not wait takes all of a text or nothing
constexpr std::chrono::milliseconds between_looks{1};
constexpr DWORD killed_code = 0xE0000000 + kill_signal;  // exit code of killed programs, which no other has

struct Child {
  File process;
  File job;  // of a group
};

Child& child_of(ProcessId id) {
  return *reinterpret_cast<Child*>(static_cast<std::intptr_t>(id));
}

Expected<Pipe> open_pipe(bool to_program) {
  HANDLE read = nullptr;
  HANDLE write = nullptr;
  if (!CreatePipe(&read, &write, nullptr, pipe_bytes)) return Unexpected{last_error()};
  Pipe made{file_of(to_program ? write : read), file_of(to_program ? read : write)};
  DWORD mode = PIPE_READMODE_BYTE | PIPE_NOWAIT;
  if (!SetNamedPipeHandleState(handle_of(made.ours), &mode, nullptr, nullptr))
    return Unexpected{last_error()};
  return made;
}

// True if there are bytes, or the other end is closed.
bool can_be_read(const File& pipe) {
  DWORD bytes = 0;
  return !PeekNamedPipe(handle_of(pipe), nullptr, 0, nullptr, &bytes, nullptr) || bytes > 0;
}

// Handles that the started program inherits: copies of the streams.
class Inherited {
 public:
  explicit Inherited(std::span<const File* const> streams) {
    for (const File* stream : streams) add(stream == nullptr ? nothing() : stream->duplicate());
  }

  bool is_whole() const { return handles_.size() == files_.size(); }
  std::span<HANDLE> handles() { return handles_; }

 private:
  static Expected<File> nothing() { return File::open_to_write("/dev/null"); }

  void add(Expected<File> file) {
    files_.push_back(file ? std::move(*file) : File());
    if (SetHandleInformation(handle_of(files_.back()), HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT))
      handles_.push_back(handle_of(files_.back()));
  }

  std::vector<File> files_;
  std::vector<HANDLE> handles_;
};

// The list of attributes of one CreateProcessW() call: what is inherited.
class Attributes {
 public:
  explicit Attributes(std::span<HANDLE> inherited) {
    SIZE_T size = 0;
    InitializeProcThreadAttributeList(nullptr, 1, 0, &size);
    memory_.resize(size);
    InitializeProcThreadAttributeList(get(), 1, 0, &size);
    UpdateProcThreadAttribute(get(), 0, PROC_THREAD_ATTRIBUTE_HANDLE_LIST, inherited.data(),
                              inherited.size_bytes(), nullptr, nullptr);
  }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  ~Attributes() { DeleteProcThreadAttributeList(get()); }

  LPPROC_THREAD_ATTRIBUTE_LIST get() {
    return reinterpret_cast<LPPROC_THREAD_ATTRIBUTE_LIST>(memory_.data());
  }

 private:
  std::vector<std::byte> memory_;
};

// The file of a program that is named by a path, or that PATH has; empty if there is none. Windows itself would look
// in the current folder, too.
std::string file_of_program(const std::string& word) {
  const std::string name = word.ends_with(".exe") ? word : word + ".exe";
  if (word.find_first_of("/\\") != word.npos) return is_program(name) ? name : std::string();
  for (const std::string& folder : folders_on_path())
    if (is_program(folder + '/' + name)) return folder + '/' + name;
  return {};
}

// A job that kills its processes when its last handle is closed, as it is when this process ends.
File open_job() {
  JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits{};
  limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
  const HANDLE job = CreateJobObjectW(nullptr, nullptr);
  if (job == nullptr) return {};
  SetInformationJobObject(job, JobObjectExtendedLimitInformation, &limits, sizeof(limits));
  return file_of(job);
}

// The signal that ends a program on other systems for the reason of this exit code.
std::optional<int> signal_of(DWORD code) {
  switch (code) {
    case STATUS_CONTROL_C_EXIT:
      return interrupt_signal;
    case STATUS_ILLEGAL_INSTRUCTION:
      return 4;
    case STATUS_BREAKPOINT:
      return 5;
    case STATUS_STACK_BUFFER_OVERRUN:
      return 6;  // abort(), too
    case STATUS_IN_PAGE_ERROR:
      return 7;
    case STATUS_INTEGER_DIVIDE_BY_ZERO:
      return 8;
    case STATUS_ACCESS_VIOLATION:
    case STATUS_STACK_OVERFLOW:
      return 11;
    case killed_code:
      return kill_signal;
    default:
      return std::nullopt;
  }
}

Ending ending_of_code(DWORD code) {
  const std::optional<int> number = signal_of(code);
  return {.has_exited = !number, .number = number.value_or(static_cast<int>(code))};
}

}  // namespace

Expected<Pipe> open_pipe_from_program() {
  return open_pipe(false);
}

Expected<Pipe> open_pipe_to_program() {
  return open_pipe(true);
}

Expected<std::size_t> send_some(const File& pipe, std::string_view text) {
  std::size_t sent = 0;
  while (sent < text.size()) {
    const std::string_view part = text.substr(sent, max_sent);
    DWORD count = 0;
    if (!WriteFile(handle_of(pipe), part.data(), static_cast<DWORD>(part.size()), &count, nullptr))
      return Unexpected{last_error()};
    if (count == 0) break;
    sent += count;
  }
  return sent;
}

// Looks again and again: pipes cannot be waited for. One to write to is ready after each look, since nothing tells
// how much it takes.
void wait_for_any(std::span<Awaited> streams, std::chrono::milliseconds time) {
  const auto last = std::chrono::steady_clock::now() + time;
  bool is_any = false;
  while (true) {
    for (Awaited& each : streams) {
      const bool is_open = each.file != nullptr && each.file->is_open();
      each.is_ready = is_open && (each.to_write || can_be_read(*each.file));
      is_any |= each.is_ready && !each.to_write;
    }
    if (is_any || std::chrono::steady_clock::now() >= last) return;
    std::this_thread::sleep_for(between_looks);
    if (std::ranges::any_of(streams, &Awaited::is_ready)) return;
  }
}

Expected<ProcessId> start_program(const ProgramStart& start) {
  const std::string program = file_of_program(start.words[0]);
  if (program.empty()) return Unexpected{std::make_error_code(std::errc::no_such_file_or_directory)};
  Inherited inherited(start.streams);
  if (!inherited.is_whole()) return Unexpected{last_error()};
  Attributes attributes(inherited.handles());
  STARTUPINFOEXW info{};
  info.StartupInfo = {.cb = sizeof(info),
                      .dwFlags = STARTF_USESTDHANDLES,
                      .hStdInput = inherited.handles()[0],
                      .hStdOutput = inherited.handles()[1],
                      .hStdError = inherited.handles()[2]};
  info.lpAttributeList = attributes.get();
  std::wstring line = command_line(start.words);
  std::wstring environment = start.environment ? environment_block(*start.environment) : std::wstring();
  const std::wstring folder = wide(start.folder);
  PROCESS_INFORMATION made{};
  if (!CreateProcessW(wide(program).c_str(), line.data(), nullptr, nullptr, TRUE,
                      EXTENDED_STARTUPINFO_PRESENT | CREATE_UNICODE_ENVIRONMENT | CREATE_SUSPENDED,
                      start.environment ? environment.data() : nullptr,
                      folder.empty() ? nullptr : folder.c_str(), &info.StartupInfo, &made))
    return Unexpected{last_error()};
  auto child = std::make_unique<Child>(file_of(made.hProcess), start.leads_group ? open_job() : File());
  if (child->job.is_open()) AssignProcessToJobObject(handle_of(child->job), made.hProcess);
  ResumeThread(made.hThread);
  CloseHandle(made.hThread);
  return reinterpret_cast<std::intptr_t>(child.release());
}

// Windows has no limits for files.
void limit_files(ProcessId, std::uint64_t) {}

void kill_process(ProcessId id) {
  TerminateProcess(handle_of(child_of(id).process), killed_code);
}

void kill_group(ProcessId leader) {
  TerminateJobObject(handle_of(child_of(leader).job), killed_code);
  kill_process(leader);
}

std::optional<Ending> ending_of(ProcessId id) {
  const HANDLE process = handle_of(child_of(id).process);
  if (WaitForSingleObject(process, 0) == WAIT_TIMEOUT) return std::nullopt;
  DWORD code = 0;
  GetExitCodeProcess(process, &code);
  return ending_of_code(code);
}

Ending wait_for_end(ProcessId id) {
  const std::unique_ptr<Child> child(&child_of(id));
  WaitForSingleObject(handle_of(child->process), INFINITE);
  DWORD code = 0;
  GetExitCodeProcess(handle_of(child->process), &code);
  return ending_of_code(code);
}

}  // namespace depute::platform
