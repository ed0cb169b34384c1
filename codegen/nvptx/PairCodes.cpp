//===- PairCodes.cpp - Two numbers of FP8 by one instruction --------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// cvt.rn.satfinite.e4m3x2.f32 and .e5m2x2 convert two numbers (PTX ISA
/// 9.7.9.21), but expressions of an element are written for one, and convert it
/// with a zero. What a thread stores together becomes
///
///   <2 x i8> {trunc(cvt(0, a)), trunc(cvt(0, b))}  →  bitcast(cvt(b, a))
///
/// So does what it loads as one word, by cvt.rn.f16x2.e4m3x2:
///
///   cvt(w & 255)[0], cvt(w >> 8)[0]  →  both[0], both[1] of both = cvt(w)
///
//===----------------------------------------------------------------------===//
#include "codegen/nvptx/PairCodes.h"

#include "mlir/Support/LLVM.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Transforms/Utils/Local.h"

using namespace mlir;

namespace kpc::nvptx {

namespace {

/// A number converted with a zero, whose code is the low byte.
llvm::IntrinsicInst *convertedAlone(llvm::Value *Code) {
  llvm::Value *Two;
  if (!llvm::PatternMatch::match(
          Code, llvm::PatternMatch::m_Trunc(llvm::PatternMatch::m_Value(Two))))
    return nullptr;
  auto *Call = dyn_cast<llvm::IntrinsicInst>(Two);
  if (!Call ||
      (Call->getIntrinsicID() != llvm::Intrinsic::nvvm_ff_to_e4m3x2_rn &&
       Call->getIntrinsicID() != llvm::Intrinsic::nvvm_ff_to_e5m2x2_rn))
    return nullptr;
  auto *High = dyn_cast<llvm::Constant>(Call->getArgOperand(0));
  return High && High->isNullValue() ? Call : nullptr;
}

/// The conversions of all elements of the vector that ends with `Last`; none
/// where one is something else.
SmallVector<llvm::IntrinsicInst *>
conversionsOf(llvm::InsertElementInst &Last) {
  auto *Ty = dyn_cast<llvm::FixedVectorType>(Last.getType());
  if (!Ty || !Ty->getElementType()->isIntegerTy(8) ||
      Ty->getNumElements() % 2 != 0)
    return {};
  SmallVector<llvm::IntrinsicInst *> All(Ty->getNumElements());
  llvm::Value *V = &Last;
  while (auto *Insert = dyn_cast<llvm::InsertElementInst>(V)) {
    auto *At = dyn_cast<llvm::ConstantInt>(Insert->getOperand(2));
    if (!At || At->getZExtValue() >= All.size())
      return {};
    llvm::IntrinsicInst *&One = All[At->getZExtValue()];
    if (!One)
      One = convertedAlone(Insert->getOperand(1));
    if (!One)
      return {};
    V = Insert->getOperand(0);
  }
  bool AreSame = llvm::all_of(All, [&](llvm::IntrinsicInst *One) {
    return One && One->getIntrinsicID() == All.front()->getIntrinsicID();
  });
  return AreSame ? All : SmallVector<llvm::IntrinsicInst *>();
}

void pair(llvm::InsertElementInst &Last,
          ArrayRef<llvm::IntrinsicInst *> Conversions) {
  llvm::IRBuilder<> B(&Last);
  auto Together = [&](size_t I) -> llvm::Value * {
    return B.CreateIntrinsic(Conversions.front()->getIntrinsicID(),
                             {Conversions[I + 1]->getArgOperand(1),
                              Conversions[I]->getArgOperand(1)});
  };
  llvm::Value *Words = Together(0);
  if (Conversions.size() > 2) {
    auto *Ty =
        llvm::FixedVectorType::get(B.getInt16Ty(), Conversions.size() / 2);
    llvm::Value *First = Words;
    Words =
        B.CreateInsertElement(llvm::PoisonValue::get(Ty), First, uint64_t(0));
    for (size_t I = 2; I < Conversions.size(); I += 2)
      Words = B.CreateInsertElement(Words, Together(I), uint64_t(I / 2));
  }
  // A word is stored as one.
  for (llvm::User *User : llvm::make_early_inc_range(Last.users()))
    if (auto *Store = dyn_cast<llvm::StoreInst>(User))
      Store->setOperand(0, Words);
  if (!Last.use_empty())
    Last.replaceAllUsesWith(B.CreateBitCast(Words, Last.getType()));
}

//===----------------------------------------------------------------------===//
// From FP8
//===----------------------------------------------------------------------===//

/// The word of 16 bits whose low or high byte `Call` converts with a zero, and
/// which of both.
std::pair<llvm::Value *, bool> convertedByte(llvm::IntrinsicInst *Call) {
  using namespace llvm::PatternMatch;
  if (!Call ||
      Call->getIntrinsicID() != llvm::Intrinsic::nvvm_e4m3x2_to_f16x2_rn)
    return {};
  bool IsFirst = llvm::all_of(Call->users(), [](llvm::User *User) {
    return match(User, m_ExtractElt(m_Value(), m_ZeroInt()));
  });
  llvm::Value *Byte = Call->getArgOperand(0), *Word;
  if (!IsFirst)
    return {};
  if (match(Byte, m_And(m_Value(Word), m_SpecificInt(0xff))))
    return {Word, false};
  if (match(Byte, m_LShr(m_Value(Word), m_SpecificInt(8))))
    return {Word, true};
  return {};
}

void pairFrom(llvm::Function &F) {
  /// Of each word the conversions of its bytes.
  llvm::MapVector<llvm::Value *,
                  std::array<SmallVector<llvm::IntrinsicInst *>, 2>>
      Words;
  for (llvm::Instruction &I : llvm::instructions(F))
    if (auto *Call = dyn_cast<llvm::IntrinsicInst>(&I))
      if (auto [Word, IsHigh] = convertedByte(Call); Word)
        Words[Word][IsHigh].push_back(Call);
  SmallVector<llvm::WeakTrackingVH> Dead;
  for (auto &[Word, Calls] : Words) {
    if (Calls[0].empty() || Calls[1].empty())
      continue;
    llvm::IRBuilder<> B(F.getContext());
    auto *Def = dyn_cast<llvm::Instruction>(Word);
    B.SetInsertPoint(Def ? *Def->getInsertionPointAfterDef()
                         : F.getEntryBlock().begin());
    llvm::Value *Two =
        B.CreateIntrinsic(Calls[0].front()->getIntrinsicID(), {Word});
    for (uint64_t Place : {0, 1})
      for (llvm::IntrinsicInst *Call : Calls[Place])
        for (llvm::User *User : Call->users()) {
          User->replaceAllUsesWith(B.CreateExtractElement(Two, Place));
          Dead.emplace_back(cast<llvm::Instruction>(User));
        }
  }
  llvm::RecursivelyDeleteTriviallyDeadInstructions(Dead);
}

} // namespace

void pairCodes(llvm::Module &Llvm) {
  for (llvm::Function &F : Llvm)
    pairFrom(F);
  for (llvm::Function &F : Llvm) {
    SmallVector<llvm::WeakTrackingVH> Dead;
    for (llvm::Instruction &I :
         llvm::make_early_inc_range(llvm::instructions(F)))
      if (auto *Insert = dyn_cast<llvm::InsertElementInst>(&I))
        if (auto All = conversionsOf(*Insert); !All.empty()) {
          pair(*Insert, All);
          Dead.emplace_back(Insert);
        }
    llvm::RecursivelyDeleteTriviallyDeadInstructions(Dead);
  }
}

} // namespace kpc::nvptx
