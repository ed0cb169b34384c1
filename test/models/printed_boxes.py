# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""torchvision's suppression of boxes by class, as torch.jit.script and traces that keep it print it."""

FILES = {
    "__torch__/torchvision.py": """def _is_tracing() -> bool:
  return False
""",
    "__torch__/torchvision/ops/boxes.py": """def batched_nms(boxes: Tensor,
    scores: Tensor,
    idxs: Tensor,
    iou_threshold: float) -> Tensor:
  _5 = __torch__.torchvision.ops.boxes._batched_nms_vanilla
  _6 = __torch__.torchvision.ops.boxes._batched_nms_coordinate_trick
  _7 = torch.numel(boxes)
  _8 = torch.eq(ops.prim.type(ops.prim.device(boxes)), "cpu")
  if _8:
    _9 = 4000
  else:
    _9 = 100000
  if torch.gt(_7, _9):
    _11 = torch.__not__(__torch__.torchvision._is_tracing())
    _10 = _11
  else:
    _10 = False
  if _10:
    _13 = _5(boxes, scores, idxs, iou_threshold, )
    _12 = _13
  else:
    _14 = _6(boxes, scores, idxs, iou_threshold, )
    _12 = _14
  return _12
def _batched_nms_vanilla(boxes: Tensor,
    scores: Tensor,
    idxs: Tensor,
    iou_threshold: float) -> Tensor:
  _23 = __torch__.torch.functional._return_output
  keep_mask = torch.zeros_like(scores, dtype=11)
  _24 = _23(idxs, True, False, False, None, )
  for _25 in range(torch.len(_24)):
    class_id = torch.select(_24, 0, _25)
    _26 = torch.where(torch.eq(idxs, class_id))
    curr_indices = _26[0]
    _27 = annotate(List[Optional[Tensor]], [curr_indices])
    _28 = torch.index(boxes, _27)
    _29 = annotate(List[Optional[Tensor]], [curr_indices])
    curr_keep_indices = __torch__.torchvision.ops.boxes.nms(_28, torch.index(scores, _29), iou_threshold, )
    _30 = annotate(List[Optional[Tensor]], [curr_keep_indices])
    _31 = torch.index(curr_indices, _30)
    _32 = torch.tensor(True, dtype=ops.prim.dtype(keep_mask), device=ops.prim.device(keep_mask))
    _33 = annotate(List[Optional[Tensor]], [_31])
    _34 = torch.index_put_(keep_mask, _33, _32)
  keep_indices = (torch.where(keep_mask))[0]
  _35 = annotate(List[Optional[Tensor]], [keep_indices])
  _36, _37 = torch.sort(torch.index(scores, _35), -1, True)
  _38 = annotate(List[Optional[Tensor]], [_37])
  return torch.index(keep_indices, _38)
def _batched_nms_coordinate_trick(boxes: Tensor,
    scores: Tensor,
    idxs: Tensor,
    iou_threshold: float) -> Tensor:
  if torch.eq(torch.numel(boxes), 0):
    _40 = ops.prim.device(boxes)
    _41 = torch.empty([0], dtype=4, layout=None, device=_40)
    _39 = _41
  else:
    max_coordinate = torch.max(boxes)
    _42 = torch.to(idxs, boxes)
    _43 = torch.add(max_coordinate, torch.to(torch.tensor(1), boxes))
    offsets = torch.mul(_42, _43)
    _44 = torch.unsqueeze(torch.slice(offsets), 1)
    boxes_for_nms = torch.add(boxes, _44)
    keep = __torch__.torchvision.ops.boxes.nms(boxes_for_nms, scores, iou_threshold, )
    _39 = keep
  return _39
def nms(boxes: Tensor,
    scores: Tensor,
    iou_threshold: float) -> Tensor:
  _78 = __torch__.torchvision.extension._assert_has_ops
  _79 = _78()
  _80 = ops.torchvision.nms(boxes, scores, iou_threshold)
  return _80
""",
    "__torch__/torchvision/extension.py": """def _assert_has_ops() -> NoneType:
  _0 = __torch__.torchvision.extension._has_ops
  _1 = "Couldn\\'t load custom C++ ops."
  if torch.__not__(_0()):
    ops.prim.RaiseException(_1, "builtins.RuntimeError")
  else:
    pass
  return None
def _has_ops() -> bool:
  return True
""",
}
