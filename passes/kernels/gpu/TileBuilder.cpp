//===- TileBuilder.cpp - What builders of tile kernels write with ---------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/TileBuilder.h"

using namespace mlir;

namespace kpc::kernels {

void TileBuilder::role(StringRef Name, int64_t First, int64_t End,
                       int64_t Registers, function_ref<void(Value)> Body) {
  auto Role = tile::RoleOp::create(W.B, W.Loc, Name, First, End, Registers);
  OpBuilder::InsertionGuard Guard(W.B);
  Block *Entry =
      W.B.createBlock(&Role.getBody(), {}, {W.B.getIndexType()}, {W.Loc});
  Body(Entry->getArgument(0));
  tile::YieldOp::create(W.B, W.Loc);
}

void TileBuilder::elect(tile::Scope Scope, function_ref<void()> Body) {
  auto Elect = tile::ElectOp::create(W.B, W.Loc, Scope);
  OpBuilder::InsertionGuard Guard(W.B);
  W.B.createBlock(&Elect.getBody());
  Body();
  tile::YieldOp::create(W.B, W.Loc);
}

Value TileBuilder::apply(Type To, ValueRange Operands,
                         function_ref<Value(ValueRange)> Body) {
  auto Apply = tile::ApplyOp::create(W.B, W.Loc, To, Operands);
  OpBuilder::InsertionGuard Guard(W.B);
  SmallVector<Type> Types;
  for (Type Ty : Operands.getTypes())
    Types.push_back(isa<tile::ColumnType>(Ty)
                        ? cast<tile::ColumnType>(Ty).getElement()
                        : cast<tile::FragmentType>(Ty).getElement());
  if (isa<tile::FragmentType>(To))
    Types.push_back(W.B.getI32Type());
  Block *Entry = W.B.createBlock(&Apply.getBody(), {}, Types,
                                 SmallVector<Location>(Types.size(), W.Loc));
  tile::YieldOp::create(W.B, W.Loc, Body(Entry->getArguments()));
  return Apply.getResult();
}

Value TileBuilder::cursor(Value Ring) {
  return tile::CursorOp::create(W.B, W.Loc,
                                tile::CursorType::get(W.B.getContext()), Ring);
}

Value TileBuilder::next(Value Pipe, Value Cursor) {
  return tile::NextOp::create(W.B, W.Loc, Cursor.getType(), Pipe, Cursor);
}

} // namespace kpc::kernels
