# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Networks of torchvision, timm and transformers for torch_models.py, with random weights and small sizes.

None of them is in test/models, whose networks kpc was written beside.
"""

import torch
from torch import nn

import detections
from torch_forms import CASES, Case, x


def seeded(module):
    """Weights that keep values of deep networks near 1, also where an initialisation is zero."""
    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for name, value in sorted(module.named_parameters()):
            if value.dim() > 1:
                fan = value[0].numel() if value.dim() > 1 else 1
                value.copy_(torch.randn(value.shape, generator=generator) / fan**0.5)
    return module.eval()


class First(nn.Module):
    """The first tensors of what a network gives, by place or by name."""

    def __init__(self, inner, names, fixed, keys):
        super().__init__()
        self.inner, self.names, self.fixed, self.keys = inner, names, fixed, keys

    def forward(self, *inputs):
        out = self.inner(**dict(zip(self.names, inputs)), **self.fixed)
        return tuple(getattr(out, key) if isinstance(key, str) else out[key] for key in self.keys)


def network(name, build, args, ways=("pt2", "trace"), tolerance=2e-4, dims=None):
    CASES[name] = Case(lambda: (seeded(build()), tuple(value() if callable(value) else value for value in args), dims), ways, tolerance=tolerance)


def vision(name, *shape, **options):
    def build():
        import torchvision

        made = torchvision.models.get_model(name, weights=None, **options)
        return First(made, ["x"], {}, ["out"]) if "segmentation" in type(made).__module__ else made

    def positional():
        module = build()
        return Positional(module) if isinstance(module, First) else module

    network(f"tv_{name}", positional, [lambda: x(1, *shape)], ways=("pt2",))


class Positional(nn.Module):
    def __init__(self, first):
        super().__init__()
        self.inner = first.inner

    def forward(self, a):
        return self.inner(a)["out"]


for name in ("vgg16_bn", "resnet101", "wide_resnet50_2", "resnext101_32x8d", "densenet169", "mobilenet_v3_large", "efficientnet_v2_s",
             "mnasnet1_3", "regnet_y_3_2gf", "shufflenet_v2_x2_0", "squeezenet1_0", "vit_l_16", "convnext_small", "swin_v2_s"):
    vision(name, 3, 224, 224)
vision("deeplabv3_mobilenet_v3_large", 3, 96, 96, weights_backbone=None)
vision("fcn_resnet101", 3, 64, 64, weights_backbone=None)
vision("mc3_18", 3, 8, 64, 64)
vision("r2plus1d_18", 3, 8, 64, 64)
vision("swin3d_t", 3, 8, 64, 64)


class Detector(nn.Module):
    """A detector of torchvision on one image: boxes, scores and labels after suppression, and masks."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, image):
        found = self.inner([image])
        found = found[1] if isinstance(found, tuple) else found
        return tuple(found[0][key] for key in DETECTED if key in found[0])


DETECTED = ("boxes", "scores", "labels", "masks")


def same_detections(module, got, want):
    heads = getattr(module.inner, "roi_heads", module.inner)
    got, want = (dict(zip(DETECTED, (value.detach().cpu().numpy() for value in values))) for values in (got, want))
    return detections.compare(got, want, heads.score_thresh, heads.detections_per_img)


def drawn(module):
    """Weights by which a detector finds boxes, with scores that differ: a trace without boxes lacks steps."""
    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for name, weight in sorted(module.named_parameters()):
            share = 0.03 if "bbox" in name or "regression" in name else 0.15 if "cls" in name else 1
            # ResNets without norms of their own double their activations with each block.
            share *= 0.002 if "backbone.body.conv1" in name else 1
            if weight.dim() > 1:
                weight.copy_(torch.randn(weight.shape, generator=generator) * (2.0 / weight[0].numel()) ** 0.5 * share)
            elif name.endswith("bias"):
                weight.copy_(torch.randn(weight.shape, generator=generator) * 0.1)
    return module.eval()


def spread(retinanet, image):
    """Logits of 4 at most: scores that are all nearly 1 would leave no box to compare."""
    with torch.no_grad():
        images, _ = retinanet.transform([image])
        last = retinanet.head.classification_head.cls_logits
        share = 4 / retinanet.head.classification_head(list(retinanet.backbone(images.tensors).values())).max()
        last.weight *= share
        last.bias *= share


for name in ("ssdlite320_mobilenet_v3_large", "retinanet_resnet50_fpn", "fcos_resnet50_fpn", "fasterrcnn_mobilenet_v3_large_320_fpn", "maskrcnn_resnet50_fpn"):
    def build(name=name):
        import torchvision

        least = {"box_score_thresh": 0.005} if "rcnn" in name else {"score_thresh": 0.05}
        # RetinaNet makes 800 pixels of the image's shorter side, where its heads alone take minutes on one core.
        size = {"min_size": 400} if "retinanet" in name else {}
        found = drawn(torchvision.models.get_model(name, weights=None, weights_backbone=None, **least, **size))
        image = x(3, 128, 160).sigmoid()
        if "retinanet" in name:
            spread(found, image)
        return Detector(found), (image,), None

    CASES[f"tv_{name}"] = Case(build, ("pt2", "trace"), judge=same_detections, timeout=280)

for name in ("resnetv2_50", "seresnet50", "ecaresnet26t", "skresnet18", "res2net50_26w_4s", "resnest14d", "dla34", "hrnet_w18_small", "selecsls42b",
             "vovnet39a", "cspdarknet53", "darknet53", "nfnet_l0", "dm_nfnet_f0", "gernet_s", "mobileone_s0", "efficientformer_l1", "efficientvit_b0",
             "tf_efficientnet_lite0", "mixnet_s", "fbnetc_100", "spnasnet_100", "dpn68", "xception41", "inception_next_tiny", "convformer_s18", "caformer_s18",
             "maxxvit_rmlp_nano_rw_256", "davit_tiny", "focalnet_tiny_srf", "volo_d1_224", "tnt_s_legacy_patch16_224", "gmlp_s16_224", "resmlp_12_224",
             "sequencer2d_s", "vit_tiny_r_s16_p8_224", "vit_base_patch16_siglip_224", "swinv2_cr_tiny_ns_224", "hiera_tiny_224", "repvit_m0_9",
             "fasternet_t0", "ghostnetv2_100", "tiny_vit_5m_224", "mvitv2_tiny", "deit3_small_patch16_224", "convit_tiny", "halonet26t",
             "bat_resnext26ts", "botnet26t_256", "lambda_resnet26t", "eca_botnext26ts_256", "gcresnet33ts", "semnasnet_075", "pnasnet5large", "nasnetalarge"):
    def build(name=name):
        import timm

        return timm.create_model(name, pretrained=False)

    size = 256 if "256" in name else 331 if "nasnet" in name and name[0] in "pn" and "large" in name else 224
    network(f"timm_{name}", build, [lambda size=size: x(1, 3, size, size)], ways=("pt2",))


def words(length=9, count=2):
    return torch.randint(3, 128, (count, length), generator=torch.Generator().manual_seed(length))


small = {"vocab_size": 128, "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128,
         "max_position_embeddings": 128, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}


def transformer(name, model, config, inputs, keys=(0,), fixed=None, ways=("pt2", "trace"), tolerance=2e-4, **options):
    def build():
        import transformers

        made = getattr(transformers, config)(**options)
        module = getattr(transformers, model)(made)
        return First(module, list(inputs), {"return_dict": False, **(fixed or {})}, keys)

    network(f"hf_{name}", build, list(inputs.values()), ways, tolerance)


mask = torch.tensor([[1] * 9, [1] * 6 + [0] * 3])
text = {"input_ids": words(), "attention_mask": mask}
for name, family, more in (
        ("ernie", "Ernie", {}), ("xlm_roberta", "XLMRoberta", {"max_position_embeddings": 140}), ("camembert", "Camembert", {"max_position_embeddings": 140}),
        ("mpnet", "MPNet", {"max_position_embeddings": 140}), ("roformer", "RoFormer", {"embedding_size": 64}), ("megatron", "MegatronBert", {}),
        ("nystromformer", "Nystromformer", {}), ("convbert", "ConvBert", {"embedding_size": 64}), ("squeezebert", "SqueezeBert", {"embedding_size": 64}),
        ("mobilebert", "MobileBert", {"embedding_size": 32, "true_hidden_size": 64, "intra_bottleneck_size": 64}), ("layoutlm", "LayoutLM", {}),
        ("modernbert", "ModernBert", {}), ("nomic_like_bert", "Bert", {"hidden_act": "silu", "position_embedding_type": "absolute"}), ("ibert", "IBert", {"max_position_embeddings": 140}),
        ("fnet", "FNet", {}), ("rembert", "RemBert", {"input_embedding_size": 32}), ("canine_like", "Luke", {"entity_vocab_size": 10, "entity_emb_size": 16, "max_position_embeddings": 140})):
    inputs = {"input_ids": words()} if name == "fnet" else text
    transformer(name, f"{family}Model", f"{family}Config", inputs, **{**small, **more})

for name, family, more in (
        ("qwen3_moe", "Qwen3Moe", {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "head_dim": 16}),
        ("mixtral", "Mixtral", {"num_local_experts": 4, "sliding_window": 4}), ("gemma3", "Gemma3Text", {"head_dim": 16, "sliding_window": 4}),
        ("olmo2", "Olmo2", {}), ("cohere2", "Cohere2", {"sliding_window": 4}), ("glm", "Glm", {"head_dim": 16}), ("nemotron", "Nemotron", {"head_dim": 16}),
        ("smollm3", "SmolLM3", {}), ("exaone4", "Exaone4", {"sliding_window": 4}), ("helium", "Helium", {"head_dim": 16}), ("granitemoe", "GraniteMoe", {"num_local_experts": 4, "num_experts_per_tok": 2}),
        ("deepseek_v3", "DeepseekV3", {"q_lora_rank": 16, "kv_lora_rank": 16, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8, "v_head_dim": 16, "n_routed_experts": 4, "num_experts_per_tok": 2, "n_group": 1, "topk_group": 1, "moe_intermediate_size": 32, "first_k_dense_replace": 1}),
        ("gpt_oss", "GptOss", {"head_dim": 16, "num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": 4}), ("ministral", "Ministral", {"head_dim": 16, "sliding_window": 4}),
        ("persimmon", "Persimmon", {}), ("biogpt", "BioGpt", {}), ("mamba2", "Mamba2", {"num_heads": 8, "head_dim": 16, "state_size": 8, "n_groups": 1, "chunk_size": 4}),
        ("recurrent_gemma", "RecurrentGemma", {"lru_width": 64, "attention_window_size": 4}), ("falcon", "Falcon", {"new_decoder_architecture": True}), ("mpt", "Mpt", {"d_model": 64, "n_heads": 4, "n_layers": 2}),
        ("codegen", "CodeGen", {"n_embd": 64, "n_head": 4, "n_layer": 2, "rotary_dim": 8}), ("gptj", "GPTJ", {"n_embd": 64, "n_head": 4, "n_layer": 2, "rotary_dim": 8}), ("gpt_neo", "GPTNeo", {"num_layers": 2, "num_heads": 4, "attention_types": [[["global", "local"], 1]], "window_size": 4}),
        ("gpt_bigcode", "GPTBigCode", {"n_embd": 64, "n_head": 4, "n_layer": 2}), ("xglm", "XGLM", {"d_model": 64, "num_layers": 2, "attention_heads": 4, "ffn_dim": 128}), ("rwkv", "Rwkv", {"attention_hidden_size": 64}),
        ("jamba", "Jamba", {"mamba_d_state": 8, "num_experts": 2, "use_mamba_kernels": False, "attn_layer_period": 2, "attn_layer_offset": 1})):
    grouped = {"num_key_value_heads": 2} if name not in ("persimmon", "biogpt", "mamba2", "deepseek_v3", "mpt", "codegen", "gptj", "gpt_neo", "gpt_bigcode", "xglm", "rwkv", "falcon") else {}
    transformer(name, f"{family}Model", f"{family}Config", {"input_ids": words()}, fixed={"use_cache": False}, ways=("pt2",), **{**small, **grouped, **more})

pixels = {"pixel_values": x(1, 3, 64, 64)}
sizes = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128, "image_size": 64, "patch_size": 16}
for name, family, more in (("beit", "Beit", {}), ("deit", "DeiT", {}), ("dinov3_vit", "DINOv3ViT", {}), ("ijepa", "IJepa", {}), ("siglip", "SiglipVision", {}),
                           ("vit_msn", "ViTMSN", {}), ("pvt_v2", "PvtV2", {}), ("resnet", "ResNet", {}), ("regnet", "RegNet", {}), ("poolformer", "PoolFormer", {}),
                           ("mobilevit", "MobileViT", {}), ("efficientnet", "EfficientNet", {}), ("convnextv2", "ConvNextV2", {}), ("bit", "Bit", {}), ("cvt", "Cvt", {}), ("levit", "Levit", {}),
                           ("swinv2", "Swinv2", {"embed_dim": 16, "depths": [2, 2], "num_heads": [2, 4], "window_size": 4, "patch_size": 4}), ("focalnet", "FocalNet", {"embed_dim": 16, "patch_size": 4})):
    given = {} if name in ("resnet", "regnet", "poolformer", "mobilevit", "efficientnet", "convnextv2", "bit", "cvt", "levit", "pvt_v2") else sizes
    image = {"pixel_values": x(1, 3, 224, 224)} if name in ("levit", "cvt") else pixels
    transformer(name, f"{family}Model", f"{family}Config", image, **{**given, **more})

seq2seq = {"vocab_size": 128, "d_model": 64, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
           "encoder_ffn_dim": 128, "decoder_ffn_dim": 128, "max_position_embeddings": 64, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1}
pair = {"input_ids": words(), "attention_mask": mask, "decoder_input_ids": words(5)}
for name, family in (("bart", "Bart"), ("mbart", "MBart"), ("marian", "Marian"), ("pegasus", "Pegasus"), ("blenderbot", "Blenderbot"), ("m2m", "M2M100")):
    transformer(name, f"{family}Model", f"{family}Config", pair, fixed={"use_cache": False}, ways=("pt2",), **seq2seq)
transformer("t5", "T5Model", "T5Config", pair, fixed={"use_cache": False}, ways=("pt2",), vocab_size=128, d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4)
transformer("hubert", "HubertModel", "HubertConfig", {"input_values": x(1, 1600)}, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128,
            conv_dim=[32] * 7, num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4)
transformer("ast", "ASTModel", "ASTConfig", {"input_values": x(1, 64, 32)}, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128, max_length=64, num_mel_bins=32)
transformer("patchtst", "PatchTSTModel", "PatchTSTConfig", {"past_values": x(1, 32, 3)}, num_input_channels=3, context_length=32, d_model=32, num_hidden_layers=2, num_attention_heads=4, ffn_dim=64)
transformer("vits_like_encodec", "EncodecModel", "EncodecConfig", {"input_values": x(1, 1, 960)}, keys=(1,), num_filters=8, hidden_size=32, codebook_size=16, codebook_dim=32)
transformer("depth_anything", "DepthAnythingForDepthEstimation", "DepthAnythingConfig", {"pixel_values": x(1, 3, 56, 56)}, reassemble_hidden_size=384, neck_hidden_sizes=[16, 32, 48, 64], fusion_hidden_size=16, head_in_index=-1)
transformer("detr", "RTDetrModel", "RTDetrConfig", {"pixel_values": x(1, 3, 64, 64)}, ways=("pt2",), d_model=64, encoder_ffn_dim=64, decoder_ffn_dim=64, encoder_hidden_dim=64, num_queries=10, decoder_layers=1, decoder_attention_heads=4)
transformer("superpoint", "SuperPointForKeypointDetection", "SuperPointConfig", {"pixel_values": x(1, 3, 64, 64)})
transformer("timesformer", "TimesformerModel", "TimesformerConfig", {"pixel_values": x(1, 4, 3, 32, 32)}, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128, image_size=32, patch_size=8, num_frames=4)
