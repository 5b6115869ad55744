// Backend ops: ops of a backend's own that stand for a pattern of Core ATen ops.
//
//   auto ops = std::make_shared<BackendOps>();
//   DEPUTE_TRY_STATUS(ops->add_library("my_chip"));
//   DEPUTE_TRY_STATUS(ops->add({.name = "my_chip.mul_relu.default", .pattern = R"(program
//     method mul_relu(%a: none, %b: none) {
//       %m: none = aten.mul.Tensor(%a, %b)
//       %r: none = aten.relu.default(%m)
//       return %r
//     })"}));
//   const std::vector<Symbol> bound = {Symbol("my_chip.mul_relu.default")};
//   DEPUTE_TRY(std::size_t replaced, bind_backend_ops(program, ops, bound));
//
// The op's arguments are the pattern's inputs and its results what the pattern returns; their types follow
// from the pattern, so that the op needs no rule of its own. An input of the type int, float, bool or string
// stands for a literal of the nodes it matches. An op with more to it says its schema:
//
//   BackendOpSpec{
//       .name = "my_chip.scaled.default",
//       .schema = "my_chip.scaled.default(Tensor x, float scale=1.0, *, int[] axes=[], str? mode=None) -> Tensor",
//       .infer = scaled_types}
//
// It may also have a pattern, whose inputs are then arguments of these names; the others have their defaults
// where the op takes the pattern's place. Without a pattern the op is only in programs that already call it.
//
// An op whose schema says that it writes to arguments ("Tensor(a!) cache") is written in training IR and in
// what run_decompositions() gives; normalisation makes it functional, and its kernel writes where the
// argument lies. It may give nothing at all.
//
// Unlike a delegate a backend op stays an op of the program: a backend may take it like any other, and
// outside of delegates it runs on its kernel, with all arguments in the schema's order. One without a kernel
// cannot be emitted there; expand_backend_ops() gives back what it stands for.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "depute/op.h"
#include "depute/pattern.h"
#include "depute/program.h"
#include "depute/result.h"

#pragma GCC visibility push(default)

namespace depute {

// What a backend registers.
struct BackendOpSpec {
  std::string name = {};     // "library.op.overload"
  std::string pattern = {};  // one method in the notation of pattern.h; every argument spelled out, every
                             // input used. May be empty when there is a schema.
  std::string kernel = {};   // its out variant in the runtime, "my_chip::mul_relu.out"; empty: none
  // In torch's notation, with tensors as results and arguments that it writes. Empty: as the pattern says.
  std::string schema = {};
  // The results' types; null: those of the pattern, and without one those that the program says.
  InferFunction infer = nullptr;
  friend bool operator==(const BackendOpSpec&, const BackendOpSpec&) = default;
};

struct BackendOp {
  Symbol name;
  BackendOpSpec spec;
  std::string schema;                // "my_chip.mul_relu.default(Tensor a, Tensor b) -> Tensor"
  std::optional<Pattern> pattern;    // what it stands for
  std::vector<std::size_t> sources;  // per input of the pattern, the argument it is
  OpDef def;                         // its record
};

// PyTorch's ops and those of backends: what the nodes of a compiler's programs find their records in. Ops are
// added before there are programs; after that several threads may ask at once.
class BackendOps final : public OpTable {
 public:
  BackendOps();
  ~BackendOps() override;
  BackendOps(const BackendOps&) = delete;
  BackendOps& operator=(const BackendOps&) = delete;

  // The libraries that ops may be in. Three are there from the start, with ExecuTorch's meaning:
  // executorch_prim (symbolic arithmetic of the runtime), quantized_decomposed (quantisation, which backends
  // look for in patterns) and DO_NOT_USE_TEST_ONLY.
  const std::vector<std::string>& libraries() const { return libraries_; }
  Status add_library(std::string_view library);  // letters, digits and '_'; known ones are fine

  // Refuses an unknown library, a name that is taken, a schema that cannot be read or says something that an
  // op of a backend cannot do, and a pattern that cannot be what the op stands for. Adding the same again is
  // fine.
  Status add(const BackendOpSpec& spec);

  // How much there is, and back to that: what was added since is as if it had never been there. For adding
  // all of a list or nothing.
  struct Extent {
    std::size_t libraries = 0, ops = 0;
  };
  Extent extent() const { return {libraries_.size(), ops_.size()}; }
  void take_back(Extent extent);

  const OpDef* find(Symbol op) const override;
  const BackendOp* find_backend_op(Symbol name) const;  // null for all other ops; the link to the original
  // The overloads of "library.op", as op names: torch's, then backends' in the order in which they came.
  std::vector<std::string> packet(std::string_view packet) const;

 private:
  void keep(std::unique_ptr<BackendOp> op);
  void add_functional_form(BackendOp& op);

  std::vector<std::string> libraries_ = {"executorch_prim", "quantized_decomposed", "DO_NOT_USE_TEST_ONLY"};
  std::vector<std::unique_ptr<BackendOp>> ops_;
  std::unordered_map<Symbol, const BackendOp*> by_name_;
};

// Puts the ops in the place of what their patterns match, in all graphs, which get the records of `ops`;
// earlier names are tried first. Ops without a pattern match nothing. Gives how many were placed. A new node
// has the debug handle and the source of the last node it stands for; Node::replaced has those of all.
Result<std::size_t> bind_backend_ops(Program& program, const std::shared_ptr<const BackendOps>& ops,
                                     std::span<const Symbol> names);

// Puts the patterns in the place of backend ops, those in patterns among them: all that have one, or those
// without a kernel. Gives how many. Refuses an op without a kernel that has no pattern, or arguments that its
// pattern does not have.
enum class BackendOpsToExpand : std::uint8_t { All, WithoutKernel };
Result<std::size_t> expand_backend_ops(Program& program, BackendOpsToExpand which);

}  // namespace depute

#pragma GCC visibility pop
