// OpenVINO asks an attribute whether it may be copied to a node, and gives the node: there the word is
// written.
#include "keep_precision.h"

#include <openvino/core/node.hpp>
#include <openvino/core/runtime_attribute.hpp>

#include <vector>

// Declared here as the library exports it: its Python package has no header for it.
namespace ov {
void disable_conversion(const std::shared_ptr<Node>& node, const element::Type& to);
}

namespace depute::openvino {
namespace {

// What f32 may not be computed in at a node and at what is made of it.
class KeptPrecision : public ov::RuntimeAttribute {
 public:
  OPENVINO_RTTI("depute_kept_precision", "0", ov::RuntimeAttribute);

  explicit KeptPrecision(std::vector<ov::element::Type> forbidden = {}) : forbidden_(std::move(forbidden)) {}

  void mark(const std::shared_ptr<ov::Node>& node) const {
    for (const ov::element::Type& type : forbidden_) ov::disable_conversion(node, type);
  }
  bool is_copyable(const std::shared_ptr<ov::Node>& to) const override {
    mark(to);
    return true;
  }
  ov::Any merge(const ov::NodeVector&) const override { return *this; }
  ov::Any merge(const ov::OutputVector&) const override { return *this; }

 private:
  std::vector<ov::element::Type> forbidden_;
};

}  // namespace

bool is_precision(std::string_view text) {
  return text == "f32" || text == "bf16" || text == "f16";
}

void keep_precision(const ov::Model& model, std::string_view precision) {
  std::vector<ov::element::Type> forbidden;
  if (precision != "bf16") forbidden.push_back(ov::element::bf16);
  if (precision != "f16") forbidden.push_back(ov::element::f16);
  const KeptPrecision kept(std::move(forbidden));
  for (const auto& node : model.get_ops()) {
    kept.mark(node);
    node->get_rt_info()[KeptPrecision::get_type_info_static()] = kept;
  }
}

}  // namespace depute::openvino
