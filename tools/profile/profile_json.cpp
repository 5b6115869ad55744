// Writes a profile as JSON, described in docs/cli.md. Ticks are nanoseconds.
#include "depute/tools/profile.h"
#include "support/fields.h"
#include "tools/run/run.h"

namespace depute {

static void fields(FieldWriter& visit, const ProfileRow& row) {
  visit("name", row.name, "ticks", row.ticks, "calls", row.calls);
}

static void fields(FieldWriter& visit, const ProfiledPiece& piece) {
  visit("identifier", piece.identifier, "lines", piece.lines, "module", piece.module, "ticks", piece.ticks,
        "calls", piece.calls);
}

static void fields(FieldWriter& visit, const ProfiledInstruction& instruction) {
  visit("index", instruction.index, "name", instruction.name, "lines", instruction.lines, "module",
        instruction.module, "ticks", instruction.ticks, "calls", instruction.calls, "pieces",
        instruction.pieces);
}

static void fields(FieldWriter& visit, const MethodProfile& method) {
  visit("method", method.method, "runs", method.runs, "ticks", method.ticks, "least", method.least, "most",
        method.most, "instructions", method.instructions, "by_line", method.by_line, "by_module",
        method.by_module, "by_kernel", method.by_kernel);
}

static void fields(FieldWriter& visit, const ProfiledTensor& tensor) {
  visit("run", tensor.run, "instruction", tensor.instruction, "name", tensor.name, "lines", tensor.lines,
        "module", tensor.module, "type", str(tensor.data.type), "elements", statistics_text(tensor.data));
}

static void fields(FieldWriter& visit, const Profile& profile) {
  visit("version", 1, "dump", profile.dump, "has_lines", profile.has_lines, "has_pieces", profile.has_pieces,
        "methods", profile.methods, "outside", profile.outside, "tensors", profile.tensors);
}

std::string profile_json(const Profile& profile) {
  return json_document(profile);
}

}  // namespace depute
