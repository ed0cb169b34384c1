# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Detectors up to their boxes: YOLO and SSD with NMS and TopK, Mask R-CNN's head with RoiAlign."""

import numpy as np

from corpus.encoders import tensor_of
from corpus.writer import BOOL, FLOAT, INT32, INT64, Writer, floats, ints


def silu(g, x):
    return g("Mul", x, g("Sigmoid", x))


def conv(g, x, width, out, taps=3, stride=1):
    pad = taps // 2
    return silu(g, g("Conv", x, g.w(out, width, taps, taps), g.bias(out), kernel_shape=[taps, taps], pads=[pad] * 4, strides=[stride, stride],
                     dilations=[1, 1], group=1))


def yolo(nms=True):
    """YOLOv8's kind: dynamic H and W, a neck of Resize and Concat, anchors out of Ranges, and with `nms` the boxes that are left."""
    g = Writer(f"yolo{nms}", 17, constants=True, producer="pytorch")
    image = g.input("images", "batch", 3, "height", "width")
    x = conv(g, image, 3, 8, 3, 2)
    x = conv(g, x, 8, 8, 3, 2)
    c3 = conv(g, x, 8, 16, 3, 2)
    c4 = conv(g, c3, 16, 16, 3, 2)
    c5 = conv(g, c4, 16, 16, 3, 2)
    # SPPF.
    pools = [conv(g, c5, 16, 8, 1)]
    for _ in range(3):
        pools.append(g("MaxPool", pools[-1], kernel_shape=[5, 5], pads=[2] * 4, strides=[1, 1]))
    c5 = conv(g, g("Concat", *pools, axis=1), 32, 16, 1)

    def up(value):
        return g("Resize", value, None, floats(1, 1, 2, 2), mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")

    p4 = conv(g, g("Concat", up(c5), c4, axis=1), 32, 16, 3)
    p3 = conv(g, g("Concat", up(p4), c3, axis=1), 32, 16, 3)
    p4 = conv(g, g("Concat", conv(g, p3, 16, 16, 3, 2), p4, axis=1), 32, 16, 3)
    p5 = conv(g, g("Concat", conv(g, p4, 16, 16, 3, 2), c5, axis=1), 32, 16, 3)
    classes, bins = 3, 4
    flat, points, strides = [], [], []
    for level, stride in ((p3, 8), (p4, 16), (p5, 32)):
        box = g("Conv", level, g.w(4 * bins, 16, 1, 1), g.bias(4 * bins))
        score = g("Conv", level, g.w(classes, 16, 1, 1), g.bias(classes))
        made = g("Concat", box, score, axis=1)
        flat.append(g("Reshape", made, g.together(g.size(made, 0), 4 * bins + classes, -1)))
        rows, columns = g.size(level, 2), g.size(level, 3)
        across = g("Add", g("Cast", g("Range", np.int64(0), columns, np.int64(1)), to=FLOAT), np.float32(0.5))
        down = g("Add", g("Cast", g("Range", np.int64(0), rows, np.int64(1)), to=FLOAT), np.float32(0.5))
        shape = g.together(rows, columns)
        down = g("Expand", g("Unsqueeze", down, ints(1)), shape)
        across = g("Expand", g("Unsqueeze", across, ints(0)), shape)
        points.append(g("Reshape", g("Concat", g("Unsqueeze", across, ints(-1)), g("Unsqueeze", down, ints(-1)), axis=-1), ints(-1, 2)))
        strides.append(g("Expand", g.weight(np.full((1, 1), stride, np.float32)), g.together(g("Mul", rows, columns), 1)))
    x = g("Concat", *flat, axis=2)
    points = g("Unsqueeze", g("Transpose", g("Concat", *points, axis=0), perm=[1, 0]), ints(0))
    strides = g("Transpose", g("Concat", *strides, axis=0), perm=[1, 0])
    box, score = g("Split", x, ints(4 * bins, classes), axis=1, outputs=2)
    # The expectation of a distribution over bins: softmax and a convolution by 0, 1, 2, ….
    batch, count = g.size(box, 0), g.size(box, 2)
    spread = g("Transpose", g("Reshape", box, g.together(batch, 4, bins, count)), perm=[0, 2, 1, 3])
    spread = g("Conv", g("Softmax", spread, axis=1), g.weight(np.arange(bins, dtype=np.float32).reshape(1, bins, 1, 1)))
    sides = g("Reshape", spread, g.together(batch, 4, count))
    half = g("Slice", sides, ints(0), ints(2), ints(1))
    rest = g("Slice", sides, ints(2), ints(4), ints(1))
    low, high = g("Sub", points, half), g("Add", points, rest)
    centre = g("Div", g("Add", low, high), np.float32(2))
    boxes = g("Mul", g("Concat", centre, g("Sub", high, low), axis=1), strides)
    scores = g("Sigmoid", score)
    runs = [{"images": g.values.normal(batch, 3, h, w)} for batch, h, w in ((1, 64, 96), (2, 64, 64))]
    if not nms:
        g.output(g("Concat", boxes, scores, axis=1), "output0", "batch", 4 + classes, "anchors")
        return g.model(), runs
    corners = g("Transpose", boxes, perm=[0, 2, 1])
    picked = g("NonMaxSuppression", corners, scores, np.array([5], np.int64), np.array([0.5], np.float32), np.array([0.52], np.float32), center_point_box=1)
    where, which, rank = (g("Gather", picked, np.array(i, np.int64), axis=1) for i in (0, 2, 1))
    at = g("Concat", g("Unsqueeze", where, ints(1)), g("Unsqueeze", which, ints(1)), axis=1)
    chosen = g("GatherND", corners, at)
    value = g("GatherND", scores, g("Concat", g("Unsqueeze", where, ints(1)), g("Unsqueeze", rank, ints(1)), g("Unsqueeze", which, ints(1)), axis=1))
    columns = [g("Cast", g("Unsqueeze", where, ints(1)), to=FLOAT), chosen, g("Unsqueeze", value, ints(1)), g("Cast", g("Unsqueeze", rank, ints(1)), to=FLOAT)]
    g.output(g("Concat", *columns, axis=1), "output", "num_dets", 7)
    return g.model(), runs


def ssd():
    """SSD's kind: fixed anchors, decoded boxes, the best 20 of all by TopK, then NMS a class, as torchvision exports its loop over classes."""
    g = Writer("ssd", 16, constants=True, producer="pytorch")
    image = g.input("input", 1, 3, 64, 64)
    x = g("Relu", g("Conv", image, g.w(8, 3, 3, 3), g.bias(8), pads=[1] * 4, strides=[4, 4]))
    places, logits, anchors = [], [], []
    width = 8
    for cells in (8, 4):
        x = g("Relu", g("Conv", x, g.w(12, width, 3, 3), g.bias(12), pads=[1] * 4, strides=[2, 2]))
        width = 12
        for heads, columns in ((places, 4), (logits, 4)):
            made = g("Conv", x, g.w(2 * columns, 12, 3, 3, size=0.2), g.bias(2 * columns), pads=[1] * 4)
            made = g("Reshape", made, g.together(1, 2, columns, cells, cells))
            heads.append(g("Reshape", g("Transpose", made, perm=[0, 3, 4, 1, 2]), ints(1, -1, columns)))
        step = 64 / cells
        grid = (np.stack(np.meshgrid(np.arange(cells), np.arange(cells)), -1).reshape(-1, 1, 2) + 0.5) * step
        sizes = np.array([[1.5, 1.5], [2.5, 1.2]]) * step
        anchors.append(np.concatenate([np.broadcast_to(grid, (cells * cells, 2, 2)), np.broadcast_to(sizes, (cells * cells, 2, 2))], -1).reshape(-1, 4))
    anchors = np.concatenate(anchors).astype(np.float32)
    deltas, chances = g("Squeeze", g("Concat", *places, axis=1), ints(0)), g("Softmax", g("Squeeze", g("Concat", *logits, axis=1), ints(0)), axis=-1)
    dx, dy, dw, dh = g("Split", deltas, ints(1, 1, 1, 1), axis=1, outputs=4)
    cx = g("Add", g("Mul", g("Div", dx, np.float32(10)), g.weight(anchors[:, 2:3])), g.weight(anchors[:, 0:1]))
    cy = g("Add", g("Mul", g("Div", dy, np.float32(10)), g.weight(anchors[:, 3:4])), g.weight(anchors[:, 1:2]))
    w = g("Mul", g("Exp", g("Clip", g("Div", dw, np.float32(5)), None, np.float32(4.135))), g.weight(anchors[:, 2:3]))
    h = g("Mul", g("Exp", g("Clip", g("Div", dh, np.float32(5)), None, np.float32(4.135))), g.weight(anchors[:, 3:4]))
    half_w, half_h = g("Mul", w, np.float32(0.5)), g("Mul", h, np.float32(0.5))
    boxes = g("Concat", g("Sub", cx, half_w), g("Sub", cy, half_h), g("Add", cx, half_w), g("Add", cy, half_h), axis=1)
    boxes = g("Clip", boxes, np.float32(0), np.float32(64))
    all_boxes, all_scores, all_labels = [], [], []
    for label in (1, 2, 3):
        score = g("Gather", chances, np.array(label, np.int64), axis=1)
        # score > threshold, then the places where.
        keep = g("Reshape", g("Transpose", g("NonZero", g("Greater", score, np.float32(0.2))), perm=[1, 0]), ints(-1))
        score, box = g("Gather", score, keep), g("Gather", boxes, keep, axis=0)
        # topk(min(20, count)).
        count = g("Gather", g("Shape", score), np.array(0, np.int64))
        most = g("Min", g("Unsqueeze", count, ints(0)), ints(20))
        score, order = g("TopK", score, most, axis=0, largest=1, sorted=1, outputs=2)
        all_scores.append(score)
        all_boxes.append(g("Gather", box, order, axis=0))
        shape = g("Shape", score)
        all_labels.append(g("Expand", g.weight(np.array([label], np.int64)), shape))
    boxes, scores, labels = (g("Concat", *parts, axis=0) for parts in (all_boxes, all_scores, all_labels))
    # batched_nms: boxes of a class are moved away from those of others.
    top = g("ReduceMax", boxes, keepdims=0)
    offset = g("Mul", g("Cast", labels, to=FLOAT), g("Add", top, np.float32(1)))
    moved = g("Add", boxes, g("Unsqueeze", offset, ints(1)))
    picked = g("NonMaxSuppression", g("Unsqueeze", moved, ints(0)), g("Unsqueeze", g("Unsqueeze", scores, ints(0)), ints(0)),
               np.array([10], np.int64), np.array([0.45], np.float32))
    picked = g("Squeeze", g("Slice", picked, ints(2), ints(3), ints(1)), ints(1))
    picked = g("Slice", picked, ints(0), ints(8), ints(0))
    g.output(g("Gather", boxes, picked, axis=0), "boxes", "detections", 4)
    g.output(g("Gather", scores, picked, axis=0), "scores", "detections")
    g.output(g("Gather", labels, picked, axis=0), "labels", "detections", kind=INT64)
    return g.model(), [{"input": g.values.normal(1, 3, 64, 64)} for _ in range(2)]


def mask_rcnn_head():
    """Regions of a pyramid: each goes to its level (by its area), RoiAlign there, and the results back in order, as torchvision exports it."""
    g = Writer("mask_rcnn_head", 16, constants=True, producer="pytorch")
    levels = [g.input(f"feature_{i}", 1, 8, f"h{i}", f"w{i}") for i in range(2)]
    boxes = g.input("proposals", "count", 4)
    x1, y1, x2, y2 = g("Split", boxes, ints(1, 1, 1, 1), axis=1, outputs=4)
    area = g("Squeeze", g("Mul", g("Sub", x2, x1), g("Sub", y2, y1)), ints(1))
    level = g("Floor", g("Add", g("Div", g("Log", g("Div", g("Sqrt", area), np.float32(32))), np.float32(np.log(2))), np.float32(1 + 1e-6)))
    level = g("Sub", g("Cast", g("Clip", level, np.float32(0), np.float32(1)), to=INT64), np.int64(0))
    count = g.size(boxes, 0)
    result = g("ConstantOfShape", g.together(count, 8, 7, 7), value=tensor_of(floats(0)))
    for i, feature in enumerate(levels):
        here = g("Reshape", g("NonZero", g("Equal", level, np.int64(i))), ints(-1))
        mine = g("Gather", boxes, here, axis=0)
        batch = g("Cast", g("Squeeze", g("ConstantOfShape", g.together(g.size(mine, 0), 1), value=tensor_of(ints(0))), ints(1)), to=INT64)
        cut = g("RoiAlign", feature, mine, batch, output_height=7, output_width=7, sampling_ratio=2, spatial_scale=1 / (4 * 2**i), mode="avg",
                coordinate_transformation_mode="output_half_pixel")
        index = g("Expand", g("Reshape", here, ints(-1, 1, 1, 1)), g("Shape", cut))
        result = g("ScatterElements", result, index, cut, axis=0)
    flat = g("Flatten", result, axis=1)
    h = g("Relu", g("Gemm", flat, g.w(16, 8 * 49), g.bias(16), transB=1))
    g.output(g("Softmax", g("Gemm", h, g.w(3, 16), g.bias(3), transB=1), axis=-1), "scores", "count", 3)
    masks = g("Relu", g("ConvTranspose", result, g.w(8, 8, 2, 2, size=0.2), g.bias(8), strides=[2, 2], kernel_shape=[2, 2]))
    masks = g("Sigmoid", g("Conv", masks, g.w(3, 8, 1, 1), g.bias(3)))
    # The mask of the best class of each region.
    label = g("ArgMax", g("Softmax", g("Gemm", h, g.w(3, 16), g.bias(3), transB=1), axis=-1), axis=1, keepdims=0)
    rows = g("Range", np.int64(0), g.size(masks, 0), np.int64(1))
    g.output(g("Unsqueeze", g("GatherND", masks, g("Concat", g("Unsqueeze", rows, ints(1)), g("Unsqueeze", label, ints(1)), axis=1)), ints(1)),
             "masks", "count", 1, 14, 14)

    def run(count, height, width):
        corner = g.values.positive(count, 2, least=0, most=40)
        size = g.values.positive(count, 2, least=6, most=60)
        return {"feature_0": g.values.normal(1, 8, height, width), "feature_1": g.values.normal(1, 8, height // 2, width // 2),
                "proposals": np.concatenate([corner, corner + size], 1)}

    return g.model(), [run(5, 24, 32), run(9, 32, 24)]
