//===- Decoder.cpp - Statements into instructions -------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "emulator/program/Decoder.h"

#include "emulator/program/ControlFlow.h"
#include "emulator/program/InlineCalls.h"
#include "emulator/program/UnsetRegisters.h"
#include "emulator/program/Windows.h"

#include <algorithm>
#include <bit>

namespace kpc::emulator {

/// Bytes of a register file; a real one has 1 KiB a thread.
static constexpr uint64_t MaxRegisterBytes = uint64_t{64} << 20;

Decoder::Decoder(Kernel &K, const VariableAddresses &Variables,
                 const TextTarget &For, std::vector<LoadError> &Errors)
    : K(K), Variables(Variables), For(For), Errors(Errors) {}

bool Decoder::fail(std::string Text) {
  CurrentFailed = true;
  int Line = Current ? Current->Line : K.Source.Line;
  if (Current)
    Text = Current->text() + ": " + Text;
  Errors.push_back({Line, std::move(Text)});
  return false;
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

uint32_t Decoder::makeRow(unsigned Bits) {
  uint64_t Bytes = Bits == 1 ? 4 : uint64_t{Bits} / 8 * WarpSize;
  uint64_t Alignment = Bits == 1 ? 4 : 64;
  uint64_t At = (K.RegisterBytes + Alignment - 1) / Alignment * Alignment;
  if (At + Bytes > MaxRegisterBytes) {
    fail("too many registers");
    return 0;
  }
  K.RegisterBytes = static_cast<uint32_t>(At + Bytes);
  return static_cast<uint32_t>(At);
}

uint32_t Decoder::constant(uint64_t Value, unsigned Bits) {
  if (Bits > 1 && Bits < 64)
    Value &= (uint64_t{1} << Bits) - 1;
  auto [It, New] = KnownConstants.try_emplace({Value, Bits}, 0);
  if (New) {
    It->second = makeRow(Bits);
    K.Constants.push_back(
        {It->second, static_cast<uint8_t>(Bits == 1 ? 0 : Bits / 8), Value});
  }
  return It->second;
}

uint32_t Decoder::carry() {
  if (CarryRow == NoRow)
    CarryRow = makeRow(1);
  return CarryRow;
}

/// "%r12" of ".reg .b32 %r<20>", or a register declared by its whole name.
std::optional<Decoder::Register>
Decoder::findRegister(const std::string &Name) {
  size_t Digits = Name.find_last_not_of("0123456789") + 1;
  std::string Prefix = Name.substr(0, Digits), Number = Name.substr(Digits);
  for (int Scope = Current->Scope; Scope >= 0;
       Scope = K.Source.Scopes[Scope].Parent) {
    const auto &Registers = K.Source.Scopes[Scope].Registers;
    auto It = Registers.find(Name);
    bool Found = It != Registers.end() && It->second.Count < 0;
    if (!Found && !Number.empty() && Number.size() < 8) {
      It = Registers.find(Prefix);
      Found = It != Registers.end() && std::stol(Number) < It->second.Count &&
              (Number == "0" || Number[0] != '0');
    }
    if (!Found)
      continue;
    auto [Entry, New] = Known.try_emplace({Scope, Name});
    if (New) {
      auto T = typeNamed(It->second.Type);
      unsigned Bits =
          T ? bitsOf(*T) : unsigned(ptx::typeBytes(It->second.Type)) * 8;
      Entry->second = {makeRow(Bits), Bits, T};
    }
    return Entry->second;
  }
  return std::nullopt;
}

unsigned Decoder::registerBits(const ptx::Operand &O) {
  if (O.TheKind != ptx::Operand::Kind::Name)
    return 0;
  auto R = findRegister(O.Name);
  return R ? R->Bits : 0;
}

static const std::map<std::string, Special> &specials() {
  static const std::map<std::string, Special> Names = {
      {"%tid.x", Special::TidX},
      {"%tid.y", Special::TidY},
      {"%tid.z", Special::TidZ},
      {"%ntid.x", Special::NtidX},
      {"%ntid.y", Special::NtidY},
      {"%ntid.z", Special::NtidZ},
      {"%ctaid.x", Special::CtaidX},
      {"%ctaid.y", Special::CtaidY},
      {"%ctaid.z", Special::CtaidZ},
      {"%nctaid.x", Special::NctaidX},
      {"%nctaid.y", Special::NctaidY},
      {"%nctaid.z", Special::NctaidZ},
      {"%laneid", Special::LaneId},
      {"%warpid", Special::WarpId},
      {"%nwarpid", Special::NWarpId},
      {"%smid", Special::SmId},
      {"%nsmid", Special::NSmId},
      {"%gridid", Special::GridId},
      {"%lanemask_eq", Special::LaneMaskEq},
      {"%lanemask_le", Special::LaneMaskLe},
      {"%lanemask_lt", Special::LaneMaskLt},
      {"%lanemask_ge", Special::LaneMaskGe},
      {"%lanemask_gt", Special::LaneMaskGt},
      {"%dynamic_smem_size", Special::DynamicShared},
      {"%total_smem_size", Special::TotalShared},
      {"%clusterid.x", Special::ClusterIdX},
      {"%clusterid.y", Special::ClusterIdY},
      {"%clusterid.z", Special::ClusterIdZ},
      {"%nclusterid.x", Special::NClusterIdX},
      {"%nclusterid.y", Special::NClusterIdY},
      {"%nclusterid.z", Special::NClusterIdZ},
      {"%cluster_ctaid.x", Special::ClusterCtaIdX},
      {"%cluster_ctaid.y", Special::ClusterCtaIdY},
      {"%cluster_ctaid.z", Special::ClusterCtaIdZ},
      {"%cluster_nctaid.x", Special::ClusterNCtaIdX},
      {"%cluster_nctaid.y", Special::ClusterNCtaIdY},
      {"%cluster_nctaid.z", Special::ClusterNCtaIdZ},
      {"%cluster_ctarank", Special::ClusterCtaRank},
      {"%cluster_nctarank", Special::ClusterNCtaRank}};
  return Names;
}

std::optional<uint32_t> Decoder::special(const std::string &Name,
                                         unsigned Bits) {
  auto It = specials().find(Name);
  if (It == specials().end())
    return std::nullopt;
  if (It->second >= Special::ClusterIdX)
    if (std::string Lacks = For.lacks("sm_90", 78); !Lacks.empty())
      fail(Name + " " + Lacks);
  auto [Entry, New] = KnownSpecials.try_emplace({It->second, Bits}, 0);
  if (New) {
    Entry->second = makeRow(Bits);
    K.Specials.push_back(
        {Entry->second, static_cast<uint8_t>(Bits / 8), It->second});
  }
  return Entry->second;
}

static std::string quoted(const std::string &Name) { return "'" + Name + "'"; }

std::optional<uint32_t> Decoder::source(const ptx::Operand &O, unsigned Bits) {
  using Kind = ptx::Operand::Kind;
  switch (O.TheKind) {
  case Kind::Integer:
    if (Bits == 1)
      return constant(O.Bits ? 0xFFFFFFFF : 0, 1);
    if (Bits == 128)
      break;
    return constant(O.Bits, Bits);
  case Kind::Float32:
    if (Bits == 32)
      return constant(O.Bits, 32);
    break;
  case Kind::Float64:
    if (Bits == 64)
      return constant(O.Bits, 64);
    if (Bits == 32)
      return constant(std::bit_cast<uint32_t>(
                          static_cast<float>(std::bit_cast<double>(O.Bits))),
                      32);
    break;
  case Kind::Name: {
    if (auto R = findRegister(O.Name)) {
      if (O.Negated || O.Offset)
        break;
      if (R->Bits == Bits) {
        Reads.push_back(R->Row);
        return R->Row;
      }
      fail(quoted(O.Name) + " has " + std::to_string(R->Bits) + " bits, not " +
           std::to_string(Bits));
      return std::nullopt;
    }
    if (Bits >= 16 && Bits <= 64) {
      if (auto Row = special(O.Name, Bits))
        return Row;
      if (O.Name == "WARP_SZ")
        return constant(WarpSize, Bits);
      Space Where = Space::Generic;
      bool Dynamic = false;
      if (auto Address = addressOf(O.Name, Where, Dynamic))
        return constant(*Address + static_cast<uint64_t>(O.Offset), Bits);
    }
    fail(quoted(O.Name) + " is not known");
    return std::nullopt;
  }
  default:
    break;
  }
  fail("an operand of this form is not supported here");
  return std::nullopt;
}

std::optional<uint32_t> Decoder::target(const ptx::Operand &O, unsigned Bits) {
  if (O.TheKind == ptx::Operand::Kind::Sink)
    return makeRow(Bits);
  auto R = O.TheKind == ptx::Operand::Kind::Name ? findRegister(O.Name)
                                                 : std::nullopt;
  if (!R || O.Negated) {
    fail(O.TheKind == ptx::Operand::Kind::Name && !O.Negated
             ? quoted(O.Name) + " is no register"
             : "the result is not a register");
    return std::nullopt;
  }
  if (R->Bits == Bits) {
    Writes.push_back(R->Row);
    return R->Row;
  }
  fail(quoted(O.Name) + " has " + std::to_string(R->Bits) + " bits, not " +
       std::to_string(Bits));
  return std::nullopt;
}

bool Decoder::predicate(const ptx::Operand &O, uint32_t &Row, bool &Negated) {
  Negated = O.Negated;
  ptx::Operand Plain = O;
  Plain.Negated = false;
  auto Found = source(Plain, 1);
  if (Found)
    Row = *Found;
  return Found.has_value();
}

std::optional<uint64_t> Decoder::immediate(const ptx::Operand &O) {
  if (O.TheKind == ptx::Operand::Kind::Integer)
    return O.Bits;
  fail("an operand must be a number");
  return std::nullopt;
}

bool Decoder::rows(const ptx::Operand &O, Instruction &I, bool Write,
                   unsigned ElementBits, unsigned &Bits) {
  std::vector<ptx::Operand> Parts{O};
  if (O.TheKind == ptx::Operand::Kind::Vector)
    Parts = O.Parts;
  Bits = 0;
  for (const ptx::Operand &P : Parts)
    if (unsigned B = registerBits(P)) {
      Bits = B;
      break;
    }
  if (Bits == 0)
    Bits = ElementBits;
  if (Bits < ElementBits)
    return fail("a register is smaller than the element");
  I.Rows = static_cast<uint32_t>(K.Vectors.size());
  I.Count = static_cast<uint8_t>(Parts.size());
  if (Parts.size() > 128)
    return fail("too many operands");
  for (const ptx::Operand &P : Parts) {
    auto Row = Write ? target(P, Bits) : source(P, Bits);
    if (!Row)
      return false;
    K.Vectors.push_back(*Row);
  }
  return true;
}

bool Decoder::address(const ptx::Operand &O, Instruction &I) {
  if (O.TheKind != ptx::Operand::Kind::Address || O.Parts.size() != 1)
    return fail("expected an address in brackets");
  const ptx::Operand &Base = O.Parts.front();
  I.Offset = O.Offset;
  if (Base.TheKind == ptx::Operand::Kind::Integer) {
    I.Offset += static_cast<int64_t>(Base.Bits);
    return true;
  }
  if (Base.TheKind != ptx::Operand::Kind::Name)
    return fail("the address's base is no register and no variable");
  if (auto R = findRegister(Base.Name)) {
    if (R->Bits != 32 && R->Bits != 64)
      return fail("an address has 32 or 64 bits");
    Reads.push_back(R->Row);
    I.Source[0] = R->Row;
    I.AddressBytes = static_cast<uint8_t>(R->Bits / 8);
    return true;
  }
  Space Where = Space::Generic;
  bool Dynamic = false;
  auto Address = addressOf(Base.Name, Where, Dynamic);
  if (!Address)
    return fail(quoted(Base.Name) + " is not known");
  uint64_t Value = *Address;
  bool Device = Where == Space::Global || Where == Space::Const;
  if (I.Where == Space::Generic)
    Value += Where == Space::Shared  ? SharedWindow
             : Where == Space::Local ? LocalWindow
             : Where == Space::Param ? ParamWindow
                                     : 0;
  else if (I.Where == Space::Param && Where == Space::Local)
    I.Where = Where; // what a call passes
  else if (I.Where != Where && !(Device && I.Where != Space::Shared))
    return fail(quoted(Base.Name) + " lies in another state space");
  I.Offset += static_cast<int64_t>(Value);
  return true;
}

bool Decoder::addAddress(const ptx::Operand &O, Instruction &I, Space Where,
                         std::vector<uint32_t> *Coordinates) {
  ptx::Operand Plain = O;
  if (Coordinates && O.Parts.size() == 2) {
    Plain.Parts.resize(1);
    for (const ptx::Operand &C : O.Parts[1].Parts) {
      auto Row = source(C, 32);
      if (!Row)
        return false;
      Coordinates->push_back(*Row);
    }
  }
  Instruction Part;
  Part.Where = Where;
  if (!address(Plain, Part))
    return false;
  if (I.Reconverge == EndOfCode) {
    I.Jump = static_cast<uint32_t>(K.Addresses.size());
    I.Reconverge = 0; // the first one is there
  }
  K.Addresses.push_back({Part.Source[0], Part.AddressBytes, Part.Offset});
  return true;
}

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

std::optional<uint32_t> Decoder::label(const std::string &Name) {
  for (int Scope = Current->Scope; Scope >= 0;
       Scope = K.Source.Scopes[Scope].Parent) {
    const auto &Labels = K.Source.Scopes[Scope].Labels;
    if (auto It = Labels.find(Name); It != Labels.end())
      return static_cast<uint32_t>(It->second);
  }
  fail("label " + quoted(Name) + " is not known");
  return std::nullopt;
}

/// bra, brx.idx, ret, exit: one instruction for each statement, so labels are
/// statement numbers.
bool Decoder::branch(Instruction &I) {
  const ptx::Statement &S = *Current;
  if (S.Opcode == "ret" || S.Opcode == "exit") {
    I.TheFlow = Flow::Exit;
    return true;
  }
  auto Name = [&](size_t N) { return S.Operands[N].Name; };
  if (S.Opcode == "bra" && S.Operands.size() == 1) {
    auto To = label(Name(0));
    I.TheFlow = Flow::Branch;
    I.Jump = To.value_or(0);
    return To.has_value();
  }
  if (S.Opcode != "brx" || S.Operands.size() != 2)
    return fail("wrong operands");
  auto Index = source(S.Operands[0], 32);
  if (!Index)
    return false;
  I.Source[0] = *Index;
  I.TheFlow = Flow::Table;
  I.Jump = static_cast<uint32_t>(K.Tables.size());
  for (int Scope = S.Scope; Scope >= 0; Scope = K.Source.Scopes[Scope].Parent) {
    const auto &Lists = K.Source.Scopes[Scope].BranchTargets;
    auto It = Lists.find(Name(1));
    if (It == Lists.end())
      continue;
    auto &Table = K.Tables.emplace_back();
    for (const std::string &Target : It->second) {
      auto To = label(Target);
      if (!To)
        return false;
      Table.push_back(*To);
    }
    return true;
  }
  return fail("the list " + quoted(Name(1)) + " is not known");
}

void Decoder::decode(size_t Number) {
  const ptx::Statement &S = K.Source.Body[Number];
  Current = &S;
  CurrentFailed = false;
  Reads.clear();
  Writes.clear();
  Instruction I;
  I.Statement = static_cast<uint32_t>(Number);
  if (!S.Guard.empty()) {
    ptx::Operand Guard;
    Guard.TheKind = ptx::Operand::Kind::Name;
    Guard.Name = S.Guard;
    I.GuardNegated = S.GuardNegated;
    if (auto Row = source(Guard, 1))
      I.Guard = *Row;
  }
  Modifiers M(S.Modifiers);
  bool Right = false;
  if (S.Opcode == "bra" || S.Opcode == "brx" || S.Opcode == "ret" ||
      S.Opcode == "exit") {
    M.take("uni");
    if (S.Opcode == "brx")
      M.take("idx");
    Right = branch(I);
  } else if (auto It = opcodes().find(S.Opcode); It != opcodes().end()) {
    Right = It->second.Decode(*this, S, M, I);
    if (Right) {
      checkNeeds(It->second);
      checkTypes(It->second);
    }
  }
  if (!Right && !CurrentFailed)
    fail("this instruction is not supported");
  if (Right && !M.left().empty())
    fail("'." + std::string(M.left()) + "' is not supported here");
  I.Uses = static_cast<uint32_t>(K.Uses.size());
  I.Reads = static_cast<uint16_t>(Reads.size());
  I.Writes = static_cast<uint16_t>(Writes.size());
  K.Uses.insert(K.Uses.end(), Reads.begin(), Reads.end());
  K.Uses.insert(K.Uses.end(), Writes.begin(), Writes.end());
  K.Code.push_back(I);
}

void Decoder::markMatrixRows() {
  std::vector<uint32_t> &All = K.MatrixRows;
  std::sort(All.begin(), All.end());
  All.erase(std::unique(All.begin(), All.end()), All.end());
  for (Instruction &I : K.Code) {
    bool IsMatrix = K.Source.Body[I.Statement].Opcode == "wgmma";
    for (unsigned N = 0; !IsMatrix && N < unsigned(I.Reads + I.Writes); ++N)
      if (std::binary_search(All.begin(), All.end(), K.Uses[I.Uses + N]))
        I.Checks |= UsesMatrixRow;
  }
}

void Decoder::run() {
  layOut();
  for (size_t Number = 0; Number < K.Source.Body.size(); ++Number)
    decode(Number);
  Current = nullptr;
  if (!Errors.empty())
    return;
  findReconvergence(K);
  markMatrixRows();
  findDoubtfulRows(K);
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

Program decodeModule(const ptx::Module &Text,
                     const VariableAddresses &Variables, const TextTarget &For,
                     std::vector<LoadError> &Errors) {
  Program Out;
  for (ptx::Function &F : inlineCalls(Text, Errors)) {
    auto K = std::make_unique<Kernel>();
    K->Name = F.Name;
    for (size_t D = 0; D < 3; ++D) {
      K->MaxThreads[D] = F.MaxThreads.empty() ? 0 : F.MaxThreads[D];
      K->RequiredThreads[D] =
          F.RequiredThreads.empty() ? 0 : F.RequiredThreads[D];
    }
    K->Source = std::move(F);
    K->Files = Text.Files;
    if (std::string Lacks = For.lacks("sm_90", 78);
        !K->Source.ClusterSize.empty() && !Lacks.empty())
      Errors.push_back({K->Source.Line, ".reqnctapercluster " + Lacks});
    Decoder(*K, Variables, For, Errors).run();
    Out.Kernels.push_back(std::move(K));
  }
  return Out;
}

} // namespace kpc::emulator
