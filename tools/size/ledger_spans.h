// Turns spans of a file, found in any order, into a ledger without gaps or overlaps.
//
//   found     values 0..40, strings 40..52, values 56..80, values 60..64
//   settled   values 0..40, strings 40..52, padding 52..56, values 56..80
//
// If two spans overlap, the first in the file keeps the bytes: flatbuffers may share pieces. Gaps are padding
// if they contain only zeros, else unknown bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "depute/tools/byte_ledger.h"

namespace depute {

struct LedgerSpan {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint32_t label = 0;
};

class LedgerSpans {
 public:
  explicit LedgerSpans(std::span<const std::byte> file) : file_(file) {}

  // Returns the number of a label; equal arguments give equal numbers.
  std::uint32_t label(LedgerKind kind, const std::string& owner = {}, const std::string& name = {});
  const LedgerEntry& of(std::uint32_t label) const { return labels_[label]; }

  // Returns spans that cover all bytes from `begin` to `end`. Gaps belong to `owner`.
  std::vector<LedgerSpan> settle(std::vector<LedgerSpan> found, std::uint64_t begin, std::uint64_t end,
                                 const std::string& owner);
  std::vector<LedgerEntry> entries(std::span<const LedgerSpan> settled) const;

 private:
  void add(std::vector<LedgerSpan>& settled, LedgerSpan span) const;
  void add_gap(std::vector<LedgerSpan>& settled, std::uint64_t end, std::uint32_t next,
               const std::string& owner);
  bool is_zero(std::uint64_t begin, std::uint64_t end) const;

  std::span<const std::byte> file_;
  std::vector<LedgerEntry> labels_;  // without positions
  std::map<std::tuple<LedgerKind, std::string, std::string>, std::uint32_t> known_;
  std::uint64_t begin_ = 0;  // start of the current settle() call
};

}  // namespace depute
