// The report as one HTML page without scripts or outside files: totals, delegates, and a row per node.
#include <fmt/format.h>

#include "depute/report.h"

namespace depute {
namespace {

std::string escape(std::string_view text) {
  std::string escaped;
  for (char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

constexpr std::string_view style =
    "body{font:14px/1.4 "
    "system-ui,sans-serif;margin:2em;max-width:90em}table{border-collapse:collapse;margin:1em 0}"
    "td,th{padding:2px 10px;text-align:left;border-bottom:1px solid #ddd}tr.portable "
    "td{background:#fff3d6}tr.refused td{background:#fbd5d5}"
    "code{font:13px monospace}.bar{background:#ddd;width:30em;height:1em}.bar "
    "div{background:#3a7;height:1em}";

std::string node_row(const NodeReport& node) {
  std::string reasons;
  for (const auto& [backend, verdict] : node.reasons) {
    reasons += fmt::format("{}: <b>{}</b> {}{} ", escape(backend), escape(verdict.rule), escape(verdict.seen),
                           verdict.allowed.empty() ? "" : " (allowed: " + escape(verdict.allowed) + ")");
  }
  bool delegated = !node.delegate.empty();
  return fmt::format(
      "<tr class=\"{}\"><td>{}</td><td><code>%{}</code></td><td><code>{}</code></td><td>{}</td><td>{}</td>"
      "<td>{}</td></tr>\n",
      delegated                  ? "delegated"
      : node.owner == "portable" ? "portable"
                                 : "refused",
      escape(node.graph.empty() ? std::string(node.method.str())
                                : fmt::format("{} @{}", node.method.str(), node.graph.str())),
      escape(node.node.str()), escape(node.op.str()), escape(node.owner),
      delegated ? escape(node.delegate.str()) : reasons, escape(node.source.str()));
}

std::string refusals_list(const Report& report) {
  if (report.refusals.empty()) return {};
  std::string html = "<p>This program cannot be written:</p>\n<ul>\n";
  for (const RefusalReport& refusal : report.refusals) {
    const Diagnostic& cause = refusal.cause;
    html +=
        fmt::format("<li>{}: {} {}</li>\n", escape(cause.where), escape(cause.message), escape(cause.source));
  }
  return html + "</ul>\n";
}

std::string apart_list(const Report& report) {
  if (report.apart.pairs.empty()) return {};
  std::string html = "<p>Why delegates are apart:</p>\n<ul>\n";
  for (const ApartDelegates& pair : report.apart.pairs) {
    html += fmt::format("<li>{} and {}: {}</li>\n", escape(pair.first.str()), escape(pair.second.str()),
                        escape(pair.text));
  }
  if (report.apart.not_told > 0) html += fmt::format("<li>and {} more pairs</li>\n", report.apart.not_told);
  return html + "</ul>\n";
}

std::string quantised_table(const QuantiseResult& quantised) {
  if (quantised.layers.empty()) return {};
  std::string html =
      "<table><tr><th>quantised layer</th><th>module</th><th>scheme</th><th>bytes before</th><th>after</th>"
      "<th>signal to noise, dB</th></tr>\n";
  for (const QuantisedLayer& layer : quantised.layers) {
    html += fmt::format(
        "<tr><td><code>%{}</code></td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{:.1f}</td></tr>\n",
        escape(layer.node.str()), escape(layer.module), escape(layer.scheme), layer.float_bytes,
        layer.integer_bytes, layer.sqnr);
  }
  html += "</table>\n";
  for (const std::string& left : quantised.left)
    html += fmt::format("<p>Not quantised: {}</p>\n", escape(left));
  return html;
}

}  // namespace

std::string report_html(const Report& report) {
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html><head><meta "
      "charset=\"utf-8\"><title>{0}</title><style>{1}</style></head><body>\n"
      "<h1>{0}</h1>\n<div class=\"bar\"><div style=\"width:{2:.1f}%\"></div></div>\n"
      "<p>Total delegated subgraphs: {3}<br>Number of delegated nodes: {4}<br>Number of non-delegated nodes: "
      "{5}</p>\n",
      escape(report.input), style, report.coverage(), report.delegates.size(), report.delegated_nodes(),
      report.non_delegated_nodes());
  html += refusals_list(report);
  html +=
      "<table><tr><th>delegate</th><th>method</th><th>backend</th><th>nodes</th><th>inputs</th><th>outputs</"
      "th>"
      "<th>blob bytes</th><th>data bytes</th></tr>\n";
  for (const DelegateReport& d : report.delegates) {
    html += fmt::format(
        "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
        escape(d.name.str()), escape(d.method.str()), escape(d.backend_id), d.nodes, d.inputs, d.outputs,
        d.blob_bytes, d.data_bytes);
  }
  html += "</table>\n" + quantised_table(report.quantised) + apart_list(report) +
          "<table><tr><th>method</th><th>node</th><th>op</th><th>owner</th><th>delegate or reason</th>"
          "<th>source</th></tr>\n";
  for (const NodeReport& node : report.nodes) html += node_row(node);
  return html + "</table></body></html>\n";
}

}  // namespace depute
