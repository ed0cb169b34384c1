# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The end of torchvision's Keypoint R-CNN, scripted and as a trace keeps it, with what it computes in numpy: heat maps are resized
to the pixels of their boxes, and the greatest pixel of each is a point."""
import numpy as np

from script_case import Case, module

PRINTED = """def heatmaps_to_keypoints(maps: Tensor,
    rois: Tensor) -> Tuple[Tensor, Tensor]:
  _0 = __torch__.torchvision.models.detection.roi_heads._onnx_heatmaps_to_keypoints_loop
  _1 = __torch__.torch.nn.functional.interpolate
  offset_x = torch.select(torch.slice(rois), 1, 0)
  offset_y = torch.select(torch.slice(rois), 1, 1)
  widths = torch.sub(torch.select(torch.slice(rois), 1, 2), torch.select(torch.slice(rois), 1, 0))
  heights = torch.sub(torch.select(torch.slice(rois), 1, 3), torch.select(torch.slice(rois), 1, 1))
  widths0 = torch.clamp(widths, 1)
  heights0 = torch.clamp(heights, 1)
  widths_ceil = torch.ceil(widths0)
  heights_ceil = torch.ceil(heights0)
  num_keypoints = (torch.size(maps))[1]
  if __torch__.torchvision._is_tracing():
    _2 = torch.scalar_tensor(num_keypoints, dtype=4)
    _3 = _0(maps, rois, widths_ceil, heights_ceil, widths0, heights0, offset_x, offset_y, _2, )
    xy_preds, end_scores, = _3
    _4 = (torch.permute(xy_preds, [0, 2, 1]), end_scores)
    _5 = _4
  else:
    _6 = torch.len(rois)
    _7 = ops.prim.device(maps)
    xy_preds0 = torch.zeros([_6, 3, num_keypoints], dtype=6, layout=None, device=_7)
    _8 = torch.len(rois)
    _9 = ops.prim.device(maps)
    end_scores0 = torch.zeros([_8, num_keypoints], dtype=6, layout=None, device=_9)
    for i in range(torch.len(rois)):
      _10 = torch.item(torch.select(widths_ceil, 0, i))
      roi_map_width = int(_10)
      _11 = torch.item(torch.select(heights_ceil, 0, i))
      roi_map_height = int(_11)
      width_correction = torch.div(torch.select(widths0, 0, i), roi_map_width)
      height_correction = torch.div(torch.select(heights0, 0, i), roi_map_height)
      _12 = torch.slice(torch.select(maps, 0, i))
      _13 = _1(torch.unsqueeze(_12, 1), [roi_map_height, roi_map_width], None, "bicubic", False, None, False, )
      roi_map = torch.select(torch.slice(_13), 1, 0)
      w = (torch.size(roi_map))[2]
      _14 = torch.reshape(roi_map, [num_keypoints, -1])
      pos = torch.argmax(_14, 1)
      x_int = torch.remainder(pos, w)
      y_int = torch.div(torch.sub(pos, x_int), w, rounding_mode="floor")
      _15 = torch.add(torch.to(x_int, 6), 0.5)
      x = torch.mul(_15, width_correction)
      _16 = torch.add(torch.to(y_int, 6), 0.5)
      y = torch.mul(_16, height_correction)
      _17 = torch.add(x, torch.select(offset_x, 0, i))
      _18 = torch.select(torch.select(xy_preds0, 0, i), 0, 0)
      _19 = torch.copy_(torch.slice(_18), _17)
      _20 = torch.add(y, torch.select(offset_y, 0, i))
      _21 = torch.select(torch.select(xy_preds0, 0, i), 0, 1)
      _22 = torch.copy_(torch.slice(_21), _20)
      _23 = torch.select(torch.select(xy_preds0, 0, i), 0, 2)
      _24 = torch.slice(_23)
      _25 = torch.tensor(1, dtype=ops.prim.dtype(_24), device=ops.prim.device(_24))
      _26 = torch.copy_(_24, _25)
      _27 = torch.arange(num_keypoints, dtype=None, layout=None, device=ops.prim.device(roi_map))
      _28 = annotate(List[Optional[Tensor]], [_27, y_int, x_int])
      _29 = torch.index(roi_map, _28)
      _30 = torch.slice(torch.select(end_scores0, 0, i))
      _31 = torch.copy_(_30, _29)
    _32 = (torch.permute(xy_preds0, [0, 2, 1]), end_scores0)
    _5 = _32
  return _5
def _onnx_heatmaps_to_keypoints_loop(maps: Tensor,
    rois: Tensor,
    widths_ceil: Tensor,
    heights_ceil: Tensor,
    widths: Tensor,
    heights: Tensor,
    offset_x: Tensor,
    offset_y: Tensor,
    num_keypoints: Tensor) -> Tuple[Tensor, Tensor]:
  _33 = __torch__.torchvision.models.detection.roi_heads._onnx_heatmaps_to_keypoints
  _34 = int(num_keypoints)
  _35 = ops.prim.device(maps)
  xy_preds = torch.zeros([0, 3, _34], dtype=6, layout=None, device=_35)
  _36 = int(num_keypoints)
  _37 = ops.prim.device(maps)
  end_scores = torch.zeros([0, _36], dtype=6, layout=None, device=_37)
  xy_preds1 = xy_preds
  end_scores1 = end_scores
  for i in range(torch.size(rois, 0)):
    _38 = _33(maps, torch.select(maps, 0, i), torch.select(widths_ceil, 0, i), torch.select(heights_ceil, 0, i), torch.select(widths, 0, i), torch.select(heights, 0, i), torch.select(offset_x, 0, i), torch.select(offset_y, 0, i), )
    xy_preds_i, end_scores_i, = _38
    _39 = torch.to(xy_preds1, 6)
    _40 = torch.to(torch.unsqueeze(xy_preds_i, 0), 6)
    xy_preds2 = torch.cat([_39, _40])
    _41 = torch.to(end_scores1, 6)
    _42 = torch.unsqueeze(torch.to(end_scores_i, 6), 0)
    xy_preds1, end_scores1 = xy_preds2, torch.cat([_41, _42])
  return (xy_preds1, end_scores1)
def _onnx_heatmaps_to_keypoints(maps: Tensor,
    maps_i: Tensor,
    roi_map_width: Tensor,
    roi_map_height: Tensor,
    widths_i: Tensor,
    heights_i: Tensor,
    offset_x_i: Tensor,
    offset_y_i: Tensor) -> Tuple[Tensor, Tensor]:
  _43 = __torch__.torch.nn.functional.interpolate
  num_keypoints = torch.scalar_tensor(torch.size(maps, 1), dtype=4)
  width_correction = torch.div(widths_i, roi_map_width)
  height_correction = torch.div(heights_i, roi_map_height)
  _44 = torch.unsqueeze(torch.slice(maps_i), 1)
  _45 = [int(roi_map_height), int(roi_map_width)]
  _46 = _43(_44, _45, None, "bicubic", False, None, False, )
  roi_map = torch.select(torch.slice(_46), 1, 0)
  w = torch.scalar_tensor(torch.size(roi_map, 2), dtype=4)
  _47 = torch.reshape(roi_map, [annotate(int, num_keypoints), -1])
  pos = torch.argmax(_47, 1)
  x_int = torch.remainder(pos, w)
  y_int = torch.floor_divide(torch.sub(pos, x_int), w)
  _48 = torch.add(torch.tensor(0.5, dtype=6), torch.to(x_int, 6))
  x = torch.mul(_48, torch.to(width_correction, 6))
  _49 = torch.add(torch.tensor(0.5, dtype=6), torch.to(y_int, 6))
  y = torch.mul(_49, torch.to(height_correction, 6))
  xy_preds_i_0 = torch.add(x, torch.to(offset_x_i, 6))
  xy_preds_i_1 = torch.add(y, torch.to(offset_y_i, 6))
  xy_preds_i_2 = torch.ones(torch.size(xy_preds_i_1), dtype=6)
  _50 = [torch.to(xy_preds_i_0, 6), torch.to(xy_preds_i_1, 6), torch.to(xy_preds_i_2, 6)]
  xy_preds_i = torch.stack(_50)
  _51 = torch.mul(num_keypoints, num_keypoints)
  base = torch.add(torch.add(_51, num_keypoints), 1)
  ind = torch.arange(annotate(number, num_keypoints))
  ind0 = torch.mul(torch.to(ind, 4), base)
  _52 = torch.index_select(roi_map, 1, torch.to(y_int, 4))
  _53 = torch.index_select(_52, 2, torch.to(x_int, 4))
  end_scores_i = torch.index_select(torch.view(_53, [-1]), 0, torch.to(ind0, 4))
  return (xy_preds_i, end_scores_i)
"""

FORWARD = """class Points(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  def forward(self: __torch__.Points,
    maps: Tensor,
    rois: Tensor,
    scores: Tensor) -> Tuple[Tensor, Tensor]:
    keep, = torch.where(torch.gt(scores, 0.5))
    maps0, rois0 = torch.index(maps, [keep]), torch.index(rois, [keep])
"""
SCRIPTED = """    _0 = __torch__.torchvision.models.detection.roi_heads.heatmaps_to_keypoints
    points, best, = _0(maps0, rois0, )
    return (points, best)
"""
TRACED = """    _0 = __torch__.torchvision.models.detection.roi_heads._onnx_heatmaps_to_keypoints_loop
    offset_x = torch.select(torch.slice(rois0), 1, 0)
    offset_y = torch.select(torch.slice(rois0), 1, 1)
    widths = torch.clamp(torch.sub(torch.select(torch.slice(rois0), 1, 2), torch.select(torch.slice(rois0), 1, 0)), 1)
    heights = torch.clamp(torch.sub(torch.select(torch.slice(rois0), 1, 3), torch.select(torch.slice(rois0), 1, 1)), 1)
    kinds = torch.scalar_tensor(torch.size(maps0, 1), dtype=4)
    xy, best, = _0(maps0, rois0, torch.ceil(widths), torch.ceil(heights), widths, heights, offset_x, offset_y, kinds, )
    return (torch.permute(xy, [0, 2, 1]), best)
"""


def cubic(values, count):
    """Along the first axis, as interpolate does by cubics without align_corners."""
    result = np.zeros((count, *values.shape[1:]))
    source = (np.arange(count) + 0.5) * (len(values) / count) - 0.5
    low = np.floor(source).astype(int)
    for tap in range(-1, 3):
        d = np.abs(source - low - tap)
        share = np.where(d <= 1, (1.25 * d - 2.25) * d * d + 1, ((-0.75 * d + 3.75) * d - 6) * d + 3)
        result += share.reshape(-1, *[1] * (values.ndim - 1)) * values[np.clip(low + tap, 0, len(values) - 1)]
    return result


def points(body):
    code = {"__torch__.py": FORWARD + body, "__torch__/torchvision.py": "def _is_tracing() -> bool:\n  return False\n",
            "__torch__/torchvision/models/detection/roi_heads.py": PRINTED}

    def run(seed, least):
        g = np.random.default_rng(seed)
        maps = g.standard_normal((6, 3, 12, 12)).astype(np.float32)
        low = g.uniform(-3, 30, (6, 2))
        # Less than a pixel, a square of 64 and one more, and several squares.
        rois = np.concatenate([low, low + [[0.4, 9.3], [64, 64], [65.5, 20], [20, 129.2], [150, 70], [7, 7]]], 1).astype(np.float32)
        scores = g.uniform(least, least + 0.7, 6).astype(np.float32)
        found, best = [], []
        for m, (x0, y0, x1, y1) in zip(maps[scores > 0.5], rois[scores > 0.5]):
            wide, high = max(x1 - x0, np.float32(1)), max(y1 - y0, np.float32(1))
            w, h = int(np.ceil(wide)), int(np.ceil(high))
            whole = cubic(cubic(m.transpose(1, 2, 0), h).transpose(1, 0, 2), w).transpose(2, 1, 0)
            y, x = np.divmod(whole.reshape(3, -1).argmax(1), w)
            found.append(np.stack([(x + 0.5) * (wide / w) + x0, (y + 0.5) * (high / h) + y0, np.ones(3)], 1))
            best.append(whole.max((1, 2)))
        return ({"maps": maps, "rois": rois, "scores": scores},
                {"output_0": np.array(found, np.float32).reshape(-1, 3, 3), "output_1": np.array(best, np.float32).reshape(-1, 3)})

    return Case(module("__torch__.Points", {}), code, ["--input-shape", "maps=6,3,12,12", "--input-shape", "rois=6,4", "--input-shape", "scores=6"],
                [run(1, 0.5), run(2, 0.2), run(3, -0.3)])


CASES = {"scripted_points": lambda: points(SCRIPTED), "traced_points": lambda: points(TRACED)}
