#include "tools/size/ledger_spans.h"

#include <algorithm>

namespace depute {
namespace {

constexpr std::uint64_t max_alignment_zeros = 7;  // maximum length of padding counted to the span around it
constexpr std::uint64_t max_padding = std::uint64_t{1} << 24;

}  // namespace

std::uint32_t LedgerSpans::label(LedgerKind kind, const std::string& owner, const std::string& name) {
  auto [known, is_new] = known_.try_emplace({kind, owner, name}, static_cast<std::uint32_t>(labels_.size()));
  if (is_new) labels_.push_back({.kind = kind, .owner = owner, .name = name});
  return known->second;
}

bool LedgerSpans::is_zero(std::uint64_t begin, std::uint64_t end) const {
  // Longer gaps are no alignment, and reading those of a sparse file could take hours.
  if (end - begin > max_padding) return false;
  return std::ranges::all_of(file_.subspan(begin, end - begin), [](std::byte b) { return b == std::byte{}; });
}

void LedgerSpans::add(std::vector<LedgerSpan>& settled, LedgerSpan span) const {
  if (!settled.empty() && settled.back().label == span.label) {
    settled.back().end = span.end;
  } else {
    settled.push_back(span);
  }
}

// Adds the gap between the last span and `end`, where a span with the label `next` begins.
void LedgerSpans::add_gap(std::vector<LedgerSpan>& settled, std::uint64_t end, std::uint32_t next,
                          const std::string& owner) {
  const std::uint64_t begin = settled.empty() ? begin_ : settled.back().end;
  if (begin >= end) return;
  const bool is_padding = is_zero(begin, end);
  const bool is_inside = !settled.empty() && settled.back().label == next;
  if (is_padding && is_inside && end - begin <= max_alignment_zeros) {
    settled.back().end = end;
    return;
  }
  add(settled, {begin, end, label(is_padding ? LedgerKind::Padding : LedgerKind::Unclaimed, owner)});
}

std::vector<LedgerSpan> LedgerSpans::settle(std::vector<LedgerSpan> found, std::uint64_t begin,
                                            std::uint64_t end, const std::string& owner) {
  constexpr auto no_label = static_cast<std::uint32_t>(-1);
  begin_ = begin;
  std::ranges::stable_sort(found, {}, &LedgerSpan::begin);
  std::vector<LedgerSpan> settled;
  for (LedgerSpan span : found) {
    span.end = std::min(span.end, end);
    span.begin = std::max(span.begin, settled.empty() ? begin : settled.back().end);
    if (span.begin >= span.end) continue;
    add_gap(settled, span.begin, span.label, owner);
    add(settled, span);
  }
  add_gap(settled, end, no_label, owner);
  return settled;
}

std::vector<LedgerEntry> LedgerSpans::entries(std::span<const LedgerSpan> settled) const {
  std::vector<LedgerEntry> result;
  result.reserve(settled.size());
  for (const LedgerSpan& span : settled) {
    LedgerEntry& entry = result.emplace_back(labels_[span.label]);
    entry.offset = span.begin;
    entry.bytes = span.end - span.begin;
  }
  return result;
}

}  // namespace depute
