//===- Pickle.cpp - The pickles that PyTorch writes -----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/torch/Pickle.h"

#include <algorithm>
#include <bit>
#include <unordered_map>
#include <unordered_set>

namespace kpc::torch {

using Kind = PickleValue::Kind;

const PickleValue *PickleValue::attribute(std::string_view Name) const {
  if (Is != Kind::Object || Items.empty())
    return nullptr;
  const std::vector<const PickleValue *> &State = Items.front()->Items;
  for (size_t I = 0; I + 1 < State.size(); I += 2)
    if (State[I]->Is == Kind::Text && State[I]->Text == Name)
      return State[I + 1];
  return nullptr;
}

/// Codes as Python's pickletools lists them, up to protocol 2.
enum Opcode : uint8_t {
  Mark = '(',
  Stop = '.',
  EmptyTuple = ')',
  BinFloat = 'G',
  BinInt = 'J',
  BinInt1 = 'K',
  BinInt2 = 'M',
  NoneValue = 'N',
  BinPersId = 'Q',
  Reduce = 'R',
  BinUnicode = 'X',
  EmptyList = ']',
  Append = 'a',
  Build = 'b',
  Global = 'c',
  Appends = 'e',
  BinGet = 'h',
  LongBinGet = 'j',
  BinPut = 'q',
  LongBinPut = 'r',
  SetItem = 's',
  Tuple = 't',
  SetItems = 'u',
  EmptyDict = '}',
  Proto = 0x80,
  NewObj = 0x81,
  Tuple1 = 0x85,
  Tuple2 = 0x86,
  Tuple3 = 0x87,
  NewTrue = 0x88,
  NewFalse = 0x89,
  Long1 = 0x8a,
};

/// Names from a file, safe to show.
static std::string shown(std::string_view Text) {
  std::string Out;
  for (char C : Text.substr(0, 80))
    Out += C >= ' ' && C <= '~' ? C : '?';
  return Out + (Text.size() > 80 ? "…" : "");
}

static std::string hex(uint8_t Code) {
  const char *Digits = "0123456789abcdef";
  return std::string("0x") + Digits[Code >> 4] + Digits[Code & 15];
}

class PickleReader {
public:
  PickleReader(std::span<const uint8_t> Bytes, Pickle &Into, std::string &Why)
      : Bytes(Bytes), Into(Into), Why(Why) {}
  bool run();

private:
  bool fail(const std::string &Message) {
    if (Why.empty())
      Why = "byte " + std::to_string(OpAt) + " of the pickle: " + Message;
    return false;
  }
  bool step(uint8_t Code);
  bool stepContainer(uint8_t Code);
  /// None after a report where the file ends before.
  std::optional<uint64_t> number(size_t Width);
  std::optional<std::string_view> text(uint64_t Size);
  std::optional<std::string_view> line();

  PickleValue *make(Kind Is);
  bool push(PickleValue *V);
  PickleValue *pop();
  /// What lies above the last mark, which goes.
  std::optional<std::vector<const PickleValue *>> popToMark();
  bool tupleOf(size_t Count);
  bool put(std::optional<uint64_t> Slot);
  bool get(std::optional<uint64_t> Slot);
  bool readLong();
  bool readGlobal();
  bool newObject();
  bool reduce();
  bool build();
  bool storage();
  PickleValue *tensor(const PickleValue &Arguments, bool Untyped);
  bool fits(const PickleValue &T);
  bool readSizes(const PickleValue &From, std::vector<int64_t> &To);
  bool checkTree();

  std::span<const uint8_t> Bytes;
  Pickle &Into;
  std::string &Why;
  size_t At = 0, OpAt = 0;
  std::vector<PickleValue *> Stack;
  std::vector<size_t> Marks;
  std::unordered_map<uint64_t, PickleValue *> Memo;
};

//===----------------------------------------------------------------------===//
// Bytes and the stack
//===----------------------------------------------------------------------===//

std::optional<uint64_t> PickleReader::number(size_t Width) {
  std::optional<std::string_view> Raw = text(Width);
  if (!Raw)
    return std::nullopt;
  uint64_t N = 0;
  for (size_t I = Width; I-- > 0;)
    N = N << 8 | static_cast<uint8_t>((*Raw)[I]);
  return N;
}

std::optional<std::string_view> PickleReader::text(uint64_t Size) {
  if (Size > Bytes.size() - At) {
    fail("expected " + std::to_string(Size) + " more bytes, got " +
         std::to_string(Bytes.size() - At));
    return std::nullopt;
  }
  std::string_view Text(reinterpret_cast<const char *>(Bytes.data()) + At,
                        Size);
  At += Size;
  return Text;
}

std::optional<std::string_view> PickleReader::line() {
  auto Start = Bytes.begin() + static_cast<ptrdiff_t>(At);
  auto End = std::find(Start, Bytes.end(), '\n');
  if (End == Bytes.end()) {
    fail("expected a name and a line's end, got the end of the file");
    return std::nullopt;
  }
  auto Text = text(static_cast<uint64_t>(End - Start));
  ++At;
  return Text;
}

PickleValue *PickleReader::make(Kind Is) {
  if (Into.Values.size() >= Pickle::MostValues) {
    fail("expected at most " + std::to_string(Pickle::MostValues) +
         " values, got more");
    return nullptr;
  }
  Into.Values.emplace_back().Is = Is;
  return &Into.Values.back();
}

bool PickleReader::push(PickleValue *V) {
  // Values that a memo repeats cost bytes of the file each: no limit is needed.
  if (V)
    Stack.push_back(V);
  return V;
}

PickleValue *PickleReader::pop() {
  size_t Floor = Marks.empty() ? 0 : Marks.back();
  if (Stack.size() <= Floor) {
    fail("expected a value on the stack, got none");
    return nullptr;
  }
  PickleValue *V = Stack.back();
  Stack.pop_back();
  return V;
}

std::optional<std::vector<const PickleValue *>> PickleReader::popToMark() {
  if (Marks.empty()) {
    fail("expected a mark on the stack, got none");
    return std::nullopt;
  }
  auto Start = Stack.begin() + static_cast<ptrdiff_t>(Marks.back());
  std::vector<const PickleValue *> Items(Start, Stack.end());
  Stack.erase(Start, Stack.end());
  Marks.pop_back();
  return Items;
}

bool PickleReader::tupleOf(size_t Count) {
  PickleValue *T = make(Kind::Tuple);
  if (!T)
    return false;
  T->Items.resize(Count);
  for (size_t I = Count; I-- > 0;) {
    T->Items[I] = pop();
    if (!T->Items[I])
      return false;
  }
  return push(T);
}

bool PickleReader::put(std::optional<uint64_t> Slot) {
  PickleValue *V = Slot ? pop() : nullptr;
  if (!V)
    return false;
  Memo[*Slot] = V;
  return push(V);
}

bool PickleReader::get(std::optional<uint64_t> Slot) {
  if (!Slot)
    return false;
  auto It = Memo.find(*Slot);
  if (It == Memo.end())
    return fail("expected a value in memo slot " + std::to_string(*Slot) +
                ", got none");
  return push(It->second);
}

//===----------------------------------------------------------------------===//
// Names and what they make
//===----------------------------------------------------------------------===//

namespace {
/// A type that no storage class has: its tensors name it.
struct NamedType {
  std::string_view Name;
  int64_t Bytes;
};
} // namespace
static constexpr NamedType NamedTypes[] = {
    {"torch.float8_e4m3fn", 1}, {"torch.float8_e4m3fnuz", 1},
    {"torch.float8_e5m2", 1},   {"torch.float8_e5m2fnuz", 1},
    {"torch.uint16", 2},        {"torch.uint32", 4},
    {"torch.uint64", 8},
};

static int64_t bytesOfNamed(std::string_view Name) {
  for (const NamedType &T : NamedTypes)
    if (T.Name == Name)
      return T.Bytes;
  return 0;
}

/// Callables and classes that PyTorch's picklers name. Of each, this file
/// knows the result; none is ever called.
static bool isKnown(std::string_view Name) {
  static constexpr std::string_view Known[] = {
      "collections.OrderedDict",
      "torch._utils._rebuild_parameter",
      "torch._utils._rebuild_parameter_with_state",
      "torch._utils._rebuild_tensor_v2",
      "torch._utils._rebuild_tensor_v3",
      "torch.device",
      "torch.jit._pickle.build_boollist",
      "torch.jit._pickle.build_doublelist",
      "torch.jit._pickle.build_intlist",
      "torch.jit._pickle.build_tensorlist",
      "torch.jit._pickle.restore_type_tag",
      "torch.BFloat16Storage",
      "torch.BoolStorage",
      "torch.ByteStorage",
      "torch.CharStorage",
      "torch.ComplexDoubleStorage",
      "torch.ComplexFloatStorage",
      "torch.DoubleStorage",
      "torch.FloatStorage",
      "torch.HalfStorage",
      "torch.IntStorage",
      "torch.LongStorage",
      "torch.ShortStorage",
      "torch.storage.UntypedStorage",
  };
  return Name.starts_with("__torch__.") || bytesOfNamed(Name) > 0 ||
         std::find(std::begin(Known), std::end(Known), Name) != std::end(Known);
}

bool PickleReader::readGlobal() {
  auto Module = line();
  auto Name = Module ? line() : std::nullopt;
  if (!Name)
    return false;
  std::string Full = std::string(*Module) + "." + std::string(*Name);
  if (!isKnown(Full))
    return fail("it names '" + shown(Full) +
                "', which tensors and TorchScript do not need; kpc executes "
                "nothing of a pickle");
  PickleValue *V = make(Kind::Global);
  if (V)
    V->Text = std::move(Full);
  return push(V);
}

bool PickleReader::newObject() {
  PickleValue *Arguments = pop();
  PickleValue *Class = Arguments ? pop() : nullptr;
  if (!Class)
    return false;
  if (Class->Is != Kind::Global || !Class->Text.starts_with("__torch__.") ||
      Arguments->Is != Kind::Tuple || !Arguments->Items.empty())
    return fail("expected a class of the archive and no arguments for a new "
                "object, got '" +
                shown(Class->Text) + "'");
  PickleValue *V = make(Kind::Object);
  if (V)
    V->Text = Class->Text;
  return push(V);
}

bool PickleReader::build() {
  PickleValue *State = pop();
  PickleValue *Object = State ? pop() : nullptr;
  if (!Object)
    return false;
  // Attributes of an OrderedDict, as the versions of a state dict's modules.
  if (Object->Is == Kind::Dict && State->Is == Kind::Dict)
    return push(Object);
  if (Object->Is != Kind::Object || !Object->Items.empty() ||
      State->Is != Kind::Dict)
    return fail("expected a new object and a dict of its attributes");
  Object->Items.push_back(State);
  return push(Object);
}

bool PickleReader::reduce() {
  PickleValue *Arguments = pop();
  PickleValue *Callable = Arguments ? pop() : nullptr;
  if (!Callable)
    return false;
  if (Callable->Is != Kind::Global || Arguments->Is != Kind::Tuple)
    return fail("expected a known name and a tuple of arguments to build a "
                "value from");
  const std::string &Name = Callable->Text;
  std::vector<const PickleValue *> &Given = Arguments->Items;
  if (Name == "torch._utils._rebuild_tensor_v2")
    return push(tensor(*Arguments, /*Untyped=*/false));
  if (Name == "torch._utils._rebuild_tensor_v3")
    return push(tensor(*Arguments, /*Untyped=*/true));
  // (tensor, requires_grad, hooks), and the parameter's own attributes
  if (Name.starts_with("torch._utils._rebuild_parameter") && !Given.empty() &&
      Given[0]->Is == Kind::Tensor)
    return push(const_cast<PickleValue *>(Given[0]));
  if (Name == "collections.OrderedDict" && Given.empty())
    return push(make(Kind::Dict));
  if (Name == "torch.device" && !Given.empty() && Given[0]->Is == Kind::Text) {
    PickleValue *V = make(Kind::Device);
    if (V)
      V->Text = Given[0]->Text;
    return push(V);
  }
  bool Tagged = Name == "torch.jit._pickle.restore_type_tag";
  bool Lists = Name.starts_with("torch.jit._pickle.build_");
  // Both give their first argument, as a value of another static type.
  if ((Tagged && Given.size() == 2) ||
      (Lists && Given.size() == 1 && Given[0]->Is == Kind::List))
    return push(const_cast<PickleValue *>(Given[0]));
  return fail("'" + shown(Name) + "' does not take these " +
              std::to_string(Given.size()) + " arguments");
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

/// ('storage', torch.FloatStorage, '0', 'cpu', 12)
bool PickleReader::storage() {
  PickleValue *Id = pop();
  if (!Id)
    return false;
  const std::vector<const PickleValue *> &I = Id->Items;
  if (Id->Is != Kind::Tuple || I.size() != 5 || I[0]->Is != Kind::Text ||
      I[0]->Text != "storage" || I[1]->Is != Kind::Global ||
      !I[1]->Text.ends_with("Storage") || !I[1]->Text.starts_with("torch.") ||
      I[2]->Is != Kind::Text || I[3]->Is != Kind::Text ||
      I[4]->Is != Kind::Int || I[4]->Int < 0)
    return fail("expected a storage's type, key, device and element count");
  PickleValue *V = make(Kind::Storage);
  if (!V)
    return false;
  V->Type = I[1]->Text.substr(I[1]->Text.rfind('.') + 1);
  V->Text = I[2]->Text;
  V->Int = I[4]->Int;
  return push(V);
}

bool PickleReader::readSizes(const PickleValue &From,
                             std::vector<int64_t> &To) {
  if (From.Is != Kind::Tuple)
    return fail("expected a tuple of sizes");
  for (const PickleValue *V : From.Items) {
    if (V->Is != Kind::Int || V->Int < 0)
      return fail("expected sizes and strides of 0 or more");
    To.push_back(V->Int);
  }
  return true;
}

/// Whether all elements of a tensor lie in its storage.
bool PickleReader::fits(const PickleValue &T) {
  if (std::find(T.Sizes.begin(), T.Sizes.end(), 0) != T.Sizes.end())
    return true;
  __int128 Last = T.Int;
  // A storage without a type counts bytes.
  const __int128 Count =
      T.Type.empty() ? T.Items[0]->Int
                     : T.Items[0]->Int / bytesOfNamed("torch." + T.Type);
  for (size_t I = 0; I < T.Sizes.size() && Last < Count; ++I)
    Last += static_cast<__int128>(T.Sizes[I] - 1) * T.Strides[I];
  if (Last < Count)
    return true;
  return fail("a tensor reaches past the " + std::to_string(T.Items[0]->Int) +
              " elements of storage '" + shown(T.Items[0]->Text) + "'");
}

/// (storage, offset, sizes, strides, requires_grad, hooks), and a type where
/// the storage has none.
PickleValue *PickleReader::tensor(const PickleValue &Arguments, bool Untyped) {
  const std::vector<const PickleValue *> &A = Arguments.Items;
  bool Typed = !Untyped || (A.size() > 6 && A[6]->Is == Kind::Global &&
                            bytesOfNamed(A[6]->Text) > 0);
  if (!Typed || A.size() < 4 || A[0]->Is != Kind::Storage ||
      A[1]->Is != Kind::Int || A[1]->Int < 0) {
    fail("expected a storage, an offset, sizes and strides of a tensor");
    return nullptr;
  }
  PickleValue *T = make(Kind::Tensor);
  if (!T)
    return nullptr;
  T->Int = A[1]->Int;
  T->Items = {A[0]};
  if (Untyped)
    T->Type = A[6]->Text.substr(A[6]->Text.rfind('.') + 1);
  if (Untyped != (A[0]->Type == "UntypedStorage")) {
    fail("expected a storage with a type, or one without and a type, got " +
         shown(A[0]->Type));
    return nullptr;
  }
  if (!readSizes(*A[2], T->Sizes) || !readSizes(*A[3], T->Strides))
    return nullptr;
  if (T->Sizes.size() != T->Strides.size()) {
    fail("expected a stride for each of " + std::to_string(T->Sizes.size()) +
         " sizes, got " + std::to_string(T->Strides.size()));
    return nullptr;
  }
  return fits(*T) ? T : nullptr;
}

//===----------------------------------------------------------------------===//
// Opcodes
//===----------------------------------------------------------------------===//

bool PickleReader::readLong() {
  auto Width = number(1);
  if (!Width)
    return false;
  if (*Width > 8)
    return fail("expected an integer of at most 8 bytes, got " +
                std::to_string(*Width));
  auto Raw = number(*Width);
  PickleValue *V = Raw ? make(Kind::Int) : nullptr;
  if (!V)
    return false;
  // Two's complement of as many bytes as there are.
  unsigned Unused = 64 - 8 * static_cast<unsigned>(*Width);
  V->Int = *Width == 0 ? 0 : static_cast<int64_t>(*Raw << Unused) >> Unused;
  return push(V);
}

bool PickleReader::stepContainer(uint8_t Code) {
  bool Pairs = Code == SetItem || Code == SetItems;
  std::vector<const PickleValue *> Items;
  if (Code == Append || Code == SetItem) {
    Items.resize(Pairs ? 2 : 1);
    for (size_t I = Items.size(); I-- > 0;) {
      Items[I] = pop();
      if (!Items[I])
        return false;
    }
  } else {
    auto Above = popToMark();
    if (!Above)
      return false;
    Items = std::move(*Above);
  }
  PickleValue *To = pop();
  if (!To)
    return false;
  if (To->Is != (Pairs ? Kind::Dict : Kind::List) ||
      (Pairs && Items.size() % 2 != 0))
    return fail(Pairs ? "expected a dict and pairs of keys and values"
                      : "expected a list to append to");
  To->Items.insert(To->Items.end(), Items.begin(), Items.end());
  return push(To);
}

bool PickleReader::step(uint8_t Code) {
  auto Int = [&](std::optional<int64_t> N) {
    PickleValue *V = N ? make(Kind::Int) : nullptr;
    if (V)
      V->Int = *N;
    return push(V);
  };
  auto Bool = [&](bool B) {
    PickleValue *V = make(Kind::Bool);
    if (V)
      V->Int = B;
    return push(V);
  };
  switch (Code) {
  case Proto: {
    auto Version = number(1);
    return Version && (*Version == 2 ||
                       fail("expected protocol 2, which PyTorch writes, got " +
                            std::to_string(*Version)));
  }
  case Mark:
    Marks.push_back(Stack.size());
    return true;
  case NoneValue:
    return push(make(Kind::None));
  case NewTrue:
    return Bool(true);
  case NewFalse:
    return Bool(false);
  case BinInt:
    if (auto N = number(4))
      return Int(static_cast<int32_t>(*N));
    return false;
  case BinInt1:
    return Int(number(1));
  case BinInt2:
    return Int(number(2));
  case Long1:
    return readLong();
  case BinFloat: {
    auto Raw = number(8);
    PickleValue *V = Raw ? make(Kind::Float) : nullptr;
    // Big-endian, unlike all other numbers of a pickle.
    if (V)
      V->Float = std::bit_cast<double>(__builtin_bswap64(*Raw));
    return push(V);
  }
  case BinUnicode: {
    auto Size = number(4);
    auto Raw = Size ? text(*Size) : std::nullopt;
    PickleValue *V = Raw ? make(Kind::Text) : nullptr;
    if (V)
      V->Text = *Raw;
    return push(V);
  }
  case EmptyTuple:
    return push(make(Kind::Tuple));
  case EmptyList:
    return push(make(Kind::List));
  case EmptyDict:
    return push(make(Kind::Dict));
  case Tuple1:
  case Tuple2:
  case Tuple3:
    return tupleOf(size_t{Code} - Tuple1 + 1);
  case Tuple: {
    auto Items = popToMark();
    PickleValue *V = Items ? make(Kind::Tuple) : nullptr;
    if (V)
      V->Items = std::move(*Items);
    return push(V);
  }
  case Append:
  case Appends:
  case SetItem:
  case SetItems:
    return stepContainer(Code);
  case BinPut:
    return put(number(1));
  case LongBinPut:
    return put(number(4));
  case BinGet:
    return get(number(1));
  case LongBinGet:
    return get(number(4));
  case Global:
    return readGlobal();
  case NewObj:
    return newObject();
  case Reduce:
    return reduce();
  case Build:
    return build();
  case BinPersId:
    return storage();
  default:
    return fail("opcode " + hex(Code) +
                " is none that PyTorch's picklers write");
  }
}

/// A value that holds itself, or too deep a nest, would never end in a reader.
bool PickleReader::checkTree() {
  struct Level {
    const PickleValue *V;
    size_t Next;
  };
  std::vector<Level> Path{{Into.Root, 0}};
  std::unordered_set<const PickleValue *> Open{Into.Root}, Done;
  // A shared value is seen once; the depth counts along the first way to it.
  while (!Path.empty()) {
    Level &Top = Path.back();
    if (Top.V->Is == Kind::Global)
      return fail("'" + shown(Top.V->Text) + "' stands where a value should");
    if (Top.Next == Top.V->Items.size()) {
      Open.erase(Top.V);
      Done.insert(Top.V);
      Path.pop_back();
      continue;
    }
    const PickleValue *Child = Top.V->Items[Top.Next++];
    if (Open.count(Child))
      return fail("a value holds itself");
    if (Done.count(Child))
      continue;
    if (Path.size() >= Pickle::Deepest)
      return fail("values nest deeper than " + std::to_string(Pickle::Deepest) +
                  " levels");
    Open.insert(Child);
    Path.push_back({Child, 0});
  }
  return true;
}

bool PickleReader::run() {
  while (At < Bytes.size()) {
    OpAt = At;
    uint8_t Code = Bytes[At++];
    if (Code == Stop) {
      if (Stack.size() != 1 || !Marks.empty())
        return fail("expected one value at the end, got " +
                    std::to_string(Stack.size()));
      Into.Root = Stack.front();
      return checkTree();
    }
    if (!step(Code))
      return false;
  }
  OpAt = At;
  return fail("expected the opcode that ends it, got the end of the file");
}

std::optional<Pickle> Pickle::read(std::span<const uint8_t> Bytes,
                                   std::string &Why) {
  Why.clear();
  std::optional<Pickle> Result(std::in_place);
  if (!PickleReader(Bytes, *Result, Why).run())
    return std::nullopt;
  return Result;
}

} // namespace kpc::torch
