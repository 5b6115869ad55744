// Any bytes as a lock, and as the lines of two locks whose hashes are right, with a zero byte between them:
// nothing may crash, what is written reads back as the same, and a lock is as it was.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "depute/tools/lock.h"

namespace {

// A line "partition" starts a part, all others are lines of the last one.
depute::Lock make_parts(std::string_view text) {
  depute::Lock lock{.made_by = "fuzz"};
  lock.parts.push_back({.method = "forward"});
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.starts_with("partition")) {
      lock.parts.push_back({.method = "forward", .partition = std::string(line), .backend_id = "Fuzz"});
    } else if (const std::size_t blank = line.find(' '); blank != line.npos) {
      lock.parts.back().lines.push_back(
          {.kind = std::string(line.substr(0, blank)), .text = std::string(line.substr(blank + 1))});
    }
  }
  return lock;
}

// What was written and read has the names of its lines.
depute::Lock read_back(const depute::Lock& lock) {
  const std::string text = depute::lock_text(lock);
  auto again = depute::parse_lock(text, "written.lock");
  if (!again || depute::lock_text(*again) != text || !depute::lock_changes(*again, *again).empty())
    std::abort();
  return *again;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto lock = depute::parse_lock(text, "fuzz.lock")) (void)read_back(*lock);
  const std::size_t zero = std::min(text.find('\0'), text.size());
  const depute::Lock before = read_back(make_parts(text.substr(0, zero)));
  const depute::Lock now = read_back(make_parts(text.substr(std::min(zero + 1, text.size()))));
  for (const depute::LockChange& change : depute::lock_changes(before, now)) (void)change.str();
  return 0;
}
