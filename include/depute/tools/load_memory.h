// Memory that ExecuTorch's runtime needs to load a method, known before anything runs: what an application gives to the
// runtime's allocators, as the versions of the runtime differ in it.
//
//   DEPUTE_TRY(std::vector<LoadMemory> needed, load_memory(bytes, "model.pte"));
//   needed[0].tables;     // 1904 bytes for 1.4.1 and 1.5.1 with 64 bits
//
// Exact for programs without delegates and with XNNPACK's. What a delegate takes from the heap or on a device is not counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "depute/api.h"
#include "depute/program/result.h"

namespace depute {

// Sizes in bytes.
struct LoadMemory {
  std::string method = {};
  std::vector<std::string> runtimes = {};  // versions of ExecuTorch
  std::uint64_t bits = 64;                 // size of the processor's addresses
  std::uint64_t tables = 0;                // method allocator: values, instructions, and what delegates keep
  // Temporary allocator, while kernels are looked up. With less, 1.5 puts what is looked up into the method allocator.
  std::uint64_t temporary = 0;
  std::uint64_t alone = 0;                         // method allocator, if there is no temporary allocator
  std::uint64_t planned = 0;                       // arenas for values
  std::vector<std::uint64_t> arenas = {};          // the arenas by memory id, from 1
  std::uint64_t outputs = 0;                       // results that the caller provides memory for
  std::vector<std::string> unknown_backends = {};  // their delegates take memory that is not counted

  std::uint64_t total() const { return tables + temporary + planned; }
  friend bool operator==(const LoadMemory&, const LoadMemory&) = default;
};

// For each method, with addresses of 64 and of 32 bits; versions that agree share an element. Fails with a position if the file,
// a .pte, is damaged.
DEPUTE_API Result<std::vector<LoadMemory>> load_memory(std::span<const std::byte> file,
                                                       std::string_view name);

}  // namespace depute
