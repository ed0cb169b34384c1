//===- OptimiseKernel.cpp - LLVM's passes over one GPU kernel -------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The passes of LLVM 22's -O2 in their order, as its opt prints them
// (-print-pipeline-passes). Left out are those for programs of many functions
// (inlining, coroutines, OpenMP, profiles) and vectorizers: builders choose
// vectors themselves. Two of eight runs of InstCombine are left out as well.
// Another one follows each of them, with nothing between that it is for.
//
//===----------------------------------------------------------------------===//

#include "codegen/nvptx/LlvmAnalyses.h"
#include "codegen/nvptx/Nvptx.h"

#include "llvm/IR/Module.h"

namespace kpc::nvptx {

/// Of simplifycfg, where loops keep their form.
#define KPC_SIMPLIFY "bonus-inst-threshold=1;keep-loops;"
#define KPC_COMBINE "instcombine<max-iterations=1;no-verify-fixpoint>,"

/// First what every other pass profits of.
static constexpr llvm::StringLiteral Early =
    "nvvm-reflect,function(nvvm-intr-range),"
    "function<eager-inv>(lower-expect,simplifycfg<" KPC_SIMPLIFY
    "no-switch-range-to-icmp>,sroa<modify-cfg>,early-cse<>),"
    "ipsccp,globalopt,"
    "function<eager-inv>(mem2reg," KPC_COMBINE "simplifycfg<" KPC_SIMPLIFY
    "switch-range-to-icmp>),"
    "require<globals-aa>,function(invalidate<aa>),require<profile-summary>,";

static constexpr llvm::StringLiteral Simplification =
    "cgscc(function-attrs<skip-non-recursive-function-attrs>,"
    "function<eager-inv;no-rerun>("
    "sroa<modify-cfg>,early-cse<memssa>,"
    "speculative-execution<only-if-divergent-target>,jump-threading,"
    "correlated-propagation,"
    "simplifycfg<" KPC_SIMPLIFY "switch-range-to-icmp>," KPC_COMBINE
    "aggressive-instcombine,tailcallelim,"
    "simplifycfg<" KPC_SIMPLIFY "switch-range-to-icmp>,"
    "reassociate,constraint-elimination,"
    "loop-mssa(loop-instsimplify,loop-simplifycfg,licm<no-allowspeculation>,"
    "loop-rotate<header-duplication;no-prepare-for-lto>,"
    "licm<allowspeculation>,simple-loop-unswitch<no-nontrivial;trivial>),"
    "simplifycfg<" KPC_SIMPLIFY "switch-range-to-icmp>," KPC_COMBINE
    "loop(loop-idiom,indvars,extra-simple-loop-unswitch-passes,loop-deletion,"
    "loop-unroll-full),"
    "sroa<modify-cfg>,vector-combine,mldst-motion<no-split-footer-bb>,gvn<>,"
    "sccp,bdce," KPC_COMBINE
    "jump-threading,correlated-propagation,adce,memcpyopt,dse,"
    "loop-mssa(licm<allowspeculation>),"
    "simplifycfg<" KPC_SIMPLIFY
    "switch-range-to-icmp;switch-to-arithmetic;hoist-common-insts;"
    "sink-common-insts>),"
    "function-attrs),";

static constexpr llvm::StringLiteral Late =
    "globalopt,globaldce,rpo-function-attrs,recompute-globalsaa,"
    "function<eager-inv>(drop-unnecessary-assumes,float2int,"
    "lower-constant-intrinsics,"
    "loop(loop-rotate<header-duplication;no-prepare-for-lto>,loop-deletion),"
    "drop-unnecessary-assumes,infer-alignment,loop-load-elim," KPC_COMBINE
    "simplifycfg<bonus-inst-threshold=1;forward-switch-cond;"
    "switch-range-to-icmp;switch-to-arithmetic;switch-to-lookup;no-keep-loops;"
    "hoist-common-insts;sink-common-insts>,"
    "vector-combine,loop-unroll<O2>,sroa<preserve-cfg>,"
    "infer-alignment," KPC_COMBINE
    "loop-mssa(licm<allowspeculation>),alignment-from-assumptions,loop-sink,"
    "instsimplify,div-rem-pairs,"
    "simplifycfg<" KPC_SIMPLIFY "switch-range-to-icmp;switch-to-arithmetic;"
    "hoist-loads-stores-with-cond-faulting;speculate-unpredictables>),"
    "globaldce,constmerge";

llvm::Error optimiseKernel(llvm::Module &Llvm, llvm::TargetMachine &Machine) {
  LlvmAnalyses Analyses(Machine);
  llvm::ModulePassManager Passes;
  if (llvm::Error Wrong = Analyses.Builder.parsePassPipeline(
          Passes, (Early + Simplification + Late).str()))
    return Wrong;
  Passes.run(Llvm, Analyses.Modules);
  return llvm::Error::success();
}

} // namespace kpc::nvptx
