// A byte that chooses a call, and any bytes as a worker's answer to it: nothing may crash, an answer
// that is taken can be written, and a partition result reads back.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "depute/program/text.h"
#include "mutate_json.h"
#include "read/read_fields.h"
#include "support/fields.h"
#include "worker/messages.h"

namespace {

constexpr std::string_view text = R"(program
data "w": f32[2] = [1.0, 2.0]
data "state": f32[2] = [0.0, 0.0]

method forward(%w: f32[2] = param "w", %state: f32[2] = buffer "state", %x: f32[2]) {
  %a: f32[2] = aten.relu.default(%x)
  %b: f32[2] = aten.add.Tensor(%a, %w)
  %c: f32[2] = aten.mul.Tensor(%b, %state)
  return %c
}
)";

// Checks that an answer that was read can be written.
template <typename T>
void check_fields(const depute::Json& json) {
  T answer;
  if (!depute::read_json(json, answer)) return;
  if (depute::write_json(answer).dump().empty()) std::abort();
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  return depute::fuzz::mutate_json(data, size, max_size, seed, 1);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const depute::Program program = *depute::parse_program(text, "fuzz.ir");
  if (size == 0) return 0;
  const std::string_view line(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto message = depute::parse_message(line);
  if (!message) return 0;
  const depute::Json json(*message);
  const depute::Method& method = *program.methods.front();
  switch (data[0] % 5) {
    case 0:
      check_fields<depute::WorkerDescription>(json);
      break;
    case 1:
      check_fields<depute::OptionsAnswer>(json);
      break;
    case 2: {
      const auto proposal = depute::proposal_of(json, method, "fuzz", "Fuzz");
      if (proposal) (void)depute::json_of(*proposal, method);
      break;
    }
    case 3: {
      const auto result = depute::partition_result_of(json, method, "fuzz", "Fuzz");
      if (result && !depute::partition_result_of(depute::Json(*depute::parse_message(
                                                     depute::message_line(depute::json_of(*result, method)))),
                                                 method, "fuzz", "Fuzz"))
        std::abort();
      break;
    }
    default: {
      const auto read =
          [](const depute::StoredBytes& place) -> depute::Result<std::shared_ptr<const depute::Storage>> {
        if (place.hex) {
          auto bytes = depute::bytes_of_hex(*place.hex);
          if (!bytes) return depute::Failure(bytes.error());
          return depute::Storage::owned(std::move(*bytes));
        }
        return depute::Storage::owned(std::vector<std::byte>(place.text ? place.text->size() : 0));
      };
      (void)depute::result_of_json(json, program, read);
    }
  }
  return 0;
}
