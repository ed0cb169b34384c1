//===- CheckForNvptx.cpp - What LLVM would abort on -----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/nvptx/Nvptx.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

using namespace mlir;

namespace kpc::nvptx {

namespace {
/// Element widths, in bits, that an intrinsic has instructions (or an inline
/// expansion) for. Tried with LLVM 22 on sm_80 and sm_100a.
enum Widths : unsigned {
  F16 = 1,
  F32 = 2,
  F64 = 4,
  AnyInt = 8,
  Any = ~0u,
};
} // namespace

/// None: the intrinsic is not known to work.
static std::optional<unsigned> widthsOf(llvm::Intrinsic::ID Id) {
  namespace Intr = llvm::Intrinsic;
  switch (Id) {
  case Intr::fma:
  case Intr::fabs:
  case Intr::minnum:
  case Intr::maxnum:
  case Intr::minimum:
  case Intr::maximum:
  case Intr::copysign:
    return F16 | F32 | F64;
  case Intr::sqrt:
  case Intr::floor:
  case Intr::ceil:
  case Intr::trunc:
  case Intr::rint:
  case Intr::nearbyint:
  case Intr::roundeven:
  case Intr::round:
    return F32 | F64;
  case Intr::exp2: // ex2.approx
    return F32;
  case Intr::fptosi_sat:
  case Intr::fptoui_sat:
  case Intr::is_fpclass:
  case Intr::ctpop:
  case Intr::ctlz:
  case Intr::cttz:
  case Intr::bitreverse:
  case Intr::bswap:
  case Intr::fshl:
  case Intr::fshr:
  case Intr::smin:
  case Intr::smax:
  case Intr::umin:
  case Intr::umax:
  case Intr::abs:
  case Intr::sadd_sat:
  case Intr::uadd_sat:
  case Intr::ssub_sat:
  case Intr::usub_sat:
  case Intr::uadd_with_overflow:
  case Intr::sadd_with_overflow:
  case Intr::usub_with_overflow:
  case Intr::ssub_with_overflow:
  case Intr::umul_with_overflow:
  case Intr::smul_with_overflow:
  case Intr::vector_reduce_add:
  case Intr::vector_reduce_mul:
  case Intr::vector_reduce_and:
  case Intr::vector_reduce_or:
  case Intr::vector_reduce_xor:
  case Intr::vector_reduce_smax:
  case Intr::vector_reduce_smin:
  case Intr::vector_reduce_umax:
  case Intr::vector_reduce_umin:
  case Intr::vector_reduce_fadd:
  case Intr::vector_reduce_fmul:
  case Intr::vector_reduce_fmax:
  case Intr::vector_reduce_fmin:
  case Intr::vector_reduce_fmaximum:
  case Intr::vector_reduce_fminimum:
  case Intr::assume:
  case Intr::expect:
  case Intr::memcpy:
  case Intr::memset:
  case Intr::memmove:
  case Intr::lifetime_start:
  case Intr::lifetime_end:
  case Intr::experimental_noalias_scope_decl:
    return Any;
  default:
    return std::nullopt;
  }
}

static bool widthAllowed(const llvm::Type *Type, unsigned Allowed) {
  const llvm::Type *Scalar = Type->getScalarType();
  if (Allowed == Any || !Scalar->isFloatingPointTy())
    return true;
  if (Scalar->isDoubleTy())
    return Allowed & F64;
  if (Scalar->isFloatTy())
    return Allowed & F32;
  return (Scalar->isHalfTy() || Scalar->isBFloatTy()) && (Allowed & F16);
}

static std::string typeText(const llvm::Type *Type) {
  std::string Text;
  llvm::raw_string_ostream(Text) << *Type;
  return Text;
}

/// Whether the back end makes words of 64 bits of an integer operation of 128:
/// the product of two words, whose upper half is mul.hi, and what takes it
/// apart. Divisions and conversions to floats would be calls of a library.
static bool splitsIntoWords(const llvm::Instruction &I) {
  switch (I.getOpcode()) {
  case llvm::Instruction::Add:
  case llvm::Instruction::Sub:
  case llvm::Instruction::Mul:
  case llvm::Instruction::And:
  case llvm::Instruction::Or:
  case llvm::Instruction::Xor:
  case llvm::Instruction::Shl:
  case llvm::Instruction::LShr:
  case llvm::Instruction::AShr:
  case llvm::Instruction::ZExt:
  case llvm::Instruction::SExt:
  case llvm::Instruction::Trunc:
  case llvm::Instruction::ICmp:
  case llvm::Instruction::Select:
  case llvm::Instruction::PHI:
    return true;
  default:
    return false;
  }
}

/// Why the back end has nothing for this instruction; empty: it has.
static std::string reasonAgainst(const llvm::Instruction &I) {
  if (I.getOpcode() == llvm::Instruction::FRem)
    return "a floating-point remainder (frem)";
  SmallVector<const llvm::Type *> Types{I.getType()};
  for (const llvm::Use &Operand : I.operands())
    Types.push_back(Operand->getType());
  for (const llvm::Type *T : Types) {
    const llvm::Type *Scalar = T->getScalarType();
    unsigned Bits = Scalar->isIntegerTy() ? Scalar->getIntegerBitWidth() : 0;
    if (Bits > 128 || (Bits > 64 && !splitsIntoWords(I)))
      return "a value of type " + typeText(T);
    if (Scalar->isX86_FP80Ty() || Scalar->isFP128Ty() ||
        Scalar->isPPC_FP128Ty())
      return "a value of type " + typeText(T);
  }
  const auto *Call = dyn_cast<llvm::CallBase>(&I);
  if (!Call || Call->isInlineAsm())
    return {};
  const llvm::Function *Callee = Call->getCalledFunction();
  if (!Callee)
    return "an indirect call";
  if (!Callee->isDeclaration())
    return {};
  if (!Callee->isIntrinsic())
    return "a call of '" + Callee->getName().str() +
           "', which no GPU code defines";
  // Those of the target come from nvvm operations, which have verifiers.
  if (Callee->getName().starts_with("llvm.nvvm."))
    return {};
  std::optional<unsigned> Allowed = widthsOf(Callee->getIntrinsicID());
  if (!Allowed || !widthAllowed(Call->getType(), *Allowed))
    return "'" + Callee->getName().str() +
           "', which has no GPU instruction and was not expanded";
  return {};
}

LogicalResult checkForNvptx(gpu::GPUModuleOp Module, const llvm::Module &Llvm) {
  LogicalResult Result = success();
  for (const llvm::Function &F : Llvm) {
    llvm::StringSet<> Told; // each reason once for each kernel
    for (const llvm::Instruction &I : llvm::instructions(F)) {
      std::string Reason = reasonAgainst(I);
      if (Reason.empty() || !Told.insert(Reason).second)
        continue;
      Module.emitError() << "kernel '" << F.getName() << "' holds " << Reason;
      Result = failure();
    }
  }
  return Result;
}

} // namespace kpc::nvptx
