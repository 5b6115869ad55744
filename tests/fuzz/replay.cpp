// Runs a fuzz target without libFuzzer, with any compiler: on the files of the given folders and on damaged copies of each, which
// are the same each time.
//
//   fuzz_pte_replay 100 tests/fuzz/corpus/pte         each file, and 100 damaged copies of each
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
// Targets that know their format have this one, which calls LLVMFuzzerMutate().
extern "C" [[gnu::weak]] std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                                             std::size_t max_size, unsigned int seed);

static std::mt19937 random_numbers(1);  // NOLINT: the same inputs each time

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size) {
  if (size == 0) return 0;
  const std::size_t at = random_numbers() % size;
  switch (random_numbers() % 4) {
    case 0:
      data[at] ^= static_cast<std::uint8_t>(1U << random_numbers() % 8);
      return size;
    case 1:
      data[at] = static_cast<std::uint8_t>(random_numbers());
      return size;
    case 2:
      return at;
    default: {
      const std::size_t count = std::min({random_numbers() % 16 + 1, size - at, max_size - size});
      std::copy_backward(data + at, data + size, data + size + count);
      return size + count;
    }
  }
}

using Bytes = std::vector<std::uint8_t>;

static Bytes damaged(Bytes bytes, unsigned seed) {
  const std::size_t size = bytes.size();
  constexpr std::size_t room = 64;
  bytes.resize(size + room);
  const std::size_t left = LLVMFuzzerCustomMutator != nullptr
                               ? LLVMFuzzerCustomMutator(bytes.data(), size, bytes.size(), seed)
                               : LLVMFuzzerMutate(bytes.data(), size, bytes.size());
  bytes.resize(left);
  bytes.shrink_to_fit();  // so that reading behind the end is seen
  return bytes;
}

static void run(const Bytes& bytes) {
  if (LLVMFuzzerTestOneInput(bytes.data(), bytes.size()) > 0) std::abort();
}

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s COPIES FOLDER...\n", argv[0]);
    return 2;
  }
  const int copies = std::atoi(argv[1]);
  std::vector<std::filesystem::path> files;
  for (int i = 2; i < argc; ++i) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  for (const auto& path : files) {
    std::ifstream file(path, std::ios::binary);
    const Bytes bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    run(bytes);
    for (int copy = 0; copy < copies; ++copy) run(damaged(bytes, random_numbers()));
  }
  std::printf("%zu files, %d damaged copies of each\n", files.size(), copies);
  return files.empty() ? 1 : 0;
}
