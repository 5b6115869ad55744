// Short-time Fourier transforms over sliding windows, and their inverse.
//
//   aten.stft.default(f32[800], 64, 16, window)     ->  unfold [47, 64], mul by the window, rfft, transpose
//   aten.istft.default(c64[33, 47], 64, 16)         ->  transpose, irfft, mul by the window, frames added up
//                                                       where they overlap, divided by the windows' sum
#include "depute/program/builder.h"
#include "ops/idioms.h"
#include "ops/op_table.h"
#include "support/try.h"

namespace depute::internal {
namespace {

// Maximum number of slices per frame; frames with more overlap are added by an index.
constexpr std::int64_t max_slices = 32;

struct Frames {
  std::int64_t size = 0, step = 0;
};
Result<Frames> frames_of(const OpCall& call) {
  Frames frames{.size = call.integer("n_fft")};
  if (frames.size < 1) return argument_error("n_fft must be 1 or more");
  frames.step = call["hop_length"].is_none() ? frames.size / 4 : call.integer("hop_length");
  if (frames.step < 1) return argument_error("hop_length must be 1 or more");
  return frames;
}
bool gives_complex(const OpCall& call) {
  if (!call["return_complex"].is_none()) return call.boolean("return_complex");
  return is_complex(call.tensor("self").dtype);
}
bool is_onesided(const OpCall& call, bool otherwise) {
  return call["onesided"].is_none() ? otherwise : call.boolean("onesided");
}
Types infer_stft(const OpCall& call) {
  const TensorType& self = call.tensor("self");
  if (self.rank() != 1 && self.rank() != 2) return argument_error("stft: the input has the wrong rank");
  TRY(const Frames frames, frames_of(call));
  const SymInt count = floor_div(self.sizes.back() - frames.size, SymInt(frames.step)) + 1;
  Dims sizes(self.sizes.begin(), self.sizes.end() - 1);
  sizes.push_back(is_onesided(call, !is_complex(self.dtype)) ? frames.size / 2 + 1 : frames.size);
  sizes.push_back(count);
  if (!gives_complex(call)) sizes.push_back(2);
  const ScalarType type = complex_of(part_of(self.dtype));
  return tensor_result(gives_complex(call) ? type : part_of(type), std::move(sizes));
}
// Returns the window, centered in a frame.
Value* framed_window(Builder& b, const OpCall& call, std::int64_t size) {
  Value* window = b.own(call.value("window"));
  if (window == nullptr) return nullptr;
  const SymInt own = window->tensor().numel();
  if (own == SymInt(size) || !own.is_constant() || own.value() > size) return window;
  const std::int64_t before = (size - own.value()) / 2;
  return b.call("aten.constant_pad_nd.default", {window, Ints{before, size - own.value() - before}});
}
Replacement stft(Builder& b, const OpCall& call) {
  TRY(const Frames frames, frames_of(call));
  Value* window = framed_window(b, call, frames.size);
  const bool has_own_length = window == nullptr && !call["win_length"].is_none();
  if (has_own_length && call.integer("win_length") != frames.size)
    return type_error("win_length requires a window");
  Value* x = b.call("aten.unfold.default", {call["self"], -1, frames.size, frames.step});
  if (window != nullptr) x = b.call("aten.mul.Tensor", {x, window});
  const Ints last{static_cast<std::int64_t>(x->tensor().rank()) - 1};
  const std::int64_t norm = call.boolean("normalized") ? 1 : 0;
  Value* y = is_onesided(call, !is_complex(call.tensor("self").dtype))
                 ? b.call("aten._fft_r2c.default", {x, last, norm, true})
                 : b.call("aten._fft_c2c.default", {x, last, norm, true});
  y = b.call("aten.transpose.int", {y, -1, -2});
  return one(gives_complex(call) ? y : b.call("aten.view_as_real.default", {y}));
}

// --- inverse transform

Types infer_istft(const OpCall& call) {
  const TensorType& self = call.tensor("self");
  TRY(const Frames frames, frames_of(call));
  if (!is_complex(self.dtype) || (self.rank() != 2 && self.rank() != 3))
    return argument_error("istft requires a complex tensor of rank 2 or 3");
  SymInt length = (self.sizes.back() - 1) * frames.step + frames.size;
  if (call.boolean("center")) length = length - 2 * (frames.size / 2);
  if (!call["length"].is_none()) length = as_sym_int(call["length"]);
  Dims sizes(self.sizes.begin(), self.sizes.end() - 2);
  sizes.push_back(length);
  return tensor_result(gives_complex(call) ? self.dtype : part_of(self.dtype), std::move(sizes));
}

// Adds [rows, frames, size] to [rows, (frames - 1) * step + size]; each frame starts `step` after the last.
Value* overlapped(Builder& b, Value* x, const Frames& frames) {
  const SymInt rows = x->tensor().sizes[0], count = x->tensor().sizes[1];
  if (frames.size % frames.step == 0 &&
      frames.size / frames.step <= max_slices) {  // slices of one step each form a signal
    Value* sum = nullptr;
    for (std::int64_t at = 0; at < frames.size; at += frames.step) {
      Value* part = b.call("aten.slice.Tensor", {x, 2, at, at + frames.step});
      part = reshape(b, part, {rows, count * frames.step});
      part = b.call("aten.constant_pad_nd.default", {part, Ints{at, frames.size - frames.step - at}});
      sum = sum == nullptr ? part : b.call("aten.add.Tensor", {sum, part});
    }
    return sum;
  }
  const SymInt length = (count - 1) * frames.step + frames.size;
  Value* starts = b.call("aten.mul.Tensor", {along(b, range(b, count), 0, 2), frames.step});
  Value* index = b.call("aten.add.Tensor", {starts, along(b, range(b, frames.size), 1, 2)});
  Value* empty = b.call("aten.full.default", {Dims{rows, length}, 0, x->tensor().dtype});
  std::vector<Value*> indices{nullptr, reshape(b, index, {count * frames.size})};
  Value* elements = b.view(x, {rows, count * frames.size});
  return b.call("aten.index_put.default", {empty, indices, elements, true});
}

Replacement istft(Builder& b, const OpCall& call) {
  TRY(const Frames frames, frames_of(call));
  TRY(const std::vector<Type> types, infer_istft(call));
  const TensorType& self = call.tensor("self");
  if (gives_complex(call)) return type_error("istft with return_complex=True is not supported");
  const SymInt rows = self.rank() == 3 ? self.sizes[0] : SymInt(1), count = self.sizes.back();
  Value* window = framed_window(b, call, frames.size);
  if (window == nullptr && !call["win_length"].is_none() && call.integer("win_length") != frames.size)
    return type_error("win_length requires a window");
  const ScalarType type = types[0].tensor.dtype;
  if (window == nullptr) window = b.call("aten.full.default", {Dims{frames.size}, 1, type});

  const Ints last{2};
  const std::int64_t norm = call.boolean("normalized") ? 1 : 2;
  Value* x = reshape(b, b.own(call.value("self")), {rows, self.sizes[self.rank() - 2], count});
  x = b.call("aten.transpose.int", {x, 1, 2});
  if (!is_onesided(call, self.sizes[self.rank() - 2] != SymInt(frames.size)))
    x = b.call("aten.slice.Tensor", {x, 2, 0, frames.size / 2 + 1});  // the rest is ignored
  x = b.call("aten._fft_c2r.default", {x, last, norm, frames.size});
  x = overlapped(b, b.call("aten.mul.Tensor", {x, window}), frames);
  Value* weight = b.call("aten.mul.Tensor", {window, window});
  weight = b.call("aten.expand.default", {weight, Dims{1, count, frames.size}});
  weight = overlapped(b, weight, frames);

  const std::int64_t start = call.boolean("center") ? frames.size / 2 : 0;
  const SymInt wanted = types[0].tensor.sizes.back(), whole = x->tensor().sizes[1];
  const SymInt missing = wanted + start - whole;
  if (missing.is_constant() && missing.value() > 0)
    return type_error("istft: length exceeds the samples that the windows cover");
  if (!missing.is_constant() && !call["length"].is_none())
    return type_error("istft: length may exceed the samples that the windows cover");
  const auto cut = [&](Value* signal) {
    return b.call("aten.slice.Tensor", {signal, 1, start, b.size(wanted + start)});
  };
  Value* result = b.call("aten.div.Tensor", {cut(x), cut(weight)});
  return one(reshape(b, result, types[0].tensor.sizes));
}

}  // namespace

std::span<const OpLine> short_time_ops() {
  static constexpr OpLine lines[] = {
      {"aten.stft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, "
       "bool normalized=False, bool? onesided=None, bool? return_complex=None, bool? align_to_window=None)",
       in_autocast(AutocastF32, composite(infer_stft, stft))},
      {"aten.istft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, "
       "bool center=True, bool normalized=False, bool? onesided=None, int? length=None, bool "
       "return_complex=False)",
       composite(infer_istft, istft)},
  };
  return lines;
}

}  // namespace depute::internal
