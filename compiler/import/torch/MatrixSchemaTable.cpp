//===- MatrixSchemaTable.cpp - Arguments of functions of matrices ---------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/torch/SchemaTable.h"

namespace kpc::torch {

const char *const MatrixSchemaTable = R"(
det.default inverse.default logdet.default | T:self
slogdet.default | T:self =2
linalg_det.default linalg_inv.default linalg_eigvals.default | T:A
linalg_matrix_exp.default matrix_exp.default _linalg_eigvals.default | T:self
linalg_eig.default | T:self =2
linalg_cond.default | T:self S?:p=
linalg_vander.default | T:x *i?:N=
vander.default | T:x i?:N= b:increasing=
linalg_vecdot.default | T:x T:y *i:dim=
linalg_diagonal.default | T:A *i:offset= *i:dim1= *i:dim2=
pdist.default _pdist_forward.default | T:self f:p=
dist.default | T:self T:other S:p=
renorm.default | T:self S:p i:dim S:maxnorm
linalg_lu_factor.default | T:A *b:pivot= =2
linalg_lu_factor_ex.default | T:A *b:pivot= *b:check_errors= =3
_lu_with_info.default | T:self b:pivot= b:check_errors= =3
linalg_lu.default | T:A *b:pivot= =3
lu_unpack.default | T:LU_data T:LU_pivots b:unpack_data= b:unpack_pivots= =3
linalg_lu_solve.default | T:LU T:pivots T:B *b:left= *b:adjoint=
lu_solve.default | T:self T:LU_data T:LU_pivots
linalg_solve_triangular.default | T:self T:B *b:upper *b:left= *b:unitriangular=
triangular_solve.default | T:self T:A b:upper= b:transpose= b:unitriangular= =2
cholesky_solve.default | T:self T:input2 b:upper=
cholesky_inverse.default | T:self b:upper=
linalg_matrix_rank.tol_tensor | T:input T:tol b:hermitian=
linalg_matrix_rank.atol_rtol_tensor | T:input *T?:atol= *T?:rtol= *b:hermitian=
linalg_pinv.rcond_tensor | T:self T:rcond b:hermitian=
linalg_pinv.atol_rtol_tensor | T:self *T?:atol= *T?:rtol= *b:hermitian=
pinverse.default | T:self f:rcond=
_int_mm.default | T:self T:mat2
_fused_rms_norm.default | T:input i[]:normalized_shape T?:weight f?:eps =2
_weight_norm_interface.default | T:v T:g i:dim= =2
native_group_norm.default | T:input T?:weight T?:bias i:N i:C i:HxW i:group
    f:eps =3
_safe_softmax.default | T:self i:dim d?:dtype=
special_softmax.default | T:self i:dim d?:dtype=
special_log_softmax.default | T:self i:dim *d?:dtype=
_scaled_dot_product_attention_math.default | T:query T:key T:value T?:attn_mask=
    f:dropout_p= b:is_causal= T?:dropout_mask= *f?:scale= *b:enable_gqa= =2
_scaled_dot_product_flash_attention_for_cpu.default | T:query T:key T:value
    f:dropout_p= b:is_causal= *T?:attn_mask= *f?:scale= =2
_scaled_dot_product_flash_attention.default | T:query T:key T:value
    f:dropout_p= b:is_causal= b:return_debug_mask= *f?:scale= =9
_scaled_dot_product_efficient_attention.default | T:query T:key T:value
    T?:attn_bias b:compute_log_sumexp f:dropout_p= b:is_causal= *f?:scale= =4
_scaled_dot_product_cudnn_attention.default | T:query T:key T:value
    T?:attn_bias b:compute_log_sumexp f:dropout_p= b:is_causal=
    b:return_debug_mask= *f?:scale= =9
linalg_slogdet.default | T:A =2
_linalg_det.default | T:A =3
_linalg_slogdet.default | T:A =4
linalg_inv_ex.default | T:A *b:check_errors= =2
linalg_solve.default | T:A T:B *b:left=
linalg_solve_ex.default | T:A T:B *b:left= *b:check_errors= =2
_linalg_solve_ex.default | T:A T:B *b:left= *b:check_errors= =4
matrix_power.default linalg_matrix_power.default | T:self i:n
cholesky.default linalg_cholesky.default | T:self b:upper=
linalg_cholesky_ex.default | T:self *b:upper= *b:check_errors= =2
linalg_norm.default | T:self S?:ord= i[]?:dim= b:keepdim= *d?:dtype=
linalg_matrix_norm.default | T:self S:ord i[]:dim= b:keepdim= *d?:dtype=
nuclear_norm.default | T:self b:keepdim=
nuclear_norm.dim | T:self i[]:dim b:keepdim=
linalg_qr.default | T:A s:mode= =2
qr.default | T:self b:some= =2
linalg_eigh.default | T:self s:UPLO= =2
linalg_eigvalsh.default | T:self s:UPLO=
_linalg_eigh.default | T:A s:UPLO= b:compute_v= =2
linalg_svd.default | T:A b:full_matrices= *s?:driver= =3
_linalg_svd.default | T:A b:full_matrices= b:compute_uv= *s?:driver= =3
svd.default | T:self b:some= b:compute_uv= =3
linalg_svdvals.default | T:A *s?:driver=
linalg_pinv.default | T:self f:rcond= b:hermitian=
linalg_pinv.atol_rtol_float | T:self *f?:atol= *f?:rtol= *b:hermitian=
linalg_lstsq.default | T:self T:b f?:rcond= *s?:driver= =4
)";

} // namespace kpc::torch
