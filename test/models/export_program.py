#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exports small models by torch.export, as test/models/programs has them. Runs where PyTorch 2.11 or newer is.

    export_program.py --out FOLDER [--only NAME,NAME]

torchvision, timm and transformers give most of the models. Each NAME.pt2 has a NAME.npz beside it with the inputs and
what PyTorch computed. Weights are seeded by their names and left out of the archive, so that a test can put them back
with numpy alone (program.py).
"""
import argparse
import io
import json
import math
import pathlib
import warnings
import zipfile
import zlib

import numpy as np
import torch
warnings.filterwarnings("ignore")

def seeded(name, shape, dtype, seed=1):
    g = np.random.Generator(np.random.PCG64([seed, zlib.crc32(name.encode())]))
    x = g.random(shape)
    if name.endswith('running_var'):
        v = 0.5 + x
    elif len(shape) >= 2:
        fan = int(np.prod(shape[1:]))
        v = (2 * x - 1) * math.sqrt(3.0 / fan)
    else:
        v = (2 * x - 1) * 0.2 + (1.0 if name.endswith('weight') else 0.0)
    return v.astype(np.float32)

def seed_module(m):
    with torch.no_grad():
        for n, v in list(m.named_parameters(remove_duplicate=True)):
            v.copy_(torch.from_numpy(seeded(n, tuple(v.shape), None)).to(v.dtype))
        for n, v in m.named_buffers():
            if v.is_floating_point() and (n.endswith('running_mean') or n.endswith('running_var')):
                v.copy_(torch.from_numpy(seeded(n, tuple(v.shape), None)).to(v.dtype))
    return m.eval()

def images(*shape, dyn=True):
    return lambda: ((torch.from_numpy(seeded_input('x', (2,) + shape)),), {}, ({0: torch.export.Dim('batch', min=1, max=64)},) if dyn else None)

def seeded_input(name, shape):
    g = np.random.Generator(np.random.PCG64([7, zlib.crc32(name.encode())]))
    return g.standard_normal(shape).astype(np.float32)
MODELS = {}

def model(name):

    def deco(f):
        MODELS[name] = f
        return f
    return deco

def tv(name, shape=(3, 224, 224), **kw):

    def make():
        import torchvision
        m = torchvision.models.get_model(name, weights=None, **{'weights_backbone': None} if 'resnet50' in name and ('fcn' in name or 'deeplab' in name) or 'lraspp' in name else {}, **kw)
        return (m, images(*shape))
    MODELS['tv_' + name] = make
for n in ['alexnet', 'vgg11', 'resnet18', 'resnet50', 'mobilenet_v2', 'mobilenet_v3_small', 'efficientnet_b0', 'densenet121', 'squeezenet1_1', 'shufflenet_v2_x0_5', 'regnet_y_400mf', 'regnet_x_400mf', 'convnext_tiny', 'swin_t', 'swin_v2_t', 'vit_b_32', 'mnasnet0_5', 'maxvit_t', 'resnext50_32x4d']:
    tv(n)
tv('googlenet', aux_logits=False)
tv('inception_v3', (3, 299, 299), aux_logits=False)
tv('fcn_resnet50', (3, 64, 64))
tv('deeplabv3_resnet50', (3, 64, 64))
tv('lraspp_mobilenet_v3_large', (3, 64, 64))
tv('r3d_18', (3, 8, 64, 64))
tv('mvit_v1_b', (3, 16, 224, 224))
tv('s3d', (3, 16, 224, 224))

def tm(name, size=224, **kw):

    def make():
        import timm
        return (timm.create_model(name, pretrained=False, **kw), images(3, size, size))
    MODELS['timm_' + name] = make
for n in ['resnet26d', 'efficientnetv2_rw_t', 'mixer_s32_224', 'deit_tiny_patch16_224', 'convnextv2_atto', 'poolformer_s12', 'levit_128s', 'mobilevit_xxs', 'xcit_nano_12_p16_224', 'beit_base_patch16_224', 'cait_xxs24_224', 'coat_tiny', 'crossvit_tiny_240', 'ghostnet_050', 'hardcorenas_a', 'lcnet_050', 'nest_tiny', 'pit_ti_224', 'pvt_v2_b0', 'repvgg_a0', 'rexnet_100', 'tinynet_a', 'twins_svt_small', 'visformer_tiny', 'edgenext_xx_small', 'fastvit_t8', 'mobilenetv4_conv_small', 'eva02_tiny_patch14_224']:
    tm(n, 240 if '240' in n else 224)

def ids(*names, vocab=128, cls=None):

    def ex():
        g = np.random.Generator(np.random.PCG64(3))
        b, s = (torch.export.Dim('batch', min=1, max=64), torch.export.Dim('sequence', min=2, max=128))
        kw, dyn = ({}, {})
        for n in names:
            kw[n] = torch.ones(2, 9, dtype=torch.int64) if n == 'attention_mask' else torch.from_numpy(g.integers(0, 2 if n == 'token_type_ids' else vocab, (2, 9)))
            if n == 'attention_mask':
                kw[n][0, -2:] = 0
            dyn[n] = {0: b, 1: s}
        return ((), kw, dyn)
    return ex

class First(torch.nn.Module):

    def __init__(self, m, key=0, **fixed):
        super().__init__()
        self.model = m
        self.key = key
        self.fixed = fixed

    def forward(self, **kw):
        out = self.model(**kw, **self.fixed)
        return out[self.key] if not isinstance(self.key, str) else getattr(out, self.key)

def first_args(*names):
    src = 'class W(torch.nn.Module):\n def __init__(self, m, fixed, key):\n  super().__init__(); self.model = m; self.fixed = fixed; self.key = key\n def forward(self, %s):\n  out = self.model(%s, **self.fixed)\n  return out[self.key]\n' % (', '.join(names), ', '.join((f'{n}={n}' for n in names)))
    ns = {'torch': torch}
    exec(src, ns)
    return ns['W']

def hf(name, cls, cfg, names, key=0, fixed=None, ex=None, **config):

    def make():
        import transformers as t
        c = getattr(t, cfg)(**config)
        m = getattr(t, cls)(c)
        return (first_args(*names)(m, dict(return_dict=False, **fixed or {}), key), ex or ids(*names))
    MODELS['hf_' + name] = make
small = dict(vocab_size=128, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128, max_position_embeddings=128)
hf('bert', 'BertModel', 'BertConfig', ('input_ids', 'attention_mask', 'token_type_ids'), **small)
hf('roberta', 'RobertaModel', 'RobertaConfig', ('input_ids', 'attention_mask'), **{**small, 'max_position_embeddings': 140})
hf('electra', 'ElectraModel', 'ElectraConfig', ('input_ids', 'attention_mask'), embedding_size=64, **small)
hf('albert', 'AlbertModel', 'AlbertConfig', ('input_ids', 'attention_mask'), embedding_size=32, **small)
hf('deberta', 'DebertaV2Model', 'DebertaV2Config', ('input_ids', 'attention_mask'), relative_attention=True, pos_att_type=['c2p', 'p2c'], **small)
hf('distilbert', 'DistilBertModel', 'DistilBertConfig', ('input_ids', 'attention_mask'), vocab_size=128, dim=64, n_layers=2, n_heads=4, hidden_dim=128, max_position_embeddings=128)
hf('gpt2', 'GPT2Model', 'GPT2Config', ('input_ids',), fixed=dict(use_cache=False), vocab_size=128, n_embd=64, n_layer=2, n_head=4, n_positions=128)
hf('opt', 'OPTModel', 'OPTConfig', ('input_ids', 'attention_mask'), fixed=dict(use_cache=False), vocab_size=128, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, ffn_dim=128, max_position_embeddings=128, word_embed_proj_dim=64)
hf('t5_encoder', 'T5EncoderModel', 'T5Config', ('input_ids', 'attention_mask'), vocab_size=128, d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4)
for n, c in [('llama', 'Llama'), ('qwen2', 'Qwen2'), ('qwen3', 'Qwen3'), ('mistral', 'Mistral'), ('gemma', 'Gemma'), ('gemma2', 'Gemma2'), ('phi3', 'Phi3'), ('olmo', 'Olmo'), ('stablelm', 'StableLm'), ('starcoder2', 'Starcoder2'), ('cohere', 'Cohere'), ('granite', 'Granite')]:
    hf(n, c + 'Model', c + 'Config', ('input_ids',), fixed=dict(use_cache=False), num_key_value_heads=2, **{'head_dim': 16} if n in ('gemma', 'gemma2', 'qwen3') else {}, **{'pad_token_id': 0} if n in ('phi3', 'cohere') else {}, **small)
hf('phi', 'PhiModel', 'PhiConfig', ('input_ids',), fixed=dict(use_cache=False), **small)
hf('gpt_neox', 'GPTNeoXModel', 'GPTNeoXConfig', ('input_ids',), fixed=dict(use_cache=False), **small)
hf('bloom', 'BloomModel', 'BloomConfig', ('input_ids',), fixed=dict(use_cache=False), vocab_size=128, hidden_size=64, n_layer=2, n_head=4)
hf('mamba', 'MambaModel', 'MambaConfig', ('input_ids',), fixed=dict(use_cache=False), vocab_size=128, hidden_size=64, num_hidden_layers=2, state_size=8)
px = lambda *s: lambda: ((), {'pixel_values': torch.from_numpy(seeded_input('pixel_values', (2,) + s))}, {'pixel_values': {0: torch.export.Dim('batch', min=1, max=64)}})
hf('vit', 'ViTModel', 'ViTConfig', ('pixel_values',), ex=px(3, 32, 32), hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128, image_size=32, patch_size=8)
hf('swin', 'SwinModel', 'SwinConfig', ('pixel_values',), ex=px(3, 64, 64), image_size=64, patch_size=4, embed_dim=16, depths=[2, 2], num_heads=[2, 4], window_size=4)
hf('dinov2', 'Dinov2Model', 'Dinov2Config', ('pixel_values',), ex=px(3, 56, 56), hidden_size=64, num_hidden_layers=2, num_attention_heads=4, image_size=56, patch_size=14)
hf('clip_vision', 'CLIPVisionModel', 'CLIPVisionConfig', ('pixel_values',), ex=px(3, 32, 32), hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128, image_size=32, patch_size=8)
hf('clip_text', 'CLIPTextModel', 'CLIPTextConfig', ('input_ids', 'attention_mask'), **{**small, 'eos_token_id': 2})
hf('segformer', 'SegformerModel', 'SegformerConfig', ('pixel_values',), ex=px(3, 64, 64), hidden_sizes=[16, 32, 64, 128], depths=[1, 1, 1, 1], decoder_hidden_size=32)
hf('detr_convnext', 'ConvNextModel', 'ConvNextConfig', ('pixel_values',), ex=px(3, 64, 64), hidden_sizes=[16, 32, 64, 128], depths=[1, 1, 1, 1])
hf('whisper_encoder', 'WhisperModel', 'WhisperConfig', ('input_features', 'decoder_input_ids'), fixed=dict(use_cache=False), ex=lambda: ((), {'input_features': torch.from_numpy(seeded_input('f', (2, 8, 60))), 'decoder_input_ids': torch.tensor([[1, 5, 9], [1, 7, 3]])}, {'input_features': {0: torch.export.Dim('batch', min=1, max=64)}, 'decoder_input_ids': {0: torch.export.Dim('batch', min=1, max=64)}}), vocab_size=128, num_mel_bins=8, d_model=64, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=128, decoder_ffn_dim=128, max_source_positions=30, max_target_positions=32, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1)
hf('t5', 'T5Model', 'T5Config', ('input_ids', 'decoder_input_ids'), fixed=dict(use_cache=False), ex=ids('input_ids', 'decoder_input_ids'), vocab_size=128, d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4)
hf('wav2vec2', 'Wav2Vec2Model', 'Wav2Vec2Config', ('input_values',), ex=lambda: ((), {'input_values': torch.from_numpy(seeded_input('w', (2, 1600)))}, {'input_values': {0: torch.export.Dim('batch', min=1, max=64)}}), hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128, conv_dim=[32] * 7, num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4)

def cached_llama():
    import transformers as t
    cfg = t.LlamaConfig(num_key_value_heads=2, **small)

    class M(torch.nn.Module):

        def __init__(self):
            super().__init__()
            self.model = t.LlamaModel(cfg)

        def forward(self, input_ids, past):
            cache = t.DynamicCache()
            for i, (k, v) in enumerate(past):
                cache.update(k, v, i)
            out = self.model(input_ids=input_ids, past_key_values=cache, use_cache=True, return_dict=True)
            return {'hidden': out.last_hidden_state, 'present': [(l.keys, l.values) for l in out.past_key_values.layers]}

    def ex():
        b, p = (torch.export.Dim('batch', min=1, max=64), torch.export.Dim('past', min=1, max=127))
        past = [tuple((torch.from_numpy(seeded_input(f'{w}{i}', (2, 2, 5, 16))) for w in 'kv')) for i in range(2)]
        return ((), {'input_ids': torch.tensor([[3], [9]]), 'past': past}, {'input_ids': {0: b}, 'past': [({0: b, 2: p}, {0: b, 2: p})] * 2})
    return (M(), ex)
MODELS['hf_llama_cache'] = cached_llama

def mod(name, f, ex):
    MODELS['m_' + name] = lambda: (f(), ex)

def ten(*shapes, dyn=None, ints=()):
    return lambda: (tuple((torch.from_numpy(seeded_input(f'x{i}', s)) if i not in ints else torch.arange(int(np.prod(s))).reshape(s) % 7 for i, s in enumerate(shapes))), {}, dyn)

def F(fn, **params):

    class M(torch.nn.Module):

        def __init__(self):
            super().__init__()
            for k, v in params.items():
                setattr(self, k, v)

        def forward(self, *xs):
            return fn(self, *xs)
    return M()
nn = torch.nn
fn = torch.nn.functional
mod('mlp', lambda: nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)), ten((2, 8), dyn=({0: torch.export.Dim('batch', max=1024)},)))
mod('lstm', lambda: nn.LSTM(8, 16, 2, batch_first=True, bidirectional=True), ten((2, 5, 8)))
mod('gru', lambda: nn.GRU(8, 16, batch_first=True), ten((2, 5, 8)))
mod('rnn', lambda: nn.RNN(8, 16, batch_first=True), ten((2, 5, 8)))
mod('mha', lambda: F(lambda s, x: s.a(x, x, x, need_weights=True), a=nn.MultiheadAttention(16, 4, batch_first=True)), ten((2, 5, 16)))
mod('encoder', lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 4, 32, batch_first=True), 2), ten((2, 5, 16)))
mod('sdpa', lambda: F(lambda s, q, k, v: fn.scaled_dot_product_attention(q, k, v, is_causal=True)), ten((2, 4, 6, 8), (2, 4, 6, 8), (2, 4, 6, 8)))
mod('conv1d', lambda: nn.Sequential(nn.Conv1d(4, 8, 3, padding=1), nn.BatchNorm1d(8), nn.GELU(), nn.ConvTranspose1d(8, 4, 4, 2, 1)), ten((2, 4, 10)))
mod('conv3d', lambda: nn.Sequential(nn.Conv3d(2, 4, 3, padding=1), nn.GroupNorm(2, 4), nn.SiLU(), nn.AvgPool3d(2)), ten((2, 2, 4, 6, 6)))
mod('pools', lambda: F(lambda s, x: (fn.adaptive_avg_pool2d(x, (3, 2)), fn.max_pool2d(x, 3, 2, 1, ceil_mode=True), fn.avg_pool2d(x, 3, 2, 1, count_include_pad=False), fn.adaptive_max_pool2d(x, 1))), ten((2, 3, 9, 7)))
mod('resize', lambda: F(lambda s, x: (fn.interpolate(x, scale_factor=2, mode='nearest'), fn.interpolate(x, size=(9, 5), mode='bilinear', align_corners=False), fn.interpolate(x, size=(9, 5), mode='bicubic', align_corners=True))), ten((2, 3, 4, 6)))
mod('index', lambda: F(lambda s, x, i: (x[i[0] % 2], x[:, i[0] % 3, :], x[:, 1:, ::2], x.index_select(1, i[0] % 3), x.gather(1, i[:, :2, None].expand(-1, -1, 4) % 3), torch.take_along_dim(x, x.argsort(1), 1))), ten((2, 3, 4), (2, 3), ints=(1,)))
mod('reduce', lambda: F(lambda s, x: (x.sum(1), x.mean((0, 2)), x.amax(1, True), x.std(1), x.var(2, unbiased=False), x.norm(dim=1), x.logsumexp(1), x.argmax(1), x.max(1)[0], x.max(1)[1], x.prod(1), x.cumsum(1), (x > 0).any(1), (x > 0).all(), x.median(), x.sort(1)[0], x.topk(2, 1)[1])), ten((3, 4, 5)))
mod('pointwise', lambda: F(lambda s, x, y: (x + y, x - 2 * y, x * y, x / (y.abs() + 1), x.pow(2), torch.exp(x), torch.log(x.abs() + 1), x.sigmoid(), x.tanh(), x.erf(), fn.gelu(x), fn.gelu(x, approximate='tanh'), fn.silu(x), fn.hardswish(x), fn.hardsigmoid(x), fn.leaky_relu(x, 0.1), fn.elu(x), fn.softplus(x), fn.mish(x), x.clamp(-1, 1), torch.where(x > y, x, y), torch.atan2(x, y), x.round(), x.floor(), x % 0.7, torch.fmod(x, 0.7), x.sign(), x.rsqrt().nan_to_num(0.5), x.sin(), x.cos(), torch.maximum(x, y), torch.lerp(x, y, 0.3), torch.addcmul(x, x, y, value=0.5), x.trunc(), x.reciprocal(), torch.logaddexp(x, y), (x > 0) & (y < 0), x.int() // 2, x.int() << 1, x.to(torch.float16), x.to(torch.bool))), ten((3, 4), (3, 4)))
mod('shape', lambda: F(lambda s, x: (x.view(-1, 4), x.permute(2, 0, 1), x.transpose(0, 1), x.flatten(1), x.unsqueeze(1), x[None].squeeze(0), x.expand(3, 3, 4) if x.shape[0] == 1 else x, torch.cat([x, x], 1), torch.stack([x, x]), x.chunk(2, 2)[1], x.split([1, 3], 2)[0], x.repeat(1, 2, 1), x.flip(1), x.roll(1, 2), x.tril(), x.triu(1), fn.pad(x, (1, 2)), fn.pad(x, (1, 1), mode='reflect'), fn.pad(x, (1, 1), mode='circular'), x.repeat_interleave(2, 1), fn.pixel_shuffle(x.reshape(1, 4, 3, 2), 2), x.unfold(2, 2, 1), torch.meshgrid(torch.arange(2), torch.arange(3), indexing='ij')[0], x.diagonal(0, 1, 2), x.unbind(1)[0], torch.einsum('bij,bkj->bik', x, x), torch.arange(x.shape[1]).float() + x[:, :, 0], torch.full_like(x, 2.0), torch.zeros(2, x.shape[2]), fn.one_hot(x.argmax(2), 4), fn.embedding(x.argmax(2), torch.arange(8.0).reshape(4, 2)), x.masked_fill(x > 0, -1.0), x.new_ones(3), torch.linspace(0, 1, 5))), ten((2, 3, 4)))
mod('scatter', lambda: F(lambda s, x, i: (torch.zeros(2, 7, 4).scatter(1, i[:, :, None].expand(-1, -1, 4), x), torch.zeros(2, 7, 4).scatter_add(1, i[:, :, None].expand(-1, -1, 4), x), torch.zeros(7, 4).index_put((i[0],), x[0]), torch.zeros(7, 4).index_add(0, i[0], x[0]), torch.zeros(7, 4).index_copy(0, i[0], x[0]), x.masked_scatter(x > 5, x))), ten((2, 3, 4), (2, 3), ints=(1,)))
mod('dict_io', lambda: F(lambda s, d: {'sum': d['a'] + d['b'][0], 'list': [d['a'], d['b'][1]]}), lambda: (({'a': torch.ones(2, 3), 'b': (torch.ones(2, 3), torch.zeros(2, 3))},), {}, None))

class Counter(nn.Module):

    def __init__(self):
        super().__init__()
        self.register_buffer('state', torch.zeros(3))
        self.register_buffer('unused', torch.ones(2))

    def forward(self, x):
        self.state.add_(x)
        x.mul_(2)
        return self.state * x
mod('mutation', Counter, ten((3,)))

class KV(nn.Module):

    def __init__(self):
        super().__init__()
        self.register_buffer('cache', torch.zeros(1, 16, 4))
        self.l = nn.Linear(4, 4)

    def forward(self, x, pos):
        self.cache[:, pos] = self.l(x)
        return self.cache.sum(1)
mod('kv_cache', KV, lambda: ((torch.ones(1, 1, 4), torch.tensor([3])), {}, None))

class Cond(nn.Module):

    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda y: y * 2, lambda y: y - 1, (x,))
mod('cond', Cond, ten((3, 4)))

class While(nn.Module):

    def forward(self, x):
        from torch._higher_order_ops.while_loop import while_loop
        return while_loop(lambda i, y: i < 5, lambda i, y: (i + 1, y * 1.1), (torch.tensor(0), x))
mod('while_loop', While, ten((3, 4)))

class Nz(nn.Module):

    def forward(self, x):
        return x.nonzero()
mod('nonzero', Nz, ten((3, 4)))
mod('half', lambda: nn.Sequential(nn.Linear(8, 16), nn.LayerNorm(16), nn.Softmax(-1)).to(torch.bfloat16), lambda: ((torch.ones(2, 8, dtype=torch.bfloat16),), {}, None))
mod('norms', lambda: nn.Sequential(nn.Conv2d(3, 8, 3), nn.InstanceNorm2d(8, affine=True), nn.PReLU(8), nn.LayerNorm([8, 6, 6]), nn.LocalResponseNorm(3)), ten((2, 3, 8, 8)))
mod('dynamic_hw', lambda: nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ReLU(), nn.Upsample(scale_factor=2)), ten((1, 3, 32, 48), dyn=({2: torch.export.Dim('h', min=8, max=256) * 2 if False else torch.export.Dim.AUTO, 3: torch.export.Dim.AUTO},)))
mod('grid', lambda: F(lambda s, x: fn.grid_sample(x, fn.affine_grid(torch.tensor([[[1.0, 0.2, 0], [0, 1, 0.1]]]).expand(2, 2, 3), [2, 3, 5, 5], align_corners=False), align_corners=False)), ten((2, 3, 6, 6)))
mod('roi', lambda: F(lambda s, x: __import__('torchvision').ops.roi_align(x, torch.tensor([[0, 1.0, 1, 5, 5], [1, 0, 0, 4, 6]]), (3, 3), sampling_ratio=2)), ten((2, 3, 8, 8)))


def strip(data):
    """The archive without seeded weights, sample inputs and the paths of the machine that exported it."""
    source, out = zipfile.ZipFile(io.BytesIO(data)), io.BytesIO()
    config_name = next(n for n in source.namelist() if n.endswith("_weights_config.json"))
    root = config_name[: config_name.rindex("/") + 1]
    seeds = {}
    for name, entry in json.loads(source.read(config_name))["config"].items():
        meta = entry["tensor_meta"]
        sizes = tuple(size["as_int"] for size in meta["sizes"])
        if meta["dtype"] == 7 and math.prod(sizes) > 16:
            seeds.setdefault(root + entry["path_name"], seeded(name, sizes, None).tobytes())
    packages = str(pathlib.Path(torch.__file__).parent.parent) + "/"
    here = str(pathlib.Path(__file__).parent) + "/"
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as target:
        for entry in source.infolist():
            value = source.read(entry)
            if "/sample_inputs/" in entry.filename or seeds.get(entry.filename) == value:
                continue
            value = value.replace(packages.encode(), b"").replace(here.encode(), b"")
            target.writestr(zipfile.ZipInfo(entry.filename), value, zipfile.ZIP_DEFLATED, 9)
    return out.getvalue()


def packed(reference):
    """Inputs that were made from a seed as their seeds; of long outputs the first 256 values."""
    small = {}
    for key, value in reference.items():
        small[key] = value
        if key.startswith("out") and value.size > 1024:
            small[key] = value.reshape(-1)[:256]
        if key.startswith("in") and value.dtype == np.float32 and value.size > 64:
            for name in ("x", "x0", "x1", "x2", "pixel_values", "f", "w"):
                if np.array_equal(seeded_input(name, value.shape), value):
                    del small[key]
                    small[key + "_seed"], small[key + "_shape"] = np.array(name), np.array(value.shape)
                    break
    return small


def tensors_of(tree):
    from torch.utils import _pytree

    for leaf in _pytree.tree_leaves(tree):
        leaf = leaf.detach() if isinstance(leaf, torch.Tensor) else leaf
        yield leaf.float().numpy() if getattr(leaf, "dtype", None) == torch.bfloat16 else np.asarray(leaf)


def exported(model, args, kwargs, dims):
    """With the dims that it has, or where a model's code restricts them, with what PyTorch finds of them."""

    def found(tree):
        if isinstance(tree, dict):
            return {key: found(value) for key, value in tree.items()}
        if isinstance(tree, (list, tuple)):
            return type(tree)(found(value) for value in tree)
        return tree if tree is None else torch.export.Dim.AUTO

    try:
        return torch.export.export(model, args, kwargs, dynamic_shapes=dims, strict=False)
    except torch._dynamo.exc.UserError as error:
        if "Constraints violated" not in str(error):
            raise
        return torch.export.export(model, args, kwargs, dynamic_shapes=found(dims), strict=False)


def export(name, make, out):
    torch.manual_seed(0)
    model, examples = make()
    seed_module(model)
    args, kwargs, dims = examples()
    program = exported(model, args, kwargs, dims)
    archive = io.BytesIO()
    torch.export.save(program, archive)
    (out / f"{name}.pt2").write_bytes(strip(archive.getvalue()))
    # The model once more: a run may write to its buffers and its inputs.
    args, kwargs, _ = examples()
    reference = {f"in{i}": np.array(t) for i, t in enumerate(tensors_of((args, kwargs)))}
    torch.manual_seed(0)
    model = seed_module(make()[0])
    with torch.no_grad():
        result = model(*args, **kwargs)
    reference |= {f"out{i}": t for i, t in enumerate(tensors_of(result))}
    np.savez_compressed(out / f"{name}.npz", **packed(reference))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--only", default="", help="names, with commas between them")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for name, make in MODELS.items():
        if options.only and name not in options.only.split(","):
            continue
        try:
            export(name, make, options.out)
            print("ok", name, flush=True)
        except Exception as error:  # of many libraries; the next model may work
            print("FAILED", name, type(error).__name__, str(error).split("\n")[0][:200], flush=True)


if __name__ == "__main__":
    main()
