# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table of the corpus: a name for each model."""

from corpus import classical, converters, decoders, detection, encoders, fused, images, recommenders, sequences
from corpus.writer import Case

# A sum in another order may cross the border between two codes of 8 bits: one step of a few elements.
ONE_STEP = {"rms": 1e-3, "largest": 3e-2}

CASES = {
    # PyTorch's exporters.
    "bert": Case(encoders.bert), "bert.opset14": Case(lambda: encoders.bert(14)), "vit": Case(encoders.vit), "clip": Case(encoders.clip, quick=True),
    "t5.encoder": Case(encoders.t5_encoder, quick=True), "t5.decoder": Case(decoders.t5_decoder, quick=True), "wav2vec2": Case(encoders.wav2vec2, quick=True),
    "gpt2.past": Case(decoders.gpt2, quick=True), "whisper.decoder": Case(decoders.whisper_decoder),
    "whisper.merged": Case(lambda: decoders.whisper_decoder(True), quick=True),
    "mistral": Case(decoders.mistral, quick=True), "mixtral": Case(lambda: decoders.mistral(True), quick=True),
    # Optimised by a session of onnxruntime.
    "session.bert": Case(lambda: fused.session_optimised(encoders.bert()), quick=True),
    "session.vit": Case(lambda: fused.session_optimised(encoders.vit())),
    "session.clip": Case(lambda: fused.session_optimised(encoders.clip())),
    "session.gpt2": Case(lambda: fused.session_optimised(decoders.gpt2())),
    "session.t5.encoder": Case(lambda: fused.session_optimised(encoders.t5_encoder())),
    "session.t5.decoder": Case(lambda: fused.session_optimised(decoders.t5_decoder())),
    "session.mistral": Case(lambda: fused.session_optimised(decoders.mistral())),
    "session.wav2vec2": Case(lambda: fused.session_optimised(encoders.wav2vec2())),
    "session.unet": Case(lambda: fused.session_optimised(images.unet())),
    "session.yolo": Case(lambda: fused.session_optimised(detection.yolo())),
    "session.crnn": Case(lambda: fused.session_optimised(sequences.crnn())),
    "session.mobile": Case(lambda: fused.session_optimised(converters.tensorflow_mobile())),
    # Optimised by onnxruntime's script.
    "script.bert": Case(lambda: fused.script_optimised(encoders.bert(), "bert")),
    "script.bert.opset14": Case(lambda: fused.script_optimised(encoders.bert(14), "bert")),
    "script.gpt2": Case(lambda: fused.script_optimised(decoders.gpt2(), "gpt2")),
    "script.vit": Case(lambda: fused.script_optimised(encoders.vit(), "vit")),
    "script.clip": Case(lambda: fused.script_optimised(encoders.clip(), "clip")),
    "script.t5.encoder": Case(lambda: fused.script_optimised(encoders.t5_encoder(), "t5")),
    "script.t5.decoder": Case(lambda: fused.script_optimised(decoders.t5_decoder(), "t5")),
    "script.diffusion": Case(lambda: fused.script_optimised(images.diffusion(), "unet"), reference=lambda: images.diffusion()[0]),
    "script.vae": Case(lambda: fused.script_optimised(images.vae_decoder(), "vae"), reference=lambda: images.vae_decoder()[0]),
    # Fused forms in full, and those of the model builder.
    "fused.bert": Case(fused.fused_bert, quick=True), "fused.gpt2": Case(fused.fused_gpt2),
    "fused.t5.encoder": Case(fused.fused_t5, reference=lambda: fused.fused_t5(spelled=True)[0]),
    "fused.t5.decoder": Case(lambda: fused.fused_t5(True), quick=True, reference=lambda: fused.fused_t5(True, True)[0]),
    "fused.moe": Case(fused.fused_moe, quick=True),
    "builder.llama": Case(fused.builder_llm), "builder.llama.packed": Case(lambda: fused.builder_llm(packed=True)),
    "builder.llama.4bits": Case(lambda: fused.builder_llm(bits=True), quick=True),
    "builder.llama.4bits.packed": Case(lambda: fused.builder_llm(bits=True, packed=True)),
    "builder.rotary": Case(fused.builder_rotary),
    # Converters of other frameworks.
    "tensorflow.mobile": Case(converters.tensorflow_mobile, quick=True), "tensorflow.text": Case(converters.tensorflow_text, quick=True),
    "tensorflow.upsampling": Case(converters.tensorflow_upsampling, quick=True),
    "paddle.ocr": Case(converters.paddle_ocr_head, quick=True), "paddle.ocr.question": Case(lambda: converters.paddle_ocr_head(True)),
    "paddle.segmentation": Case(converters.paddle_segmentation, quick=True),
    # Detectors.
    "yolo": Case(lambda: detection.yolo(False)), "yolo.nms": Case(detection.yolo, quick=True), "ssd": Case(detection.ssd, quick=True),
    "mask_rcnn.head": Case(detection.mask_rcnn_head, quick=True),
    # Images.
    "unet": Case(lambda: images.unet(False)), "unet.padded": Case(images.unet, quick=True), "diffusion": Case(images.diffusion, quick=True),
    "vae.decoder": Case(images.vae_decoder),
    # Sequences.
    "crnn": Case(sequences.crnn, quick=True), "mamba.scan": Case(sequences.mamba, quick=True), "mamba.loop": Case(lambda: sequences.mamba("loop")),
    "greedy_decoder": Case(sequences.greedy_decoder, quick=True),
    # Recommenders.
    "dlrm": Case(recommenders.dlrm, quick=True), "deep_fm": Case(recommenders.deep_fm, quick=True),
    "light_gcn": Case(recommenders.light_gcn, quick=True),
    # scikit-learn and gradient boosting.
    "forest": Case(classical.forest, quick=True), "forest.strings": Case(lambda: classical.forest(True)),
    "boosting.binary": Case(classical.boosting), "boosting": Case(lambda: classical.boosting(3), quick=True),
    "boosting.regression": Case(classical.boosted_regression), "logistic": Case(lambda: classical.logistic_regression(False)),
    "logistic.strings": Case(classical.logistic_regression, quick=True), "logistic.binary": Case(lambda: classical.logistic_regression(True, True)),
    "svc": Case(classical.support_vectors, quick=True), "svc.votes": Case(lambda: classical.support_vectors(False)),
    "svc.two": Case(lambda: classical.support_vectors(True, 2, "LINEAR")), "svc.two.votes": Case(lambda: classical.support_vectors(False, 2, "POLY")),
    "neighbours": Case(classical.neighbours), "k_means": Case(classical.k_means), "text.categories": Case(classical.text_categories, quick=True),
    "text.table": Case(classical.table_of_strings, quick=True), "text.old_labels": Case(classical.old_labels),
    "text.dictionaries": Case(classical.dictionaries), "text.constants": Case(classical.constant_strings),
}


def quantised_cases():
    """By onnxruntime's quantiser: weights alone, QDQ and QLinear operators."""
    static = {"dynamic": False}
    unet = lambda: images.unet(False)
    return {
        "dynamic.bert": Case(lambda: fused.quantised(encoders.bert(14)), as_written=True, **ONE_STEP),
        "qdq.unet": Case(lambda: fused.quantised(unet(), **static), as_written=True),
        "qdq.mobile": Case(lambda: fused.quantised(converters.tensorflow_mobile(), **static), as_written=True),
    }


CASES |= quantised_cases()
