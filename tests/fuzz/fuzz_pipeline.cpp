// The whole compiler: the bytes of a .pt2 in, the bytes of a .pte out. Nothing may crash, no CHECK may fail,
// and a .pte that comes out is read back by our own reader, which checks all that a runtime would follow.
//
// The archive's comment says what is done with it (PlanOfAction): without one it is lowered without a
// backend. Mutations edit the JSON inside of a zip that stays whole: numbers, names, ops of the op table (the
// compiler's own among them), element types, kinds of arguments and of specs, and entries that are dropped,
// doubled or taken from elsewhere. Seeds are the samples (scripts/fuzz.sh).
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "depute/backend/partitioners.h"
#include "depute/compiler/compile.h"
#include "depute/compiler/normalize.h"
#include "depute/compiler/to_backend.h"
#include "depute/program/op.h"
#include "depute/program/text.h"
#include "ir/verify.h"
#include "read/pt2/archive.h"
#include "read/pt2/read_pt2.h"
#include "read/pte.h"
#include "support/mapped_file.h"
#include "support/try.h"
#include "zip_writer.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace {

using namespace depute;
using nlohmann::ordered_json;

[[noreturn]] void fail(std::string_view what, std::string_view text) {
  std::fprintf(stderr, "%.*s: %.*s\n", static_cast<int>(what.size()), what.data(),
               static_cast<int>(text.size()), text.data());
  std::abort();
}

// A program may be refused for what it is; it may not find a bug of ours.
void check_refusal(const Diagnostic& diagnostic) {
  if (diagnostic.code == "internal") fail("internal", diagnostic.str());
  if (diagnostic.message.find("is invalid after this pass") != std::string::npos)
    fail("pass", diagnostic.str());
  if (diagnostic.code.ends_with("not-deterministic") || diagnostic.code.ends_with("changed-program"))
    fail("contract", diagnostic.str());
  // Backends of ours that throw.
  if (diagnostic.message.starts_with("it threw") || diagnostic.message.starts_with("the partitioner threw"))
    fail("threw", diagnostic.str());
}

// --- what is done with an archive

// A backend that takes whatever it is given, other delegates too.
class AnyBackend : public Backend {
 public:
  std::string_view id() const override { return "AnyBackend"; }
  Result<PreprocessResult> preprocess(const Program& program, std::span<const CompileSpec>) const override {
    if (auto faults = verify(program); !faults.empty()) fail("a partition is unsound", faults[0].str());
    std::string text = print(program);
    auto bytes = std::as_bytes(std::span(text));
    return PreprocessResult{.processed_bytes = Storage::owned({bytes.begin(), bytes.end()}),
                            .debug_handle_map = {},
                            .data_store_output = {},
                            .delegate_info = {}};
  }
};

const Compiler& compiler() {
  static const Compiler* all = [] {
    auto* made = new Compiler();
    BackendEntry entry;
    entry.name = "any";
    entry.backend = std::make_unique<AnyBackend>();
    entry.make_partitioner = [](const BackendOptions&) -> Result<std::unique_ptr<Partitioner>> {
      return std::make_unique<WholeProgramPartitioner>("any", DelegationSpec{"AnyBackend", {}});
    };
    if (!made->add(std::move(entry))) fail("registry", "any");
    return made;
  }();
  return *all;
}

// The first byte of the comment says which backends, the second sets options, the others are dice for tags.
struct PlanOfAction {
  enum Way : std::uint8_t {
    None,
    Demo,
    Xnnpack,
    DemoThenXnnpack,
    Together,
    Any,
    XnnpackThenAny,
    Tagged,
    count
  };
  Way way = None;
  bool verify_each_pass = false;
  bool external = false;
  int jobs = 1;
  std::uint32_t dice = 0;

  explicit PlanOfAction(std::string_view comment) {
    auto byte = [&](std::size_t i) {
      return i < comment.size() ? static_cast<unsigned char>(comment[i]) : 0U;
    };
    way = static_cast<Way>(byte(0) % count);
    verify_each_pass = (byte(1) & 1) != 0;
    external = (byte(1) & 2) != 0;
    jobs = (byte(1) & 12) == 12 ? 2 : 1;
    dice = byte(2) | byte(3) << 8;
  }

  std::vector<BackendRequest> backends() const {
    switch (way) {
      case Demo:
        return {{"demo", {}}};
      case Xnnpack:
        return {{"xnnpack", {}}};
      case DemoThenXnnpack:
      case Together:
        return {{"demo", {}}, {"xnnpack", {}}};
      case Any:
        return {{"any", {}}};
      case XnnpackThenAny:
        return {{"xnnpack", {}}, {"any", {}}};
      case None:
      case Tagged:
      case count:
        break;
    }
    return {};
  }
};

// The comment of a zip, which lies at its end.
std::string_view comment_of(std::string_view archive) {
  constexpr std::size_t record = 22;
  std::size_t at = archive.rfind("PK\x05\x06");
  if (at == std::string_view::npos || archive.size() - at < record) return {};
  return archive.substr(at + record);
}

std::string scratch_path(const char* ending) {
  static const std::string stem =
      (std::filesystem::exists("/dev/shm") ? std::string("/dev/shm") : std::string("/tmp")) +
      "/depute_fuzz_" + std::to_string(getpid());
  return stem + ending;
}

void check_pte(std::span<const std::byte> bytes) {
  auto pte = read_pte(bytes, "out.pte");
  if (!pte) fail("the .pte is not read back", pte.error().str());
}

void check_output(const std::string& path) {
  auto file = MappedFile::open(path);
  if (!file) fail("the .pte is not there", file.error().str());
  check_pte((*file)->bytes());
}

void compile_archive(const std::string& input, const PlanOfAction& plan) {
  CompileOptions options;
  options.input = input;
  options.lower.backends = plan.backends();
  options.lower.joint_planning = plan.way == PlanOfAction::Together;
  options.output = scratch_path(".pte");
  if (plan.external) options.ptd = {{scratch_path(".ptd")}};
  options.debug_map = scratch_path(".json");
  options.reports = {scratch_path(".html")};
  options.lower.jobs = plan.jobs;
  options.lower.verify_each_pass = plan.verify_each_pass;
  auto compiled = compile(compiler(), options);
  if (!compiled) return check_refusal(compiled.error());
  if (auto faults = verify(compiled->delegated.program()); !faults.empty()) fail("unsound", faults[0].str());
  check_output(options.output);
}

// Tags at random, each with up to three partitions; what cannot be cut so is refused.
void tag_nodes(Program& program, std::uint32_t dice) {
  std::mt19937 random(dice);
  static const Name tags[] = {Name("t0"), Name("t1"), Name("t2")};
  auto tag = [&](Graph& graph) {
    for (Node& node : graph.nodes()) {
      if (random() % 2 == 0) node.tag = tags[random() % 3];
    }
  };
  for (auto& method : program.methods) {
    tag(*method->graph);
    for (auto& body : method->bodies) tag(*body);
  }
}

// The steps one by one, each of which verifies what it is given.
Status run_steps(const std::string& input, const PlanOfAction& plan) {
  TRY(auto file, MappedFile::open(input));
  TRY(Program program, read_pt2(file));
  if (plan.dice % 2 != 0) {
    TRY(program,
        normalize(std::move(program), {.ops_to_not_decompose = {}, .verify = plan.verify_each_pass}));
  }
  tag_nodes(program, plan.dice);
  TRY(Lowered lowered,
      to_backend(program, TaggedPartitioner({"AnyBackend", {}}), compiler().registry(), {.jobs = plan.jobs}));
  if (auto faults = verify(lowered.program); !faults.empty()) fail("unsound", faults[0].str());
  TRY(program, normalize_undelegated(std::move(lowered.program)));
  TRY(Edge edge, compiler().edge(std::move(program)));
  TRY(Delegated delegated, compiler().to_backend(std::move(edge), {.jobs = plan.jobs}));
  TRY(const Executable executable, to_executorch(std::move(delegated), {.jobs = plan.jobs}));
  TRY(const PteFile written, depute::write(executable));
  check_pte(written.pte);
  return {};
}

// --- mutation

std::string_view text_of(const EntryBytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.bytes.data()), bytes.bytes.size()};
}

class Mutation {
 public:
  explicit Mutation(unsigned seed) : random_(seed) {}

  // Empty when the bytes are no archive.
  std::string run(std::string_view archive) {
    ReadLimits limits{.inflated_bytes = 1 << 24};
    ReadBudget budget(limits);
    auto zip = Archive::open({.bytes = std::as_bytes(std::span(archive))}, "fuzz", limits, budget);
    if (!zip) return {};
    std::vector<ZipEntry> entries;
    std::vector<std::size_t> described;
    for (const ArchiveEntry& entry : zip->entries()) {
      auto bytes = zip->read(entry);
      if (!bytes) return {};
      if (entry.name.ends_with(".json")) described.push_back(entries.size());
      if (entry.name.ends_with(".json") && entry.name.find("models/") != std::string_view::npos)
        described.insert(described.end(), 8, entries.size());
      entries.push_back({.name = std::string(entry.name), .content = std::string(text_of(*bytes))});
    }
    std::string comment(comment_of(archive));
    if (described.empty() || pick(6) == 0) {
      edit_comment(comment);
    } else {
      std::string& text = entries[described[pick(described.size())]].content;
      auto document = ordered_json::parse(text, nullptr, false);
      if (document.is_discarded()) return {};
      for (std::size_t edits = 1 + pick(2) * pick(4); edits > 0; --edits) edit(document);
      text = document.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
    }
    return make_zip(entries, {.comment = comment});
  }

 private:
  std::size_t pick(std::size_t count) { return random_() % std::max<std::size_t>(count, 1); }

  void edit_comment(std::string& comment) {
    comment.resize(4, '\0');
    comment[pick(4)] = static_cast<char>(random_());
  }

  // A value below the root, and where it lies: `key` of an object or `index` of an array.
  struct Place {
    ordered_json* holder;
    std::string key;
    std::size_t index = 0;

    ordered_json& value() const { return holder->is_array() ? (*holder)[index] : (*holder)[key]; }
  };

  static void collect(ordered_json& value, std::vector<Place>& places) {
    if (value.is_array()) {
      for (std::size_t i = 0; i < value.size(); ++i) {
        places.push_back({&value, {}, i});
        collect(value[i], places);
      }
    } else if (value.is_object()) {
      for (auto& [key, member] : value.items()) {
        places.push_back({&value, key});
        collect(member, places);
      }
    }
  }

  void edit(ordered_json& document) {
    std::vector<Place> places;
    collect(document, places);
    if (places.empty()) return;
    // Most of a file's values say where nodes come from.
    std::erase_if(places,
                  [](const Place& place) { return place.key == "metadata" || place.key == "stack_trace"; });
    const Place& place = places[pick(places.size())];
    switch (pick(8)) {
      case 0:
        return drop(place);
      case 1:
        if (place.holder->is_array()) place.holder->push_back(ordered_json(place.value()));
        return;
      case 2:
        place.value() = ordered_json(alike(places, place).value());
        return;
      case 3:
        place.value() = ordered_json(places[pick(places.size())].value());
        return;
      case 4:
        return rename_key(places, place);
      default:
        return edit_leaf(places, place);
    }
  }

  void drop(const Place& place) {
    if (place.holder->is_array()) {
      place.holder->erase(place.index);
    } else {
      place.holder->erase(place.key);
    }
  }

  // A place of the same key: another tensor's sizes, another node's name.
  const Place& alike(const std::vector<Place>& places, const Place& place) {
    for (int tries = 0; tries < 200; ++tries) {
      const Place& other = places[pick(places.size())];
      if (other.key == place.key && other.holder->type() == place.holder->type() && &other != &place)
        return other;
    }
    return places[pick(places.size())];
  }

  // {"as_int": 1} becomes {"as_tensor": 1}, {"user_input": ...} {"parameter": ...}.
  void rename_key(const std::vector<Place>& places, const Place& place) {
    if (!place.holder->is_object()) return;
    const Place& other = places[pick(places.size())];
    if (!other.holder->is_object()) return;
    ordered_json value = place.value();
    place.holder->erase(place.key);
    (*place.holder)[other.key] = std::move(value);
  }

  void edit_leaf(const std::vector<Place>& places, const Place& place) {
    ordered_json& value = place.value();
    if (place.key == "target" || pick(40) == 0) {
      value = random_op();
    } else if (value.is_number_integer()) {
      value = random_integer(value.get<std::int64_t>());
    } else if (value.is_number_float()) {
      static constexpr double numbers[] = {0, -1, 0.5, 1e308, -1e308, 1e-320};
      value = numbers[pick(std::size(numbers))];
    } else if (value.is_boolean()) {
      value = !value.get<bool>();
    } else if (value.is_string()) {
      static constexpr const char* texts[] = {"", "x", "s0", "Infinity", "NaN", "cpu", "sum", "mean"};
      value = pick(3) == 0 ? ordered_json(texts[pick(std::size(texts))])
                           : ordered_json(alike(places, place).value());
    }
  }

  std::string random_op() {
    std::span<const OpDef* const> ops = pick(6) == 0 ? compiler_ops() : all_ops();
    std::string name(ops[pick(ops.size())]->name.str());
    return name.starts_with("_operator") || pick(8) == 0 ? name : "torch.ops." + name;
  }

  std::int64_t random_integer(std::int64_t old) {
    static constexpr std::int64_t numbers[] = {0,     1,          2,          3,         4,        7,  8,
                                               16,    17,         -1,         -2,        32,       64, 255,
                                               65536, 2147483647, 2147483648, INT64_MAX, INT64_MIN};
    switch (pick(6)) {
      case 0:
        return old < INT64_MAX ? old + 1 : old;
      case 1:
        return old > INT64_MIN ? old - 1 : old;
      case 2:
        return static_cast<std::int64_t>(pick(30));
      default:
        return numbers[pick(std::size(numbers))];
    }
  }

  std::mt19937 random_;
};

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  if (seed % 64 == 0) return LLVMFuzzerMutate(data, size, max_size);
  std::string result = Mutation(seed).run({reinterpret_cast<const char*>(data), size});
  if (result.empty() || result.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::memcpy(data, result.data(), result.size());
  return result.size();
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  int descriptor = memfd_create("program.pt2", 0);
  if (descriptor < 0 || write(descriptor, data, size) != static_cast<ssize_t>(size)) std::abort();
  const std::string input = "/proc/self/fd/" + std::to_string(descriptor);
  const PlanOfAction plan(comment_of({reinterpret_cast<const char*>(data), size}));
  if (plan.way == PlanOfAction::Tagged) {
    if (auto done = run_steps(input, plan); !done) check_refusal(done.error());
  } else {
    compile_archive(input, plan);
  }
  close(descriptor);
  for (const char* ending : {".pte", ".ptd", ".json", ".html"}) std::filesystem::remove(scratch_path(ending));
  return 0;
}
