//===- Pickle.cpp - The pickles that PyTorch writes -----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/torch/PickleReader.h"

#include <algorithm>
#include <bit>
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

std::string shownName(std::string_view Text) {
  std::string Out;
  for (char C : Text.substr(0, 80))
    Out += C >= ' ' && C <= '~' ? C : '?';
  return Out + (Text.size() > 80 ? "…" : "");
}

static std::string hex(uint8_t Code) {
  const char *Digits = "0123456789abcdef";
  return std::string("0x") + Digits[Code >> 4] + Digits[Code & 15];
}

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
      return fail("'" + shownName(Top.V->Text) +
                  "' stands where a value should");
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
