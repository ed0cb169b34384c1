# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of torchvision's detectors as torch.jit.script saves them, with loops over classes and over boxes that kpc does
without, each with what it computes in numpy."""
import numpy as np

import printed_boxes
from script_case import Case, kept_boxes, module, tensor
from script_detection import resized


def scripted_suppression():
    """batched_nms, and the end of BoxCoder.decode: boxes are reshaped where there are any, and left where there are none."""
    code = {"__torch__.py": """class Batched(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  def forward(self: __torch__.Batched,
    boxes: Tensor,
    scores: Tensor,
    classes: Tensor) -> Tensor:
    _0 = __torch__.torchvision.ops.boxes.batched_nms
    above, = torch.where(torch.gt(scores, 0.5))
    boxes0, best, of = torch.index(boxes, [above]), torch.index(scores, [above]), torch.index(classes, [above])
    keep = _0(boxes0, best, of, 0.29999999999999999, )
    boxes1 = torch.index(boxes0, [keep])
    box_sum = torch.size(boxes1, 0)
    if torch.gt(box_sum, 0):
      corners0 = torch.reshape(boxes1, [box_sum, -1, 2])
      corners = corners0
    else:
      corners = boxes1
    if torch.eq(box_sum, 0):
      corners1 = corners
    else:
      corners2 = torch.mul(corners, 2)
      corners1 = corners2
    return torch.reshape(corners1, [-1, 4])
"""} | printed_boxes.FILES

    def run(seed, most):
        g = np.random.default_rng(seed)
        corners = g.uniform(0, 60, (1200, 2)).astype(np.float32)
        boxes = np.concatenate([corners, corners + g.uniform(8, 24, (1200, 2)).astype(np.float32)], 1)
        scores, classes = g.uniform(0, most, 1200).astype(np.float32), g.integers(0, 3, 1200)
        b, c, s = boxes[scores > 0.5], classes[scores > 0.5], scores[scores > 0.5]
        kept = [i for of in range(3) for i in np.flatnonzero(c == of)[kept_boxes(b[c == of], s[c == of], 0.3).astype(int)]]
        kept.sort(key=lambda i: -s[i])
        return {"boxes": boxes, "scores": scores, "classes": classes}, {"output": 2 * b[kept].reshape(-1, 4)}

    return Case(module("__torch__.Batched", {}), code,
                ["--input-shape", "boxes=1200,4", "--input-shape", "scores=1200", "--input-shape", "classes=1200", "--input-type", "classes=i64"],
                [run(1, 0.53), run(2, 0.49), run(3, 0.5005)])


def scripted_masks():
    """paste_masks_in_image: the mask of each box in an image of its own. Boxes lead over the edges, are a pixel wide, or none is left."""
    code = {"__torch__.py": """class Masks(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  def forward(self: __torch__.Masks,
    masks: Tensor,
    boxes: Tensor,
    scores: Tensor) -> Tensor:
    _0 = __torch__.torchvision.models.detection.roi_heads.paste_masks_in_image
    keep, = torch.where(torch.gt(scores, 0.5))
    return _0(torch.index(masks, [keep]), torch.index(boxes, [keep]), (20, 30), 1, )
""", "__torch__/torchvision.py": """def _is_tracing() -> bool:
  return False
""", "__torch__/torchvision/models/detection/roi_heads.py": """def paste_masks_in_image(masks: Tensor,
    boxes: Tensor,
    img_shape: Tuple[int, int],
    padding: int=1) -> Tensor:
  _0 = __torch__.torchvision.models.detection.roi_heads.expand_masks
  _1 = __torch__.torchvision.models.detection.roi_heads.expand_boxes
  _2 = __torch__.torchvision.models.detection.roi_heads._onnx_paste_masks_in_image_loop
  _3 = __torch__.torchvision.models.detection.roi_heads.paste_mask_in_image
  masks0, scale, = _0(masks, padding, )
  boxes0 = torch.to(_1(boxes, scale, ), 4)
  im_h, im_w, = img_shape
  if __torch__.torchvision._is_tracing():
    _5 = _2(masks0, boxes0, torch.scalar_tensor(im_h, dtype=4), torch.scalar_tensor(im_w, dtype=4), )
    _4 = torch.unsqueeze(torch.slice(_5), 1)
  else:
    res = annotate(List[Tensor], [])
    _6 = [torch.len(masks0), torch.len(boxes0)]
    for _7 in range(ops.prim.min(_6)):
      m = torch.select(masks0, 0, _7)
      b = torch.select(boxes0, 0, _7)
      _8 = _3(torch.select(m, 0, 0), b, im_h, im_w, )
      _9 = torch.append(res, _8)
    if torch.gt(torch.len(res), 0):
      ret0 = torch.unsqueeze(torch.slice(torch.stack(res)), 1)
      ret = ret0
    else:
      ret1 = torch.new_empty(masks0, [0, 1, im_h, im_w])
      ret = ret1
    _4 = ret
  return _4
def expand_masks(mask: Tensor,
    padding: int) -> Tuple[Tensor, float]:
  M = (torch.size(mask))[-1]
  _35 = float(torch.add(M, torch.mul(2, padding)))
  scale = torch.div(_35, M)
  padded_mask = __torch__.torch.nn.functional.pad(mask, torch.mul([padding], 4), "constant", None, )
  return (padded_mask, scale)
def expand_boxes(boxes: Tensor,
    scale: float) -> Tensor:
  _36 = __torch__.torchvision.models.detection.roi_heads._onnx_expand_boxes
  if __torch__.torchvision._is_tracing():
    _37 = _36(boxes, scale, )
  else:
    _38 = torch.select(torch.slice(boxes), 1, 2)
    _39 = torch.select(torch.slice(boxes), 1, 0)
    w_half = torch.mul(torch.sub(_38, _39), 0.5)
    _40 = torch.select(torch.slice(boxes), 1, 3)
    _41 = torch.select(torch.slice(boxes), 1, 1)
    h_half = torch.mul(torch.sub(_40, _41), 0.5)
    _42 = torch.select(torch.slice(boxes), 1, 2)
    _43 = torch.select(torch.slice(boxes), 1, 0)
    x_c = torch.mul(torch.add(_42, _43), 0.5)
    _44 = torch.select(torch.slice(boxes), 1, 3)
    _45 = torch.select(torch.slice(boxes), 1, 1)
    y_c = torch.mul(torch.add(_44, _45), 0.5)
    w_half0 = torch.mul_(w_half, scale)
    h_half0 = torch.mul_(h_half, scale)
    boxes_exp = torch.zeros_like(boxes)
    _46 = torch.sub(x_c, w_half0)
    _47 = torch.select(torch.slice(boxes_exp), 1, 0)
    _48 = torch.copy_(_47, _46)
    _49 = torch.add(x_c, w_half0)
    _50 = torch.select(torch.slice(boxes_exp), 1, 2)
    _51 = torch.copy_(_50, _49)
    _52 = torch.sub(y_c, h_half0)
    _53 = torch.select(torch.slice(boxes_exp), 1, 1)
    _54 = torch.copy_(_53, _52)
    _55 = torch.add(y_c, h_half0)
    _56 = torch.select(torch.slice(boxes_exp), 1, 3)
    _57 = torch.copy_(_56, _55)
    _37 = boxes_exp
  return _37
def paste_mask_in_image(mask: Tensor,
    box: Tensor,
    im_h: int,
    im_w: int) -> Tensor:
  _61 = __torch__.torch.nn.functional.interpolate
  _62 = torch.sub(torch.select(box, 0, 2), torch.select(box, 0, 0))
  w = int(torch.add(_62, 1))
  _63 = torch.sub(torch.select(box, 0, 3), torch.select(box, 0, 1))
  h = int(torch.add(_63, 1))
  w0 = ops.prim.max(w, 1)
  h0 = ops.prim.max(h, 1)
  mask0 = torch.expand(mask, [1, 1, -1, -1])
  mask1 = _61(mask0, [h0, w0], None, "bilinear", False, None, False, )
  mask2 = torch.select(torch.select(mask1, 0, 0), 0, 0)
  _64 = ops.prim.dtype(mask2)
  _65 = ops.prim.device(mask2)
  im_mask = torch.zeros([im_h, im_w], dtype=_64, layout=None, device=_65)
  _66 = annotate(int, torch.select(box, 0, 0))
  x_0 = ops.prim.max(_66, 0)
  _67 = annotate(int, torch.add(torch.select(box, 0, 2), 1))
  x_1 = ops.prim.min(_67, im_w)
  _68 = annotate(int, torch.select(box, 0, 1))
  y_0 = ops.prim.max(_68, 0)
  _69 = annotate(int, torch.add(torch.select(box, 0, 3), 1))
  y_1 = ops.prim.min(_69, im_h)
  _70 = torch.add(torch.neg(torch.select(box, 0, 1)), y_0)
  _71 = torch.add(torch.neg(torch.select(box, 0, 1)), y_1)
  _72 = torch.slice(mask2, 0, annotate(int, _70), annotate(int, _71))
  _73 = torch.add(torch.neg(torch.select(box, 0, 0)), x_0)
  _74 = torch.add(torch.neg(torch.select(box, 0, 0)), x_1)
  _75 = torch.slice(_72, 1, annotate(int, _73), annotate(int, _74))
  _76 = torch.slice(torch.slice(im_mask, 0, y_0, y_1), 1, x_0, x_1)
  _77 = torch.copy_(_76, _75)
  return im_mask
"""}

    def run(seed, least):
        g = np.random.default_rng(seed)
        masks = g.uniform(0, 1, (12, 1, 6, 6)).astype(np.float32)
        low = g.uniform(-4, 16, (12, 2)) * [1.4, 1]
        boxes = np.concatenate([low, low + g.uniform(0, 16, (12, 2))], 1).astype(np.float32)
        boxes[0] = 7.25, 3.25, 7.25, 9.25
        scores = g.uniform(least, least + 0.6, 12).astype(np.float32)
        half, middle = (boxes[:, 2:] - boxes[:, :2]) * np.float32(0.5) * np.float32(8 / 6), (boxes[:, 2:] + boxes[:, :2]) * np.float32(0.5)
        whole = np.concatenate([middle - half, middle + half], 1).astype(np.int64)
        images = []
        for (x0, y0, x1, y1), mask in zip(whole[scores > 0.5], masks[scores > 0.5, 0]):
            image = np.zeros((20, 30))
            top, left, bottom, right = max(y0, 0), max(x0, 0), min(y1 + 1, 20), min(x1 + 1, 30)
            part = resized(resized(np.pad(mask, 1), max(y1 - y0 + 1, 1)).T, max(x1 - x0 + 1, 1)).T
            image[top:bottom, left:right] = part[top - y0 : bottom - y0, left - x0 : right - x0]
            images.append(image[None])
        return {"masks": masks, "boxes": boxes, "scores": scores}, {"output": np.array(images, np.float32).reshape(-1, 1, 20, 30)}

    return Case(module("__torch__.Masks", {}), code,
                ["--input-shape", "masks=12,1,6,6", "--input-shape", "boxes=12,4", "--input-shape", "scores=12"],
                [run(1, 0.3), run(2, 0.4), run(3, -0.3)])


def settled():
    """What torchvision's detectors keep between calls without computing other things: whether they have warned, anchors of
    the type they have already, and scales with an object, found by the first call."""
    code = {"__torch__.py": """class Settled(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  _has_warned : bool
  anchors : List[Tensor]
  scales : Optional[List[float]]
  levels : Optional[__torch__.Levels]
  def forward(self: __torch__.Settled,
    x: Tensor) -> Tensor:
    kept = annotate(List[Tensor], [])
    anchors = self.anchors
    for _0 in range(torch.len(anchors)):
      _1 = torch.to(anchors[_0], ops.prim.device(x), ops.prim.dtype(x))
      _2 = torch.append(kept, _1)
    self.anchors = kept
    scales = self.scales
    if torch.__is__(scales, None):
      _3 = True
    else:
      levels = self.levels
      _3 = torch.__is__(levels, None)
    if _3:
      self.scales = [0.5, 0.25]
      self.levels = __torch__.Levels.__new__(__torch__.Levels)
    else:
      pass
    anchors0 = self.anchors
    scales0 = self.scales
    if torch.__is__(scales0, None):
      ops.prim.RaiseException("no scales")
      y = x
    else:
      scales1 = unchecked_cast(List[float], scales0)
      y0 = torch.add(torch.mul(x, scales1[1]), anchors0[1])
      y = y0
    _has_warned = self._has_warned
    if torch.__not__(_has_warned):
      torch.warn("once")
      self._has_warned = True
    else:
      pass
    return y
class Levels:
  least : int
  def __init__(self: __torch__.Levels) -> NoneType:
    self.least = 2
    return None
"""}
    g = np.random.default_rng(1)
    anchors = [g.uniform(-1, 1, (3, 4)).astype(np.float32) for _ in range(2)]

    def run(seed):
        x = np.random.default_rng(seed).uniform(-1, 1, (3, 4)).astype(np.float32)
        return {"x": x}, {"output": x * np.float32(0.25) + anchors[1]}

    top = module("__torch__.Settled", {"_has_warned": False, "anchors": [tensor(a) for a in anchors], "scales": None, "levels": None})
    return Case(top, code, ["--input-shape", "x=3,4"], [run(1), run(2)])


CASES = {f.__name__: f for f in (scripted_suppression, scripted_masks, settled)}
