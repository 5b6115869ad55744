// Backend ops: a backend's own ops, each of which replaces a pattern of Core ATen ops.
//
//   auto ops = std::make_shared<BackendOps>();
//   DEPUTE_TRY_STATUS(ops->add_library("my_chip"));
//   DEPUTE_TRY_STATUS(ops->add({.name = "my_chip.mul_relu.default", .pattern = R"(program
//     method mul_relu(%a: none, %b: none) {
//       %m: none = aten.mul.Tensor(%a, %b)
//       %r: none = aten.relu.default(%m)
//       return %r
//     })"}));
//   const std::vector<Name> bound = {Name("my_chip.mul_relu.default")};
//   DEPUTE_TRY(std::size_t replaced, bind_backend_ops(program, ops, bound));
//
// The op's arguments are the pattern's inputs, and its results are the pattern's results. Their types follow
// from the pattern, so the op needs no inference rule. A pattern input of type int, float, bool or string
// matches a literal. An op with further arguments declares a schema:
//
//   BackendOpSpec{
//       .name = "my_chip.scaled.default",
//       .schema = "my_chip.scaled.default(Tensor x, float scale=1.0, *, int[] axes=[], str? mode=None)"
//                 " -> Tensor",
//       .infer = scaled_types}
//
// Such an op may also have a pattern, whose inputs are arguments with the same names. Other arguments take
// their defaults when the op replaces the pattern. An op without a pattern occurs only in programs that
// already call it.
//
// A schema may declare mutable arguments ("Tensor(a!) cache"). Training IR and the result of
// run_decompositions() contain this form. normalize() functionalizes it, and its kernel writes to the
// argument in place. Such an op may have no results.
//
// Unlike a delegate, a backend op stays an op of the program: any backend may take it. Undelegated, it runs
// on its kernel, which gets all arguments in schema order. An undelegated op without a kernel cannot
// run; lower_undelegated() replaces it by its pattern with expand_backend_ops().
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "depute/api.h"
#include "depute/backend/pattern.h"
#include "depute/program/op.h"
#include "depute/program/program.h"
#include "depute/program/result.h"

namespace depute {

// An op as a backend registers it.
struct BackendOpSpec {
  std::string name = {};  // "library.op.overload"
  // One method in the notation of pattern.h, with all arguments written out and all inputs used; empty: no
  // pattern, which requires a schema.
  std::string pattern = {};
  std::string kernel = {};  // out variant in the runtime, "my_chip::mul_relu.out"; empty: none
  // In torch's notation; results are tensors, possibly also mutable arguments. Empty: derived from the
  // pattern.
  std::string schema = {};
  // Infers the result types. Null: types of the pattern or, without a pattern, the types stated by the
  // program.
  InferFunction infer = nullptr;
  friend bool operator==(const BackendOpSpec&, const BackendOpSpec&) = default;
};

struct BackendOp {
  Name name;
  BackendOpSpec spec;
  std::string schema;                // "my_chip.mul_relu.default(Tensor a, Tensor b) -> Tensor"
  std::optional<Pattern> pattern;    // replaced by this op
  std::vector<std::size_t> sources;  // per input of the pattern, the index of the op's argument
  OpDef def;                         // record in the op table
};

// Op table of a compiler's programs: PyTorch's ops and backend ops. Add all ops before the first program is
// made; after that, several threads may look ops up at the same time.
class DEPUTE_API BackendOps final : public OpTable {
 public:
  BackendOps();
  ~BackendOps() override;
  BackendOps(const BackendOps&) = delete;
  BackendOps& operator=(const BackendOps&) = delete;

  // Libraries that may contain backend ops. Three exist from the start, with ExecuTorch's meaning:
  // executorch_prim (symbolic arithmetic of the runtime), quantized_decomposed (quantization; backends match
  // these ops in patterns) and DO_NOT_USE_TEST_ONLY.
  const std::vector<std::string>& libraries() const { return libraries_; }
  Status add_library(std::string_view library);  // letters, digits and '_'; an existing library is no error

  // Registers an op; an identical op may be added again. Fails for an unknown library and for a name in use.
  // Fails for a schema that cannot be parsed or has features that backend ops do not support. Fails for an
  // invalid pattern.
  Status add(const BackendOpSpec& spec);

  // extent() returns the current size of the table; truncate() removes everything added since. Together they
  // add a list of ops completely or not at all.
  struct Extent {
    std::size_t libraries = 0, ops = 0;
  };
  Extent extent() const { return {libraries_.size(), ops_.size()}; }
  void truncate(Extent extent);

  const OpDef* find(Name op) const override;
  // Null if `name` is not a backend op; the pointer is to the registered op.
  const BackendOp* find_backend_op(Name name) const;
  // Returns the overloads of "library.op" as op names: PyTorch's first, then backend ops in the order they
  // were added.
  std::vector<std::string> packet(std::string_view packet) const;

 private:
  void keep(std::unique_ptr<BackendOp> op);
  void add_functional_form(BackendOp& op);

  std::vector<std::string> libraries_ = {"executorch_prim", "quantized_decomposed", "DO_NOT_USE_TEST_ONLY"};
  std::vector<std::unique_ptr<BackendOp>> ops_;
  std::unordered_map<Name, const BackendOp*> by_name_;
};

// Replaces all matches of the ops' patterns by the ops, in all graphs of `program`, and switches the graphs
// to the op table `ops`. Earlier names are matched first; ops without a pattern are skipped. Returns the
// number of replacements. A new node gets the debug handle and source of the last node it replaces;
// Node::replaced has the origins of all.
DEPUTE_API Result<std::size_t> bind_backend_ops(Program& program,
                                                const std::shared_ptr<const BackendOps>& ops,
                                                std::span<const Name> names);

// Replaces backend ops by their patterns, also ops that occur in patterns: all ops with a pattern, or only
// ops without a kernel. Returns the number of replacements. Fails for an op with neither kernel nor pattern,
// and for arguments that the pattern does not have.
enum class BackendOpsToExpand : std::uint8_t { All, WithoutKernel };
DEPUTE_API Result<std::size_t> expand_backend_ops(Program& program, BackendOpsToExpand which);

}  // namespace depute
