# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The steps of detection networks as traces have them, each with what it computes in numpy."""
import numpy as np

import printed_boxes
from script_case import Case, drawn, kept_boxes, module, softmax, tensor


def detection():
    """A detection network's steps as a trace has them: a batch by the greatest size, anchors, the best ones, boxes inside,
    those of enough score, suppression, regions of two levels merged by their places; shapes go through tensors."""
    code = {"__torch__.py": """class Detector(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  def forward(self: __torch__.Detector,
    image: Tensor,
    scores: Tensor,
    deltas: Tensor) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
    s = torch.slice(torch._shape_as_tensor(image), 0, -2, 9223372036854775807)
    low = torch.to(torch.min(s), 6)
    high = torch.to(torch.max(s), 6)
    factor = torch.min(torch.mul(torch.reciprocal(low), CONSTANTS.c0), torch.mul(torch.reciprocal(high), CONSTANTS.c1))
    input = torch.unsqueeze(image, 0)
    _0 = torch.to(ops.prim.NumToTensor(torch.size(input, 2)), 6)
    _1 = torch.floor(torch.to(torch.mul(_0, torch.detach(factor)), 6))
    _2 = torch.to(ops.prim.NumToTensor(torch.size(input, 3)), 6)
    _3 = torch.floor(torch.to(torch.mul(_2, torch.detach(factor)), 6))
    resized = torch.squeeze(torch.upsample_nearest2d(input, [int(_1), int(_3)], None), 0)
    _4 = torch.stack([ops.prim.NumToTensor(torch.size(resized, 1))])
    tall = torch.to(torch.max(torch.to(_4, 6)), 4)
    tall0 = torch.to(torch.mul(torch.ceil(torch.div(torch.to(tall, 6), CONSTANTS.c2)), CONSTANTS.c2), 4)
    _5 = torch.stack([ops.prim.NumToTensor(torch.size(resized, 2))])
    wide = torch.to(torch.max(torch.to(_5, 6)), 4)
    wide0 = torch.to(torch.mul(torch.ceil(torch.div(torch.to(wide, 6), CONSTANTS.c2)), CONSTANTS.c2), 4)
    _6 = torch.sub(tall0, ops.prim.NumToTensor(torch.size(resized, 1)))
    _7 = torch.sub(wide0, ops.prim.NumToTensor(torch.size(resized, 2)))
    batch = torch.stack([torch.pad(resized, [0, int(_7), 0, int(_6), 0, 0], "constant", 0.)])
    fine = torch.avg_pool2d(batch, [4, 4])
    coarse = torch.avg_pool2d(batch, [8, 8])
    h = ops.prim.NumToTensor(torch.size(fine, 2))
    w = ops.prim.NumToTensor(torch.size(fine, 3))
    step = torch.fill_(torch.empty([], dtype=4, layout=None, device=torch.device("cpu"), pin_memory=False), torch.floor_divide(ops.prim.NumToTensor(torch.size(batch, 2)), h))
    x = torch.mul(torch.arange(0, int(w), dtype=3, layout=None, device=torch.device("cpu"), pin_memory=False), step)
    y = torch.mul(torch.arange(0, int(h), dtype=3, layout=None, device=torch.device("cpu"), pin_memory=False), step)
    b, a = torch.meshgrid([y, x], indexing="ij")
    a0, b0 = torch.reshape(a, [-1]), torch.reshape(b, [-1])
    anchors = torch.add(torch.stack([a0, b0, a0, b0], 1), CONSTANTS.c3)
    boxes = torch.add(anchors, deltas)
    n = torch.unsqueeze(torch.select(torch._shape_as_tensor(scores), 0, 0), 0)
    k = torch.min(torch.cat([torch.tensor([20]), n]))
    best, places = torch.topk(scores, int(k), 0, True, True)
    boxes0 = torch.index(boxes, [places])
    columns = torch.slice(boxes0, 1, 0, 9223372036854775807, 2)
    rows = torch.slice(boxes0, 1, 1, 9223372036854775807, 2)
    columns0 = torch.min(torch.max(columns, torch.tensor(0.)), torch.tensor(int(_3)))
    rows0 = torch.min(torch.max(rows, torch.tensor(0.)), torch.tensor(int(_1)))
    boxes1 = torch.reshape(torch.stack([columns0, rows0], 2), [int(ops.prim.NumToTensor(torch.size(boxes0, 0))), 4])
    left, top, right, bottom = torch.unbind(boxes1, 1)
    sides = torch.__and__(torch.ge(torch.sub(right, left), 2.), torch.ge(torch.sub(bottom, top), 2.))
    keep, = torch.where(sides)
    boxes2, best2 = torch.index(boxes1, [keep]), torch.index(best, [keep])
    keep0, = torch.where(torch.ge(best2, 0.10000000000000001))
    boxes3, best3 = torch.index(boxes2, [keep0]), torch.index(best2, [keep0])
    keep1 = torch.slice(ops.torchvision.nms(boxes3, best3, 0.29999999999999999), 0, 0, 6)
    boxes4, best4 = torch.index(boxes3, [keep1]), torch.index(best3, [keep1])
    areas = torch.mul(torch.sub(torch.select(boxes4, 1, 2), torch.select(boxes4, 1, 0)), torch.sub(torch.select(boxes4, 1, 3), torch.select(boxes4, 1, 1)))
    levels = torch.to(torch.gt(areas, 40.), 4)
    zeros = torch.zeros_like(torch.slice(boxes4, 1, 0, 1))
    rois = torch.cat([zeros, boxes4], 1)
    merged = torch.zeros([torch.size(levels, 0), torch.size(fine, 1), 2, 2], dtype=6)
    at, = torch.where(torch.eq(levels, 0))
    part = ops.torchvision.roi_align(fine, torch.index(rois, [at]), 0.25, 2, 2, 2, False)
    at0 = torch.expand(torch.view(at, [-1, 1, 1, 1]), [torch.size(at, 0), torch.size(fine, 1), 2, 2])
    merged0 = torch.scatter(merged, 0, at0, part)
    at1, = torch.where(torch.eq(levels, 1))
    part1 = ops.torchvision.roi_align(coarse, torch.index(rois, [at1]), 0.125, 2, 2, 2, False)
    at2 = torch.expand(torch.view(at1, [-1, 1, 1, 1]), [torch.size(at1, 0), torch.size(coarse, 1), 2, 2])
    merged1 = torch.scatter(merged0, 0, at2, part1)
    return (boxes4, best4, batch, merged1)
"""}

    def pooled(v, by):
        return v.reshape(*v.shape[:2], v.shape[2] // by, by, v.shape[3] // by, by).mean((3, 5))

    def run(seed):
        g = np.random.default_rng(seed)
        image = g.standard_normal((3, 10, 20)).astype(np.float32)
        scores, deltas = g.uniform(0, 1, 32).astype(np.float32), g.uniform(-3, 3, (32, 4)).astype(np.float32)
        # 15 / 10 and 32 / 20 allow a factor of 1.5: [15, 30] in a batch of [16, 32].
        rows, cols = np.arange(15) * 10 // 15, np.arange(30) * 20 // 30
        batch = np.pad(image[:, rows][:, :, cols], ((0, 0), (0, 1), (0, 2)))[None]
        b, a = (v.ravel() * 4 for v in np.mgrid[:4, :8])
        boxes = np.stack([a, b, a, b], 1).astype(np.float32) + np.array([-4, -4, 4, 4], np.float32) + deltas
        best = np.argsort(-scores)[:20]
        boxes, scores_ = np.clip(boxes[best], 0, [30, 15, 30, 15]).astype(np.float32), scores[best]
        fits = (boxes[:, 2] - boxes[:, 0] >= 2) & (boxes[:, 3] - boxes[:, 1] >= 2) & (scores_ >= 0.1)
        boxes, scores_ = boxes[fits], scores_[fits]
        kept = kept_boxes(boxes, scores_, 0.3)[:6]
        boxes, scores_ = boxes[kept], scores_[kept]
        merged = []
        for x1, y1, x2, y2 in boxes:
            far = (x2 - x1) * (y2 - y1) > 40
            merged.append(aligned(pooled(batch, 8 if far else 4)[0], np.array([x1, y1, x2, y2]) * (0.125 if far else 0.25)))
        return ({"image": image, "scores": scores, "deltas": deltas},
                {"output_0": boxes, "output_1": scores_, "output_2": batch, "output_3": np.array(merged, np.float32)})

    constants = [tensor(np.array(v, np.float32)) for v in (15, 32, 16, [[-4, -4, 4, 4]])]
    return Case(module("__torch__.Detector", {}), code,
                ["--input-shape", "image=3,10,20", "--input-shape", "scores=32", "--input-shape", "deltas=32,4"],
                [run(seed) for seed in (1, 2)], constants)


def batched_suppression():
    """torchvision's batched_nms in a trace, which keeps a scripted function: nothing where no box is left, else boxes of each
    class moved apart, and suppression of all. Two images, one of which may have no boxes."""
    code = {"__torch__.py": """class Batched(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  def forward(self: __torch__.Batched,
    boxes: Tensor,
    scores: Tensor,
    classes: Tensor) -> Tuple[Tensor, Tensor]:
    _0 = __torch__.torchvision.ops.boxes._batched_nms_coordinate_trick
    boxes0, boxes1 = torch.unbind(boxes, 0)
    scores0, scores1 = torch.unbind(scores, 0)
    classes0, classes1 = torch.unbind(classes, 0)
    above, = torch.where(torch.gt(scores0, 0.5))
    boxes2, best, of = torch.index(boxes0, [above]), torch.index(scores0, [above]), torch.index(classes0, [above])
    keep = torch.slice(_0(boxes2, best, of, 0.29999999999999999), 0, 0, 5)
    above0, = torch.where(torch.gt(scores1, 0.5))
    boxes3, best0, of0 = torch.index(boxes1, [above0]), torch.index(scores1, [above0]), torch.index(classes1, [above0])
    keep0 = torch.slice(_0(boxes3, best0, of0, 0.29999999999999999), 0, 0, 5)
    return (torch.index(boxes2, [keep]), torch.index(boxes3, [keep0]))
"""} | printed_boxes.FILES

    def run(seed, least):
        g = np.random.default_rng(seed)
        corners = g.uniform(0, 20, (2, 16, 2)).astype(np.float32)
        boxes = np.concatenate([corners, corners + g.uniform(4, 12, (2, 16, 2)).astype(np.float32)], 2)
        scores, classes = g.uniform(least, 1, (2, 16)).astype(np.float32), g.integers(0, 3, (2, 16))
        scores[1] -= np.float32(least == 0)
        kept = []
        for b, s, c in zip(boxes, scores, classes):
            b, c, s = b[s > 0.5], c[s > 0.5], s[s > 0.5]
            apart = b + (c.astype(np.float32) * (b.max() + 1))[:, None] if len(b) else b
            kept.append(b[kept_boxes(apart, s, 0.3)[:5]] if len(b) else b)
        return {"boxes": boxes, "scores": scores, "classes": classes}, {"output_0": kept[0], "output_1": kept[1]}

    return Case(module("__torch__.Batched", {}), code,
                ["--input-shape", "boxes=2,16,4", "--input-shape", "scores=2,16", "--input-shape", "classes=2,16", "--input-type", "classes=i64"],
                [run(1, 0.3), run(2, 0)])


def regions_to_classes():
    """The end of a two-stage detector as a trace has it: proposals that suppression left, the best of them, scores and boxes of
    each for all classes but the background, in lists by image, those of enough score and size, suppression by class."""
    code = dict(batched_suppression().code)
    code["__torch__.py"] = """class Heads(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  def forward(self: __torch__.Heads,
    boxes: Tensor,
    scores: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
    _0 = __torch__.torchvision.ops.boxes._batched_nms_coordinate_trick
    near = ops.torchvision.nms(boxes, scores, 0.5)
    proposals, best = torch.index(boxes, [near]), torch.index(scores, [near])
    n = torch.unsqueeze(torch.select(torch._shape_as_tensor(best), 0, 0), 0)
    k = torch.min(torch.cat([torch.tensor([10]), n]))
    best0, places = torch.topk(best, int(k), 0, True, True)
    proposals0 = torch.index(proposals, [places])
    many = ops.prim.NumToTensor(torch.size(proposals0, 0))
    logits = torch.linear(proposals0, CONSTANTS.c0, CONSTANTS.c1)
    codes = torch.linear(proposals0, CONSTANTS.c2, CONSTANTS.c3)
    wide = torch.unsqueeze(torch.sub(torch.select(proposals0, 1, 2), torch.select(proposals0, 1, 0)), 1)
    high = torch.unsqueeze(torch.sub(torch.select(proposals0, 1, 3), torch.select(proposals0, 1, 1)), 1)
    left = torch.add(torch.mul(torch.slice(codes, 1, 0, 9223372036854775807, 4), wide), torch.slice(proposals0, 1, 0, 1))
    top = torch.add(torch.mul(torch.slice(codes, 1, 1, 9223372036854775807, 4), high), torch.slice(proposals0, 1, 1, 2))
    right = torch.add(left, wide)
    bottom = torch.add(top, high)
    stacked = torch.flatten(torch.stack([left, top, right, bottom], 2), 1)
    shaped = torch.reshape(stacked, [int(torch.sum(torch.stack([many]))), -1, 4])
    parts, = torch.split_with_sizes(shaped, [int(many)], 0)
    chances, = torch.split_with_sizes(torch.softmax(logits, -1), [int(many)], 0)
    labels = torch.expand_as(torch.view(torch.arange(4, dtype=None, layout=None, device=torch.device("cpu"), pin_memory=False), [1, -1]), chances)
    parts0 = torch.reshape(torch.slice(parts, 1, 1), [-1, 4])
    chances0 = torch.reshape(torch.slice(chances, 1, 1), [-1])
    labels0 = torch.reshape(torch.slice(labels, 1, 1), [-1])
    inds, = torch.where(torch.gt(chances0, 0.20000000000000001))
    a, b, c = torch.index(parts0, [inds]), torch.index(chances0, [inds]), torch.index(labels0, [inds])
    sides = torch.__and__(torch.ge(torch.sub(torch.select(a, 1, 2), torch.select(a, 1, 0)), 3.), torch.ge(torch.sub(torch.select(a, 1, 3), torch.select(a, 1, 1)), 3.))
    fits, = torch.where(sides)
    a0, b0, c0 = torch.index(a, [fits]), torch.index(b, [fits]), torch.index(c, [fits])
    keep = torch.slice(_0(a0, b0, c0, 0.40000000000000002), 0, 0, 8)
    return (torch.index(a0, [keep]), torch.index(b0, [keep]), torch.index(c0, [keep]))
"""
    of = [drawn(1, 4, 4) / 4, drawn(2, 4) / 4, drawn(3, 16, 4) / 99, drawn(4, 16) / 9]

    def run(seed, least):
        g = np.random.default_rng(seed)
        corners = g.uniform(0, 20, (24, 2)).astype(np.float32)
        boxes = np.concatenate([corners, corners + g.uniform(2, 8, (24, 2)).astype(np.float32)], 1)
        scores = g.uniform(least, 1, 24).astype(np.float32)
        near = kept_boxes(boxes, scores, 0.5)
        best = near[np.argsort(-scores[near], kind="stable")][:10]
        b = boxes[best]
        chances, codes = softmax(b @ of[0].T + of[1]), (b @ of[2].T + of[3]).reshape(-1, 4, 4)
        sizes = (b[:, 2:] - b[:, :2])[:, None]
        corner = codes[:, :, :2] * sizes + b[:, None, :2]
        all_boxes = np.concatenate([corner, corner + sizes], 2)[:, 1:].reshape(-1, 4)
        chance, label = chances[:, 1:].ravel(), np.tile(np.arange(1, 4), len(b))
        fits = (chance > 0.2) & (all_boxes[:, 2] - all_boxes[:, 0] >= 3) & (all_boxes[:, 3] - all_boxes[:, 1] >= 3)
        a, s, c = all_boxes[fits], chance[fits], label[fits]
        keep = kept_boxes(a + (c.astype(np.float32) * (a.max() + 1))[:, None], s, 0.4)[:8] if len(a) else []
        return {"boxes": boxes, "scores": scores}, {"output_0": a[keep], "output_1": s[keep], "output_2": c[keep].astype(np.int64)}

    return Case(module("__torch__.Heads", {}), code, ["--input-shape", "boxes=24,4", "--input-shape", "scores=24"],
                [run(seed, 0) for seed in (1, 2, 3)], [tensor(v) for v in of])


def pasted_masks():
    """The end of Mask R-CNN as a trace has it: boxes of enough score, and the mask of each in an image of its own, by a loop
    over boxes that torchvision keeps scripted. Boxes lead over the edges, are a pixel wide, or none is left."""
    code = {"__torch__.py": """class Masks(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  def forward(self: __torch__.Masks,
    masks: Tensor,
    boxes: Tensor,
    scores: Tensor) -> Tensor:
    _0 = __torch__.torchvision.models.detection.roi_heads._onnx_paste_masks_in_image_loop
    keep, = torch.where(torch.gt(scores, 0.5))
    _1 = torch.scalar_tensor(20, dtype=4, layout=None, device=torch.device("cpu"), pin_memory=False)
    _2 = torch.scalar_tensor(30, dtype=4, layout=None, device=torch.device("cpu"), pin_memory=False)
    _3 = _0(torch.index(masks, [keep]), torch.to(torch.index(boxes, [keep]), 4), _1, _2, )
    return torch.unsqueeze(_3, 1)
""", "__torch__/torchvision/models/detection/roi_heads.py": """def _onnx_paste_masks_in_image_loop(masks: Tensor,
    boxes: Tensor,
    im_h: Tensor,
    im_w: Tensor) -> Tensor:
  _0 = __torch__.torchvision.models.detection.roi_heads._onnx_paste_mask_in_image
  _1 = [0, annotate(int, im_h), annotate(int, im_w)]
  res_append = torch.zeros(_1)
  res_append0 = res_append
  for i in range(torch.size(masks, 0)):
    _2 = torch.select(torch.select(masks, 0, i), 0, 0)
    mask_res = _0(_2, torch.select(boxes, 0, i), im_h, im_w, )
    mask_res0 = torch.unsqueeze(mask_res, 0)
    res_append0 = torch.cat([res_append0, mask_res0])
  return res_append0
def _onnx_paste_mask_in_image(mask: Tensor,
    box: Tensor,
    im_h: Tensor,
    im_w: Tensor) -> Tensor:
  _3 = __torch__.torch.nn.functional.interpolate
  one = torch.ones([1], dtype=4)
  zero = torch.zeros([1], dtype=4)
  _4 = torch.sub(torch.select(box, 0, 2), torch.select(box, 0, 0))
  w = torch.add(_4, one)
  _5 = torch.sub(torch.select(box, 0, 3), torch.select(box, 0, 1))
  h = torch.add(_5, one)
  w0 = torch.max(torch.cat([w, one]))
  h0 = torch.max(torch.cat([h, one]))
  _6 = [1, 1, torch.size(mask, 0), torch.size(mask, 1)]
  mask0 = torch.expand(mask, _6)
  mask1 = _3(mask0, [int(h0), int(w0)], None, "bilinear", False, None, False, )
  mask2 = torch.select(torch.select(mask1, 0, 0), 0, 0)
  _7 = torch.unsqueeze(torch.select(box, 0, 0), 0)
  x_0 = torch.max(torch.cat([_7, zero]))
  _8 = torch.unsqueeze(torch.select(box, 0, 2), 0)
  _9 = [torch.add(_8, one), torch.unsqueeze(im_w, 0)]
  x_1 = torch.min(torch.cat(_9))
  _10 = torch.unsqueeze(torch.select(box, 0, 1), 0)
  y_0 = torch.max(torch.cat([_10, zero]))
  _11 = torch.unsqueeze(torch.select(box, 0, 3), 0)
  _12 = [torch.add(_11, one), torch.unsqueeze(im_h, 0)]
  y_1 = torch.min(torch.cat(_12))
  _13 = torch.sub(y_0, torch.select(box, 0, 1))
  _14 = torch.sub(y_1, torch.select(box, 0, 1))
  _15 = torch.slice(mask2, 0, annotate(int, _13), annotate(int, _14))
  _16 = torch.sub(x_0, torch.select(box, 0, 0))
  _17 = torch.sub(x_1, torch.select(box, 0, 0))
  unpaded_im_mask = torch.slice(_15, 1, annotate(int, _16), annotate(int, _17))
  _18 = torch.size(unpaded_im_mask, 1)
  zeros_y0 = torch.zeros([annotate(int, y_0), _18])
  _19 = torch.sub(im_h, y_1)
  _20 = torch.size(unpaded_im_mask, 1)
  zeros_y1 = torch.zeros([annotate(int, _19), _20])
  _21 = [zeros_y0, torch.to(unpaded_im_mask, 6), zeros_y1]
  _22 = torch.slice(torch.cat(_21), 0, 0, annotate(int, im_h))
  concat_0 = torch.slice(_22, 1)
  _23 = [torch.size(concat_0, 0), annotate(int, x_0)]
  zeros_x0 = torch.zeros(_23)
  _24 = [torch.size(concat_0, 0), annotate(int, torch.sub(im_w, x_1))]
  zeros_x1 = torch.zeros(_24)
  _25 = torch.cat([zeros_x0, concat_0, zeros_x1], 1)
  im_mask = torch.slice(torch.slice(_25), 1, None, annotate(int, im_w))
  return im_mask
"""}

    def run(seed, least):
        g = np.random.default_rng(seed)
        masks = g.uniform(0, 1, (12, 1, 6, 6)).astype(np.float32)
        low = g.uniform(-4, 16, (12, 2)) * [1.4, 1]
        boxes = np.concatenate([low, low + g.uniform(4, 20, (12, 2))], 1).astype(np.float32)
        boxes[0] = [3, 4, 3, 4]
        scores = g.uniform(least, least + 0.7, 12).astype(np.float32)
        scores[0] = 2 * least
        images = []
        for mask, (x0, y0, x1, y1), score in zip(masks[:, 0], np.trunc(boxes).astype(int), scores):
            image = np.zeros((20, 30))
            top, left, bottom, right = max(y0, 0), max(x0, 0), min(y1 + 1, 20), min(x1 + 1, 30)
            whole = resized(resized(mask, max(y1 - y0 + 1, 1)).T, max(x1 - x0 + 1, 1)).T
            image[top:bottom, left:right] = whole[top - y0 : bottom - y0, left - x0 : right - x0]
            if score > 0.5:
                images.append(image[None])
        wanted = np.array(images, np.float32).reshape(-1, 1, 20, 30)
        return {"masks": masks, "boxes": boxes, "scores": scores}, {"output": wanted}

    return Case(module("__torch__.Masks", {}), code,
                ["--input-shape", "masks=12,1,6,6", "--input-shape", "boxes=12,4", "--input-shape", "scores=12"],
                [run(1, 0.3), run(2, 0.4), run(3, -0.3)])


def resized(values, count):
    """Along the first axis, as interpolate does without align_corners."""
    at = np.maximum((np.arange(count) + 0.5) * (len(values) / count) - 0.5, 0)
    first = np.minimum(at.astype(int), len(values) - 1)
    share = (at - first)[:, None]
    return values[first] * (1 - share) + values[np.minimum(first + 1, len(values) - 1)] * share


def aligned(image, box):
    """roi_align of one region to 2 by 2, of 2 by 2 samples each."""
    (c, h, w), (x1, y1, x2, y2) = image.shape, box
    high, wide, result = max(y2 - y1, 1), max(x2 - x1, 1), np.zeros((image.shape[0], 2, 2))
    for i, j, s, t in np.ndindex(2, 2, 2, 2):
        y, x = y1 + (i + (s + 0.5) / 2) * high / 2, x1 + (j + (t + 0.5) / 2) * wide / 2
        if y < -1 or y > h or x < -1 or x > w:
            continue
        y, x = min(max(y, 0), h - 1), min(max(x, 0), w - 1)
        top, left = int(y), int(x)
        low, right, dy, dx = min(top + 1, h - 1), min(left + 1, w - 1), y - top, x - left
        result[:, i, j] += (image[:, top, left] * (1 - dy) * (1 - dx) + image[:, top, right] * (1 - dy) * dx
                            + image[:, low, left] * dy * (1 - dx) + image[:, low, right] * dy * dx) / 4
    return result


CASES = {f.__name__: f for f in (detection, batched_suppression, regions_to_classes, pasted_masks)}
