// Makes stages and takes them apart. Only the functions of compiler.cpp do so.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "depute/compiler/compiler.h"

namespace depute::internal {

struct Stages {
  using Quantized = std::shared_ptr<const QuantizeResult>;
  using Rounds = std::vector<DelegationRound>;

  // Takes the stage's program out of it, to edit. Clones the program if other stages share it.
  static Program take(Stage& stage) { return own(release(stage)); }
  // use_count() alone does not order what another thread did with its copy before it dropped it; giving up a copy
  // does.
  static Program own(std::shared_ptr<Program> program) {
    if (program.use_count() != 1) return clone(*program);
    std::shared_ptr<Program>(program).reset();
    return std::move(*program);
  }
  // Names for a step: the program's own, or a copy if others keep the program and not what the step adds.
  static NameScope names(const Stage& stage) {
    const NameScope& names = stage.program_->names;
    return stage.program_.use_count() == 1 && names ? names : names.copy();
  }
  static std::shared_ptr<Program> release(Stage& stage) { return std::exchange(stage.program_, nullptr); }
  static Quantized quantized(const Stage& stage) { return stage.quantized_; }
  static bool is_quantized(const Exported& exported) { return exported.is_quantized_; }
  static bool is_lowered(const Delegated& delegated) { return delegated.is_lowered_; }
  static std::shared_ptr<const Program> normalized(const Delegated& delegated) {
    return delegated.normalized_;
  }

  static Exported exported(Program program, QuantizeResult quantized = {}, bool is_quantized = false) {
    Exported made(share(std::move(program)), std::make_shared<const QuantizeResult>(std::move(quantized)));
    made.is_quantized_ = is_quantized;
    return made;
  }
  static Edge edge(Program program, Quantized quantized) {
    return {share(std::move(program)), std::move(quantized)};
  }
  static Delegated delegated(std::shared_ptr<Program> program, Quantized quantized,
                             std::shared_ptr<const Program> normalized, Rounds rounds) {
    Delegated made(std::move(program), std::move(quantized));
    made.normalized_ = std::move(normalized);
    made.rounds_ = std::make_shared<const Rounds>(std::move(rounds));
    return made;
  }
  // Returns the stage with another program. `is_lowered`: its undelegated nodes are decomposed.
  static Delegated with_program(Delegated delegated, Program program, bool is_lowered) {
    delegated.program_ = share(std::move(program));
    delegated.is_lowered_ = is_lowered;
    return delegated;
  }
  static Executable executable(Delegated delegated, Plan plan, WriteOptions options) {
    return {std::move(delegated), std::make_shared<const Plan>(std::move(plan)), std::move(options)};
  }
  // The program may come from callbacks, which may have used another scope.
  static std::shared_ptr<Program> share(Program program) {
    NameScope names = NameScope::current();
    names.keep(program.names);
    program.names = std::move(names);
    return std::make_shared<Program>(std::move(program));
  }
};

}  // namespace depute::internal
