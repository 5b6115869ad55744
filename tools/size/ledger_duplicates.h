// Finds bytes that a file contains several times.
//
//   constant 0..400 == constant 400..800            saves 400: the values can name one constant
//   payload 1000..1100 == payload 1200..1300        saves 100: the delegates can name one segment
//   constant 0..400 == named data 2000..2400        saves 400: a segment can lie inside of another
//   constant 0..400 == initial value 500..900       saves nothing: these are kept apart
//
// Parts of a payload that is a copy itself are not counted again.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "depute/tools/byte_ledger.h"

namespace depute {

// `units` are the candidates: weights and whole payloads. All of them are in `file`.
std::vector<Duplicate> find_duplicates(std::span<const LedgerEntry> units, std::span<const std::byte> file);

}  // namespace depute
