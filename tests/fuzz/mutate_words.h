// Mutates a file of flatbuffers by its words: one becomes another word of the file, a small number, or its place's
// distance to another place, which is what an offset is. Half of the mutations stay libFuzzer's.
#pragma once

#include <cstdint>
#include <cstring>
#include <random>

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace depute::fuzz {

inline std::size_t mutate_words(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed) {
  std::mt19937 dice(seed);
  const std::size_t words = size / sizeof(std::uint32_t);
  if (words < 4 || dice() % 2 == 0) return LLVMFuzzerMutate(data, size, max_size);
  const auto place = [&] { return static_cast<std::uint32_t>(dice() % words * sizeof(std::uint32_t)); };
  for (unsigned count = 1 + dice() % 3; count > 0; --count) {
    const std::uint32_t to = place();
    const std::uint32_t from = place();
    std::uint32_t word = 0;
    switch (dice() % 4) {
      case 0:
        std::memcpy(&word, data + from, sizeof(word));
        break;
      case 1:
        word = dice() % 64;
        break;
      case 2:
        word = from - to;
        break;
      default:
        word = std::uint32_t{1} << (dice() % 32);
    }
    std::memcpy(data + to, &word, sizeof(word));
  }
  return size;
}

}  // namespace depute::fuzz
