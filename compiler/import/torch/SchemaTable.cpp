//===- SchemaTable.cpp - The arguments of aten operators ------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/torch/SchemaTable.h"

namespace kpc::torch {

const char *const SchemaTable = R"(
abs.default absolute.default acos.default acosh.default arccos.default
    arcsin.default arctan.default asin.default asinh.default atan.default
    atanh.default ceil.default cos.default cosh.default erf.default exp.default
    exp2.default expm1.default floor.default frac.default isfinite.default
    isinf.default isnan.default log.default log10.default log1p.default
    log2.default logical_not.default neg.default negative.default
    reciprocal.default round.default rsqrt.default sgn.default sign.default
    sin.default sinh.default sqrt.default square.default tan.default
    trunc.default bitwise_not.default hardsigmoid.default hardswish.default
    log_sigmoid.default mish.default relu.default relu6.default selu.default
    sigmoid.default silu.default softsign.default special_expit.default
    tanh.default alias.default detach.default lift.default lift_fresh.default
    lift_fresh_copy.default positive.default resolve_conj.default
    resolve_neg.default _neg_view.default adjoint.default mT.default numpy_T.default
    ravel.default t.default zero.default median.default all.default any.default
    max.default min.default squeeze.default deg2rad.default rad2deg.default
    digamma.default erfc.default erfinv.default i0.default lgamma.default
    signbit.default sinc.default special_digamma.default special_entr.default
    special_erfc.default special_erfcx.default special_erfinv.default
    special_gammaln.default special_i0.default special_i0e.default
    special_i1.default special_i1e.default special_log_ndtr.default special_psi.default special_sinc.default
    msort.default fliplr.default flipud.default trace.default angle.default
    _shape_as_tensor.default _is_all_true.default _is_any_true.default |
    T:self
round.decimals | T:self *i:decimals
add.Tensor sub.Tensor rsub.Tensor subtract.Tensor | T:self T:other *S:alpha=
add.Scalar sub.Scalar rsub.Scalar | T:self S:other S:alpha=
mul.Tensor eq.Tensor ne.Tensor lt.Tensor le.Tensor gt.Tensor ge.Tensor
    fmod.Tensor remainder.Tensor __and__.Tensor __or__.Tensor __xor__.Tensor
    __lshift__.Tensor __rshift__.Tensor bitwise_and.Tensor bitwise_or.Tensor
    bitwise_xor.Tensor multiply.Tensor divide.Tensor true_divide.Tensor
    greater.Tensor greater_equal.Tensor less.Tensor less_equal.Tensor
    not_equal.Tensor xlogy.Tensor bitwise_left_shift.Tensor
    bitwise_right_shift.Tensor div.Tensor floor_divide.default arctan2.default
    atan2.default fmax.default fmin.default hypot.default logaddexp.default
    logaddexp2.default logical_and.default logical_or.default
    logical_xor.default maximum.default minimum.default type_as.default
    matmul.default max.other min.other expand_as.default reshape_as.default
    view_as.default | T:self T:other
mul.Scalar eq.Scalar ne.Scalar lt.Scalar le.Scalar gt.Scalar ge.Scalar
    fmod.Scalar remainder.Scalar __and__.Scalar __or__.Scalar __xor__.Scalar
    __lshift__.Scalar __rshift__.Scalar bitwise_and.Scalar bitwise_or.Scalar
    bitwise_xor.Scalar bitwise_left_shift.Tensor_Scalar
    bitwise_right_shift.Tensor_Scalar div.Scalar floor_divide.Scalar | T:self
    S:other
div.Tensor_mode | T:self T:other *s?:rounding_mode
div.Scalar_mode | T:self S:other *s?:rounding_mode
addcdiv.default addcmul.default | T:self T:tensor1 T:tensor2 *S:value=
clamp.default clip.default | T:self S?:min= S?:max=
clamp.Tensor clip.Tensor | T:self T?:min= T?:max=
clamp_max.default | T:self S:max
clamp_max.Tensor | T:self T:max
clamp_min.default | T:self S:min
clamp_min.Tensor | T:self T:min
lerp.Scalar | T:self T:end S:weight
lerp.Tensor | T:self T:end T:weight
logit.default | T:self f?:eps=
masked_fill.Scalar | T:self T:mask S:value
masked_fill.Tensor | T:self T:mask T:value
nan_to_num.default | T:self f?:nan= f?:posinf= f?:neginf=
pow.Tensor_Tensor | T:self T:exponent
pow.Tensor_Scalar | T:self S:exponent
pow.Scalar | S:self T:exponent
where.self | T:condition T:self T:other
where.ScalarSelf | T:condition S:self T:other
where.ScalarOther | T:condition T:self S:other
where.Scalar | T:condition S:self S:other
where.default | T:condition =[]
nonzero_numpy.default | T:self =[]
_log_softmax.default _softmax.default | T:self i:dim b:half_to_float
softmax.int log_softmax.int | T:self i:dim d?:dtype=
celu.default | T:self S:alpha=
elu.default | T:self S:alpha= S:scale= S:input_scale=
gelu.default | T:self *s:approximate=
glu.default | T:self i:dim=
hardshrink.default softshrink.default | T:self S:lambd=
hardtanh.default | T:self S:min_val= S:max_val=
leaky_relu.default | T:self S:negative_slope=
prelu.default _prelu_kernel.default | T:self T:weight
softplus.default | T:self S:beta= S:threshold=
threshold.default | T:self S:threshold S:value
_native_multi_head_attention.default | T:query T:key T:value i:embed_dim
    i:num_head T:qkv_weight T:qkv_bias T:proj_weight T:proj_bias T?:mask=
    b:need_weights= b:average_attn_weights= i?:mask_type= =2
_transformer_encoder_layer_fwd.default | T:src i:embed_dim i:num_heads
    T:qkv_weight T:qkv_bias T:proj_weight T:proj_bias b:use_gelu b:norm_first
    f:eps T:norm_weight_1 T:norm_bias_1 T:norm_weight_2 T:norm_bias_2
    T:ffn_weight_1 T:ffn_bias_1 T:ffn_weight_2 T:ffn_bias_2 T?:mask=
    i?:mask_type=
scaled_dot_product_attention.default | T:query T:key T:value T?:attn_mask=
    f:dropout_p= b:is_causal= *f?:scale= *b:enable_gqa=
_assert_async.msg | T:self s:assert_msg =0
_assert_tensor_metadata.default | T:a i[]?:size= i[]?:stride= d?:dtype=
    *o?:device= *o?:layout= =0
_assert_scalar.default | S:self s:assert_msg =0
sym_constrain_range.default sym_constrain_range_for_size.default | S:size
    *i?:min= *i?:max= =0
_to_copy.default | T:self *d?:dtype= *o?:layout= *o?:device= *b?:pin_memory=
    *b:non_blocking= *o?:memory_format=
clone.default | T:self *o?:memory_format=
contiguous.default | T:self *o:memory_format=
copy.default | T:self T:src b:non_blocking=
native_dropout.default | T:input f:p b?:train =2
dropout.default feature_dropout.default alpha_dropout.default | T:input f:p
    b:train
to.dtype | T:self d:dtype b:non_blocking= b:copy= o?:memory_format=
to.device | T:self o:device d:dtype b:non_blocking= b:copy= o?:memory_format=
to.other | T:self T:other b:non_blocking= b:copy= o?:memory_format=
to.prim_Device | T:self o?:device d?:dtype= b:non_blocking= b:copy=
to.dtype_layout | T:self *d?:dtype= *o?:layout= *o?:device= *b?:pin_memory=
    *b:non_blocking= *b:copy= *o?:memory_format=
_convert_element_type.default prims.convert_element_type.default | T:a d:dtype
conv1d.default conv2d.default conv3d.default | T:input T:weight T?:bias=
    i[]:stride= i[]:padding= i[]:dilation= i:groups=
conv1d.padding conv2d.padding conv3d.padding | T:input T:weight T?:bias=
    i[]:stride= s:padding= i[]:dilation= i:groups=
conv_transpose1d.default conv_transpose2d.input conv_transpose3d.input |
    T:input T:weight T?:bias= i[]:stride= i[]:padding= i[]:output_padding=
    i:groups= i[]:dilation=
convolution.default | T:input T:weight T?:bias i[]:stride i[]:padding
    i[]:dilation b:transposed i[]:output_padding i:groups
_convolution.default | T:input T:weight T?:bias i[]:stride i[]:padding
    i[]:dilation b:transposed i[]:output_padding i:groups b:benchmark
    b:deterministic b:cudnn_enabled b:allow_tf32=
arange.default | S:end *d?:dtype= *o?:layout= *o?:device= *b?:pin_memory=
arange.start | S:start S:end *d?:dtype= *o?:layout= *o?:device= *b?:pin_memory=
arange.start_step | S:start S:end S:step= *d?:dtype= *o?:layout= *o?:device=
    *b?:pin_memory=
empty.memory_format | i[]:size *d?:dtype= *o?:layout= *o?:device=
    *b?:pin_memory= *o?:memory_format=
ones.default zeros.default rand.default randn.default | i[]:size *d?:dtype=
    *o?:layout= *o?:device= *b?:pin_memory=
empty_like.default ones_like.default zeros_like.default | T:self *d?:dtype=
    *o?:layout= *o?:device= *b?:pin_memory= *o?:memory_format=
full_like.default | T:self S:fill_value *d?:dtype= *o?:layout= *o?:device=
    *b?:pin_memory= *o?:memory_format=
eye.default | i:n *d?:dtype= *o?:layout= *o?:device= *b?:pin_memory=
eye.m | i:n i:m *d?:dtype= *o?:layout= *o?:device= *b?:pin_memory=
full.default | i[]:size S:fill_value *d?:dtype= *o?:layout= *o?:device=
    *b?:pin_memory=
fill.Scalar | T:self S:value
fill.Tensor | T:self T:value
linspace.default | S:start S:end i:steps *d?:dtype= *o?:layout= *o?:device=
    *b?:pin_memory=
new_empty.default new_ones.default new_zeros.default | T:self i[]:size
    *d?:dtype= *o?:layout= *o?:device= *b?:pin_memory=
new_full.default | T:self i[]:size S:fill_value *d?:dtype= *o?:layout=
    *o?:device= *b?:pin_memory=
scalar_tensor.default | S:s *d?:dtype= *o?:layout= *o?:device= *b?:pin_memory=
argsort.default | T:self i:dim= b:descending=
argsort.stable | T:self *b:stable i:dim= b:descending=
embedding.default | T:weight T:indices i:padding_idx= b:scale_grad_by_freq=
    b:sparse=
gather.default | T:self i:dim T:index *b:sparse_grad=
index.Tensor _unsafe_index.Tensor | T:self T?[]:indices
index_add.default | T:self i:dim T:index T:source *S:alpha=
index_copy.default | T:self i:dim T:index T:source
index_fill.int_Scalar scatter.value | T:self i:dim T:index S:value
index_fill.int_Tensor | T:self i:dim T:index T:value
index_put.default | T:self T?[]:indices T:values b:accumulate=
index_select.default | T:self i:dim T:index
masked_scatter.default | T:self T:mask T:source
median.dim max.dim min.dim | T:self i:dim b:keepdim= =2
one_hot.default | T:self i:num_classes=
put.default | T:self T:index T:source b:accumulate=
scatter.src scatter_add.default | T:self i:dim T:index T:src
scatter.reduce | T:self i:dim T:index T:src *s:reduce
scatter.value_reduce | T:self i:dim T:index S:value *s:reduce
scatter_reduce.two | T:self i:dim T:index T:src s:reduce *b:include_self=
select_scatter.default | T:self T:src i:dim i:index
slice_scatter.default | T:self T:src i:dim= i?:start= i?:end= i:step=
sort.default | T:self i:dim= b:descending= =2
sort.stable | T:self *b?:stable *i:dim= *b:descending= =2
take_along_dim.default | T:self T:indices i?:dim=
topk.default | T:self i:k i:dim= b:largest= b:sorted= =2
addmm.default | T:self T:mat1 T:mat2 *S:beta= *S:alpha=
addmv.default | T:self T:mat T:vec *S:beta= *S:alpha=
baddbmm.default | T:self T:batch1 T:batch2 *S:beta= *S:alpha=
bmm.default mm.default | T:self T:mat2
_grouped_mm.default | T:self T:mat2 T?:offs= T?:bias= d?:out_dtype=
transformers.grouped_mm_fallback.default | T:input T:weight T:offs
dot.default | T:self T:tensor
mv.default | T:self T:vec
outer.default | T:self T:vec2
einsum.default | s:equation T[]:tensors *i[]?:path=
linear.default | T:input T:weight T?:bias=
broadcast_tensors.default meshgrid.default | T[]:tensors =[]
cat.default concat.default concatenate.default stack.default | T[]:tensors
    i:dim=
channel_shuffle.default | T:self i:groups
col2im.default | T:self i[]:output_size i[]:kernel_size i[]:dilation
    i[]:padding i[]:stride
im2col.default | T:self i[]:kernel_size i[]:dilation i[]:padding i[]:stride
constant_pad_nd.default | T:self i[]:pad S:value=
flip.default tile.default permute.default | T:self i[]:dims
meshgrid.indexing | T[]:tensors *s:indexing =[]
moveaxis.int movedim.int | T:self i:source i:destination
moveaxis.intlist movedim.intlist | T:self i[]:source i[]:destination
pad.default | T:self i[]:pad s:mode= f?:value=
pad_sequence.default | T[]:sequences b:batch_first= f:padding_value=
    s:padding_side=
resize.default | T:self i[]:size *o?:memory_format=
resize_as.default | T:self T:the_template *o?:memory_format=
pixel_shuffle.default | T:self i:upscale_factor
pixel_unshuffle.default | T:self i:downscale_factor
reflection_pad1d.default reflection_pad2d.default reflection_pad3d.default
    replication_pad1d.default replication_pad2d.default
    replication_pad3d.default | T:self i[]:padding
repeat.default | T:self i[]:repeats
repeat_interleave.self_int | T:self i:repeats i?:dim= *i?:output_size=
repeat_interleave.self_Tensor | T:self T:repeats i?:dim= *i?:output_size=
repeat_interleave.Tensor | T:repeats *i?:output_size=
argwhere.default | T:self
diag.default | T:self i:diagonal=
fill_diagonal.default | T:self S:fill_value b:wrap=
inner.default | T:self T:other
isclose.default | T:self T:other f:rtol= f:atol= b:equal_nan=
linalg_multi_dot.default | T[]:tensors
chain_matmul.default | T[]:matrices
corrcoef.default | T:self
cov.default | T:self *i:correction= *T?:fweights= *T?:aweights=
trapezoid.x trapz.x | T:y T:x *i:dim=
trapezoid.dx | T:y *S:dx= *i:dim=
trapz.dx | T:y *f:dx= *i:dim=
remainder.Scalar_Tensor | S:self T:other
norm.ScalarOpt_dtype | T:self S?:p *d:dtype
norm.ScalarOpt_dim_dtype | T:self S?:p i[]:dim b:keepdim *d:dtype
index_reduce.default | T:self i:dim T:index T:source s:reduce *b:include_self=
linalg_matrix_rank.default | T:self f:tol b:hermitian=
linalg_matrix_rank.atol_rtol_float | T:self *f?:atol= *f?:rtol= *b:hermitian=
roll.default | T:self i[]:shifts i[]:dims=
tril.default triu.default | T:self i:diagonal=
unfold.default | T:self i:dimension i:size i:step
_batch_norm_no_update.default | T:input T?:weight T?:bias T:running_mean
    T:running_var f:momentum f:eps =4
_native_batch_norm_legit_no_training.default | T:input T?:weight T?:bias
    T:running_mean T:running_var f:momentum f:eps =3
_native_batch_norm_legit.default native_batch_norm.default | T:input T?:weight
    T?:bias T?:running_mean T?:running_var b:training f:momentum f:eps =3
_native_batch_norm_legit.no_stats | T:input T?:weight T?:bias b:training
    f:momentum f:eps =3
_weight_norm.default | T:v T:g i:dim=
batch_norm.default | T:input T?:weight T?:bias T?:running_mean T?:running_var
    b:training f:momentum f:eps b:cudnn_enabled
cosine_similarity.default | T:x1 T:x2 i:dim= f:eps=
group_norm.default | T:input i:num_groups T?:weight= T?:bias= f:eps=
    b:cudnn_enabled=
instance_norm.default | T:input T?:weight T?:bias T?:running_mean
    T?:running_var b:use_input_stats f:momentum f:eps b:cudnn_enabled
layer_norm.default | T:input i[]:normalized_shape T?:weight= T?:bias= f:eps=
    b:cudnn_enable=
native_layer_norm.default | T:input i[]:normalized_shape T?:weight T?:bias
    f:eps =3
pairwise_distance.default | T:x1 T:x2 f:p= f:eps= b:keepdim=
cdist.default | T:x1 T:x2 f:p= i?:compute_mode=
_cdist_forward.default | T:x1 T:x2 f:p i?:compute_mode
_euclidean_dist.default | T:x1 T:x2
isposinf.default isneginf.default isreal.default special_ndtr.default | T:self
special_round.default | T:self *i:decimals=
xlogy.Scalar_Self | S:self T:other
xlogy.Scalar_Other | T:self S:other
special_xlogy.default | T:self T:other
special_xlogy.self_scalar | S:self T:other
special_xlogy.other_scalar | T:self S:other
isin.Tensor_Scalar | T:elements S:test_element *b:assume_unique= *b:invert=
isin.Scalar_Tensor | S:element T:test_elements *b:assume_unique= *b:invert=
bucketize.Scalar | S:self T:boundaries *b:out_int32= *b:right=
searchsorted.Scalar | T:sorted_sequence S:self *b:out_int32= *b:right=
    *s?:side= *T?:sorter=
quantile.default | T:self T:q i?:dim= b:keepdim= *s:interpolation=
nonzero_static.default | T:self *i:size *i:fill_value=
fft_fftshift.default fft_ifftshift.default | T:self i[]?:dim=
fft_fftfreq.default fft_rfftfreq.default | i:n f:d= *d?:dtype= *o?:layout=
    *o?:device= *b?:pin_memory=
kaiser_window.default | i:window_length *d?:dtype= *o?:layout= *o?:device=
    *b?:pin_memory=
kaiser_window.periodic | i:window_length b:periodic *d?:dtype= *o?:layout=
    *o?:device= *b?:pin_memory=
kaiser_window.beta | i:window_length b:periodic f:beta *d?:dtype= *o?:layout=
    *o?:device= *b?:pin_memory=
atleast_1d.default atleast_2d.default atleast_3d.default | T:self
atleast_1d.Sequence atleast_2d.Sequence atleast_3d.Sequence | T[]:tensors =[]
diagflat.default | T:self i:offset=
diagonal_scatter.default | T:self T:src i:offset= i:dim1= i:dim2=
as_strided.default | T:self i[]:size i[]:stride i?:storage_offset=
empty_strided.default | i[]:size i[]:stride *d?:dtype= *o?:layout= *o?:device=
    *b?:pin_memory=
empty_permuted.default | i[]:size i[]:physical_layout *d?:dtype= *o?:layout=
    *o?:device= *b?:pin_memory=
new_empty_strided.default | T:self i[]:size i[]:stride *d?:dtype= *o?:layout=
    *o?:device= *b?:pin_memory=
bernoulli.default | T:self *o?:generator=
bernoulli.p | T:self f:p *o?:generator=
multinomial.default | T:self i:num_samples b:replacement= *o?:generator=
exponential.default | T:self f:lambd= *o?:generator=
uniform.default | T:self f:from= f:to= *o?:generator=
poisson.default | T:self *o?:generator=
randint_like.default | T:self i:high *d?:dtype= *o?:layout= *o?:device=
    *b?:pin_memory= *o?:memory_format=
randint_like.low_dtype | T:self i:low i:high *d?:dtype= *o?:layout=
    *o?:device= *b?:pin_memory= *o?:memory_format=
normal.Tensor_Tensor | T:mean T:std *o?:generator=
normal.Tensor_float | T:mean f:std *o?:generator=
normal.float_Tensor | f:mean T:std *o?:generator=
normal.float_float | f:mean f:std i[]:size *o?:generator= *d?:dtype=
    *o?:layout= *o?:device= *b?:pin_memory=
rand_like.default randn_like.default | T:self *d?:dtype= *o?:layout=
    *o?:device= *b?:pin_memory= *o?:memory_format=
randint.default | i:high i[]:size *d?:dtype= *o?:layout= *o?:device=
    *b?:pin_memory=
randint.low | i:low i:high i[]:size *d?:dtype= *o?:layout= *o?:device=
    *b?:pin_memory=
randperm.default | i:n *d?:dtype= *o?:layout= *o?:device= *b?:pin_memory=
ctc_loss.IntList | T:log_probs T:targets i[]:input_lengths i[]:target_lengths
    i:blank= i:reduction= b:zero_infinity=
ctc_loss.Tensor | T:log_probs T:targets T:input_lengths T:target_lengths
    i:blank= i:reduction= b:zero_infinity=
_ctc_loss.default | T:log_probs T:targets i[]:input_lengths i[]:target_lengths
    i:blank= b:zero_infinity= =2
_ctc_loss.Tensor | T:log_probs T:targets T:input_lengths T:target_lengths
    i:blank= b:zero_infinity= =2
multilabel_margin_loss.default | T:self T:target i:reduction=
multilabel_margin_loss_forward.default | T:self T:target i:reduction =2
polygamma.default special_polygamma.default | i:n T:self
special_zeta.default | T:self T:other
special_zeta.self_scalar | S:self T:other
special_zeta.other_scalar | T:self S:other
torchvision.deform_conv2d.default | T:input T:weight T:offset T:mask T:bias
    i:stride_h i:stride_w i:pad_h i:pad_w i:dilation_h i:dilation_w i:groups
    i:offset_groups b:use_mask
linalg_norm.ord_str | T:self s:ord i[]?:dim= b:keepdim= *d?:dtype=
linalg_matrix_norm.str_ord | T:self s:ord= i[]:dim= b:keepdim= *d?:dtype=
frobenius_norm.dim | T:self i[]:dim b:keepdim=
addr.default | T:self T:vec1 T:vec2 *S:beta= *S:alpha=
addbmm.default | T:self T:batch1 T:batch2 *S:beta= *S:alpha=
isin.Tensor_Tensor | T:elements T:test_elements *b:assume_unique= *b:invert=
rms_norm.default | T:input i[]:normalized_shape T?:weight= f?:eps=
_adaptive_avg_pool2d.default _adaptive_avg_pool3d.default
    adaptive_avg_pool1d.default adaptive_avg_pool2d.default
    adaptive_avg_pool3d.default | T:self i[]:output_size
adaptive_max_pool1d.default adaptive_max_pool2d.default
    adaptive_max_pool3d.default | T:self i[]:output_size =2
avg_pool1d.default | T:self i[]:kernel_size i[]:stride= i[]:padding=
    b:ceil_mode= b:count_include_pad=
avg_pool2d.default avg_pool3d.default | T:self i[]:kernel_size i[]:stride=
    i[]:padding= b:ceil_mode= b:count_include_pad= i?:divisor_override=
max_pool1d.default max_pool2d.default max_pool3d.default | T:self
    i[]:kernel_size i[]:stride= i[]:padding= i[]:dilation= b:ceil_mode=
max_pool1d_with_indices.default max_pool2d_with_indices.default
    max_pool3d_with_indices.default | T:self i[]:kernel_size i[]:stride=
    i[]:padding= i[]:dilation= b:ceil_mode= =2
max_unpool2d.default | T:self T:indices i[]:output_size
max_unpool3d.default | T:self T:indices i[]:output_size i[]:stride i[]:padding
lstm.input | T:input T[]:hx T[]:params b:has_biases i:num_layers f:dropout
    b:train b:bidirectional b:batch_first =3
gru.input rnn_relu.input rnn_tanh.input | T:input T:hx T[]:params b:has_biases
    i:num_layers f:dropout b:train b:bidirectional b:batch_first =2
lstm_cell.default | T:input T[]:hx T:w_ih T:w_hh T?:b_ih= T?:b_hh= =2
gru_cell.default rnn_relu_cell.default rnn_tanh_cell.default | T:input T:hx
    T:w_ih T:w_hh T?:b_ih= T?:b_hh=
all.dim any.dim | T:self i:dim b:keepdim=
all.dims any.dims | T:self i[]?:dim= b:keepdim=
amax.default amin.default | T:self i[]:dim= b:keepdim=
argmax.default argmin.default | T:self i?:dim= b:keepdim=
view_as_complex.default view_as_real.default conj.default _conj.default
    conj_physical.default _conj_physical.default
    real.default imag.default nonzero.default item.default _local_scalar_dense.default | T:self
masked_select.default | T:self T:mask
polar.default | T:abs T:angle
complex.default | T:real T:imag
fake_quantize_per_tensor_affine.default | T:self f:scale i:zero_point
    i:quant_min i:quant_max
fake_quantize_per_tensor_affine.tensor_qparams | T:self T:scale T:zero_point
    i:quant_min i:quant_max
fake_quantize_per_tensor_affine_cachemask.default | T:self f:scale i:zero_point
    i:quant_min i:quant_max =2
fake_quantize_per_channel_affine.default | T:self T:scale T:zero_point i:axis
    i:quant_min i:quant_max
fake_quantize_per_channel_affine_cachemask.default | T:self T:scale T:zero_point
    i:axis i:quant_min i:quant_max =2
quantized_decomposed.quantize_per_tensor.default
    quantized_decomposed.dequantize_per_tensor.default | T:input f:scale
    i:zero_point i:quant_min i:quant_max d:dtype *d?:out_dtype=
quantized_decomposed.quantize_per_tensor.tensor
    quantized_decomposed.dequantize_per_tensor.tensor | T:input T:scale
    T:zero_point i:quant_min i:quant_max d:dtype *d?:out_dtype=
quantized_decomposed.quantize_per_tensor.tensor2
    quantized_decomposed.dequantize_per_tensor.tensor2 | T:input T:scale
    T:zero_point T:quant_min T:quant_max d:dtype *d?:out_dtype=
quantized_decomposed.quantize_per_channel.default
    quantized_decomposed.dequantize_per_channel.default | T:input T:scales
    T?:zero_points i:axis i:quant_min i:quant_max d:dtype *d?:out_dtype=
quantized_decomposed.quantize_per_token.default
    quantized_decomposed.dequantize_per_token.default | T:input T:scales
    T:zero_points i:quant_min i:quant_max d:dtype d:output_dtype=
quantized_decomposed.dequantize_per_channel_group.default | T:w_int8 T:scales
    T?:zero_points i:quant_min i:quant_max d:dtype i:group_size
    d:output_dtype=
quantized_decomposed.choose_qparams.tensor | T:input i:quant_min i:quant_max
    f:eps d:dtype =2
torchao.quantize_affine.default | T:input i[]:block_size T:scale T?:zero_point
    d:output_dtype S?:quant_min= S?:quant_max= s:zero_point_domain=
torchao.dequantize_affine.default | T:input i[]:block_size T:scale
    T?:zero_point d:input_dtype S?:quant_min= S?:quant_max=
    s:zero_point_domain= d:output_dtype=
torchvision.nms.default | T:dets T:scores f:iou_threshold
torchvision.roi_align.default | T:input T:rois f:spatial_scale i:pooled_height
    i:pooled_width i:sampling_ratio b:aligned
count_nonzero.default | T:self i?:dim=
count_nonzero.dim_IntList squeeze.dims | T:self i[]:dim
cumsum.default | T:self i:dim *d?:dtype=
diff.default | T:self i:n= i:dim= T?:prepend= T?:append=
linalg_vector_norm.default | T:self S:ord= i[]?:dim= b:keepdim= *d?:dtype=
logsumexp.default | T:self i[]:dim b:keepdim=
mean.default sum.default prod.default | T:self *d?:dtype=
mean.dim sum.dim_IntList | T:self i[]?:dim b:keepdim= *d?:dtype=
norm.Scalar | T:self S:p=
norm.ScalarOpt_dim | T:self S?:p i[]:dim b:keepdim=
prod.dim_int | T:self i:dim b:keepdim= *d?:dtype=
std.default var.default | T:self b:unbiased=
std.dim var.dim | T:self i[]?:dim b:unbiased= b:keepdim=
std.correction var.correction | T:self i[]?:dim= *S?:correction= *b:keepdim=
std_mean.correction var_mean.correction | T:self i[]?:dim= *S?:correction=
    *b:keepdim= =2
var_mean.dim | T:self i[]?:dim b:unbiased= b:keepdim= =2
upsample_nearest1d.vec upsample_nearest2d.vec upsample_nearest3d.vec
    _upsample_nearest_exact1d.vec _upsample_nearest_exact2d.vec | T:input
    i[]?:output_size f[]?:scale_factors
upsample_nearest1d.default | T:self i[]:output_size f?:scales=
upsample_nearest2d.default _upsample_nearest_exact2d.default | T:self
    i[]:output_size f?:scales_h= f?:scales_w=
upsample_nearest3d.default | T:self i[]:output_size f?:scales_d= f?:scales_h=
    f?:scales_w=
upsample_linear1d.vec upsample_bilinear2d.vec upsample_bicubic2d.vec
    upsample_trilinear3d.vec _upsample_bilinear2d_aa.vec
    _upsample_bicubic2d_aa.vec | T:input i[]?:output_size b:align_corners
    f[]?:scale_factors
upsample_linear1d.default | T:self i[]:output_size b:align_corners f?:scales=
upsample_bilinear2d.default upsample_bicubic2d.default
    _upsample_bilinear2d_aa.default _upsample_bicubic2d_aa.default | T:self
    i[]:output_size b:align_corners f?:scales_h= f?:scales_w=
upsample_trilinear3d.default | T:self i[]:output_size b:align_corners
    f?:scales_d= f?:scales_h= f?:scales_w=
affine_grid_generator.default | T:theta i[]:size b:align_corners
grid_sampler.default grid_sampler_2d.default | T:input T:grid
    i:interpolation_mode i:padding_mode b:align_corners
_reshape_alias.default | T:self i[]:size i[]:stride
_unsafe_view.default view.default view_copy.default | T:self i[]:size
view.dtype | T:self d:dtype
chunk.default unsafe_chunk.default | T:self i:chunks i:dim= =[]
diagonal.default | T:self i:offset= i:dim1= i:dim2=
broadcast_to.default | T:self i[]:size
expand.default | T:self i[]:size *b:implicit=
flatten.using_ints | T:self i:start_dim= i:end_dim=
narrow.default | T:self i:dim i:start i:length
reshape.default | T:self i[]:shape
select.int | T:self i:dim i:index
select.place | T:self i:dim T:index
slice.Tensor | T:self i:dim= i?:start= i?:end= i:step=
split.Tensor split_copy.Tensor unsafe_split.Tensor | T:self i:split_size i:dim=
    =[]
split.sizes | T:self i[]:split_size i:dim= =[]
split_with_sizes.default split_with_sizes_copy.default | T:self i[]:split_sizes
    i:dim= =[]
squeeze.dim unsqueeze.default | T:self i:dim
swapaxes.default | T:self i:axis0 i:axis1
swapdims.default transpose.int | T:self i:dim0 i:dim1
tensor_split.sections | T:self i:sections i:dim= =[]
tensor_split.indices | T:self i[]:indices i:dim= =[]
unbind.int | T:self i:dim= =[]
hsplit.int vsplit.int dsplit.int | T:self i:sections =[]
hsplit.array vsplit.array dsplit.array | T:self i[]:indices =[]
unflatten.int | T:self i:dim i[]:sizes
copysign.Tensor gcd.default lcm.default ldexp.Tensor nextafter.default
    special_xlog1py.default kron.default vdot.default | T:self T:other
copysign.Scalar | T:self S:other
heaviside.default | T:self T:values
float_power.Tensor_Tensor | T:self T:exponent
float_power.Tensor_Scalar | T:self S:exponent
float_power.Scalar | S:self T:exponent
rrelu.default | T:self S:lower= S:upper= b:training= *o?:generator=
cross.default | T:self T:other i?:dim=
linalg_cross.default | T:self T:other *i:dim=
mse_loss.default l1_loss.default soft_margin_loss.default | T:self T:target
    i:reduction=
smooth_l1_loss.default | T:self T:target i:reduction= f:beta=
huber_loss.default | T:self T:target i:reduction= f:delta=
binary_cross_entropy.default | T:self T:target T?:weight= i:reduction=
binary_cross_entropy_with_logits.default | T:self T:target T?:weight=
    T?:pos_weight= i:reduction=
kl_div.default | T:self T:target i:reduction= *b:log_target=
hinge_embedding_loss.default | T:self T:target f:margin= i:reduction=
margin_ranking_loss.default cosine_embedding_loss.default | T:input1 T:input2
    T:target f:margin= i:reduction=
poisson_nll_loss.default | T:input T:target b:log_input b:full f:eps
    i:reduction
triplet_margin_loss.default | T:anchor T:positive T:negative f:margin= f:p=
    f:eps= b:swap= i:reduction=
multi_margin_loss.default | T:self T:target S:p= S:margin= T?:weight=
    i:reduction=
nll_loss.default nll_loss_nd.default nll_loss2d.default | T:self T:target
    T?:weight= i:reduction= i:ignore_index=
nll_loss_forward.default nll_loss2d_forward.default | T:self T:target T?:weight
    i:reduction i:ignore_index =2
cross_entropy_loss.default | T:self T:target T?:weight= i:reduction=
    i:ignore_index= f:label_smoothing=
_unique2.default | T:self b:sorted= b:return_inverse= b:return_counts= =3
unique_dim.default | T:self i:dim b:sorted= b:return_inverse= b:return_counts=
    =3
unique_consecutive.default | T:self b:return_inverse= b:return_counts= i?:dim=
    =3
aminmax.default | T:self *i?:dim= *b:keepdim= =2
bincount.default | T:self T?:weights= i:minlength=
bucketize.Tensor | T:self T:boundaries *b:out_int32= *b:right=
cummax.default cummin.default | T:self i:dim =2
cumprod.default | T:self i:dim *d?:dtype=
logcumsumexp.default | T:self i:dim
histc.default | T:self i:bins= S:min= S:max=
kthvalue.default | T:self i:k i:dim= b:keepdim= =2
mode.default | T:self i:dim= b:keepdim= =2
nansum.default nanmean.default | T:self i[]?:dim= b:keepdim= *d?:dtype=
quantile.scalar | T:self f:q i?:dim= b:keepdim= *s:interpolation=
searchsorted.Tensor | T:sorted_sequence T:self *b:out_int32= *b:right=
    *s?:side= *T?:sorter=
bilinear.default | T:input1 T:input2 T:weight T?:bias=
block_diag.default cartesian_prod.default column_stack.default dstack.default
    hstack.default row_stack.default vstack.default | T[]:tensors
diag_embed.default | T:self i:offset= i:dim1= i:dim2=
rot90.default | T:self i:k= i[]:dims=
take.default | T:self T:index
tensordot.default | T:self T:other i[]:dims_self i[]:dims_other
tril_indices.default triu_indices.default | i:row i:col i:offset= *d?:dtype= *o?:layout=
    *o?:device= *b?:pin_memory=
logspace.default | S:start S:end i:steps f:base= *d?:dtype= *o?:layout=
    *o?:device= *b?:pin_memory=
hann_window.default hamming_window.default blackman_window.default
    bartlett_window.default | i:window_length *d?:dtype= *o?:layout=
    *o?:device= *b?:pin_memory=
hann_window.periodic hamming_window.periodic blackman_window.periodic
    bartlett_window.periodic | i:window_length b:periodic *d?:dtype= *o?:layout=
    *o?:device= *b?:pin_memory=
hamming_window.periodic_alpha | i:window_length b:periodic f:alpha *d?:dtype= *o?:layout=
    *o?:device= *b?:pin_memory=
hamming_window.periodic_alpha_beta | i:window_length b:periodic f:alpha f:beta
    *d?:dtype= *o?:layout=
    *o?:device= *b?:pin_memory=
fft_fft.default fft_ifft.default fft_rfft.default fft_irfft.default | T:self
    i?:n= i:dim= s?:norm=
fft_fft2.default fft_ifft2.default fft_rfft2.default fft_irfft2.default
    fft_fftn.default fft_ifftn.default fft_rfftn.default fft_irfftn.default |
    T:self i[]?:s= i[]?:dim= s?:norm=
_fft_c2c.default | T:self i[]:dim i:normalization b:forward
_fft_r2c.default | T:self i[]:dim i:normalization b:onesided
_fft_c2r.default | T:self i[]:dim i:normalization i:last_dim_size
stft.default | T:self i:n_fft i?:hop_length= i?:win_length= T?:window=
    b:normalized= b?:onesided= b?:return_complex= b?:align_to_window=
stft.center | T:self i:n_fft i?:hop_length= i?:win_length= T?:window= b:center=
    s:pad_mode= b:normalized= b?:onesided= b?:return_complex=
    b?:align_to_window=
istft.default | T:self i:n_fft i?:hop_length= i?:win_length= T?:window=
    b:center= b:normalized= b?:onesided= i?:length= b:return_complex=
embedding_bag.default | T:weight T:indices T:offsets b:scale_grad_by_freq=
    i:mode= b:sparse= T?:per_sample_weights= b:include_last_offset= =4
embedding_bag.padding_idx | T:weight T:indices T:offsets b:scale_grad_by_freq
    i:mode b:sparse T?:per_sample_weights b:include_last_offset i?:padding_idx
    =4
_embedding_bag.default _embedding_bag_forward_only.default | T:weight T:indices
    T:offsets b:scale_grad_by_freq= i:mode= b:sparse= T?:per_sample_weights=
    b:include_last_offset= i:padding_idx= =4
_convolution_mode.default | T:input T:weight T?:bias i[]:stride s:padding
    i[]:dilation i:groups
grid_sampler_3d.default | T:input T:grid i:interpolation_mode i:padding_mode
    b:align_corners
torchvision.roi_pool.default | T:input T:rois f:spatial_scale i:pooled_height
    i:pooled_width =2
std_mean.dim | T:self i[]?:dim b:unbiased= b:keepdim= =2
std_mean.default var_mean.default | T:self b:unbiased= =2
)";

} // namespace kpc::torch
