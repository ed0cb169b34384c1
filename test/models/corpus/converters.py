# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models in the ways of tf2onnx and of Paddle2ONNX: what converters of other frameworks' graphs leave behind."""

import numpy as np

from corpus.writer import FLOAT, INT32, INT64, Writer, floats, ints


def tensorflow_mobile(opset=13):
    """A MobileNet of Keras: images channels last, a Transpose around each part, -1 or unk__ for the batch, squeezes and a Pad by a tensor."""
    g = Writer("tensorflow_mobile", opset, producer="tf2onnx")
    x = g.input("input_1:0", "unk__123", 32, 32, 3)
    x = g("Transpose", x, perm=[0, 3, 1, 2])
    x = g("Pad", x, ints(0, 0, 0, 0, 0, 0, 1, 1), np.float32(0))
    x = g("Conv", x, g.w(8, 3, 3, 3), g.bias(8), strides=[2, 2], kernel_shape=[3, 3], dilations=[1, 1], group=1)
    x = g("Clip", x, np.float32(0), np.float32(6))
    for width_in, width_out, stride in ((8, 8, 1), (8, 16, 2), (16, 16, 1)):
        up = g("Clip", g("Conv", x, g.w(2 * width_in, width_in, 1, 1), g.bias(2 * width_in)), np.float32(0), np.float32(6))
        # SAME of TensorFlow: as much at the end as at the start, or one more.
        down = g("Conv", up, g.w(2 * width_in, 1, 3, 3), group=2 * width_in, auto_pad="SAME_UPPER", strides=[stride, stride], kernel_shape=[3, 3])
        down = g("Add", g("Mul", down, g.values.positive(1, 2 * width_in, 1, 1)), g.values.normal(1, 2 * width_in, 1, 1, size=0.1))
        down = g("Clip", down, np.float32(0), np.float32(6))
        # Squeeze and excite: means over H and W of channels last, a matrix product, and back.
        last = g("Transpose", down, perm=[0, 2, 3, 1])
        means = g("ReduceMean", last, axes=[1, 2], keepdims=0)
        gate = g("Sigmoid", g("Add", g("MatMul", means, g.w(2 * width_in, 2 * width_in)), g.bias(2 * width_in)))
        rows = g("Cast", g("Slice", g("Cast", g("Shape", gate), to=INT32), ints(0), ints(1), ints(0)), to=INT32)
        shape = g("Cast", g("Concat", rows, np.array([1], np.int32), np.array([1], np.int32), np.array([2 * width_in], np.int32), axis=0), to=INT64)
        down = g("Transpose", g("Mul", last, g("Reshape", gate, shape)), perm=[0, 3, 1, 2])
        down = g("Conv", down, g.w(width_out, 2 * width_in, 1, 1), g.bias(width_out))
        x = g("Add", x, down) if width_in == width_out and stride == 1 else down
    x = g("GlobalAveragePool", x)
    x = g("Squeeze", x, ints(2, 3))
    x = g("Softmax", g("Add", g("MatMul", x, g.w(16, 10)), g.bias(10)), axis=-1)
    g.outputs.append(__import__("onnx").helper.make_tensor_value_info("dense:0", FLOAT, ["unk__124", 10]))
    g.nodes.append(__import__("onnx").helper.make_node("Identity", [x], ["dense:0"]))
    return g.model(), [{"input_1:0": g.values.normal(batch, 32, 32, 3)} for batch in (1, 3)]


def tensorflow_text():
    """Ids, a StridedSlice to an end of 1e9, masks by one-hot, an LSTM of Keras, and Unsqueeze and Squeeze noise."""
    g = Writer("tensorflow_text", 12 + 1, producer="tf2onnx")
    ids = g.input("inputs:0", "unk__10", "unk__11", kind=INT32)
    cut = g("Slice", ids, np.array([0, 0], np.int32), np.array([2147483647, 1000000000], np.int32), np.array([0, 1], np.int32), np.array([1, 1], np.int32))
    words = g("Gather", g.w(30, 12, size=1), cut, axis=0)
    kept = g("Cast", g("Not", g("Equal", cut, np.array(0, np.int32))), to=FLOAT)
    shape = g("Cast", g("Shape", cut), to=INT32)
    rows = g("Squeeze", g("Slice", shape, np.array([0], np.int32), np.array([1], np.int32), np.array([0], np.int32)), ints(0))
    columns = g("Squeeze", g("Slice", shape, np.array([1], np.int32), np.array([2], np.int32), np.array([0], np.int32)), ints(0))
    shape = g("Concat", *(g("Unsqueeze", g("Cast", part, to=INT64), ints(0)) for part in (rows, columns)), ints(1), axis=0)
    x = g("Mul", words, g("Reshape", kept, shape))
    time = g("Transpose", x, perm=[1, 0, 2])
    batch = g("Cast", g("Slice", g("Shape", time), ints(1), ints(2), ints(0)), to=INT64)
    start = g("Expand", g.weight(np.zeros((1, 1, 8), np.float32)), g("Concat", ints(1), batch, ints(8), axis=0))
    w, r, b = g.values.normal(1, 32, 12, size=0.4), g.values.normal(1, 32, 8, size=0.4), g.values.normal(1, 64, size=0.1)
    y, last, _ = g("LSTM", time, w, r, b, None, start, start, hidden_size=8, direction="forward", outputs=3)
    y = g("Transpose", g("Squeeze", y, ints(1)), perm=[1, 0, 2])
    last = g("Squeeze", last, ints(0))
    total = g("ReduceSum", g("Mul", y, g("Unsqueeze", kept, ints(2))), ints(1), keepdims=0)
    count = g("Max", g("ReduceSum", kept, ints(1), keepdims=1), np.float32(1e-7))
    both = g("Concat", g("Div", total, count), last, axis=-1)
    g.output(g("Sigmoid", g.linear(both, 16, 3)), "Identity:0", "unk__12", 3)
    runs = [{"inputs:0": g.values.whole(30, *dims, kind=np.int32)} for dims in ((1, 6), (4, 11))]
    return g.model(), runs


def tensorflow_upsampling():
    """Resize of channels last as tf2onnx writes it: sizes out of Shape, Slice, Mul and casts; a depth to space by Reshape and Transpose."""
    g = Writer("tensorflow_upsampling", 13, producer="tf2onnx")
    image = g.input("image:0", "unk__1", "unk__2", "unk__3", 3)
    x = g("Transpose", image, perm=[0, 3, 1, 2])
    x = g("Relu", g("Conv", x, g.w(12, 3, 3, 3), g.bias(12), auto_pad="SAME_UPPER", strides=[2, 2], kernel_shape=[3, 3]))
    skip = x
    x = g("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2], auto_pad="SAME_UPPER")
    x = g("Relu", g("Conv", x, g.w(12, 12, 3, 3), g.bias(12), auto_pad="SAME_UPPER", kernel_shape=[3, 3]))
    # tf.image.resize(x, tf.shape(skip)[1:3]) with half-pixel centers.
    shape = g("Cast", g("Shape", g("Transpose", skip, perm=[0, 2, 3, 1])), to=INT32)
    wanted = g("Cast", g("Slice", shape, ints(1), ints(3), ints(0)), to=INT64)
    front = g("Slice", g("Shape", x), ints(0), ints(2), ints(0))
    x = g("Resize", x, np.zeros(0, np.float32), np.zeros(0, np.float32), g("Concat", front, wanted, axis=0), mode="linear",
          coordinate_transformation_mode="half_pixel")
    x = g("Add", x, skip)
    # tf.nn.depth_to_space.
    x = g("DepthToSpace", g("Conv", x, g.w(16, 12, 1, 1), g.bias(16)), blocksize=2, mode="DCR")
    last = g("Transpose", x, perm=[0, 2, 3, 1])
    # Padded to the image and cut: SAME gave as much as is needed.
    size = g("Cast", g("Shape", image), to=INT32)
    ends = g("Slice", size, ints(1), ints(3), ints(0))
    last = g("Slice", last, np.array([0, 0], np.int32), ends, np.array([1, 2], np.int32))
    g.output(last, "out:0", "unk__4", "unk__5", "unk__6", 4)
    return g.model(), [{"image:0": g.values.normal(*dims, 3)} for dims in ((1, 16, 24), (2, 32, 20))]


def hard_swish(g, x):
    six = g("Clip", g("Add", x, np.float32(3)), np.float32(0), np.float32(6))
    return g("Div", g("Mul", x, six), np.float32(6))


def paddle_ocr_head(question=False):
    """A feature pyramid of text detection: dims of -1 (or '?'), hard swish, Resize by scales, ConvTranspose, Shape and Slice of NCHW."""
    free = "?" if question else -1
    g = Writer(f"paddle_ocr_head{question}", 11 + 3, constants=True, producer="PaddlePaddle")
    x = g.input("x", free, 3, free, free)
    levels = []
    width = 3
    for out in (8, 12, 16):
        x = hard_swish(g, g("BatchNormalization", g("Conv", x, g.w(out, width, 3, 3), strides=[2, 2], pads=[1, 1, 1, 1], kernel_shape=[3, 3], dilations=[1, 1], group=1),
                            g.gain(out), g.bias(out), g.bias(out), g.gain(out), epsilon=1e-5))
        pooled = g("GlobalAveragePool", x)
        gate = g("HardSigmoid", g("Conv", g("Relu", g("Conv", pooled, g.w(4, out, 1, 1), g.bias(4))), g.w(out, 4, 1, 1), g.bias(out)), alpha=0.2, beta=0.5)
        x = g("Mul", x, gate)
        width = out
        levels.append(x)
    tops = [g("Conv", level, g.w(8, out, 1, 1)) for level, out in zip(levels, (8, 12, 16))]
    merged = tops[2]
    parts = [g("Resize", merged, np.zeros(0, np.float32), floats(1, 1, 4, 4), mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")]
    for level, scale in ((1, 2), (0, 1)):
        merged = g("Add", tops[level], g("Resize", merged, np.zeros(0, np.float32), floats(1, 1, 2, 2), mode="nearest",
                                         coordinate_transformation_mode="asymmetric", nearest_mode="floor"))
        part = merged if scale == 1 else g("Resize", merged, np.zeros(0, np.float32), floats(1, 1, scale, scale), mode="nearest",
                                           coordinate_transformation_mode="asymmetric", nearest_mode="floor")
        parts.insert(0, part)
    x = g("Concat", *parts, axis=1)
    x = g("Relu", g("Add", g("ConvTranspose", x, g.w(24, 4, 2, 2, size=0.2), strides=[2, 2], kernel_shape=[2, 2], pads=[0, 0, 0, 0]),
                    g("Reshape", g.bias(4), ints(1, -1, 1, 1))))
    g.output(g("Sigmoid", g("Conv", x, g.w(1, 4, 1, 1), g.bias(1))), "sigmoid_0.tmp_0", free, 1, free, free)
    return g.model(), [{"x": g.values.normal(*dims)} for dims in ((1, 3, 32, 64), (2, 3, 48, 40))]


def paddle_segmentation():
    """Bilinear Resize to the sizes of another tensor, ArgMax and a Split of sizes; a pool with ceil_mode."""
    g = Writer("paddle_segmentation", 13, constants=True, producer="PaddlePaddle")
    image = g.input("x", -1, 3, -1, -1)
    x = g("Relu", g("Conv", image, g.w(8, 3, 3, 3), g.bias(8), pads=[1, 1, 1, 1], strides=[2, 2]))
    deep = g("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[0, 0, 0, 0], ceil_mode=1)
    deep = g("Relu", g("Conv", deep, g.w(8, 8, 3, 3), g.bias(8), pads=[2, 2, 2, 2], dilations=[2, 2]))
    pooled = g("ReduceMean", deep, axes=[2, 3], keepdims=1)

    def like(value, other):
        parts = g("Slice", g("Shape", other), ints(2), ints(4), ints(0))
        shape = g("Concat", g("Slice", g("Shape", value), ints(0), ints(2), ints(0)), g("Cast", g("Cast", parts, to=INT32), to=INT64), axis=0)
        return g("Resize", value, np.zeros(0, np.float32), np.zeros(0, np.float32), shape, mode="linear", coordinate_transformation_mode="half_pixel")

    deep = g("Concat", deep, like(pooled, deep), axis=1)
    x = g("Concat", x, like(deep, x), axis=1)
    first, second = g("Split", x, ints(10, 14), axis=1, outputs=2)
    x = g("Add", g("Conv", first, g.w(5, 10, 1, 1), g.bias(5)), g("Conv", second, g.w(5, 14, 1, 1)))
    x = like(x, image)
    g.output(g("Cast", g("ArgMax", x, axis=1, keepdims=0), to=INT32), "argmax_0.tmp_0", -1, -1, -1, kind=INT32)
    g.output(g("Softmax", x, axis=1), "softmax_0.tmp_0", -1, 5, -1, -1)
    return g.model(), [{"x": g.values.normal(*dims)} for dims in ((1, 3, 33, 40), (2, 3, 64, 51))]
