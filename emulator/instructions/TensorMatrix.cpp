//===- TensorMatrix.cpp - tcgen05.mma -------------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// PTX ISA, "tcgen05.mma": dense, with and without block scales; its instruction
// descriptor, and the figures of where D, A and the scales lie. All that it
// reads and writes is checked when it is issued; it is computed later.

#include "emulator/execute/Cluster.h"
#include "emulator/instructions/TensorProduct.h"

namespace kpc::emulator {

//===----------------------------------------------------------------------===//
// The instruction descriptor
//===----------------------------------------------------------------------===//

namespace {

/// The type of a code of 3 bits; false: there is none.
bool typeOf(TensorKind Kind, unsigned Code, MatrixType &Out) {
  constexpr auto None = MatrixType::S8; // not of a float kind
  constexpr MatrixType Small[] = {
      MatrixType::E4M3, MatrixType::E5M2, None, MatrixType::E2M3,
      MatrixType::E3M2, MatrixType::E2M1, None, None};
  switch (Kind) {
  case TensorKind::F16:
    Out = Code ? MatrixType::BF16 : MatrixType::F16;
    return Code < 2;
  case TensorKind::TF32:
    Out = MatrixType::TF32;
    return Code == 2;
  case TensorKind::I8:
    Out = Code ? MatrixType::S8 : MatrixType::U8;
    return Code < 2;
  case TensorKind::F8F6F4:
  case TensorKind::MXF8F6F4:
    Out = Small[Code];
    return Out != None;
  default:
    Out = MatrixType::E2M1;
    return Code == 1;
  }
}

bool isShape(const TensorForm &F, const TensorText &T) {
  if (T.Stationary)
    return (F.M == 32 || F.M == 64 || F.M == 128) &&
           (F.N == 64 || F.N == 128 || F.N == 256);
  bool Pair = T.Group == 2;
  bool Rows = F.M == 128 || F.M == (Pair ? 256 : isScaled(T.Kind) ? 128 : 64);
  unsigned Step = Pair ? 16 : 8;
  if (T.Kind == TensorKind::F16 && F.M == 128 && !Pair)
    Step = 16;
  bool Columns = F.N >= Step && F.N <= 256 && F.N % Step == 0;
  if (T.Kind == TensorKind::I8)
    Columns &= Pair ? F.N % 32 == 0 : F.N == 8 || F.N == 24 || F.N % 16 == 0;
  if (T.Kind != TensorKind::TF32 && T.Kind != TensorKind::F16 && F.TransposeB)
    Columns &= F.N % (Pair ? 32 : 16) == 0;
  return Rows && Columns;
}

std::string shapeProblem(const TensorForm &F, const TensorText &T) {
  if (isShape(F, T))
    return {};
  return "the instruction descriptor's shape " + std::to_string(F.M) + "x" +
         std::to_string(F.N) + " is none of this kind with " +
         (T.Stationary ? ".ws" : "cta_group::" + std::to_string(T.Group));
}

} // namespace

TensorForm::TensorForm(uint32_t Bits, const TensorText &T) {
  auto Field = [&](int At, int Width) {
    return Bits >> At & ((1u << Width) - 1);
  };
  bool Scaled = isScaled(T.Kind), Is4Bit = T.Kind >= TensorKind::MXF4;
  N = Field(17, 6) * 8;
  M = Field(24, 5) * 16;
  NegateA = Field(13, 1);
  NegateB = Field(14, 1);
  TransposeA = Field(15, 1);
  TransposeB = Field(16, 1);
  if (Field(2, 1))
    Problem = "sparse products are refused: where their metadata lies is not "
              "confirmed";
  else if (!typeOf(T.Kind, Field(7, 3), A) ||
           !typeOf(T.Kind, Is4Bit ? Field(10, 2) : Field(10, 3), B))
    Problem = "the instruction descriptor's operand types are none of this "
              "kind";
  if (!Scaled) {
    unsigned Result = Field(4, 2), Want = T.Kind == TensorKind::I8 ? 2 : 1;
    HalfD = Result == 0;
    Saturate = Field(3, 1);
    bool MayBeHalf = (T.Kind == TensorKind::F16 && A == MatrixType::F16) ||
                     T.Kind == TensorKind::F8F6F4;
    if (Result != Want && !(HalfD && MayBeHalf))
      Problem = "the instruction descriptor's type of D is none of this kind";
    else if (Saturate && T.Kind != TensorKind::I8)
      Problem = "the instruction descriptor saturates a sum of floats";
    else if (T.Kind == TensorKind::F16 && A != B)
      Problem = "A and B have different 16-bit types";
    else if (T.Kind == TensorKind::I8 && (NegateA || NegateB))
      Problem = "integer operands cannot be negated";
    else if (Field(0, 2) || Field(6, 1) || Field(23, 1) || Field(29, 3))
      Problem = "reserved bits of the instruction descriptor are set";
  } else {
    ScaleB = Field(4, 2);
    ScaleA = Field(29, 2);
    PowerScales = Field(23, 1);
    bool Whole = ScaleA + T.Scales <= 4 && ScaleB + T.Scales <= 4 &&
                 ScaleA % T.Scales == 0 && ScaleB % T.Scales == 0;
    if (!Whole)
      Problem = "the instruction descriptor's scale ids are none of this kind";
    else if (!PowerScales && T.Kind != TensorKind::MXF4NVF4)
      Problem = "scales of this kind are ue8m0";
    else if (Field(31, 1))
      Problem = "K = 96 is refused: where its scales lie is not confirmed";
    else if (Is4Bit && (TransposeA || TransposeB))
      Problem = "4-bit operands are K-major";
    else if (Field(0, 2) || Field(3, 1) || Field(6, 1) ||
             (Is4Bit && Field(12, 1)))
      Problem = "reserved bits of the instruction descriptor are set";
  }
  if (Problem.empty())
    Problem = shapeProblem(*this, T);
}

//===----------------------------------------------------------------------===//
// Where its parts lie
//===----------------------------------------------------------------------===//

unsigned TensorProduct::width() const {
  if (Text.Stationary) // columns of less than 128 rows lie below each other
    return Form.N / (TensorMemory::Lanes / Form.M);
  return Blocks.Count == 2 && Form.M == 128 ? Form.N / 2 : Form.N;
}

TensorLine TensorProduct::lineOf(unsigned Block, unsigned Lane) const {
  if (Text.Stationary)
    return {true, Lane % Form.M, Lane / Form.M * width()};
  if (Blocks.Count == 2 && Form.M == 256)
    return {true, Lane + 128 * Block, 0};
  if (Blocks.Count == 2) // the halves of the columns lie below each other
    return {true, Lane % 64 + 64 * Block, Lane / 64 * (Form.N / 2)};
  if (Form.M == 128)
    return {true, Lane, 0};
  // 16 rows in each quarter, in its upper or its lower half.
  bool Used = Lane % 32 / 16 == tensorLane(D) / 16;
  return {Used, Lane % 16 + Lane / 32 * 16, 0};
}

unsigned TensorProduct::scaleColumnsA() const {
  return (TileA.Lines + 31) / 32;
}
unsigned TensorProduct::scaleColumnsB() const { return (width() + 31) / 32; }

namespace {

class ProductOperation final : public AsyncOperation {
public:
  ProductOperation(Warp &W, TensorProduct P)
      : AsyncOperation(1, tensorChain(W)), P(std::move(P)) {}

private:
  void step(unsigned) override { P.compute(); }
  TensorProduct P;
};

/// Bits of Source: 0 B's descriptor, 1 A's, 2 the instruction descriptor, 3 the
/// predicate. Addresses: D, then A in tensor memory, then the scales. Vectors:
/// the mask.
TensorTile tileOf(uint64_t Bits, const TensorProduct &P, bool IsA) {
  const TensorForm &F = P.Form;
  TensorElements E{IsA ? F.A : F.B, P.Text.Kind >= TensorKind::MXF4,
                   IsA ? F.NegateA : F.NegateB};
  return {TensorDescriptor(Bits), E, (IsA ? F.M : F.N) / P.Blocks.Count,
          IsA ? F.TransposeA : F.TransposeB};
}

std::string tileProblem(const TensorTile &T) {
  if (T.From.Problem)
    return T.From.Problem;
  unsigned Bits = T.Elements.bits();
  bool Wide = T.From.WideAtoms;
  if (T.Transposed && Bits < 8)
    return "4-bit and 6-bit operands are K-major";
  if (T.Transposed && Bits == 32 && !Wide)
    return "MN-major tf32 needs the 128-byte swizzle with atoms of 32 bytes";
  if (Wide && !(T.Transposed && Bits == 32))
    return "the 128-byte swizzle with atoms of 32 bytes is for MN-major tf32";
  return {};
}

/// What is wrong with the operands; empty: nothing.
std::string problemOf(const TensorProduct &P) {
  const TensorForm &F = P.Form;
  if (!F.Problem.empty())
    return F.Problem;
  bool IsQuarter = P.Blocks.Count == 1 && F.M == 64 && !P.Text.Stationary;
  unsigned Lane = tensorLane(P.D);
  if (Lane != 0 && !(IsQuarter && Lane == 16))
    return "D begins at lane " + std::to_string(Lane);
  if (P.Text.AInTensor && tensorLane(P.A) != Lane)
    return "A begins at another lane than D";
  if (P.Text.AInTensor && P.Text.Stationary && F.M != TensorMemory::Lanes)
    return "A of less than 128 rows in tensor memory is refused with .ws: "
           "where it lies is not confirmed";
  if (P.Text.AInTensor && F.TransposeA)
    return "A in tensor memory is K-major";
  if (P.Text.AInTensor && P.TileA.Elements.bits() < 8 &&
      !P.TileA.Elements.Packed)
    return "4-bit and 6-bit operands in tensor memory are refused: where they "
           "lie in 8 bits is not confirmed";
  if (isScaled(P.Text.Kind) && (tensorLane(P.ScalesA) || tensorLane(P.ScalesB)))
    return "scales begin at another lane than 0";
  if (!P.Text.AInTensor)
    if (std::string Wrong = tileProblem(P.TileA); !Wrong.empty())
      return "A: " + Wrong;
  std::string Wrong = tileProblem(P.TileB);
  return Wrong.empty() ? Wrong : "B: " + Wrong;
}

//===----------------------------------------------------------------------===//
// Checks of what it touches
//===----------------------------------------------------------------------===//

/// Stands for the shape of a factor in tensor memory among the accumulators
/// that are in flight. Only products on the same accumulator, of the same
/// shape, are told to go in order (PTX ISA, tcgen05, pipelined instructions):
/// one that writes where another may still read its factor waits for that one.
constexpr uint64_t FactorShape = uint64_t{1} << 63;

class Issue {
public:
  Issue(Warp &W, const Instruction &I, unsigned Lane, const TensorProduct &P)
      : W(W), I(I), Lane(Lane), P(P),
        By(W.block().begin(W.block().agent(AgentKind::TensorMatrix, W.number()),
                           I)) {}
  /// False: reported.
  bool run();
  const Warp::Agent &agent() const { return By; }

private:
  bool readShared(unsigned Block);
  bool readTensor(unsigned Block, const TensorArea &Area, const Knowledge &Now,
                  const std::vector<bool> *Only);
  bool write(unsigned Block);

  Warp &W;
  const Instruction &I;
  unsigned Lane;
  const TensorProduct &P;
  Warp::Agent By;
};

bool Issue::readShared(unsigned Block) {
  uint64_t Of = uint64_t{P.Blocks.Of[Block]->rank() + 1} << RankShift;
  auto Locate = [&](uint64_t At, unsigned, unsigned) {
    if (P.Blocks.Count == 2)
      At |= Of;
    return W.locateAsync(I, At, TensorUnit, MemoryUse::Read, Lane, By) !=
           nullptr;
  };
  return (P.Text.AInTensor || P.TileA.forEachUnit(Locate)) &&
         P.TileB.forEachUnit(Locate);
}

bool Issue::readTensor(unsigned Block, const TensorArea &Area,
                       const Knowledge &Now, const std::vector<bool> *Only) {
  TensorUse Use{P.Blocks.Of[Block], Area, false, true, Only};
  return W.tensor().access(I, Lane, Use, By, Now);
}

bool Issue::write(unsigned Block) {
  TensorArea D{0, TensorMemory::Lanes, tensorColumn(P.D), P.width()};
  uint64_t Shape = uint64_t{P.Form.M} << 32 | uint64_t{P.Form.N} << 16 |
                   uint64_t{Lane} << 8 | uint64_t{P.Text.Stationary} << 7 |
                   uint64_t(P.Text.Kind);
  Knowledge Now = W.tensor().behindMatrix(D, Shape);
  std::vector<bool> Lanes(TensorMemory::Lanes);
  for (unsigned L = 0; L < TensorMemory::Lanes; ++L)
    Lanes[L] = P.writes(Block, L);
  for (unsigned First = 0; First < TensorMemory::Lanes;
       First += TensorMemory::GroupLanes) {
    bool Any = false;
    for (unsigned L = First; L < First + TensorMemory::GroupLanes; ++L)
      Any |= Lanes[L];
    TensorArea Part{First, TensorMemory::GroupLanes, D.Column, D.Columns};
    TensorUse Use{P.Blocks.Of[Block], Part, true, P.Adds, &Lanes};
    if (Any && !W.tensor().access(I, Lane, Use, By, Now))
      return false;
  }
  if (Block + 1 == P.Blocks.Count)
    W.tensor().addAccumulator(D, Shape, By.Clock);
  return true;
}

bool Issue::run() {
  Knowledge Now = W.tensor().behindCopies();
  std::vector<bool> Used(TensorMemory::Lanes);
  for (unsigned Block = 0; Block < P.Blocks.Count; ++Block) {
    if (P.Blocks.Of[Block]->isOver()) {
      W.report(FindingKind::EndedBlock, I, Lane, "the peer block has ended");
      return false;
    }
    if (!readShared(Block))
      return false;
    for (unsigned L = 0; L < TensorMemory::Lanes; ++L)
      Used[L] = P.lineOf(Block, L).Used;
    TensorArea A{0, TensorMemory::Lanes, tensorColumn(P.A), P.columnsOfA()};
    if (P.Text.AInTensor && !readTensor(Block, A, Now, &Used))
      return false;
    if (isScaled(P.Text.Kind)) {
      TensorArea ScalesA{0, TensorMemory::Lanes, tensorColumn(P.ScalesA),
                         P.scaleColumnsA()};
      TensorArea ScalesB{0, TensorMemory::Lanes, tensorColumn(P.ScalesB),
                         P.scaleColumnsB()};
      if (!readTensor(Block, ScalesA, Now, nullptr) ||
          !readTensor(Block, ScalesB, Now, nullptr))
        return false;
    }
    if (!write(Block))
      return false;
    if (P.Text.AInTensor && Block + 1 == P.Blocks.Count)
      W.tensor().addAccumulator(A, FactorShape | A.Columns, By.Clock);
  }
  return true;
}

/// False: reported.
bool multiplyOne(Warp &W, const Instruction &I, unsigned L) {
  TensorText T = TensorText::of(I.Immediate);
  TensorBlocks Blocks;
  if (!findBlocks(W, I, L, T.Group, Blocks))
    return false;
  TensorProduct P{T,
                  TensorForm(W.row<uint32_t>(I.Source[2])[L], T),
                  Blocks,
                  (W.mask(I.Source[3]) >> L & 1) != 0,
                  0,
                  0,
                  0,
                  0,
                  {TensorDescriptor(0), {}, 0, false},
                  {TensorDescriptor(0), {}, 0, false},
                  {}};
  const AddressOperand *A = &W.kernel().Addresses[I.Jump];
  auto Next = [&] { return uint32_t(W.addressOf(*A++, L)); };
  P.D = Next();
  if (T.AInTensor)
    P.A = Next();
  if (isScaled(T.Kind)) {
    P.ScalesA = Next();
    P.ScalesB = Next();
  }
  P.TileB = tileOf(W.row<uint64_t>(I.Source[0])[L], P, false);
  P.TileA = tileOf(T.AInTensor ? 0 : W.row<uint64_t>(I.Source[1])[L], P, true);
  if (T.HasMask)
    for (unsigned N = 0; N < I.Count; ++N) {
      uint32_t Word = W.row<uint32_t>(W.kernel().Vectors[I.Rows + N])[L];
      for (unsigned B = 0; B < 32; ++B)
        P.Masked.push_back(Word >> B & 1);
    }
  if (std::string Wrong = problemOf(P); !Wrong.empty()) {
    W.report(FindingKind::BadOperand, I, L, Wrong);
    return false;
  }
  Issue Start(W, I, L, P);
  if (!Start.run())
    return false;
  W.tensor().addIssued(L, Start.agent());
  W.block().start(std::make_unique<ProductOperation>(W, std::move(P)));
  return true;
}

void multiply(Warp &W, const Instruction &I, uint32_t Mask) {
  for (; Mask != 0; Mask &= Mask - 1)
    if (!multiplyOne(W, I, unsigned(std::countr_zero(Mask))))
      return;
}

/// "block_scale" and its words; false: none of this kind, or reported.
bool takeScales(Decoder &D, Modifiers &M, TensorText &T) {
  if (M.take("block_scale") != isScaled(T.Kind))
    return false;
  if (!isScaled(T.Kind))
    return true;
  auto Words = M.takeOne({"scale_vec::1X", "scale_vec::2X", "scale_vec::4X",
                          "block32", "block16"});
  bool IsBytes = T.Kind == TensorKind::MXF8F6F4;
  T.Scales = IsBytes ? 1 : 2;
  if (!Words)
    return T.Kind != TensorKind::MXF4NVF4 ||
           D.fail("kind::mxf4nvf4 must say how many elements share a scale");
  unsigned Said = *Words < 3 ? 1u << *Words : *Words == 3 ? T.Scales : 4;
  if (Said == 4 && T.Kind != TensorKind::MXF4NVF4)
    return false;
  if (Said != 4 && Said != T.Scales)
    return false;
  T.Scales = Said;
  return true;
}

/// A hint of what to keep: it changes nothing.
void takeCollector(Modifiers &M, bool Stationary) {
  const char *Buffers[] = {"b0", "b1", "b2", "b3"};
  for (unsigned N = 0; N < (Stationary ? std::size(Buffers) : 1); ++N)
    for (const char *Use : {"fill", "use", "lastuse", "discard"})
      M.take(std::string("collector::") + (Stationary ? Buffers[N] : "a") +
             "::" + Use);
}

} // namespace

bool decodeTensorMatrix(Decoder &D, const ptx::Statement &S, Modifiers &M,
                        Instruction &I) {
  TensorText T;
  T.Group = takeGroup(D, M);
  auto Kind = M.takeOne({"kind::f16", "kind::tf32", "kind::f8f6f4", "kind::i8",
                         "kind::mxf8f6f4", "kind::mxf4", "kind::mxf4nvf4"});
  if (!T.Group || !Kind)
    return false;
  T.Kind = TensorKind(*Kind);
  if (!takeScales(D, M, T))
    return false;
  if (M.take("sp") || M.take("ashift"))
    return D.fail("tcgen05.mma with .sp or .ashift is refused: its layouts "
                  "are not confirmed");
  T.Stationary = M.take("ws");
  if (T.Stationary && (T.Group != 1 || isScaled(T.Kind)))
    return D.fail(".ws is for cta_group::1 and kinds without scales");
  takeCollector(M, T.Stationary);
  const std::vector<ptx::Operand> &O = S.Operands;
  size_t Need = isScaled(T.Kind) ? 7 : 5;
  if (O.size() < Need)
    return D.fail("wrong number of operands");
  T.AInTensor = O[1].TheKind == ptx::Operand::Kind::Address;
  if (!D.addAddress(O[0], I, Space::Global) ||
      (T.AInTensor && !D.addAddress(O[1], I, Space::Global)))
    return false;
  auto B = D.source(O[2], 64), Form = D.source(O[3], 32);
  if (!B || !Form)
    return false;
  I.Source[0] = *B;
  I.Source[2] = *Form;
  if (!T.AInTensor) {
    auto A = D.source(O[1], 64);
    if (!A)
      return false;
    I.Source[1] = *A;
  }
  size_t At = 4;
  if (isScaled(T.Kind)) {
    if (!D.addAddress(O[4], I, Space::Global) ||
        !D.addAddress(O[5], I, Space::Global))
      return false;
    At = 6;
  } else if (O[At].TheKind == ptx::Operand::Kind::Vector && !T.Stationary) {
    unsigned Bits = 0;
    if (!D.rows(O[At++], I, false, 32, Bits))
      return false;
    if (Bits != 32 || I.Count != 4 * T.Group)
      return D.fail("the mask of lanes has " + std::to_string(4 * T.Group) +
                    " words");
    T.HasMask = true;
  }
  bool Negated = false;
  if (At >= O.size() || !D.predicate(O[At], I.Source[3], Negated) || Negated)
    return false;
  ++At;
  if (At < O.size() && T.Stationary)
    return D.fail("a mask of zero columns is refused: what its fields mean is "
                  "not confirmed");
  if (At < O.size()) {
    auto By = D.immediate(O[At++]);
    if (!By || *By > 15 || T.Kind > TensorKind::TF32)
      return false;
    T.ShiftDown = unsigned(*By);
  }
  if (At != O.size())
    return D.fail("wrong number of operands");
  I.Immediate = T.packed();
  I.Run = multiply;
  return true;
}

} // namespace kpc::emulator
