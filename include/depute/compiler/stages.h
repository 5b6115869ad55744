// The stages of a compilation, as values. Each is made by one function alone, so holding one proves that its
// step was done:
//
//   Exported    Compiler::load()                     read and verified
//   Edge        Compiler::to_edge()                  normalized; backends' own ops are in place
//   Delegated   Compiler::to_backend()               partitions are delegates
//   Executable  to_executorch()                      undelegated nodes are decomposed; memory is planned
//   PteFile     write()                              bytes, .ptd files, and a summary
//
// A stage does not change. Copies share one program. A step that gets the only copy edits that program in
// place; otherwise it edits a clone, which shares all constants.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "depute/compiler/quantize.h"
#include "depute/compiler/refusal.h"
#include "depute/compiler/to_backend.h"
#include "depute/compiler/write_options.h"
#include "depute/program/program.h"
#include "depute/program/result.h"

#pragma GCC visibility push(default)

namespace depute {

struct Plan;  // memory plan and instructions, internal

namespace internal {
struct Stages;  // makes stages
}

// Base of the stages: a program that does not change.
class Stage {
 public:
  const Program& program() const { return *program_; }
  std::shared_ptr<const Program> shared_program() const { return program_; }
  const QuantizeResult& quantized() const { return *quantized_; }  // layers that Compiler::quantize() changed

 protected:
  Stage(std::shared_ptr<Program> program, std::shared_ptr<const QuantizeResult> quantized)
      : program_(std::move(program)), quantized_(std::move(quantized)) {}

 private:
  friend struct internal::Stages;
  std::shared_ptr<Program> program_;
  std::shared_ptr<const QuantizeResult> quantized_;
};

// A verified program, as torch.export gave it or with quantized layers.
class Exported : public Stage {
 private:
  friend struct internal::Stages;
  using Stage::Stage;
  bool is_quantized_ = false;  // Compiler::quantize() was called
};

// A normalized program: what partitioners see.
class Edge : public Stage {
 private:
  friend struct internal::Stages;
  using Stage::Stage;
};

// One call of partitioners: its input, what it decided, and the names of the backends that were asked.
struct DelegationRound {
  std::shared_ptr<const Program> before;
  Delegation decided;
  std::unordered_map<Name, std::string> asked;  // by method
};

// A program whose partitions are delegates. Undelegated nodes are as they were until lower_undelegated().
class Delegated : public Stage {
 public:
  // The program before the first round. Reports are about its nodes.
  const Program& normalized() const { return normalized_ == nullptr ? program() : *normalized_; }
  const std::vector<DelegationRound>& rounds() const { return *rounds_; }
  // Frees the memory of the rounds and of the programs before them. Reports about the result have its own
  // nodes only.
  Delegated without_rounds() &&;

 private:
  friend struct internal::Stages;
  using Stage::Stage;
  std::shared_ptr<const Program> normalized_;
  std::shared_ptr<const std::vector<DelegationRound>> rounds_;
  bool is_lowered_ = false;  // undelegated nodes are decomposed
};

// A program that the runtime can execute, with its memory plan.
class Executable : public Stage {
 public:
  const Delegated& delegated() const { return delegated_; }  // all nodes that had to be are decomposed
  const Plan& plan() const { return *plan_; }
  const WriteOptions& options() const { return options_; }

 private:
  friend struct internal::Stages;
  Executable(Delegated delegated, std::shared_ptr<const Plan> plan, WriteOptions options)
      : Stage(delegated),
        delegated_(std::move(delegated)),
        plan_(std::move(plan)),
        options_(std::move(options)) {}

  Delegated delegated_;
  std::shared_ptr<const Plan> plan_;
  WriteOptions options_;
};

}  // namespace depute

#pragma GCC visibility pop
