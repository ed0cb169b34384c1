# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes TorchScript archives that kpc compiles, or refuses, into a folder, with the standard library alone.

    python3 make_scripts.py DIR
"""
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "models"))
from script_writer import Module, Tensor, save  # noqa: E402

HEAD = """class M(Module):
  __parameters__ = ["w", ]
  __buffers__ = []
  w : Tensor
  count : int
  training : bool
"""
FORWARD = "  def forward(self: __torch__.M,\n    x: Tensor) -> Tensor:\n"


def body(*lines):
    return FORWARD + "".join(f"    {line}\n" for line in lines)


BODIES = {
    "affine": """  def forward(self: __torch__.M,
    x: Tensor,
    scale: float=2.,
    shift: Optional[Tensor]=None) -> Tensor:
    w = self.w
    y = torch.mul(torch.matmul(x, w), scale)
    if torch.__isnot__(shift, None):
      y0 = torch.add(y, unchecked_cast(Tensor, shift))
    else:
      y0 = y
    return y0
  def negated(self: __torch__.M,
    x: Tensor) -> Tensor:
    return torch.neg((self).forward(x, 1., None, ))
""",
    "branch": body("if bool(torch.gt(torch.sum(x), 0)):", "  y = torch.neg(x)", "else:", "  y = x", "return y"),
    "pick": body("if torch.lt(torch.size(x, 0), 8):", "  y = torch.neg(x)", "else:", "  y = x", "return y"),
    "side": body("if bool(torch.gt(torch.sum(x), 0)):", "  _0 = torch.add_(x, 1)", "else:", "  pass", "return x"),
    "kinds": body("if bool(torch.gt(torch.sum(x), 0)):", "  y = torch.neg(x)", "else:", "  y = torch.neg(torch.t(x))",
                  "return y"),
    "later": body("if bool(torch.gt(torch.sum(x), 0)):", "  y = torch.neg(x)", "else:", "  y = x",
                  "_0 = torch.add_(y, 1)", "return x"),
    "loop": body("y = x", "for i in range(torch.size(x, 0)):", "  y = torch.add(y, 1)", "return y"),
    "loop-appends": body("seen = [x]", "for i in range(torch.size(x, 0)):", "  _0 = torch.append(seen, x)",
                         "return torch.cat(seen, 0)"),
    "while": body("y = x", "while bool(torch.gt(torch.sum(y), 0)):", "  y = torch.sub(y, 1)", "return y"),
    "while-appends": body("y = x", "seen = [x]", "while bool(torch.gt(torch.sum(y), 0)):",
                          "  _0 = torch.append(seen, y)", "  y = torch.sub(y, 1)", "return y"),
    "while-writes": body("y = x", "while bool(torch.gt(torch.sum(y), 0)):", "  _0 = torch.add_(x, 1)",
                         "  y = torch.sub(y, 1)", "return y"),
    "while-returns": body("y = x", "while bool(torch.gt(torch.sum(y), 0)):", "  y = torch.sub(y, 1)", "  return y",
                          "return y"),
    "while-grows": body("y = x", "while bool(torch.gt(torch.sum(y), 0)):", "  y = torch.cat([y, y], 0)", "return y"),
    "while-names": body("y = x", 'mode = "a"', "while bool(torch.gt(torch.sum(y), 0)):", "  y = torch.sub(y, 1)",
                        '  mode = "b"', "if torch.eq(mode, \"a\"):", "  y = torch.neg(y)", "else:", "  pass", "return y"),
    "among": body("if torch.__contains__([8, 9], torch.size(x, 0)):", "  y = torch.neg(x)", "else:", "  y = x", "return y"),
    "unknown": body("return torch.no_such(x, 2, 0, 1.)"),
    "images": """  def forward(self: __torch__.M,
    images: List[Tensor]) -> Tensor:
    x = torch.stack(images, 0)
    return torch.no_such(x, 1)
""",
    "other": body("return ops.mine.op(x)"),
    "form": body("return torch.matmul(x, 2)"),
    "shape": body("w = self.w", "return torch.matmul(w, x)"),
    "number": body("n = int(torch.sum(x))", "return torch.mul(x, n)"),
    "raise": body("if torch.lt(torch.size(x, 0), 8):", '  ops.prim.RaiseException("too few", "builtins.ValueError")',
                  "else:", "  pass", "return x"),
    "counter": body("count = self.count", "self.count = torch.add(count, 1)", "return torch.mul(x, count)"),
    "warned": body("count = self.count", "if torch.eq(count, 1):", '  torch.warn("once")', "  self.count = 2", "else:", "  pass",
                   "return torch.neg(x)"),
    "first": body("count = self.count", "if torch.eq(count, 1):", "  y = torch.neg(x)", "  self.count = 2", "else:", "  y = x",
                  "return y"),
    "rank": body("k = torch.index(x, annotate(List[Optional[Tensor]], [torch.gt(torch.select(x, 1, 0), 0)]))",
                 "n = torch.size(k, 0)", "if torch.gt(n, 0):", "  y0 = torch.reshape(k, [n, 2, 1])", "  y = y0", "else:", "  y = k",
                 "return torch.neg(y)"),
    "listed": body("_0 = torch.append(self.seen, x)", "return torch.cat(self.seen, 0)"),
    "buffer": body("w = self.w", "_0 = torch.add_(w, x)", "return torch.mul(w, 2)"),
    "endless": body("n = 1", "while torch.gt(n, 0):", "  n = torch.add(n, 0)", "return x"),
    "deep": body("return (self).forward(x, )"),
    "view": body("return torch.view(x, [3, -1])"),
    "random": body("return torch.add(x, torch.rand([2, 2]))"),
    "nothing": body("return None"),
    "train": body("return torch.dropout(x, 0.5, True)"),
}


def main():
    folder = pathlib.Path(sys.argv[1])
    for name, text in BODIES.items():
        weight = Tensor((2, 2), [1, 2, 3, 4])
        top = Module("__torch__.M", {"training": False, "w": weight, "count": 1, "seen": []})
        head = HEAD + "  seen : List[Tensor]\n" if name == "listed" else HEAD
        save(folder / f"{name}.pt", top, {"__torch__.py": head + text}, debug=name != "number")


if __name__ == "__main__":
    main()
