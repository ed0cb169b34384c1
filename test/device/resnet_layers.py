# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ResNet-50's convolutions at 32 images, as int8.py and fp8.py time them."""

# batch, image, channels, outputs, taps, step.
RESNET = [(32, 56, 64, 64, 3, 1), (32, 56, 64, 256, 1, 1), (32, 56, 256, 64, 1, 1), (32, 56, 128, 128, 3, 2), (32, 28, 128, 128, 3, 1),
          (32, 28, 128, 512, 1, 1), (32, 28, 512, 256, 1, 1), (32, 14, 256, 256, 3, 1), (32, 14, 256, 1024, 1, 1),
          (32, 14, 1024, 256, 1, 1), (32, 7, 512, 512, 3, 1), (32, 7, 512, 2048, 1, 1)]
