// Memory planners in Python: the functions of WriteOptions::planner call an object of depute/planning.py, with plain tuples.
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bind.h"
#include "depute/compiler/memory_planner.h"

namespace depute::python {
namespace {

const char* kind_text(PlannedKind kind) {
  switch (kind) {
    case PlannedKind::Temporary:
      return "temporary";
    case PlannedKind::Input:
      return "input";
    case PlannedKind::Output:
      return "output";
    case PlannedKind::State:
      return "state";
  }
  return "";
}

nb::list rows_of(std::span<const PlannedValue> values) {
  nb::list rows;
  for (const PlannedValue& value : values)
    rows.append(nb::make_tuple(value.name, value.order, kind_text(value.kind), value.kernel, value.operands,
                               std::string(torch_name(value.dtype)), value.sizes, value.is_dynamic));
  return rows;
}

nb::list rows_of(std::span<const PlannedBlock> blocks) {
  nb::list rows;
  for (const PlannedBlock& block : blocks) {
    const nb::object memory = block.memory_id ? nb::cast(*block.memory_id) : nb::none();
    rows.append(nb::make_tuple(block.method, rows_of(std::span<const PlannedValue>(block.values)),
                               kind_text(block.kind), block.bytes, block.first, block.last, memory,
                               block.padding));
  }
  return rows;
}

MemoryPlacement placement_of(const nb::object& answer) {
  using Places = std::vector<std::pair<std::uint32_t, std::uint64_t>>;
  auto [places, sizes] =
      nb::cast<std::pair<Places, std::map<std::string, std::vector<std::uint64_t>>>>(answer);
  MemoryPlacement placement{.places = {}, .memory_sizes = std::move(sizes)};
  for (const auto& [memory, offset] : places) placement.places.push_back({memory, offset});
  return placement;
}

}  // namespace

WriteOptions PythonOptions::for_call(std::shared_ptr<Raised> raised) const {
  WriteOptions made = options;
  if (planner == nullptr) return made;
  if (nb::cast<bool>(planner->attr("pins_values"))) {
    made.planner.pin = [own = planner, raised](std::string_view method,
                                               std::span<const PlannedValue> values) {
      return ask_python(*raised, [&] {
        return nb::cast<std::vector<std::uint32_t>>(own->attr("pin")(std::string(method), rows_of(values)));
      });
    };
  }
  if (nb::cast<bool>(planner->attr("places_blocks"))) {
    made.planner.place = [own = planner, raised](std::span<const PlannedBlock> blocks) {
      return ask_python(*raised, [&] { return placement_of(own->attr("place")(rows_of(blocks))); });
    };
  }
  return made;
}

}  // namespace depute::python
