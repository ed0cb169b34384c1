# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether two results of a detector are the same detections.

Boxes of nearly equal scores change places by rounding, and one at the threshold may come or go. Results are therefore
compared as sets. It needs numpy only.
"""

import numpy as np

SCORE = 1e-3  # what scores may differ by
CORNER = 0.05  # what corners may differ by, in pixels
OVERLAP = 0.99  # or what boxes cover in common, over what they cover together
MASK = 1e-2  # RMS of the masks' difference, over that of the expected masks
# torchvision pads masks of 28 by 28 with a pixel on each side, and widens the box by as much before it rounds it.
WIDEN = 30 / 28


def overlaps(boxes, others):
    """Area in common over area together, a row for each of `boxes` and a column for each of `others`."""
    low = np.maximum(boxes[:, None, :2], others[None, :, :2])
    high = np.minimum(boxes[:, None, 2:], others[None, :, 2:])
    common = np.prod(np.clip(high - low, 0, None), axis=2)
    areas = [np.prod(each[:, 2:] - each[:, :2], axis=1) for each in (boxes, others)]
    together = areas[0][:, None] + areas[1][None, :] - common
    return np.divide(common, together, out=np.zeros_like(common), where=together > 0)


def pairs(got, want):
    """The place in `got` of each expected detection, or -1: as many pairs as can be made, each of two that are alike."""
    apart = np.abs(got["scores"][None, :] - want["scores"][:, None])
    corners = np.abs(got["boxes"][None, :] - want["boxes"][:, None]).max(axis=2, initial=0)
    near = (corners <= CORNER) | (overlaps(want["boxes"], got["boxes"]) >= OVERLAP)
    alike = near & (apart <= SCORE) & (got["labels"][None, :] == want["labels"][:, None])
    place, owner = np.full(len(alike), -1), {}

    def give(index, asked):  # Kuhn's augmenting paths
        for choice in np.flatnonzero(alike[index])[np.argsort(apart[index][alike[index]], kind="stable")]:
            if choice not in asked:
                asked.add(choice)
                if choice not in owner or give(owner[choice], asked):
                    owner[choice], place[index] = index, choice
                    return True
        return False

    for index in range(len(alike)):
        give(index, set())
    return place


def at_edge(score, threshold, limit, other):
    """Whether the other result may lack a detection of this score: rounding takes it across the threshold or the limit."""
    full = len(other) >= limit
    return score <= threshold + SCORE or (full and score <= other.min(initial=np.inf) + SCORE)


def masks_of(got, want):
    """What differs in masks of paired boxes, or an empty text; and how many masks had their box rounded to other pixels."""

    def pixels(boxes):
        middle, half = (boxes[:, 2:] + boxes[:, :2]) / 2, (boxes[:, 2:] - boxes[:, :2]) / 2 * WIDEN
        return np.concatenate([middle - half, middle + half], axis=1).astype(np.int64)

    same = (pixels(got["boxes"]) == pixels(want["boxes"])).all(axis=1)
    if not same.any():
        return "no mask could be compared: all boxes round to other pixels", len(same)
    difference = np.sqrt(np.square(got["masks"][same] - want["masks"][same]).mean())
    scale = np.sqrt(np.square(want["masks"][same]).mean())
    if not difference <= MASK * scale:
        return f"masks differ by {difference:.1e} RMS, expected at most {MASK * scale:.1e}", 0
    return "", int((~same).sum())


def shown(found, index):
    corners = ", ".join(f"{corner:.2f}" for corner in found["boxes"][index])
    return f"({corners}) of label {found['labels'][index]} and score {found['scores'][index]:.4f}"


def fault(got, want):
    """What makes two results incomparable, or an empty text."""
    if sorted(got) != sorted(want):
        return f"{', '.join(got)}, expected {', '.join(want)}"
    for key, expected in want.items():
        have = got[key]
        if have.dtype != expected.dtype or have.ndim != expected.ndim or have.shape[1:] != expected.shape[1:]:
            return f"{key} are {have.dtype} of {have.shape}, expected {expected.dtype} of {expected.shape}"
        if len(have) != len(got["boxes"]):
            return f"{len(have)} {key}, expected {len(got['boxes'])} as there are boxes"
        if not np.isfinite(have).all():
            return f"{key} that are not finite"
    if not len(want["boxes"]) or not len(got["boxes"]):
        return f"nothing is shown: {len(got['boxes'])} boxes, expected {len(want['boxes'])} and at least one"
    descends = [bool((np.diff(each["scores"]) <= 0).all()) for each in (got, want)]
    if descends[1] and not descends[0]:
        return "scores do not descend, as the expected ones do"
    return ""


def compare(got, want, threshold, limit):
    """Whether results of boxes, scores, labels and perhaps masks are the same, and a text that says how.

    `threshold` is the least score that the detector gives, and `limit` how many detections at most.
    """
    got, want = ({key: np.asarray(value) for key, value in each.items()} for each in (got, want))
    if why := fault(got, want):
        return False, why
    got, want = ({key: value if key == "labels" else value.astype(np.float64) for key, value in each.items()} for each in (got, want))
    place = pairs(got, want)
    here = np.flatnonzero(place >= 0)
    extra = np.setdiff1d(np.arange(len(got["boxes"])), place)
    lacking = [(want, index, got) for index in np.flatnonzero(place < 0)] + [(got, index, want) for index in extra]
    beyond = [entry for entry in lacking if not at_edge(entry[0]["scores"][entry[1]], threshold, limit, entry[2]["scores"])]
    if beyond:
        missing = sum(entry[0] is want for entry in beyond)
        first = shown(*beyond[0][:2])
        return False, (f"{missing} of {len(want['boxes'])} expected boxes are missing, {len(beyond) - missing} of {len(got['boxes'])} "
                       f"were not expected; the first: {first}")
    if not len(here):
        return False, "nothing is shown: all boxes are at the threshold or the limit"
    moved = int((np.argsort(np.argsort(place[here])) != np.arange(len(here))).sum())
    said = f"{len(here)} boxes, {moved} changed places"
    said += f", {len(lacking)} at the threshold or the limit on one side only" if lacking else ""
    if "masks" in want:
        why, rounded = masks_of({k: v[place[here]] for k, v in got.items()}, {k: v[here] for k, v in want.items()})
        if why:
            return False, f"{said}; {why}"
        said += f", masks of {rounded} not compared since their boxes round to other pixels" if rounded else ""
    return True, said
