//===- GpuThreads.cpp - What GPU builders write with ----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/GpuThreads.h"
#include "passes/kernels/form/Loops.h"
#include "passes/kernels/form/SizeFacts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace kpc::kernels {

/// What every buffer is aligned to at least, by the kernel ABI.
static constexpr int64_t BufferAlignment = 64;

std::string sizeText(OpFoldResult Size) {
  auto E = sizeExpr(Size);
  return E ? E->str() : std::string();
}

std::string productText(ArrayRef<OpFoldResult> Sizes) {
  auto E = productExpr(Sizes);
  return E ? "(" + E->str() + ")" : std::string();
}

int64_t storageBytes(Type Element) {
  return std::max(1u, Element.getIntOrFloatBitWidth() / 8);
}

GpuWriter::GpuWriter(FusedKernel &Form)
    : B(Form.Func.getBody().front().getTerminator()), Loc(Form.Func.getLoc()) {}

Value GpuWriter::size(ArrayRef<OpFoldResult> Product) {
  Value Result = index(1);
  for (OpFoldResult S : Product)
    Result = mul(Result, size(S));
  return Result;
}

Value GpuWriter::ceilDiv(Value L, int64_t R) {
  if (R == 1)
    return L;
  return B.createOrFold<arith::DivUIOp>(Loc, add(L, index(R - 1)), index(R));
}

Value GpuWriter::less(Value L, Value R) {
  return arith::CmpIOp::create(B, Loc, arith::CmpIPredicate::slt, L, R);
}

Value GpuWriter::both(Value L, Value R) {
  return arith::AndIOp::create(B, Loc, L, R);
}

Value GpuWriter::thread(gpu::Dimension D) {
  return gpu::ThreadIdOp::create(B, Loc, D);
}

Value GpuWriter::block(gpu::Dimension D) {
  return gpu::BlockIdOp::create(B, Loc, D);
}

void GpuWriter::barrier() { gpu::BarrierOp::create(B, Loc); }

void GpuWriter::clusterBarrier() {
  arriveInCluster();
  waitForCluster();
}

// Arriving releases and waiting acquires (PTX ISA, barrier.cluster). There is
// no `.aligned`, because threads of a warp may come one by one.
void GpuWriter::arriveInCluster() {
  NVVM::ClusterArriveOp::create(B, Loc, UnitAttr());
}

void GpuWriter::waitForCluster() {
  NVVM::ClusterWaitOp::create(B, Loc, UnitAttr());
}

Value GpuWriter::loadFromBlock(Value Memory, Value Block) {
  assert(cast<MemRefType>(Memory.getType()).getNumElements() == 1 &&
         "its first element alone is read");
  auto Pointer = [&](NVVM::NVVMMemorySpace Space) {
    return LLVM::LLVMPointerType::get(B.getContext(), unsigned(Space));
  };
  Value Address =
      memref::ExtractAlignedPointerAsIndexOp::create(B, Loc, Memory);
  Value Number = arith::IndexCastOp::create(B, Loc, B.getI64Type(), Address);
  Value Mine = LLVM::IntToPtrOp::create(
      B, Loc, Pointer(NVVM::NVVMMemorySpace::Shared), Number);
  Value Rank = arith::IndexCastOp::create(B, Loc, B.getI32Type(), Block);
  Value There = NVVM::MapaOp::create(
      B, Loc, Pointer(NVVM::NVVMMemorySpace::SharedCluster), Mine, Rank);
  return LLVM::LoadOp::create(
      B, Loc, cast<MemRefType>(Memory.getType()).getElementType(), There);
}

Value GpuWriter::shared(ArrayRef<int64_t> Shape, Type Element) {
  auto Space = gpu::AddressSpaceAttr::get(
      B.getContext(), gpu::GPUDialect::getWorkgroupAddressSpace());
  return memref::AllocOp::create(
      B, Loc,
      MemRefType::get(Shape, Element, MemRefLayoutAttrInterface(), Space));
}

SmallVector<Value> GpuWriter::split(Value Linear, ArrayRef<OpFoldResult> Sizes,
                                    std::optional<int64_t> Bound) {
  SmallVector<Value> Indices(Sizes.size());
  bool Narrow = Bound && *Bound <= int64_t(1) << 31;
  Type I32 = B.getI32Type();
  Value Rest = Linear;
  if (Narrow && Sizes.size() > 1)
    Rest = arith::IndexCastUIOp::create(B, Loc, I32, Linear);
  for (size_t I = Sizes.size(); I-- > 1;) {
    if (constantOf(Sizes[I]) == 1) {
      Indices[I] = index(0);
      continue;
    }
    Value Size = size(Sizes[I]);
    if (Narrow)
      Size = B.createOrFold<arith::IndexCastUIOp>(Loc, I32, Size);
    Value Index = B.createOrFold<arith::RemUIOp>(Loc, Rest, Size);
    Rest = B.createOrFold<arith::DivUIOp>(Loc, Rest, Size);
    Indices[I] =
        Narrow
            ? B.createOrFold<arith::IndexCastUIOp>(Loc, B.getIndexType(), Index)
            : Index;
  }
  if (!Sizes.empty())
    Indices[0] =
        Narrow && Sizes.size() > 1
            ? B.createOrFold<arith::IndexCastUIOp>(Loc, B.getIndexType(), Rest)
            : Rest;
  return Indices;
}

void GpuWriter::when(Value Condition, Emit Then) {
  when(Condition, Then, [] {});
}

void GpuWriter::when(Value Condition, Emit Then, Emit Else) {
  auto If = scf::IfOp::create(B, Loc, Condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard Guard(B);
  B.setInsertionPoint(If.thenYield());
  Then();
  B.setInsertionPoint(If.elseYield());
  Else();
}

SmallVector<Value> GpuWriter::loop(
    Value Lower, Value Upper, Value Step, ValueRange Carried,
    llvm::function_ref<SmallVector<Value>(Value, ValueRange)> Body) {
  auto For = makeLoop(B, Loc, Lower, Upper, Step, Carried,
                      [&](OpBuilder &, Value Index, ValueRange Values) {
                        return Body(Index, Values);
                      });
  return SmallVector<Value>(For.getResults());
}

Value GpuWriter::renewed(Value V) {
  return NVVM::InlinePtxOp::create(B, Loc, TypeRange{V.getType()},
                                   ValueRange{V}, ValueRange(),
                                   "mov.b32 {$w0}, {$r0};", Value())
      .getResult(0);
}

Value GpuWriter::shuffleXor(Value V, int32_t Mask) {
  auto Exchange = [&](Value Word) -> Value {
    return gpu::ShuffleOp::create(B, Loc, Word, Mask, 32, gpu::ShuffleMode::XOR)
        .getShuffleResult();
  };
  Type T = V.getType();
  unsigned Bits = T.getIntOrFloatBitWidth();
  Type I32 = B.getI32Type(), Same = B.getIntegerType(Bits);
  // The hardware exchanges 32-bit words.
  if (Bits == 32)
    return Exchange(V);
  bool IsFloat = isa<FloatType>(T);
  Value Raw = IsFloat ? arith::BitcastOp::create(B, Loc, Same, V) : V;
  if (Bits < 32) {
    Value Wide = Exchange(arith::ExtUIOp::create(B, Loc, I32, Raw));
    Raw = arith::TruncIOp::create(B, Loc, Same, Wide);
  } else {
    Value By = arith::ConstantOp::create(B, Loc, B.getI64IntegerAttr(32));
    Value Low = arith::TruncIOp::create(B, Loc, I32, Raw);
    Value High = arith::TruncIOp::create(
        B, Loc, I32, arith::ShRUIOp::create(B, Loc, Raw, By));
    Low = arith::ExtUIOp::create(B, Loc, Same, Exchange(Low));
    High = arith::ExtUIOp::create(B, Loc, Same, Exchange(High));
    Raw = arith::OrIOp::create(B, Loc, Low,
                               arith::ShLIOp::create(B, Loc, High, By));
  }
  return IsFloat ? Value(arith::BitcastOp::create(B, Loc, T, Raw)) : Raw;
}

//===----------------------------------------------------------------------===//
// Neighbouring elements
//===----------------------------------------------------------------------===//

void LaneLoads::begin(Value Base) {
  Loaded.clear();
  Indices.clear();
  Home = W.B.getInsertionBlock();
  for (unsigned L = 0; L < Lanes; ++L)
    Indices.push_back(W.add(Base, W.index(L)));
  if (Lanes > 1)
    W.Emitter.setLoadHook(
        [this](OpBuilder &B, Location Loc, Value Memref, ValueRange At) {
          return load(B, Loc, Memref, At);
        });
}

void LaneLoads::end() { W.Emitter.setLoadHook({}); }

/// Whether `V` may be computed from `From`.
static bool dependsOn(Value V, Value From) {
  SmallVector<Value> Worklist{V};
  for (unsigned Steps = 0; !Worklist.empty(); ++Steps) {
    Value Next = Worklist.pop_back_val();
    if (Next == From || Steps > 200) // a long way: say yes
      return true;
    Operation *Def = Next.getDefiningOp();
    if (!Def)
      continue;
    if (Def->getNumRegions() != 0)
      return true;
    llvm::append_range(Worklist, Def->getOperands());
  }
  return false;
}

bool LaneLoads::isAligned(Value Memref, ValueRange At) const {
  auto Type = cast<MemRefType>(Memref.getType());
  SmallVector<int64_t> Strides;
  int64_t Offset;
  if (failed(Type.getStridesAndOffset(Strides, Offset)) ||
      Strides.back() != 1 || ShapedType::isDynamic(Offset) || Offset % Lanes)
    return false;
  if (!AlignedStrides.empty()) {
    if (At.drop_back() != ValueRange(AlignedRow))
      return false;
    for (auto [Dim, Stride] : llvm::enumerate(AlignedStrides))
      if (!areCongruent(strideOf(Memref, Dim), Stride, Lanes))
        return false;
    return true;
  }
  for (unsigned Dim = 0; Dim + 1 < At.size(); ++Dim) {
    auto Index = getConstantIntValue(At[Dim]);
    if (Index == 0 || RowsAligned ||
        divisorOf(strideOf(Memref, Dim)) % Lanes == 0)
      continue;
    return false;
  }
  return true;
}

Value LaneLoads::load(OpBuilder &B, Location Loc, Value Memref, ValueRange At) {
  auto Scalar = [&]() -> Value {
    return memref::LoadOp::create(B, Loc, Memref, At);
  };
  if (At.empty())
    return Scalar();
  // Another lane's index (a shifted read) is not this lane's neighbour.
  // Under a branch that each lane has, lanes are joined later (see mergeIfs).
  if (At.back() != Indices[Current] || B.getInsertionBlock() != Home)
    return Scalar();
  SmallVector<Value> Key{Memref};
  llvm::append_range(Key, At.drop_back());
  for (auto &[Known, Vector] : Loaded)
    if (Known == Key && dominatesInsertion(Vector, B))
      return vector::ExtractOp::create(B, Loc, Vector, int64_t(Current));
  // Other lanes must not have other rows.
  if (Current != 0 || !isAligned(Memref, At) ||
      llvm::any_of(At.drop_back(),
                   [&](Value V) { return dependsOn(V, Indices[0]); }))
    return Scalar();
  Type Element = cast<MemRefType>(Memref.getType()).getElementType();
  auto Load = vector::LoadOp::create(
      B, Loc, VectorType::get({int64_t(Lanes)}, Element), Memref, At);
  Load.setAlignment(
      std::min<int64_t>(Lanes * storageBytes(Element), BufferAlignment));
  Loaded.push_back({Key, Load.getResult()});
  return vector::ExtractOp::create(B, Loc, Load.getResult(), int64_t(0));
}

Value flatView(GpuWriter &W, Value Base, Type Element) {
  MLIRContext *Context = W.B.getContext();
  auto Ty = MemRefType::get({ShapedType::kDynamic}, Element,
                            StridedLayoutAttr::get(Context, 0, {1}));
  // Nobody asks for the size.
  return memref::ReinterpretCastOp::create(
      W.B, W.Loc, Ty, Base, OpFoldResult(W.B.getIndexAttr(0)),
      ArrayRef<OpFoldResult>{OpFoldResult(W.index(1))},
      ArrayRef<OpFoldResult>{OpFoldResult(W.B.getIndexAttr(1))});
}

void storeLanes(GpuWriter &W, ArrayRef<Value> Lanes, Value Memref,
                ValueRange At) {
  if (Lanes.size() == 1) {
    memref::StoreOp::create(W.B, W.Loc, Lanes[0], Memref, At);
    return;
  }
  Type Element = Lanes[0].getType();
  Value Vector = vector::FromElementsOp::create(
      W.B, W.Loc, VectorType::get({int64_t(Lanes.size())}, Element), Lanes);
  auto Store = vector::StoreOp::create(W.B, W.Loc, Vector, Memref, At);
  Store.setAlignment(
      std::min<int64_t>(Lanes.size() * storageBytes(Element), BufferAlignment));
}

unsigned storeLanesOf(ArrayRef<KernelOutput> Outputs, unsigned Dim,
                      ArrayRef<unsigned> Run, int64_t WidestBytes) {
  int64_t Lanes = 8;
  for (const KernelOutput &Out : Outputs) {
    auto Type = cast<MemRefType>(Out.Memref.getType());
    Lanes = std::min(Lanes, WidestBytes / storageBytes(Type.getElementType()));
  }
  for (const KernelOutput &Out : Outputs) {
    auto Type = cast<MemRefType>(Out.Memref.getType());
    SmallVector<int64_t> Strides;
    int64_t Offset;
    if (Dim + 1 != Type.getRank() ||
        failed(Type.getStridesAndOffset(Strides, Offset)) ||
        Strides[Dim] != 1 || ShapedType::isDynamic(Offset))
      return 1;
    while (Lanes > 1 && Offset % Lanes)
      Lanes /= 2;
    for (unsigned Other = 0; Other < Dim; ++Other)
      while (Lanes > 1 && !llvm::is_contained(Run, Other) &&
             Type.getDimSize(Other) != 1 &&
             divisorOf(strideOf(Out.Memref, Other)) % Lanes)
        Lanes /= 2;
  }
  return std::max<int64_t>(Lanes, 1);
}

} // namespace kpc::kernels
