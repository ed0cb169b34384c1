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
       AsProducts}};
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

static const ScriptFile &parsedForm(const KnownFunction &K) {
  static std::map<const KnownFunction *, ScriptFile> Parsed;
  ScriptFile &F = Parsed[&K];
  if (!F.Name.empty())
    return F;
  std::string Why;
  std::optional<SourceFile> Source = parseSource(K.Form, Why);
  if (!Source)
    llvm::report_fatal_error(StringRef(Why));
  F.Name = ("kpc's form of " + K.Name).str();
  F.Source = std::move(*Source);
  return F;
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
