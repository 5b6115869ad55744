// Prints what a verification found, as text and as JSON (docs/cli.md).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "depute/tools/verify.h"
#include "support/fields.h"
#include "tools/document/document.h"
#include "tools/run/stand_ins.h"

namespace depute {

bool Verification::is_right() const {
  return std::ranges::all_of(outputs, &OutputError::is_right);
}

std::string str(const OutputError& error) {
  const std::string note = error.note.empty() ? "" : fmt::format(" ({})", error.note);
  const std::string noise = std::isfinite(error.snr) ? fmt::format(", SNR {:.1f} dB", error.snr) : "";
  const std::string gap = error.gap ? fmt::format(", gap {:.3g}", *error.gap) : "";
  return fmt::format("{}: largest difference {:.3g}, {:.3g} of the largest value{}{}: {}{}", error.name,
                     error.absolute, error.relative, noise, gap, error.is_right ? "ok" : "DIFFERS", note);
}

std::string str(const Fault& fault) {
  std::string text = fmt::format("{} {}, {}", fault.kind, fault.name, fault.target);
  if (!fault.sources.empty()) text += fmt::format(" ({})", fault.sources[0]);
  for (std::size_t i = fault.inside.size(); i-- > 0;)
    text += fmt::format(", in call {} of {} in {}", fault.inside[i].call, fault.inside[i].body,
                        fault.inside[i].name);
  return fmt::format("{}: {}", text, str(fault.error));
}

std::string verification_text(const Verification& verification) {
  doc::Document document;
  document.print("reference: {}", verification.reference);
  for (const OutputError& output : verification.outputs) document.line(str(output));
  if (verification.search.fault) document.print("first to differ: {}", str(*verification.search.fault));
  if (!verification.folder.empty()) document.print("  its operands and results: {}", verification.folder);
  if (!verification.search.note.empty()) document.line(verification.search.note);
  if (!verification.stand_ins.empty())
    document.print("not verified: {} (the reference kernels executed them; --plugin loads a backend)",
                   stand_ins_text(verification.stand_ins));
  document.print("runs in ExecuTorch's runtime: {}", verification.runs);
  return render_text(document);
}

static void fields(FieldWriter& visit, const OutputError& error) {
  // JSON has no infinity: null without noise.
  visit("name", error.name, "absolute", error.absolute, "relative", error.relative, "snr_db",
        std::isfinite(error.snr) ? std::optional(error.snr) : std::nullopt, "ok", error.is_right, "note",
        error.note);
}

static void fields(FieldWriter& visit, const BodyCall& call) {
  visit("name", call.name, "op", call.op, "body", call.body, "call", call.call);
}

static void fields(FieldWriter& visit, const Fault& fault) {
  visit("kind", fault.kind, "name", fault.name, "target", fault.target, "sources", fault.sources, "error",
        fault.error, "inside", fault.inside);
}

static void fields(FieldWriter& visit, const Verification& verification) {
  visit("version", 1, "reference", verification.reference, "ok", verification.is_right(), "outputs",
        verification.outputs, "fault", verification.search.fault, "note", verification.search.note, "folder",
        verification.folder, "runs", verification.runs, "stand_ins", verification.stand_ins);
}

std::string verification_json(const Verification& verification) {
  return json_document(verification);
}

}  // namespace depute
