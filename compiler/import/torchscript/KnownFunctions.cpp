//===- KnownFunctions.cpp - Loops of libraries without a loop -------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A trace keeps some functions of libraries as they are written
/// (`torch.jit.script_if_tracing`), with loops over data. What kpc walks
/// instead is written in the same language as the archive.
///
/// A function is told by its name and by the operators that it and its helpers
/// call: another version of the library may mean something else by the name.
///
//===----------------------------------------------------------------------===//
#include "compiler/import/torchscript/KnownFunctions.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/ErrorHandling.h"

#include <set>

namespace kpc::torchscript {

using llvm::StringRef;
using Names = std::set<std::string>;

namespace {
struct KnownFunction {
  StringRef Module; ///< its end: what is in front names the package
  Names Functions;  ///< the function itself, then its helpers in the same file
  StringRef Name;
  Names Calls; ///< last names of what all of them call
  std::string Form;
  const char *How; ///< how it is compiled, for the note
};
} // namespace

/// torchvision pastes the mask of each box into an image of zeros: resized
/// bilinearly to the box's whole pixels, cut at the image's edges. A row of the
/// result is a row of weights times the mask, and so is a column: the weights
/// are those of torch.nn.functional.interpolate without align_corners, and 0
/// outside of the box.
static constexpr StringRef Paste = R"(
  pasted = torch.to(torch.select(masks, 1, 0), 6)
  for axis, length in [(1, int(im_h)), (0, int(im_w))]:
    size = torch.size(masks, torch.sub(3, axis))
    low = torch.unsqueeze(torch.select(boxes, 1, axis), 1)
    last = torch.unsqueeze(torch.select(boxes, 1, torch.add(axis, 2)), 1)
    high = torch.add(last, 1)
    extent = torch.to(torch.clamp(torch.sub(high, low), 1), 6)
    pixel = torch.arange(length, dtype=4, layout=None, device=None, pin_memory=False)
    center = torch.add(torch.to(torch.sub(pixel, low), 6), 0.5)
    source = torch.sub(torch.mul(center, torch.div(torch.to(torch.tensor(size), 6), extent)), 0.5)
    source0 = torch.unsqueeze(torch.clamp(source, 0., float(torch.sub(size, 1))), 2)
    place = torch.arange(size, dtype=6, layout=None, device=None, pin_memory=False)
    near = torch.relu(torch.rsub(torch.abs(torch.sub(source0, place)), 1.))
    inside = torch.__and__(torch.ge(pixel, low), torch.lt(pixel, high))
    weights = torch.mul(near, torch.to(torch.unsqueeze(inside, 2), 6))
    if torch.eq(axis, 1):
      pasted = torch.matmul(weights, pasted)
    else:
      pasted = torch.matmul(pasted, torch.transpose(weights, 1, 2))
)";

/// In a trace, masks have their margin and boxes are whole pixels already.
static std::string pasteMasksOfTrace() {
  return (R"(
def paste_masks(masks: Tensor,
    boxes: Tensor,
    im_h: Tensor,
    im_w: Tensor) -> Tensor:)" +
          Paste + R"(
  return pasted
)")
      .str();
}

static std::string pasteMasks() {
  return (R"(
def paste_masks_in_image(masks: Tensor,
    boxes: Tensor,
    img_shape: Tuple[int, int],
    padding: int=1) -> Tensor:
  im_h, im_w, = img_shape
  inner = (torch.size(masks))[-1]
  scale = torch.div(float(torch.add(inner, torch.mul(2, padding))), inner)
  masks = torch.pad(masks, [padding, padding, padding, padding], "constant", 0.)
  first, second = torch.slice(boxes, 1, 0, 2), torch.slice(boxes, 1, 2, 4)
  half = torch.mul(torch.mul(torch.sub(second, first), 0.5), scale)
  middle = torch.mul(torch.add(second, first), 0.5)
  boxes = torch.to(torch.cat([torch.sub(middle, half), torch.add(middle, half)], 1), 4))" +
          Paste + R"(
  return torch.unsqueeze(pasted, 1)
)")
      .str();
}

/// torchvision resizes the heat maps of each box to the box's whole pixels by
/// cubic interpolation, and takes the greatest pixel of each map. How many
/// pixels there are only the boxes say. A square of the resized maps after
/// another is a product with matrices of weights, for all boxes at once, and
/// the best so far goes on: as many squares as the greatest box has. The
/// weights are those of torch.nn.functional.interpolate without align_corners.
static constexpr StringRef Keypoints = R"(
  count, kinds = torch.size(maps, 0), torch.size(maps, 1)
  side = 64
  span = torch.arange(side, dtype=4, layout=None, device=None, pin_memory=False)
  whole = torch.to(torch.stack([widths_ceil, heights_ceil], 1), 4)
  one = torch.ones([1, 2], dtype=4, layout=None, device=None, pin_memory=False)
  most = torch.amax(torch.cat([whole, one], 0), [0])
  squares = torch.floor_divide(torch.add(most, torch.sub(side, 1)), side)
  across = torch.select(squares, 0, 0)
  last = torch.mul(across, torch.select(squares, 0, 1))
  best = torch.full([count, kinds], float("-inf"), dtype=6, layout=None, device=None, pin_memory=False)
  column = torch.zeros([count, kinds], dtype=4, layout=None, device=None, pin_memory=False)
  row = torch.zeros([count, kinds], dtype=4, layout=None, device=None, pin_memory=False)
  square = torch.zeros([], dtype=4, layout=None, device=None, pin_memory=False)
  more = bool(torch.lt(square, last))
  while more:
    down = torch.floor_divide(square, across)
    starts = [torch.mul(torch.sub(square, torch.mul(down, across)), side), torch.mul(down, side)]
    part = torch.to(maps, 6)
    inside = torch.ones([1, 1, 1, 1], dtype=11, layout=None, device=None, pin_memory=False)
    for axis in [0, 1]:
      size = torch.size(maps, torch.sub(3, axis))
      extent = torch.unsqueeze(torch.select(whole, 1, axis), 1)
      pixel = torch.unsqueeze(torch.add(span, starts[axis]), 0)
      scale = torch.div(torch.to(torch.tensor(size), 6), torch.to(extent, 6))
      source = torch.sub(torch.mul(torch.add(torch.to(pixel, 6), 0.5), scale), 0.5)
      low = torch.floor(source)
      t = torch.sub(source, low)
      u = torch.rsub(t, 1.)
      far = torch.add(t, 1.)
      farther = torch.add(u, 1.)
      outer = torch.add(torch.mul(torch.sub(torch.mul(torch.add(torch.mul(far, -0.75), 3.75), far), 6.), far), 3.)
      inner = torch.add(torch.mul(torch.mul(torch.sub(torch.mul(t, 1.25), 2.25), t), t), 1.)
      inner0 = torch.add(torch.mul(torch.mul(torch.sub(torch.mul(u, 1.25), 2.25), u), u), 1.)
      outer0 = torch.add(torch.mul(torch.sub(torch.mul(torch.add(torch.mul(farther, -0.75), 3.75), farther), 6.), farther), 3.)
      place = torch.arange(size, dtype=6, layout=None, device=None, pin_memory=False)
      weights = torch.zeros([1, 1, 1], dtype=6, layout=None, device=None, pin_memory=False)
      for tap, share in [(-1, outer), (0, inner), (1, inner0), (2, outer0)]:
        at = torch.clamp(torch.add(low, tap), 0., float(torch.sub(size, 1)))
        here = torch.to(torch.eq(torch.unsqueeze(at, 2), place), 6)
        weights = torch.add(weights, torch.mul(torch.unsqueeze(share, 2), here))
      weights0 = torch.unsqueeze(weights, 1)
      within = torch.unsqueeze(torch.lt(pixel, extent), 1)
      if torch.eq(axis, 0):
        part = torch.matmul(part, torch.transpose(weights0, 2, 3))
        inside = torch.__and__(inside, torch.unsqueeze(within, 2))
      else:
        part = torch.matmul(weights0, part)
        inside = torch.__and__(inside, torch.unsqueeze(within, 3))
    part0 = torch.where(inside, part, float("-inf"))
    top, at0 = torch.max(torch.reshape(part0, [count, kinds, torch.mul(side, side)]), 2)
    y = torch.add(torch.floor_divide(at0, side), starts[1])
    x = torch.add(torch.remainder(at0, side), starts[0])
    sooner = torch.__or__(torch.lt(y, row), torch.__and__(torch.eq(y, row), torch.lt(x, column)))
    better = torch.__or__(torch.gt(top, best), torch.__and__(torch.eq(top, best), sooner))
    best = torch.where(better, top, best)
    column = torch.where(better, x, column)
    row = torch.where(better, y, row)
    square = torch.add(square, 1)
    more = bool(torch.lt(square, last))
  scale_x = torch.unsqueeze(torch.div(widths, widths_ceil), 1)
  scale_y = torch.unsqueeze(torch.div(heights, heights_ceil), 1)
  x0 = torch.add(torch.mul(torch.add(torch.to(column, 6), 0.5), scale_x), torch.unsqueeze(offset_x, 1))
  y0 = torch.add(torch.mul(torch.add(torch.to(row, 6), 0.5), scale_y), torch.unsqueeze(offset_y, 1))
  found = torch.stack([x0, y0, torch.ones_like(x0)], 1)
)";

/// A trace has measured the boxes already.
static std::string keypointsOfTrace() {
  return (R"(
def keypoints(maps: Tensor,
    rois: Tensor,
    widths_ceil: Tensor,
    heights_ceil: Tensor,
    widths: Tensor,
    heights: Tensor,
    offset_x: Tensor,
    offset_y: Tensor,
    num_keypoints: Tensor) -> Tuple[Tensor, Tensor]:)" +
          Keypoints + R"(
  return (found, best)
)")
      .str();
}

static std::string keypoints() {
  return (R"(
def heatmaps_to_keypoints(maps: Tensor,
    rois: Tensor) -> Tuple[Tensor, Tensor]:
  offset_x, offset_y = torch.select(rois, 1, 0), torch.select(rois, 1, 1)
  widths = torch.clamp(torch.sub(torch.select(rois, 1, 2), offset_x), 1)
  heights = torch.clamp(torch.sub(torch.select(rois, 1, 3), offset_y), 1)
  widths_ceil, heights_ceil = torch.ceil(widths), torch.ceil(heights))" +
          Keypoints + R"(
  return (torch.permute(found, [0, 2, 1]), best)
)")
      .str();
}

/// torchvision suppresses boxes class by class, in a loop, where there are more
/// than 1000 of them on the processor. Otherwise it moves the boxes of each
/// class so far apart that they do not meet, which is all that kpc does.
static constexpr const char *BatchedNms = R"(
def batched_nms(boxes: Tensor,
    scores: Tensor,
    idxs: Tensor,
    iou_threshold: float) -> Tensor:
  farthest = torch.max(boxes)
  apart = torch.add(farthest, torch.to(torch.tensor(1), boxes))
  offsets = torch.unsqueeze(torch.mul(torch.to(idxs, boxes), apart), 1)
  return ops.torchvision.nms(torch.add(boxes, offsets), scores, iou_threshold)
)";

static constexpr const char *AsProducts =
    "as products with matrices of weights, without its loop over elements";
static constexpr const char *BySquares =
    "as a loop over squares of all maps at once, without its loop over boxes";

static const std::vector<KnownFunction> &knownFunctions() {
  static const std::vector<KnownFunction> All = {
      {"torchvision.ops.boxes",
       {"batched_nms", "_batched_nms_vanilla", "_batched_nms_coordinate_trick"},
       "batched_nms",
       {"_batched_nms_vanilla",
        "_batched_nms_coordinate_trick",
        "__not__",
        "_is_tracing",
        "_return_output",
        "add",
        "device",
        "dtype",
        "empty",
        "eq",
        "gt",
        "index",
        "index_put_",
        "len",
        "max",
        "mul",
        "nms",
        "numel",
        "select",
        "slice",
        "sort",
        "tensor",
        "to",
        "type",
        "unsqueeze",
        "where",
        "zeros_like"},
       BatchedNms,
       "as one suppression of boxes that are moved apart by class, without its "
       "loop over classes"},
      {"torchvision.models.detection.roi_heads",
       {"_onnx_paste_masks_in_image_loop", "_onnx_paste_mask_in_image"},
       "_onnx_paste_masks_in_image_loop",
       {"_onnx_paste_mask_in_image", "interpolate", "zeros", "ones", "size",
        "select", "unsqueeze", "cat", "sub", "add", "max", "min", "expand",
        "slice", "to"},
       pasteMasksOfTrace(),
       AsProducts},
      {"torchvision.models.detection.roi_heads",
       {"paste_masks_in_image", "paste_mask_in_image", "expand_masks",
        "expand_boxes"},
       "paste_masks_in_image",
       {"_is_tracing",
        "_onnx_expand_boxes",
        "_onnx_paste_masks_in_image_loop",
        "add",
        "append",
        "copy_",
        "device",
        "div",
        "dtype",
        "expand",
        "expand_boxes",
        "expand_masks",
        "float",
        "gt",
        "interpolate",
        "len",
        "max",
        "min",
        "mul",
        "mul_",
        "neg",
        "new_empty",
        "pad",
        "paste_mask_in_image",
        "scalar_tensor",
        "select",
        "size",
        "slice",
        "stack",
        "sub",
        "to",
        "unsqueeze",
        "zeros",
        "zeros_like"},
       pasteMasks(),
       AsProducts},
      {"torchvision.models.detection.roi_heads",
       {"_onnx_heatmaps_to_keypoints_loop", "_onnx_heatmaps_to_keypoints"},
       "_onnx_heatmaps_to_keypoints_loop",
       {"_onnx_heatmaps_to_keypoints",
        "add",
        "arange",
        "argmax",
        "cat",
        "device",
        "div",
        "floor_divide",
        "index_select",
        "interpolate",
        "mul",
        "ones",
        "remainder",
        "reshape",
        "scalar_tensor",
        "select",
        "size",
        "slice",
        "stack",
        "sub",
        "tensor",
        "to",
        "unsqueeze",
        "view",
        "zeros"},
       keypointsOfTrace(),
       BySquares},
      {"torchvision.models.detection.roi_heads",
       {"heatmaps_to_keypoints"},
       "heatmaps_to_keypoints",
       {"_is_tracing", "_onnx_heatmaps_to_keypoints_loop",
        "add",         "arange",
        "argmax",      "ceil",
        "clamp",       "copy_",
        "device",      "div",
        "dtype",       "index",
        "interpolate", "item",
        "len",         "mul",
        "permute",     "remainder",
        "reshape",     "scalar_tensor",
        "select",      "size",
        "slice",       "sub",
        "tensor",      "to",
        "unsqueeze",   "zeros"},
       keypoints(),
       BySquares}};
  return All;
}

//===----------------------------------------------------------------------===//
// What a function calls
//===----------------------------------------------------------------------===//

/// Conversions of numbers and types, which printers write in several ways.
static bool saysNothing(StringRef Name) {
  return Name == "annotate" || Name == "unchecked_cast" || Name == "int" ||
         Name == "range";
}

namespace {
/// The last names of all callees; names of functions may stand in locals.
struct Callees {
  std::map<std::string, std::string> Local;
  Names Found;

  void add(const Node &N) {
    if (N.Is == Node::Kind::Call) {
      const std::string &Name = N.Items.front().Text;
      auto It = Local.find(Name);
      if (!saysNothing(Name))
        Found.insert(It == Local.end() ? Name : It->second);
    }
    for (const Node &Item : N.Items)
      add(Item);
  }
  void add(const std::vector<Statement> &Block) {
    for (const Statement &S : Block) {
      if (S.Is == Statement::Kind::Assign && S.Value &&
          S.Value->Is == Node::Kind::Attribute &&
          S.Targets.front().Is == Node::Kind::Name)
        Local[S.Targets.front().Text] = S.Value->Text;
      if (S.Value)
        add(*S.Value);
      add(S.Body);
      add(S.Else);
    }
  }
};
} // namespace

/// The forms are text of this file, parsed once for all threads.
static const ScriptFile &parsedForm(const KnownFunction &K) {
  static const auto Parsed = [] {
    std::map<const KnownFunction *, ScriptFile> All;
    for (const KnownFunction &Each : knownFunctions()) {
      std::string Why;
      std::optional<SourceFile> Source = parseSource(Each.Form, Why);
      if (!Source)
        llvm::report_fatal_error(StringRef(Why));
      ScriptFile &F = All[&Each];
      F.Name = ("kpc's form of " + Each.Name).str();
      F.Source = std::move(*Source);
    }
    return All;
  }();
  return Parsed.find(&K)->second;
}

std::optional<KnownForm> knownForm(const std::string &Name,
                                   const ScriptFile &Of, const Function &F) {
  for (const KnownFunction &K : knownFunctions()) {
    StringRef Whole(Name);
    if (!Whole.consume_back(("." + K.Name).str()) || !Whole.ends_with(K.Module))
      continue;
    Callees All;
    for (const Function &Part : Of.Source.Functions)
      if (K.Functions.count(Part.Name))
        All.add(Part.Body);
    const ScriptFile &Form = parsedForm(K);
    const Function &Instead = Form.Source.Functions.front();
    bool SameNames = llvm::equal(F.Parameters, Instead.Parameters,
                                 [](const Parameter &A, const Parameter &B) {
                                   return A.Name == B.Name;
                                 });
    if (SameNames && All.Found == K.Calls)
      return KnownForm{&Form, K.How};
  }
  return std::nullopt;
}

} // namespace kpc::torchscript
