//===- RegionTitle.cpp - What a region computes, in words -----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/graph/RegionTitle.h"
#include "dialects/graph/GraphRecurrent.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

namespace {

/// Of the words behind the first, so many are written out.
constexpr size_t MostWords = 6;

std::string sizeText(const Expr &Size) {
  if (std::optional<int64_t> Number = Size.asConstant())
    return std::to_string(*Number);
  return "{" + Size.str() + "}";
}

std::string timesText(ArrayRef<Expr> Sizes) {
  std::string Out;
  for (const Expr &Size : Sizes)
    Out += (Out.empty() ? "" : "x") + sizeText(Size);
  return Out;
}

std::string timesText(ArrayRef<int64_t> Sizes) {
  SmallVector<Expr> All(Sizes.begin(), Sizes.end());
  return timesText(All);
}

ArrayRef<Expr> dimsOf(Value V) { return typeOf(V).getDims(); }

Expr productOf(ArrayRef<Expr> Sizes) {
  Expr All(1);
  for (const Expr &Size : Sizes)
    All = All * Size;
  return All;
}

//===----------------------------------------------------------------------===//
// Contractions, windows
//===----------------------------------------------------------------------===//

std::string matmulText(MatmulOp Op, unsigned Count) {
  ArrayRef<Expr> A = dimsOf(Op.getA()), Y = dimsOf(Op.getY());
  Expr Batch = productOf(Y.drop_back(2));
  std::string Out =
      isFloat(typeOf(Op.getA()).getElementType()) ? "GEMM" : "integer GEMM";
  if (Count > 1)
    Out = std::to_string(Count) + " x " + Out;
  else if (Batch != Expr(1))
    Out = sizeText(Batch) + " x " + Out;
  return Out + " " + timesText({Y[Y.size() - 2], Y.back(), A.back()});
}

/// " /2" behind a convolution or a pooling; nothing for 1.
std::string strideText(ArrayRef<int64_t> Strides) {
  if (llvm::all_of(Strides, [](int64_t S) { return S == 1; }))
    return "";
  bool Same = llvm::all_equal(Strides);
  return " /" + (Same ? std::to_string(Strides.front()) : timesText(Strides));
}

std::string convText(ConvOp Op) {
  ArrayRef<Expr> X = dimsOf(Op.getX()), W = dimsOf(Op.getW()),
                 Y = dimsOf(Op.getY());
  Expr Groups(int64_t(Op.getGroups()));
  bool Depthwise = Groups != Expr(1) && Groups == X.back();
  std::string Out = Depthwise ? "depthwise conv " : "conv ";
  Out += timesText(W.drop_back(2)) + " ";
  Out += Depthwise && Y.back() == X.back()
             ? sizeText(X.back())
             : sizeText(X.back()) + "->" + sizeText(Y.back());
  Out += strideText(Op.getStride());
  if (!Depthwise && Groups != Expr(1))
    Out += " in " + sizeText(Groups) + " groups";
  return Out + " to " + timesText(Y.drop_front().drop_back());
}

std::string attentionText(AttentionOp Op) {
  ArrayRef<Expr> Q = dimsOf(Op.getQ()), K = dimsOf(Op.getK());
  std::string Out = "attention " + sizeText(Q[1]) + " heads x " +
                    sizeText(Q[3]) + ", " + timesText({Q[2], K[2]});
  if (K[1] != Q[1])
    Out += ", " + sizeText(K[1]) + " of keys";
  if (Op.getCausal())
    Out += ", causal";
  return Op.getBias() || Op.getMask() ? Out + ", masked" : Out;
}

std::string windowText(WindowOp Op) {
  // Only spatial dims have windows.
  SmallVector<int64_t> Window, Stride;
  for (auto [Size, Step] : llvm::zip_equal(Op.getWindow(), Op.getStride()))
    if (Size != 1 || Step != 1) {
      Window.push_back(Size);
      Stride.push_back(Step);
    }
  std::string Kind = Op.getKind() == ReduceKind::max   ? "max pool "
                     : Op.getKind() == ReduceKind::sum ? "average pool "
                                                       : "pool ";
  return Kind + timesText(Window) + (Stride.empty() ? "" : strideText(Stride));
}

//===----------------------------------------------------------------------===//
// Words for all other ops
//===----------------------------------------------------------------------===//

/// What is written of a value behind reshapes, broadcasts and casts.
Value sourceOf(Value V) {
  while (Operation *Op = V.getDefiningOp()) {
    if (!isa<BroadcastOp, ReshapeOp, CastOp, TransposeOp>(Op))
      break;
    V = Op->getOperand(0);
  }
  return V;
}

bool isNumber(Value V) { return splatValue(V).has_value(); }

/// What the operators of models that stand for several ops are called.
StringRef composite(StringRef Operator) {
  for (StringRef Prefix : {"torch.ops.", "aten."})
    Operator.consume_front(Prefix);
  Operator = Operator.take_until([](char C) { return C == '.'; });
  // PyTorch's forms in place.
  Operator = Operator.rtrim('_');
  static const std::pair<StringRef, StringRef> Names[] = {
      {"gelu", "GELU"},
      {"fastgelu", "GELU"},
      {"biasgelu", "bias + GELU"},
      {"silu", "SiLU"},
      {"swish", "SiLU"},
      {"hardswish", "hard-swish"},
      {"hardsigmoid", "hard-sigmoid"},
      {"mish", "Mish"},
      {"elu", "ELU"},
      {"leakyrelu", "leaky ReLU"},
      {"leaky_relu", "leaky ReLU"},
      {"prelu", "PReLU"},
      {"clip", "clip"},
      {"clamp", "clip"},
      {"hardtanh", "clip"},
      {"relu6", "clip"},
      {"rotaryembedding", "RoPE"}};
  std::string Lower = Operator.lower();
  for (auto [Name, Text] : Names)
    if (Lower == Name)
      return Text;
  return {};
}

/// The innermost of a location's names is the operator: see the importers.
StringRef operatorOf(Operation *Op) {
  auto Name = Op->getLoc()->findInstanceOf<NameLoc>();
  auto Inner = Name ? dyn_cast<NameLoc>(Name.getChildLoc()) : NameLoc();
  return Inner ? Inner.getName().strref() : StringRef();
}

class Wording {
public:
  explicit Wording(RegionOp Region)
      : Region(Region), Body(Region.getBody().front()) {}

  RegionTitle title();

private:
  void takeGelus();
  void takeSilus();
  void takeBefore(Value V);
  std::string norm();
  std::string addition(Operation *Op);
  std::string wordOf(Operation *Op);
  std::string kindOfMany();
  void sayOf(Operation *Op);
  bool isWeight(Value V);
  /// Each once in front of the main op, and once behind it.
  void say(std::string Word) {
    if (!Word.empty() &&
        std::find(Words.begin() + Behind, Words.end(), Word) == Words.end())
      Words.push_back(std::move(Word));
  }
  void sayMain(std::string Word) {
    say(std::move(Word));
    Behind = std::ptrdiff_t(Words.size());
  }

  RegionOp Region;
  Block &Body;
  std::vector<std::string> Words;
  /// Ops that another word stands for.
  DenseSet<Operation *> Taken;
  DenseMap<Operation *, std::string> Given;
  Operation *Main = nullptr;
  std::string Norm;          ///< empty: the reductions have no name together
  std::ptrdiff_t Behind = 0; ///< words up to the main op's
};

bool Wording::isWeight(Value V) {
  auto Argument = dyn_cast<BlockArgument>(sourceOf(V));
  if (!Argument || Argument.getOwner() != &Body)
    return false;
  Value Outer = Region.getInputs()[Argument.getArgNumber()];
  return isa_and_present<WeightOp, ConstantOp>(sourceOf(Outer).getDefiningOp());
}

/// All that only this value is computed for.
void Wording::takeBefore(Value V) {
  Operation *Op = V.getDefiningOp();
  if (!Op || Op->getBlock() != &Body || !V.hasOneUse() ||
      isa<MatmulOp, ConvOp, AttentionOp, ReduceOp, WindowOp>(Op))
    return;
  Taken.insert(Op);
  for (Value Operand : Op->getOperands())
    takeBefore(Operand);
}

/// x/2 * (1 + erf(x/√2)), or with a tanh.
void Wording::takeGelus() {
  for (Operation &Op : Body) {
    if (!isa<ErfOp, TanhOp>(Op) || !Op.getResult(0).hasOneUse())
      continue;
    auto One = dyn_cast<AddOp>(*Op.user_begin());
    if (!One || !(isNumber(One.getA()) || isNumber(One.getB())) ||
        !One->hasOneUse())
      continue;
    auto Product = dyn_cast<MulOp>(*One->user_begin());
    if (!Product)
      continue;
    Given[Product] = "GELU";
    Taken.insert(&Op);
    takeBefore(Op.getOperand(0));
    Taken.insert(One);
  }
}

/// x * sigmoid(x).
void Wording::takeSilus() {
  for (auto Op : Body.getOps<SigmoidOp>()) {
    if (!Op->hasOneUse())
      continue;
    auto Product = dyn_cast<MulOp>(*Op->user_begin());
    if (!Product)
      continue;
    Value Other =
        Product.getA() == Op.getResult() ? Product.getB() : Product.getA();
    if (Other != Op.getX())
      continue;
    Given[Product] = "SiLU";
    Taken.insert(Op);
  }
}

/// Reductions with what stands around them: "LayerNorm 768", "softmax 128".
/// All but additions and products with weights goes by this one word.
std::string Wording::norm() {
  SmallVector<ReduceOp> Reductions(Body.getOps<ReduceOp>());
  if (Reductions.empty())
    return "";
  auto Has = [&](auto Is) { return llvm::any_of(Body, Is); };
  auto Kind = [&](ReduceKind K) {
    return llvm::count_if(Reductions,
                          [&](ReduceOp R) { return R.getKind() == K; });
  };
  ReduceOp First = Reductions.front();
  Expr Length(1);
  for (int64_t Axis : First.getAxes())
    Length = Length * dimsOf(First.getX())[Axis];
  bool Exp = Has([](Operation &Op) { return isa<ExpOp>(Op); });
  bool Root = Has([](Operation &Op) { return isa<SqrtOp, RsqrtOp>(Op); });
  if (Exp && Kind(ReduceKind::max) && Kind(ReduceKind::sum))
    return "softmax " + sizeText(Length);
  if (!Root || !Kind(ReduceKind::sum))
    return "";
  return (Reductions.size() > 1 ? "LayerNorm " : "RMSNorm ") + sizeText(Length);
}

/// A reduction alone, with the operator that it is a part of.
std::string reduceText(ReduceOp Op) {
  Expr Length(1);
  for (int64_t Axis : Op.getAxes())
    Length = Length * dimsOf(Op.getX())[Axis];
  return stringifyReduceKind(Op.getKind()).str() + " over " + sizeText(Length);
}

/// "bias", "scale" of a weight along one dimension; "add", "multiply" of two
/// tensors; nothing with a number.
std::string Wording::addition(Operation *Op) {
  Value A = Op->getOperand(0), B = Op->getOperand(1);
  if (isNumber(A) || isNumber(B) ||
      !isFloat(typeOf(Op->getResult(0)).getElementType()))
    return "";
  bool Sum = isa<AddOp, SubOp>(Op);
  for (Value V : {A, B})
    if (isWeight(V) && V.getDefiningOp() && V.getDefiningOp<BroadcastOp>())
      return Sum ? "bias" : "scale";
  return Sum ? (isa<AddOp>(Op) ? "add" : "subtract")
             : (isa<MulOp>(Op) ? "multiply" : "divide");
}

std::string Wording::wordOf(Operation *Op) {
  if (auto Found = Given.find(Op); Found != Given.end())
    return Found->second;
  if (Taken.contains(Op))
    return "";
  if (StringRef Name = composite(operatorOf(Op));
      !Name.empty() && Op->hasTrait<ElementwiseTrait>() && !isa<CastOp>(Op))
    return Name.str();
  return llvm::TypeSwitch<Operation *, std::string>(Op)
      .Case<AddOp, SubOp, MulOp, DivOp>([&](Operation *Binary) {
        return !Norm.empty() && !isWeight(Binary->getOperand(0)) &&
                       !isWeight(Binary->getOperand(1)) && !isa<AddOp>(Binary)
                   ? std::string()
                   : addition(Binary);
      })
      .Case<SqrtOp, RsqrtOp, ReciprocalOp, ExpOp>([&](Operation *Function) {
        return !Norm.empty() ? std::string()
                             : Function->getName().stripDialect().str();
      })
      .Case([](ReluOp) { return "ReLU"; })
      .Case([](SelectOp) { return "select"; })
      .Case<MinOp, MaxOp>([](Operation *Op) {
        bool Clips = isNumber(Op->getOperand(0)) || isNumber(Op->getOperand(1));
        return std::string(Clips ? "clip" : Op->getName().stripDialect().str());
      })
      .Case<AbsOp, NegOp, SignOp, CeilOp, FloorOp, RoundOp, Expm1Op, LogOp,
            Log1pOp, SinOp, CosOp, TanOp, TanhOp, ErfOp, SigmoidOp, PowOp,
            ModOp, RemOp>([](Operation *Function) {
        return Function->getName().stripDialect().str();
      })
      .Default([](Operation *) { return ""; });
}

/// What a region does that only moves elements or looks them up.
std::string movementWord(Operation *Op, bool Sized) {
  return llvm::TypeSwitch<Operation *, std::string>(Op)
      .Case([&](GatherOp Gather) {
        return Sized ? "gather " + timesText(dimsOf(Gather->getResult(0)))
                     : std::string("gather");
      })
      .Case<GatherElementsOp, GatherNdOp>([](Operation *) { return "gather"; })
      .Case<ScatterElementsOp, ScatterNdOp, FoldSegmentsOp>(
          [](Operation *) { return "scatter"; })
      .Case([](SortRunsOp Sort) {
        return Sort.getFrom() == 1 ? "sort" : "merge";
      })
      .Case([](DigitCountsOp) { return "count digits"; })
      .Case([](OrderByDigitOp) { return "order by digit"; })
      .Case([](SearchSortedOp) { return "search"; })
      .Case<TransposeOp, ConcatOp, SliceOp, PadOp, IotaOp, PackOp, UnpackOp>(
          [](Operation *Moves) {
            return Moves->getName().stripDialect().str();
          })
      .Case([](CumSumOp) { return "running sum"; })
      .Case([](ArgReduceOp Arg) {
        return "arg" + stringifyReduceKind(Arg.getKind()).str();
      })
      .Default([](Operation *) { return ""; });
}

/// Where a region has several of them, the first one of these kinds is named.
Operation *mainOf(Block &Body) {
  Operation *Found = nullptr;
  int Best = 0;
  for (Operation &Op : Body) {
    int Rank = isa<MatmulOp, ConvOp, AttentionOp>(Op) ? 3
               : isa<WindowOp>(Op)                    ? 2
               : isa<ReduceOp, ScatterElementsOp, ScatterNdOp, ArgReduceOp,
                     CumSumOp, SortRunsOp, DigitCountsOp, OrderByDigitOp,
                     SearchSortedOp, FoldSegmentsOp>(Op)
                   ? 1
                   : 0;
    if (Rank > Best) {
      Best = Rank;
      Found = &Op;
    }
  }
  return Found;
}

/// `Norm`: what the reductions are together; empty: nothing that has a name.
std::string kindOf(Operation *Main, StringRef Norm) {
  return llvm::TypeSwitch<Operation *, std::string>(Main)
      .Case([](MatmulOp) { return "GEMM"; })
      .Case([](ConvOp) { return "convolution"; })
      .Case([](AttentionOp) { return "attention"; })
      .Case([](WindowOp) { return "pooling"; })
      .Case<ScatterElementsOp, ScatterNdOp, FoldSegmentsOp>(
          [](Operation *) { return "scatter"; })
      .Case<SortRunsOp, DigitCountsOp, OrderByDigitOp, SearchSortedOp>(
          [](Operation *) { return "sort"; })
      .Default([&](Operation *) {
        return Norm.empty()            ? "reduction"
               : Norm.contains("Norm") ? "normalization"
                                       : "softmax";
      });
}

/// The words of one op; of the main one they end what comes before it.
void Wording::sayOf(Operation *Op) {
  if (auto Matmul = dyn_cast<MatmulOp>(Op))
    return Op == Main ? sayMain(matmulText(
                            Matmul, llvm::range_size(Body.getOps<MatmulOp>())))
                      : void();
  if (auto Conv = dyn_cast<ConvOp>(Op))
    return sayMain(convText(Conv));
  if (auto Attention = dyn_cast<AttentionOp>(Op))
    return sayMain(attentionText(Attention));
  if (auto Window = dyn_cast<WindowOp>(Op))
    return sayMain(windowText(Window));
  if (auto Reduce = dyn_cast<ReduceOp>(Op)) {
    if (Norm.empty())
      return sayMain(reduceText(Reduce));
    // One word for all reductions of it.
    return Op == Main ? sayMain(Norm) : void();
  }
  if (std::string Word = wordOf(Op); !Word.empty())
    return say(Word);
  bool Contracts = Main && isa<MatmulOp, ConvOp, AttentionOp>(Main);
  if (!Contracts || isa<GatherOp, ConcatOp>(Op))
    say(movementWord(Op, /*Sized=*/!Main));
}

/// Of a region without a main op: what it is on the whole.
std::string Wording::kindOfMany() {
  auto Any = [&](auto Is) {
    return llvm::any_of(Body.without_terminator(), Is);
  };
  if (Any([](Operation &Op) {
        return isa<GatherOp, GatherElementsOp, GatherNdOp>(Op);
      }))
    return "gather";
  bool Computes = Any([](Operation &Op) {
    return Op.hasTrait<ElementwiseTrait>() && !isa<CastOp>(Op);
  });
  bool Moves =
      Any([](Operation &Op) { return !movementWord(&Op, false).empty(); });
  return Moves && !Computes ? "movement" : "elementwise";
}

RegionTitle Wording::title() {
  Main = mainOf(Body);
  takeGelus();
  takeSilus();
  Norm = norm();
  for (Operation &Op : Body.without_terminator())
    sayOf(&Op);
  if (Words.empty())
    Words.push_back(
        llvm::any_of(Body, [](Operation &Op) { return isa<CastOp>(Op); })
            ? "convert"
            : "copy");
  RegionTitle Out{Main ? kindOf(Main, Norm) : kindOfMany(), "", Main};
  for (size_t I = 0; I < std::min(Words.size(), MostWords); ++I)
    Out.Text += (I ? " + " : "") + Words[I];
  if (Words.size() > MostWords)
    Out.Text += " + " + std::to_string(Words.size() - MostWords) + " more";
  // Where no word has a size yet.
  auto Yield = cast<YieldOp>(Body.getTerminator());
  if (!Main && Out.Kind != "gather" && !Yield.getValues().empty())
    if (std::string Size = timesText(dimsOf(Yield.getValues().front()));
        !Size.empty())
      Out.Text += " of " + Size;
  return Out;
}

} // namespace

RegionTitle graph::titleOf(RegionOp Region) {
  // Braces in a title hold expressions.
  if (auto Custom = dyn_cast<CustomOp>(Region.getBody().front().front())) {
    std::string Name = Custom.getOperatorName().str();
    llvm::erase_if(Name, [](char C) { return C == '{' || C == '}'; });
    return {"custom", Name, Custom};
  }
  if (auto Recurrent =
          dyn_cast<RecurrentOp>(Region.getBody().front().front())) {
    ArrayRef<Expr> Y = dimsOf(Recurrent.getResult(0));
    std::string Kind = stringifyCellKind(Recurrent.getKind()).upper();
    return {"recurrent",
            Kind + " of " + sizeText(Y[0]) + " steps, " +
                timesText({Y[1], Y[3]}) +
                (Recurrent.getDirections() > 1 ? ", both directions" : ""),
            Recurrent};
  }
  for (auto Loop : Region.getBody().front().getOps<LoopOp>())
    return {"loop",
            Loop.endsByData()
                ? "loop that data ends"
                : "loop of " + sizeText(Loop.getTrips()) + " steps",
            Loop};
  return Wording(Region).title();
}
