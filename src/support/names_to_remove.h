// Paths that a signal handler removes before the process ends. It takes no lock and has a fixed size.
//
//   NamesToRemove<64> names;
//   const int slot = names.add("/tmp/a");                          // -1: there is no more room
//   names.each([](const char* name) { unlink(name); });            // in the handler
//   names.remove(slot);
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>

namespace depute {

template <std::size_t max_names>
class NamesToRemove {
 public:
  int add(const std::string& path) {
    char* name = strdup(path.c_str());
    for (std::size_t i = 0; i < max_names && name != nullptr; ++i) {
      char* none = nullptr;
      if (names_[i].compare_exchange_strong(none, name)) return static_cast<int>(i);
    }
    std::free(name);
    return -1;
  }

  void remove(int slot) {
    if (slot >= 0) std::free(names_[static_cast<std::size_t>(slot)].exchange(nullptr));
  }

  // Visits all paths. The other threads of the process must be stopped.
  template <typename Visit>
  void each(Visit&& visit) {
    for (std::atomic<char*>& name : names_) {
      if (char* path = name.load(); path != nullptr) visit(path);
    }
  }

 private:
  std::array<std::atomic<char*>, max_names> names_;
};

}  // namespace depute
