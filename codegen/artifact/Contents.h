//===- Contents.h - What goes into an artifact ------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// An artifact as plain structs, one for each table of
/// runtime/format/artifact.fbs, with sizes as shape expressions. Positions in
/// vectors are the artifact's indices: `Buffer::Index` is a position in
/// `Contents::Inputs`, `Outputs` or `Weights`; `Launch::Kernel` one in
/// `Target::Kernels`; and so on. ArtifactWriter checks all of them.
///
///   artifact::Contents C;
///   C.Symbols = {{"batch", {.Min = 1, .Max = 32}}};
///   C.Inputs = {{"x", ElementType::F32, {Expr::symbol("batch"), Expr(4)}}};
///   ...
///   if (auto Error = artifact::write(C, "model.kpc")) ...
///
//===----------------------------------------------------------------------===//
#ifndef KPC_CODEGEN_ARTIFACT_CONTENTS_H
#define KPC_CODEGEN_ARTIFACT_CONTENTS_H

#include "codegen/artifact/TensorMap.h"
#include "dialects/shape/Expr.h"
#include "dialects/shape/Facts.h"
#include "runtime/format/ElementType.h"

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace kpc::artifact {

using shape::Expr;
using Bytes = std::vector<uint8_t>;

/// What gives a symbol its value.
enum class SymbolSource : uint8_t {
  Dim = 0,                 ///< the dims of the ports, or the caller
  MultiprocessorCount = 1, ///< the device of the session; not for host targets
  LoopCounter = 2,         ///< the number of the iteration, within its loop
  Data = 3,                ///< an output that decides it, read in the run
};

struct Symbol {
  std::string Name;
  shape::SymbolFacts Facts;
  SymbolSource Source = SymbolSource::Dim;
  /// Why the range or the divisor must hold, for messages; empty: no reason.
  std::string Reason = {};
};

/// An input or output of the model.
struct Port {
  std::string Name;
  ElementType Type = ElementType::Undefined;
  std::vector<Expr> Dims;
  /// Output: the input whose memory it may take.
  std::optional<uint32_t> Alias = std::nullopt;
  /// Output: not the caller's, but one i64 that a run reads back. It decides a
  /// symbol of the expression, or must be what that says. Behind all others.
  std::optional<Expr> Decides = std::nullopt;
  std::optional<Expr> AtMost = std::nullopt; ///< the greatest that it can be
};

/// Where a target reads an output that decides a size.
struct Readback {
  uint32_t Output = 0;
  uint32_t Step = 0; ///< before this step
};

/// An element of an input that is a size. Runs read it before they bind.
struct InputValue {
  uint32_t Input = 0;
  uint32_t Element = 0; ///< in row-major order; the input's dims are numbers
  Expr Size;
};

/// What must hold of the sizes: `Left` is `Right`, or at most that.
struct Requirement {
  Expr Left, Right;
  bool Equal = false;
  std::string Reason; ///< for messages
};

/// Gives the bytes of a weight from `Begin` on, `Size` of them; both are
/// multiples of the element's size and within the weight. Returns an error
/// text, none on success. Several threads call it at once, in any order.
using WeightReader = std::function<std::optional<std::string>(
    uint64_t Begin, uint8_t *Out, size_t Size)>;

struct Weight {
  std::string Name;
  ElementType Type = ElementType::Undefined;
  std::vector<int64_t> Dims;
  uint64_t Length = 0; ///< bytes
  WeightReader Read;
};

/// A weight whose bytes are in memory already.
Weight weightFromBytes(std::string Name, ElementType Type,
                       std::vector<int64_t> Dims, Bytes Data);

enum class TargetKind : uint8_t { Host = 0, Cuda = 1 };
enum class Isa : uint8_t { X86_64 = 0, AArch64 = 1 };
/// Which devices a target made for compute capability C runs on.
enum class CapabilityRule : uint8_t {
  Exactly = 0,   ///< C alone: code with `a` features
  SameMajor = 1, ///< C and later minors of its major: a plain cubin
  AtLeast = 2,   ///< C and everything later: PTX without `a` features
};

/// Host: `Image` is one flat, relocation-free, page-aligned image. Device: a
/// cubin, PTX text, or both.
struct Module {
  Bytes Image;
  std::string Ptx;
};

/// A shared object of custom operators' host code. Without bytes the system's
/// loader finds it by its name.
struct Library {
  std::string Name;
  std::string Image;
};

enum class ArgumentType : uint8_t { I32 = 0, I64 = 1, F32 = 2, F64 = 3 };

/// A kernel that is a function of a library, as kpc/operator.h declares it. Its
/// parameters are tensors, then all their dims, then the arguments.
struct HostFunction {
  uint32_t Library = 0;
  using Tensor = std::pair<ElementType, uint8_t>; ///< the rank
  std::vector<Tensor> Inputs, Outputs;
  std::vector<ArgumentType> Arguments;
};

enum class ParamKind : uint8_t { Buffer = 0, Size = 1, TensorMap = 2 };

struct Kernel {
  std::string Symbol;      ///< entry point in the module
  std::string DisplayName; ///< for people: reports, errors, traces
  uint32_t Module = 0;
  uint64_t Entry = 0; ///< host: offset of the code in the image
  std::vector<ParamKind> Params;
  std::vector<std::string> SourceNodes;
  std::string Family;
  std::string Precision;
  int32_t Registers = -1;
  int32_t SpillBytes = -1;
  /// What the schedule is expected to take at the sizes it was chosen for, in
  /// words that begin with microseconds: "31.2 us = max(28.0 move, …)".
  std::string Expected = {};
  /// Device: may be launched before the kernels that it depends on have ended,
  /// for it waits for them itself.
  bool EarlyLaunch = false;
  /// Device: its blocks wait for each other, so that all must run at once.
  bool Cooperative = false;
  /// Host: in place of `Module` and `Entry`.
  std::optional<HostFunction> Function = std::nullopt;
};

enum class BufferKind : uint8_t {
  Input = 0,
  Output = 1,
  Weight = 2,
  Arena = 3
};

struct Buffer {
  BufferKind Kind = BufferKind::Arena;
  uint32_t Index = 0; ///< the input, output or weight
  Expr Size;          ///< bytes
  uint32_t Alignment = 64;
  uint32_t FirstStep = 0; ///< arena: live from the start of this step
  uint32_t LastStep = 0;  ///< … to the end of this one
  std::string Name;
};

enum Access : uint8_t { Read = 1, Write = 2, ReadWrite = 3 };

/// One argument of a kernel: a pointer into a buffer, a size, or a tensor map
/// of a part of a buffer.
struct Param {
  ParamKind Kind = ParamKind::Buffer;
  uint32_t Buffer = 0;
  std::optional<Expr> Offset; ///< bytes; none: 0
  std::optional<Expr> Length; ///< bytes touched; none: to the buffer's end
  uint8_t Access = Access::ReadWrite;
  Expr Size;                ///< for ParamKind::Size
  artifact::TensorMap View; ///< for ParamKind::TensorMap

  static Param buffer(uint32_t Buffer, uint8_t Access) {
    Param P;
    P.Buffer = Buffer;
    P.Access = Access;
    return P;
  }
  static Param size(Expr Size) {
    Param P;
    P.Kind = ParamKind::Size;
    P.Size = std::move(Size);
    return P;
  }
  static Param tensorMap(uint32_t Buffer, uint8_t Access,
                         artifact::TensorMap View) {
    Param P = buffer(Buffer, Access);
    P.Kind = ParamKind::TensorMap;
    P.View = std::move(View);
    return P;
  }
};

struct Alternative;

struct Launch {
  uint32_t Kernel = 0;
  std::vector<Param> Params;
  std::array<Expr, 3> Grid = {Expr(1), Expr(1), Expr(1)}; ///< device
  std::array<uint32_t, 3> Block = {1, 1, 1};              ///< device
  Expr Shared;       ///< device: bytes of dynamic shared memory
  Expr Work;         ///< host: independent units
  int64_t Grain = 1; ///< host: least units per task
  std::optional<Expr> Flops;
  std::string Name; ///< for people; empty: the kernel's
  /// Nodes of the model that this launch computes; empty: the kernel's.
  std::vector<std::string> SourceNodes;
  /// What it computes, as people say it: "GEMM", "GEMM {batch*8}x64x64 + bias",
  /// and the module of the model that it is of. What stands in braces is an
  /// expression over the symbols.
  std::string Kind = {}, Title = {}, Scope = {};
  /// The first one that fits the sizes takes this launch's place.
  std::vector<Alternative> Alternatives;
};

/// Least <= Size <= Most.
struct SizeBound {
  Expr Size;
  int64_t Least = 0, Most = std::numeric_limits<int64_t>::max();
};

struct Alternative {
  std::vector<SizeBound> Bounds; ///< all of them hold
  Launch Instead; ///< without name, nodes, operations and alternatives
};

struct Copy {
  uint32_t Source = 0;
  std::optional<Expr> SourceOffset;
  uint32_t Destination = 0;
  std::optional<Expr> DestinationOffset;
  Expr Size; ///< bytes
};

struct Fill {
  uint32_t Destination = 0;
  std::optional<Expr> Offset;
  Expr Size; ///< bytes, a multiple of PatternBytes
  uint32_t Pattern = 0;
  uint8_t PatternBytes = 1; ///< 1, 2 or 4
};

using Step = std::variant<Launch, Copy, Fill>;

/// Steps [First, End) that run `Count` times, or of which a condition in memory
/// says whether those before `Else` run or those from there on.
/// What ends a loop before its count.
struct LoopEnd {
  uint32_t Behind = 0;    ///< steps from here on run once, after the last one
  uint32_t Condition = 0; ///< the buffer
  std::optional<Expr> ConditionOffset;
};
struct Loop {
  uint32_t First = 0, End = 0;
  Expr Count;
  std::string Counter; ///< a symbol
  std::optional<LoopEnd> Until = std::nullopt;
};
struct If {
  uint32_t First = 0, Else = 0, End = 0;
  uint32_t Condition = 0; ///< the buffer
  std::optional<Expr> ConditionOffset;
};
using Control = std::variant<Loop, If>;

/// A value of the graph that the plan materialises, for `kpc verify`.
struct Value {
  std::string Name;
  uint32_t Buffer = 0;
  std::optional<Expr> Offset; ///< bytes
  std::optional<uint32_t>
      Step; ///< valid after this step; none: before the first
  ElementType Type = ElementType::Undefined;
  std::vector<Expr> Dims; ///< in the order of the model
  std::vector<uint8_t>
      Order; ///< stored dimension i is dimension Order[i]; empty: as Dims
};

struct Target {
  std::string Name; ///< "host:x86-64-v3", "sm_90a", "portable"
  TargetKind Kind = TargetKind::Host;
  artifact::Isa Isa = Isa::X86_64;
  uint8_t CpuLevel = 1; ///< host: 1–4 for x86-64, x86-64-v2, -v3, -v4
  uint8_t CapabilityMajor = 0, CapabilityMinor = 0;
  CapabilityRule Rule = CapabilityRule::Exactly;
  uint32_t LeastDriver = 0; ///< CUDA driver, 12040 for 12.4; 0: any
  std::vector<Module> Modules;
  std::vector<Kernel> Kernels;
  std::vector<Buffer> Buffers;
  std::vector<Step> Steps;
  std::vector<Control> Controls; ///< by first step, outer ones first
  std::vector<Value> Values;
  std::vector<Readback> Readbacks; ///< by step
};

struct Provenance {
  std::string KpcVersion;
  std::string ModelName;
  std::string ModelDigest; ///< SHA-256, hexadecimal
  std::string Options;
  std::string TuningDigest;
  std::vector<std::pair<std::string, std::string>> Properties;
};

struct Contents {
  std::vector<Symbol> Symbols; ///< every symbol that an expression names
  std::vector<Port> Inputs, Outputs;
  std::vector<InputValue> InputValues;
  std::vector<Requirement> Requirements;
  std::vector<Weight> Weights;
  std::vector<Library> Libraries;
  std::vector<Target> Targets;
  artifact::Provenance Provenance;
};

} // namespace kpc::artifact

#endif // KPC_CODEGEN_ARTIFACT_CONTENTS_H
