#include "ops/derived_types.h"

#include "depute/program/builder.h"
#include "support/try.h"

namespace depute::internal {

Types infer_from_decomposition(const OpCall& call) {
  Graph scratch({}, *torch_ops());
  const auto as_input = [&](const Value* value) {
    return Argument::of(scratch.add_input(value->name(), value->type()));
  };
  std::vector<Argument> args;
  for (const Argument& argument : call.args()) args.push_back(scratch.import(argument, as_input));
  Builder builder(scratch);
  const OpCall same(call.def(), args, {});
  TRY(const std::vector<Value*> results, builder.run([&] { return call.def().decompose(builder, same); }));
  std::vector<Type> types;
  for (const Value* result : results) {
    types.push_back(tensor_type({.dtype = result->tensor().dtype, .sizes = result->tensor().sizes}));
  }
  return types;
}

}  // namespace depute::internal
