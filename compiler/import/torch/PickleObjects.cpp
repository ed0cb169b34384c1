//===- PickleObjects.cpp - What a pickle's names and tensors become -------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/torch/PickleReader.h"

#include <algorithm>

namespace kpc::torch {

using Kind = PickleValue::Kind;

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
    return fail("it names '" + shownName(Full) +
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
                shownName(Class->Text) + "'");
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
  // TorchScript writes a member of an Enum as its class and its value.
  if (Callable->Is == Kind::Global &&
      Callable->Text.starts_with("__torch__.") &&
      (Arguments->Is == Kind::Int || Arguments->Is == Kind::Float ||
       Arguments->Is == Kind::Text)) {
    PickleValue *V = make(Kind::Object);
    if (V) {
      V->Text = Callable->Text;
      V->Items.push_back(Arguments);
    }
    return push(V);
  }
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
  return fail("'" + shownName(Name) + "' does not take these " +
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
              " elements of storage '" + shownName(T.Items[0]->Text) + "'");
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
         shownName(A[0]->Type));
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

} // namespace kpc::torch
