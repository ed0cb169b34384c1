# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of PyTorch written out in f64: references where numpy has none."""
import math

import numpy as np


def modified_bessel(x, order):
    """The series of I_n, in whole terms until they vanish."""
    term, total = (x / 2) ** order / math.factorial(order), 0.0
    for k in range(1, 400):
        total += term
        term *= (x / 2) ** 2 / (k * (k + order))
    return total


def hurwitz(s, q):
    """5,000 terms of the sum over (q + k)^-s, and the rest by an integral and two corrections."""
    many = 5000
    total = math.fsum((q + k) ** -s for k in range(many))
    a = q + many
    return total + a ** (1 - s) / (s - 1) + 0.5 * a ** -s + s * a ** (-s - 1) / 12


def log_sum(*values):
    most = max(values)
    return most if most == -math.inf else most + math.log(sum(math.exp(v - most) for v in values))


def classified(chances, labels, blank=0):
    """ctc_loss of one sequence: minus the logarithm of the sum over all alignments."""
    states = [blank]
    for label in labels:
        states += [int(label), blank]
    now = [-math.inf] * len(states)
    for t, row in enumerate(np.asarray(chances, np.float64)):
        past, now = now, []
        for i, state in enumerate(states):
            ways = [past[i]] if t else [0.0 if i < 2 else -math.inf]
            if t and i > 0:
                ways.append(past[i - 1])
            if t and i > 1 and state != blank and state != states[i - 2]:
                ways.append(past[i - 2])
            now.append(log_sum(*ways) + row[state])
    return -log_sum(*now[-2:])


def between(image, y, x):
    """An image [C, H, W] at a place between four elements; 0 outside."""
    result = np.zeros(len(image))
    top, left = math.floor(y), math.floor(x)
    for i in (top, top + 1):
        for j in (left, left + 1):
            if 0 <= i < image.shape[1] and 0 <= j < image.shape[2]:
                result += image[:, i, j] * (1 - abs(y - i)) * (1 - abs(x - j))
    return result


def aligned_region(image, box, out, half):
    """roi_align with as many samples as an output has elements."""
    _, high, wide = image.shape
    x1, y1, x2, y2 = (float(v) - (0.5 if half else 0) for v in box)
    sizes = [y2 - y1, x2 - x1] if half else [max(y2 - y1, 1), max(x2 - x1, 1)]
    bins = [size / n for size, n in zip(sizes, out)]
    counts = [math.ceil(b) for b in bins]
    result = np.zeros((len(image), *out))
    for i, j in np.ndindex(*out):
        for s, t in np.ndindex(*counts):
            y, x = y1 + (i + (s + 0.5) / counts[0]) * bins[0], x1 + (j + (t + 0.5) / counts[1]) * bins[1]
            if -1 <= y <= high and -1 <= x <= wide:
                result[:, i, j] += between(image, min(max(y, 0), high - 1), min(max(x, 0), wide - 1))
    return result / max(counts[0] * counts[1], 1)


def deformed(image, weights, offset, mask, bias, stride, pad, dilation, groups, offset_groups):
    """deform_conv2d, an element after another."""
    count, channels = image.shape[:2]
    maps, each, *window = weights.shape
    rows, columns = offset.shape[2:]
    result = np.zeros((count, maps, rows, columns))
    for n, i, j in np.ndindex(count, rows, columns):
        patch = np.zeros((channels, *window))
        for g, a, b in np.ndindex(offset_groups, *window):
            tap = (g * window[0] + a) * window[1] + b
            y = i * stride[0] - pad[0] + a * dilation[0] + float(offset[n, 2 * tap, i, j])
            x = j * stride[1] - pad[1] + b * dilation[1] + float(offset[n, 2 * tap + 1, i, j])
            own = slice(g * channels // offset_groups, (g + 1) * channels // offset_groups)
            patch[own, a, b] = between(image[n, own], y, x) * mask[n, tap, i, j]
        for m in range(maps):
            g = m * groups // maps
            result[n, m, i, j] = (patch[g * each:(g + 1) * each] * weights[m]).sum() + bias[m]
    return result
