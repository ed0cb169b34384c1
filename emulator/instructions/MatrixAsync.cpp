//===- MatrixAsync.cpp - wgmma --------------------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions", dense. Each warp
// of the group computes its own 16 rows. What it reads is checked when it is
// issued; it is computed later, at the latest when its group is waited for.

#include "emulator/execute/Cta.h"
#include "emulator/instructions/Lanes.h"
#include "emulator/instructions/Opcodes.h"
#include "emulator/numbers/Formats.h"
#include "emulator/numbers/FusedRow.h"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace kpc::emulator {

namespace {

constexpr unsigned WarpRows = 16, MaxColumns = 256, MaxK = 32;
/// K of an instruction takes 32 bytes of each row.
constexpr unsigned RowBytes = 32;
constexpr unsigned UnitBytes = 16;

struct Plan {
  MatrixType A, B;
  unsigned N;
  bool AInRegisters, HalfD, Saturate, NegateA, NegateB, TransposeA, TransposeB;
  uint64_t packed() const {
    return uint64_t(A) | uint64_t(B) << 8 | uint64_t{N} << 16 |
           uint64_t{AInRegisters} << 32 | uint64_t{HalfD} << 33 |
           uint64_t{Saturate} << 34 | uint64_t{NegateA} << 35 |
           uint64_t{NegateB} << 36 | uint64_t{TransposeA} << 37 |
           uint64_t{TransposeB} << 38;
  }
  static Plan of(uint64_t V) {
    auto Flag = [&](int At) { return (V >> At & 1) != 0; };
    return {MatrixType(V & 0xFF),
            MatrixType(V >> 8 & 0xFF),
            unsigned(V >> 16 & 0xFFFF),
            Flag(32),
            Flag(33),
            Flag(34),
            Flag(35),
            Flag(36),
            Flag(37),
            Flag(38)};
  }
  unsigned k() const { return RowBytes * 8 / matrixBits(A); }
  unsigned registersD() const { return HalfD ? N / 4 : N / 2; }
};

//===----------------------------------------------------------------------===//
// Operands in shared memory, by core matrices: 8 lines of 16 bytes
//===----------------------------------------------------------------------===//

struct Descriptor {
  uint64_t Start, Leading, Stride;
  unsigned Span; ///< bytes of a swizzled line; 0: none
  unsigned Base;
  explicit Descriptor(uint64_t Bits) {
    auto Units = [&](int At) { return (Bits >> At & 0x3FFF) * 16; };
    Start = Units(0);
    Leading = Units(16);
    Stride = Units(32);
    Base = unsigned(Bits >> 49 & 7);
    constexpr unsigned Spans[] = {0, 128, 64, 32};
    Span = Spans[Bits >> 62];
  }
  /// Where the byte `Inner` of the line `Outer` lies; a line goes along k, or
  /// along the rows if Transposed.
  uint64_t addressOf(unsigned Outer, unsigned Inner, bool Transposed) const {
    unsigned Group = Outer / 8, Line = Outer % 8;
    unsigned Core = Inner / 16, Byte = Inner % 16;
    uint64_t At = Start + Byte;
    if (Span == 0) {
      uint64_t Across = Transposed ? Stride : Leading;
      uint64_t Down = Transposed ? Leading : Stride;
      return At + Group * Down + Line * 16 + Core * Across;
    }
    unsigned PerSpan = Span / 16;
    At += Group * Stride + uint64_t{Line} * Span + Core % PerSpan * 16;
    At += Core / PerSpan * (Transposed ? Leading : 0);
    // The unit of 16 bytes trades places by the number of its 128-byte line.
    uint64_t Turn = ((At / 128) - Base) % 8 % PerSpan;
    return At ^ Turn * 16;
  }
};

/// A matrix of an instruction in shared memory: lines of 16-byte units.
struct SharedMatrix {
  Descriptor From;
  unsigned First, Lines; ///< rows of A, columns of B
  MatrixType T;
  bool Transposed, Negate;

  unsigned perUnit() const { return UnitBytes * 8 / matrixBits(T); }
  unsigned k() const { return RowBytes * 8 / matrixBits(T); }
  /// Calls Do(address, line, k) for each unit: its first element's place.
  /// False: Do was.
  template <typename F> bool forEachUnit(F Do) const {
    unsigned Bytes = matrixBits(T) / 8;
    for (unsigned Outer = 0; Outer < (Transposed ? k() : Lines); ++Outer)
      for (unsigned Inner = 0; Inner < (Transposed ? Lines : k());
           Inner += perUnit()) {
        unsigned Line = Transposed ? Inner : Outer,
                 K = Transposed ? Outer : Inner;
        uint64_t At = Transposed
                          ? From.addressOf(K, (First + Line) * Bytes, true)
                          : From.addressOf(First + Line, K * Bytes, false);
        if (!Do(At, Line, K))
          return false;
      }
    return true;
  }
  void fetch(const uint8_t *Shared, MatrixValue *Out) const;

private:
  template <typename Element, typename F>
  void fetchAs(const uint8_t *Shared, MatrixValue *Out, F Value) const;
};

/// Elements of `Element`; `Value`: of one's bits.
template <typename Element, typename F>
void SharedMatrix::fetchAs(const uint8_t *Shared, MatrixValue *Out,
                           F Value) const {
  constexpr unsigned Count = UnitBytes / sizeof(Element);
  forEachUnit([&](uint64_t At, unsigned Line, unsigned K) {
    Element Unit[Count];
    std::memcpy(Unit, Shared + At, UnitBytes);
    MatrixValue *To = Out + Line * MaxK + K;
    for (unsigned E = 0; E < Count; ++E) {
      MatrixValue &V = To[Transposed ? E * MaxK : E];
      V = Value(Unit[E]);
      if (Negate)
        V.Significand = -V.Significand;
    }
    return true;
  });
}

void SharedMatrix::fetch(const uint8_t *Shared, MatrixValue *Out) const {
  const MatrixValue *Known = matrixValues(T);
  auto Find = [&](unsigned Bits) { return Known[Bits]; };
  if (matrixBits(T) == 8)
    fetchAs<uint8_t>(Shared, Out, Find);
  else if (matrixBits(T) == 16)
    fetchAs<uint16_t>(Shared, Out, Find);
  else
    fetchAs<uint32_t>(Shared, Out,
                      [&](uint32_t Bits) { return matrixValue(Bits, T); });
}

/// A from four registers: as mma.sync's fragment of the warp's rows.
void fetchRegisters(Warp &W, const uint32_t *Registers, const Plan &P,
                    MatrixValue *Out) {
  unsigned Bits = matrixBits(P.A), Each = 32 / Bits;
  for (unsigned R = 0; R < 4; ++R)
    for (unsigned L = 0; L < WarpSize; ++L)
      for (unsigned E = 0; E < Each; ++E) {
        uint32_t Word = W.row<uint32_t>(Registers[R])[L];
        unsigned Row = L / 4 + (R % 2 ? 8 : 0);
        unsigned K = (R / 2 * 4 + L % 4) * Each + E;
        MatrixValue V = matrixValue(Bits == 32 ? Word : Word >> E * Bits, P.A);
        if (P.NegateA)
          V.Significand = -V.Significand;
        Out[Row * MaxK + K] = V;
      }
}

//===----------------------------------------------------------------------===//
// The instruction
//===----------------------------------------------------------------------===//

uint32_t integerSum(const Plan &P, const MatrixValue *Row,
                    const MatrixValue *Column, uint32_t Before, bool Adds) {
  int64_t Sum = Adds ? int32_t(Before) : 0;
  for (unsigned K = 0; K < P.k(); ++K)
    Sum += int64_t{Row[K].Significand} * Column[K].Significand;
  if (P.Saturate)
    Sum = std::min<int64_t>(std::max<int64_t>(Sum, INT32_MIN), INT32_MAX);
  return uint32_t(Sum);
}

/// One warp's part of an instruction that was issued.
class MatrixOperation final : public AsyncOperation {
public:
  MatrixOperation(Warp &W, const Instruction &I, AgentId Chain,
                  const SharedMatrix &A, const SharedMatrix &B, bool Adds)
      : AsyncOperation(1, Chain), W(W), I(I), A(A), B(B), Adds(Adds) {}

private:
  void step(unsigned) override;
  void sumFloats(const Plan &P, const MatrixValue *Row,
                 const FusedColumns &Columns, const uint32_t *In,
                 uint32_t *Out) const;

  Warp &W;
  const Instruction &I;
  SharedMatrix A, B;
  bool Adds;
};

/// Do(column, lane, register, shift) for each element of D in a warp's row.
template <typename F> void forEachOfRow(const Plan &P, unsigned Row, F Do) {
  for (unsigned Column = 0; Column < P.N; ++Column) {
    unsigned E = Column / 8 * 4 + Row / 8 * 2 + Column % 2;
    Do(Column, Row % 8 * 4 + Column % 8 / 2, P.HalfD ? E / 2 : E,
       P.HalfD ? 16 * (E % 2) : 0);
  }
}

void MatrixOperation::sumFloats(const Plan &P, const MatrixValue *Row,
                                const FusedColumns &Columns, const uint32_t *In,
                                uint32_t *Out) const {
  float C[MaxColumns];
  for (unsigned N = 0; N < P.N; ++N)
    C[N] = P.HalfD ? halfToFloat(uint16_t(In[N])) : std::bit_cast<float>(In[N]);
  Columns.multiply(Row, 0, P.N, C, Adds, ruleOf(P.A, P.B, true, P.HalfD), Out);
}

void MatrixOperation::step(unsigned) {
  Plan P = Plan::of(I.Immediate);
  const uint32_t *D = &W.kernel().Vectors[I.Rows];
  std::vector<MatrixValue> Left(WarpRows * MaxK), Right(P.N * MaxK);
  if (P.AInRegisters)
    fetchRegisters(W, D + P.registersD(), P, Left.data());
  else
    A.fetch(W.block().shared(), Left.data());
  B.fetch(W.block().shared(), Right.data());
  FusedColumns Columns(Right.data(), isInteger(P.A) ? 0 : P.N, P.k(), MaxK);
  uint32_t In[MaxColumns], Out[MaxColumns];
  for (unsigned Row = 0; Row < WarpRows; ++Row) {
    const MatrixValue *Line = &Left[Row * MaxK];
    forEachOfRow(
        P, Row,
        [&](unsigned Column, unsigned L, unsigned Register, unsigned Shift) {
          In[Column] = W.row<uint32_t>(D[Register])[L] >> Shift;
        });
    if (isInteger(P.A))
      for (unsigned N = 0; N < P.N; ++N)
        Out[N] = integerSum(P, Line, &Right[N * MaxK], In[N], Adds);
    else
      sumFloats(P, Line, Columns, In, Out);
    forEachOfRow(
        P, Row,
        [&](unsigned Column, unsigned L, unsigned Register, unsigned Shift) {
          uint32_t &Word = W.row<uint32_t>(D[Register])[L];
          Word = P.HalfD ? (Word & ~(0xFFFFu << Shift)) | Out[Column] << Shift
                         : Out[Column];
        });
  }
}

void multiply(Warp &W, const Instruction &I, uint32_t Mask) {
  if (Mask != ~uint32_t{0})
    return W.report(FindingKind::NotConverged, I, 0,
                    "not all 32 threads of the warp come here together");
  Plan P = Plan::of(I.Immediate);
  const uint32_t *D = &W.kernel().Vectors[I.Rows];
  uint64_t InA = P.AInRegisters ? 0 : W.row<uint64_t>(I.Source[0])[0],
           InB = W.row<uint64_t>(I.Source[1])[0];
  bool Adds = W.mask(I.Source[2]) & 1;
  WarpAsync::MatrixRows Rows{D, P.registersD(), D + P.registersD(),
                             P.AInRegisters ? 4u : 0u};
  if (!W.block().agreeOnMatrix(W, I, {InA, InB, Adds}) ||
      !W.async().mayIssue(I, Rows, Adds))
    return;
  SharedMatrix A{Descriptor(InA), W.number() % 4 * WarpRows,
                 WarpRows,        P.A,
                 P.TransposeA,    P.NegateA};
  SharedMatrix B{Descriptor(InB), 0, P.N, P.B, P.TransposeB, P.NegateB};
  AgentId Chain = W.block().agent(AgentKind::Matrix, W.number());
  Warp::Agent By = W.block().begin(Chain, I);
  auto Locate = [&](uint64_t At, unsigned, unsigned) {
    return W.locateAsync(I, At, UnitBytes, MemoryUse::Read, 0, By) != nullptr;
  };
  if ((!P.AInRegisters && !A.forEachUnit(Locate)) || !B.forEachUnit(Locate))
    return;
  uint64_t Id = W.block().start(
      std::make_unique<MatrixOperation>(W, I, Chain, A, B, Adds));
  W.async().addMatrix(I, Rows, Id, By.Clock);
}

/// "m64n128k16".
bool takeShape(const ptx::Statement &S, Modifiers &M, Plan &P, unsigned &K) {
  for (const std::string &Word : S.Modifiers) {
    if (!Word.starts_with("m64n"))
      continue;
    size_t At = Word.find('k');
    if (At == std::string::npos || Word.size() > 11)
      return false;
    const char *Begin = Word.data();
    std::from_chars(Begin + 4, Begin + At, P.N);
    std::from_chars(Begin + At + 1, Begin + Word.size(), K);
    return M.take(Word) && P.N >= 8 && P.N <= MaxColumns && P.N % 8 == 0;
  }
  return false;
}

bool takeTypes(Modifiers &M, const ptx::Statement &S, Plan &P) {
  std::vector<std::string> Types;
  constexpr const char *Names[] = {"f16",  "bf16", "tf32", "e4m3",
                                   "e5m2", "s8",   "u8"};
  for (const std::string &Word : S.Modifiers) {
    bool Known = Word == "f32" || Word == "s32";
    for (const char *Name : Names)
      Known |= Word == Name;
    if (Known)
      Types.push_back(Word);
  }
  if (Types.size() != 3)
    return false;
  auto Number = [&](const std::string &T) {
    for (unsigned N = 0; N < std::size(Names); ++N)
      if (T == Names[N])
        return int(N);
    return -1;
  };
  int A = Number(Types[1]), B = Number(Types[2]);
  if (A < 0 || B < 0)
    return false;
  for (const std::string &T : Types)
    M.take(T);
  P.A = MatrixType(A);
  P.B = MatrixType(B);
  P.HalfD = Types[0] == "f16";
  bool Bytes = matrixBits(P.A) == 8;
  if (!(P.A == P.B || (Bytes && matrixBits(P.B) == 8)) ||
      isInteger(P.A) != isInteger(P.B))
    return false;
  if (P.HalfD)
    return P.A == MatrixType::F16 || (Bytes && !isInteger(P.A));
  return Types[0] == (isInteger(P.A) ? "s32" : "f32");
}

bool decodeMultiply(Decoder &D, const ptx::Statement &S, Modifiers &M,
                    Instruction &I) {
  Plan P{};
  unsigned K = 0, Bits = 0;
  P.Saturate = M.take("satfinite");
  if (!takeShape(S, M, P, K) || !takeTypes(M, S, P) || K != P.k() ||
      S.Operands.size() < 4)
    return false;
  if (!D.rows(S.Operands[0], I, true, 32, Bits))
    return false;
  uint32_t First = I.Rows;
  if (Bits != 32 || I.Count != P.registersD())
    return D.fail("wrong registers of the accumulator");
  P.AInRegisters = S.Operands[1].TheKind == ptx::Operand::Kind::Vector;
  if (P.AInRegisters) {
    if (!D.rows(S.Operands[1], I, false, 32, Bits) || I.Count != 4)
      return D.fail("A has four registers");
  } else if (auto Row = D.source(S.Operands[1], 64)) {
    I.Source[0] = *Row;
  } else {
    return false;
  }
  auto B = D.source(S.Operands[2], 64);
  bool Negated = false;
  if (!B || !D.predicate(S.Operands[3], I.Source[2], Negated) || Negated)
    return false;
  I.Source[1] = *B;
  // imm-scale-a, imm-scale-b, [imm-trans-a], imm-trans-b
  std::vector<int64_t> Numbers;
  for (size_t N = 4; N < S.Operands.size(); ++N) {
    auto Value = D.immediate(S.Operands[N]);
    if (!Value)
      return false;
    Numbers.push_back(int64_t(*Value));
  }
  bool Turns = matrixBits(P.A) == 16;
  size_t Want = isInteger(P.A) ? 0 : Turns ? (P.AInRegisters ? 3 : 4) : 2;
  if (Numbers.size() != Want)
    return D.fail("wrong number of operands");
  if (Want >= 2) {
    P.NegateA = Numbers[0] == -1;
    P.NegateB = Numbers[1] == -1;
  }
  if (Turns) {
    P.TransposeA = !P.AInRegisters && Numbers[2] == 1;
    P.TransposeB = Numbers.back() == 1;
  }
  I.Rows = First;
  for (unsigned N = 0; N < P.registersD() + (P.AInRegisters ? 4 : 0); ++N)
    D.addMatrixRow(D.kernel().Vectors[First + N]);
  I.Immediate = P.packed();
  I.Run = multiply;
  return true;
}

void fence(Warp &W, const Instruction &, uint32_t) { W.async().fenceMatrix(); }
void commit(Warp &W, const Instruction &, uint32_t) {
  W.async().commitMatrix();
}
void waitFor(Warp &W, const Instruction &I, uint32_t) {
  W.async().waitMatrix(I.Immediate);
}

bool decodeWarpgroup(Decoder &D, const ptx::Statement &S, Modifiers &M,
                     Instruction &I) {
  if (!M.take("sync") || !M.take("aligned"))
    return false;
  auto What = M.takeOne({"fence", "commit_group", "wait_group", "mma_async"});
  if (!What)
    return false;
  if (*What == 3)
    return decodeMultiply(D, S, M, I);
  I.Run = *What == 0 ? fence : *What == 1 ? commit : waitFor;
  if (*What != 2)
    return true;
  auto Groups =
      S.Operands.size() == 1 ? D.immediate(S.Operands[0]) : std::nullopt;
  I.Immediate = Groups.value_or(0);
  return Groups.has_value();
}

} // namespace

void addMatrixAsync(OpcodeTable &Table) { Table["wgmma"] = decodeWarpgroup; }

} // namespace kpc::emulator
