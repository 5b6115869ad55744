// OpenVINO asks whether an attribute may be copied to a new node. This code marks the node at that moment.
#include "keep_precision.h"

#include <openvino/core/node.hpp>
#include <openvino/core/runtime_attribute.hpp>
#include <openvino/op/matmul.hpp>
#include <openvino/op/scaled_dot_product_attention.hpp>
#include <openvino/op/softmax.hpp>
#include <openvino/runtime/properties.hpp>

#include <algorithm>

// Declared here because OpenVINO's Python package has no header for this exported function.
namespace ov {
void disable_conversion(const std::shared_ptr<Node>& node, const element::Type& to);
}

namespace depute::openvino {
namespace {

// Forbids bf16 and f16 at a node, and at nodes that are made from it.
class KeptPrecision : public ov::RuntimeAttribute {
 public:
  OPENVINO_RTTI("depute_kept_precision", "0", ov::RuntimeAttribute);

  static void mark(const std::shared_ptr<ov::Node>& node) {
    ov::disable_conversion(node, ov::element::bf16);
    ov::disable_conversion(node, ov::element::f16);
  }
  bool is_copyable(const std::shared_ptr<ov::Node>& to) const override {
    mark(to);
    return true;
  }
  ov::Any merge(const ov::NodeVector&) const override { return *this; }
  ov::Any merge(const ov::OutputVector&) const override { return *this; }
};

// True if the CPU has instructions for bf16 or f16.
bool computes_in_half(const ov::Core& core) {
  return std::ranges::any_of(core.get_property("CPU", ov::device::capabilities), [](const std::string& name) {
    return name == ov::device::capability::BF16 || name == ov::device::capability::FP16;
  });
}

// True if the model has ops for which OpenVINO generates kernels together with their neighbors.
bool has_products(const ov::Model& model) {
  return std::ranges::any_of(model.get_ops(), [](const std::shared_ptr<ov::Node>& node) {
    return ov::is_type_any_of<ov::op::v0::MatMul, ov::op::v1::Softmax, ov::op::v8::Softmax,
                              ov::op::v13::ScaledDotProductAttention>(node);
  });
}

}  // namespace

bool is_precision(std::string_view text) {
  return text == default_precision || text == "auto";
}

ov::AnyMap keep_precision(const ov::Core& core, const ov::Model& model, std::string_view precision) {
  if (precision != default_precision) return {};
  const KeptPrecision kept;
  for (const auto& node : model.get_ops()) {
    KeptPrecision::mark(node);
    node->get_rt_info()[KeptPrecision::get_type_info_static()] = kept;
  }
  if (!computes_in_half(core) || !has_products(model)) return {};
  return {{"SNIPPETS_MODE", "DISABLE"}};
}

}  // namespace depute::openvino
