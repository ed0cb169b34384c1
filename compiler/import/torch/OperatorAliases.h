//===- OperatorAliases.h - Other names of aten's operators ------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_TORCH_OPERATORALIASES_H
#define KPC_COMPILER_IMPORT_TORCH_OPERATORALIASES_H

#include <string_view>

namespace kpc::torch {

struct OperatorAlias {
  std::string_view Alias, Of;
};

/// Operators with the overloads and the arguments of another. Those whose
/// overloads or arguments differ have rows of their own.
inline constexpr OperatorAlias OperatorAliases[] = {
    {"_stack", "stack"},
    {"_unsafe_index_put", "index_put"},
    {"alias_copy", "alias"},
    {"arccosh", "acosh"},
    {"arcsinh", "asinh"},
    {"arctanh", "atanh"},
    {"detach_copy", "detach"},
    {"diagonal_copy", "diagonal"},
    {"divide", "div"},
    {"expand_copy", "expand"},
    {"feature_alpha_dropout", "dropout"},
    {"fix", "trunc"},
    {"ger", "outer"},
    {"greater", "gt"},
    {"greater_equal", "ge"},
    {"less", "lt"},
    {"less_equal", "le"},
    {"linalg_matmul", "matmul"},
    {"multiply", "mul"},
    {"narrow_copy", "narrow"},
    {"native_channel_shuffle", "channel_shuffle"},
    {"not_equal", "ne"},
    {"permute_copy", "permute"},
    {"select_copy", "select"},
    {"slice_copy", "slice"},
    {"special_erf", "erf"},
    {"special_exp2", "exp2"},
    {"special_expm1", "expm1"},
    {"special_log1p", "log1p"},
    {"special_logit", "logit"},
    {"special_logsumexp", "logsumexp"},
    {"squeeze_copy", "squeeze"},
    {"subtract", "sub"},
    {"t_copy", "t"},
    {"transpose_copy", "transpose"},
    {"true_divide", "div"},
    {"unbind_copy", "unbind"},
    {"unfold_copy", "unfold"},
    {"unsafe_split_with_sizes", "split_with_sizes"},
    {"unsqueeze_copy", "unsqueeze"},
};

} // namespace kpc::torch

#endif // KPC_COMPILER_IMPORT_TORCH_OPERATORALIASES_H
