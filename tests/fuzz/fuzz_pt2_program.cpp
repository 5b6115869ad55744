// A .pt2 archive around any program. The input is the program's JSON, the config of its weights and that of
// its constants, with a line "%%" between them; the data they name is there, all zeros. The archive is read
// through a file in memory. What the reader accepts must be sound and survive the text form.
//
// Mutations keep most inputs valid JSON: they exchange, copy and drop whole values.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "depute/program/program.h"
#include "depute/program/text.h"
#include "ir/verify.h"
#include "read/pt2/read_pt2.h"
#include "zip_writer.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace {

using namespace depute;

constexpr std::string_view separator = "\n%%\n";

// The text up to the next separator, which is removed.
std::string_view take_part(std::string_view& text) {
  std::size_t end = text.find(separator);
  std::string_view part = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view() : text.substr(end + separator.size());
  return part;
}

std::string make_archive(std::string_view input) {
  std::vector<ZipEntry> entries;
  for (const char* name : {"data/weights/weight_0", "data/weights/weight_1", "data/weights/weight_2",
                           "data/constants/tensor_0", "data/constants/tensor_1"}) {
    entries.push_back({.name = name, .content = std::string(256, '\0'), .crc = 0});
  }
  entries.push_back({.name = "models/model.json", .content = std::string(take_part(input)), .crc = 0});
  for (const char* name :
       {"data/weights/model_weights_config.json", "data/constants/model_constants_config.json"}) {
    std::string_view part = take_part(input);
    if (!part.empty()) entries.push_back({.name = name, .content = std::string(part), .crc = 0});
  }
  entries.push_back({.name = "archive_format", .content = "pt2"});
  return make_zip(entries);
}

void fail(const char* what, const std::string& text) {
  std::fprintf(stderr, "%s: %s\n", what, text.c_str());
  std::abort();
}

void check(const Program& program) {
  if (auto faults = verify(program); !faults.empty()) fail("unsound", faults[0].str());
  std::string text = print(program);
  auto again = parse_program(text);
  if (!again) fail("the text form is not read back", again.error().str() + "\n" + text);
  if (auto difference = first_difference(program, *again))
    fail("the text form changes the program", *difference);
}

// --- mutation

struct Span {
  std::size_t begin;
  std::size_t end;
};

// All values of a JSON text that may be broken, scalars and brackets with all between them.
std::vector<Span> values_of(std::string_view text) {
  std::vector<Span> values;
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < text.size();) {
    char c = text[i];
    std::size_t begin = i++;
    if (c == '"') {
      while (i < text.size() && text[i] != '"') i += text[i] == '\\' ? 2 : 1;
      i = std::min(i + 1, text.size());
      values.push_back({begin, i});
    } else if (c == '{' || c == '[') {
      open.push_back(begin);
    } else if ((c == '}' || c == ']') && !open.empty()) {
      values.push_back({open.back(), i});
      open.pop_back();
    } else if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-') {
      while (i < text.size() && std::strchr("{}[],:\" \n", text[i]) == nullptr) ++i;
      values.push_back({begin, i});
    }
  }
  return values;
}

std::string mutate(std::string_view text, std::mt19937& random) {
  static constexpr std::string_view interesting[] = {"0",
                                                     "-1",
                                                     "1",
                                                     "9223372036854775807",
                                                     "-9223372036854775808",
                                                     "18446744073709551616",
                                                     "1e308",
                                                     "null",
                                                     "true",
                                                     "\"\"",
                                                     "{}",
                                                     "[]",
                                                     "{\"as_int\": 1}",
                                                     "{\"as_none\": true}",
                                                     "\"Infinity\""};
  std::vector<Span> values = values_of(text);
  if (values.empty()) return std::string(text);
  auto pick = [&](std::size_t count) {
    return std::uniform_int_distribution<std::size_t>(0, count - 1)(random);
  };
  Span to = values[pick(values.size())];
  Span from = values[pick(values.size())];
  std::string_view replacement = text.substr(from.begin, from.end - from.begin);
  std::size_t kind = pick(8);
  if (kind == 0) replacement = interesting[pick(std::size(interesting))];
  std::string result(text.substr(0, to.begin));
  if (kind == 1) result += std::string(text.substr(to.begin, to.end - to.begin)) + ", ";  // one more element
  if (kind == 2 && to.end < text.size() && text[to.end] == ',') {                         // one fewer
    ++to.end;
    replacement = "";
  }
  result += replacement;
  result += text.substr(to.end);
  return result;
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  std::mt19937 random(seed);
  if (random() % 8 == 0) return LLVMFuzzerMutate(data, size, max_size);
  std::string result = mutate({reinterpret_cast<const char*>(data), size}, random);
  if (result.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::memcpy(data, result.data(), result.size());
  return result.size();
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string archive = make_archive({reinterpret_cast<const char*>(data), size});
  int descriptor = memfd_create("program.pt2", 0);
  if (descriptor < 0 ||
      write(descriptor, archive.data(), archive.size()) != static_cast<ssize_t>(archive.size())) {
    std::abort();
  }
  auto file = MappedFile::open("/proc/self/fd/" + std::to_string(descriptor));
  close(descriptor);
  if (!file) std::abort();
  auto program = read_pt2(*file);
  if (program) check(*program);
  return 0;
}
