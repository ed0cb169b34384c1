# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The judge of detections that torch_models.py asks, on results made by hand."""

import unittest

import detections
import numpy as np


def result(count=6, masks=False):
    """Boxes of 10 by 10 in a row, scores 0.9, 0.8 …, and labels 0, 1, 2, 0 …"""
    left = np.arange(count, dtype=np.float32) * 20 + 1.5
    boxes = np.stack([left, left * 0 + 3.5, left + 10, left * 0 + 13.5], axis=1)
    found = {"boxes": boxes, "scores": (0.9 - 0.1 * np.arange(count)).astype(np.float32), "labels": np.arange(count) % 3}
    if masks:
        found["masks"] = np.random.default_rng(1).random((count, 1, 20, 130), dtype=np.float32)
    return found


def taken(found, places):
    return {key: value[list(places)] for key, value in found.items()}


def judged(got, want, threshold=0.05, limit=100):
    return detections.compare(got, want, threshold, limit)


class Detections(unittest.TestCase):
    def wrong(self, text, *arguments, **options):
        right, why = judged(*arguments, **options)
        self.assertFalse(right, why)
        self.assertIn(text, why)

    def test_same(self):
        self.assertEqual(judged(result(), result()), (True, "6 boxes, 0 changed places"))

    def test_changed_places(self):
        want = result(masks=True)
        want["scores"][2] = want["scores"][1] - 5e-4
        got = taken(want, [0, 2, 1, 3, 4, 5])
        got["scores"] = want["scores"].copy()  # nearly equal ones are ordered the other way
        self.assertEqual(judged(got, want), (True, "6 boxes, 2 changed places"))
        # Scores that are not nearly equal do not change places.
        self.wrong("scores do not descend", taken(result(), [0, 2, 1, 3, 4, 5]), result())
        got = taken(result(), [0, 2, 1, 3, 4, 5])
        got["scores"] = result()["scores"]
        self.wrong("2 of 6 expected boxes are missing, 2 of 6 were not expected", {**got, "labels": got["labels"] * 0}, {**result(), "labels": got["labels"] * 0})

    def test_corners(self):
        got = result()
        got["boxes"][3] += 0.04
        self.assertTrue(judged(got, result())[0])
        got["boxes"][3] += 0.2
        self.wrong("1 of 6 expected boxes are missing, 1 of 6 were not expected; the first: (61.50, 3.50, 71.50, 13.50) of label 0 and score 0.6000", got, result())
        # Of a great box a corner may be further off.
        want = result()
        want["boxes"][3] = 0, 0, 1000, 1000
        got = result()
        got["boxes"][3] = 1, 1, 1000, 1000
        self.assertTrue(judged(got, want)[0])
        # A box without area is compared by its corners.
        want["boxes"][3] = got["boxes"][3] = 7, 7, 7, 7
        self.assertTrue(judged(got, want)[0])

    def test_labels_and_scores(self):
        got = result()
        got["labels"][0] = 2
        self.wrong("expected boxes are missing, 1 of", got, result())
        got = result()
        got["scores"][0] += 2e-3
        self.wrong("expected boxes are missing, 1 of", got, result())
        got["scores"][0] -= 1.5e-3
        self.assertTrue(judged(got, result())[0])

    def test_one_box_for_one(self):
        """Two like boxes need two partners, and the closest score is not always the one to take."""
        want = taken(result(), [0, 0, 1])
        self.wrong("1 of 3 expected boxes are missing, 0 of 2 were not expected", taken(result(), [0, 1]), want)
        want["scores"][:2] = 0.9005, 0.9
        got = taken(result(), [0, 0, 1])
        got["scores"][:2] = 0.9012, 0.9006
        self.assertTrue(judged(got, want)[0])

    def test_threshold(self):
        five = taken(result(), range(5))
        self.assertEqual(judged(five, result(), threshold=0.3995), (True, "5 boxes, 0 changed places, 1 at the threshold or the limit on one side only"))
        self.assertTrue(judged(result(), five, threshold=0.3995)[0])
        self.wrong("1 of 6 expected boxes are missing, 0 of 5", five, result(), threshold=0.39)
        self.wrong("0 of 5 expected boxes are missing, 1 of 6 were not expected; the first: (101.50, 3.50, 111.50, 13.50)", result(), five, threshold=0.39)

    def test_limit(self):
        want = result()
        want["scores"][5] = want["scores"][4] - 5e-4
        got = taken(want, [0, 1, 2, 3, 5])
        self.assertTrue(judged(got, taken(want, range(5)), limit=5)[0])
        self.wrong("expected boxes are missing, 1 of", got, taken(want, range(5)), limit=6)
        # The edge is the least score of the side that lacks the box.
        self.wrong("1 of 5 expected boxes are missing, 0 of 5 were not expected", taken(result(), [0, 1, 2, 3, 5]), taken(result(), range(5)), limit=5)

    def test_nothing(self):
        none = taken(result(), [])
        for got, want in ((none, none), (none, result()), (result(), none)):
            self.wrong("nothing is shown", got, want)
        one = taken(result(), [5])
        other = taken(result(), [4])
        other["scores"][:] = 0.4
        self.wrong("all boxes are at the threshold", one, other, threshold=0.4)

    def test_masks(self):
        got = result(masks=True)
        got["masks"] += 1e-3
        self.assertEqual(judged(got, result(masks=True)), (True, "6 boxes, 0 changed places"))
        got["masks"][2] = 1 - got["masks"][2]
        self.wrong("6 boxes, 0 changed places; masks differ by", got, result(masks=True))
        # A box whose widened corner is near a whole pixel may be rounded to another one, and its mask moves with it.
        want, got = result(masks=True), result(masks=True)
        middle, half = 47.0, 5.0
        want["boxes"][2] = middle - half, 3.5, middle + half, 13.5
        want["boxes"][2, 2] += 2 * (53 - (middle + half * 30 / 28)) / (1 + 30 / 28) + 0.01
        got["boxes"][2] = want["boxes"][2]
        got["boxes"][2, 2] -= 0.03
        got["masks"][2] = 1 - got["masks"][2]
        self.assertEqual(judged(got, want), (True, "6 boxes, 0 changed places, masks of 1 not compared since their boxes round to other pixels"))
        self.wrong("no mask could be compared", taken(got, [2]), taken(want, [2]))

    def test_forms(self):
        self.wrong("boxes, scores, labels, expected", result(), result(masks=True))
        self.wrong("labels are int32 of (6,), expected int64 of (6,)", {**result(), "labels": result()["labels"].astype(np.int32)}, result())
        self.wrong("5 scores, expected 6 as there are boxes", {**result(), "scores": result()["scores"][:5]}, result())
        self.wrong("scores that are not finite", {**result(), "scores": result()["scores"] * np.float32("nan")}, result())


if __name__ == "__main__":
    unittest.main()
