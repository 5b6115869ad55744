#include "spirv.h"

#include "support/check.h"

namespace depute::vgf::spirv {

void add_text(Words& words, std::string_view text) {
  constexpr std::size_t word_bytes = sizeof(std::uint32_t);
  const std::size_t begin = words.size();
  words.resize(begin + text.size() / word_bytes + 1);
  for (std::size_t i = 0; i < text.size(); ++i)
    words[begin + i / word_bytes] |= std::uint32_t{static_cast<unsigned char>(text[i])}
                                     << (i % word_bytes * 8);
}

void add(Words& words, Opcode opcode, std::span<const std::uint32_t> operands) {
  CHECK(operands.size() < max_words);
  words.push_back((static_cast<std::uint32_t>(operands.size() + 1) << 16) |
                  static_cast<std::uint32_t>(opcode));
  words.insert(words.end(), operands.begin(), operands.end());
}

void add(Words& words, Opcode opcode, std::initializer_list<std::uint32_t> operands, std::string_view text) {
  Words all = operands;
  add_text(all, text);
  add(words, opcode, all);
}

}  // namespace depute::vgf::spirv
