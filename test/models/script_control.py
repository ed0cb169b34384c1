# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""TorchScript modules of loops, branches, state and writes, each with what it computes in numpy."""
import numpy as np

from script_case import Case, drawn, module, softmax, tensor


def control():
    """Scripted: loops, branches, lists, a dict, an optional, a check that is left out, a string that chooses."""
    weights = [drawn(i, 6, 6) for i in range(3)]
    code = {"__torch__.py": """class Control(Module):
  __parameters__ = ["a", "b", "c", ]
  __buffers__ = []
  a : Tensor
  b : Tensor
  c : Tensor
  mode : str
  sizes : List[int]
  training : bool
  def forward(self: __torch__.Control,
    x: Tensor,
    scale: float=2.,
    bias: Optional[Tensor]=None,
    double: bool=False) -> Dict[str, Tensor]:
    _0 = "expected two dims, got {}"
    if torch.eq(torch.dim(x), 2):
      pass
    else:
      ops.prim.RaiseException(torch.format(_0, torch.dim(x)), "builtins.AssertionError")
    if torch.gt(torch.size(x, 0), 100):
      ops.prim.RaiseException("too many", "builtins.ValueError")
    else:
      pass
    seen = annotate(List[Tensor], [])
    a = self.a
    b = self.b
    c = self.c
    weights = [a, b, c]
    y = x
    for i in range(torch.len(weights)):
      w = weights[i]
      y0 = torch.add(torch.matmul(y, w), torch.mul(i, 0.5))
      if torch.eq(torch.remainder(i, 2), 0):
        _1 = torch.append(seen, y0)
      else:
        pass
      mode = self.mode
      if torch.eq(mode, "relu"):
        y1 = torch.relu(y0)
      else:
        ops.prim.RaiseException(torch.add("unknown mode ", mode), "builtins.ValueError")
        y1 = y0
      y = torch.mul(y1, scale)
    n = 8
    rounds = 0
    while torch.gt(n, 1):
      n0 = torch.floordiv(n, 2)
      rounds0 = torch.add(rounds, 1)
      n, rounds = n0, rounds0
    if torch.__isnot__(bias, None):
      bias0 = unchecked_cast(Tensor, bias)
      y2 = torch.add(y, bias0)
    else:
      y2 = y
    if double:
      y3 = torch.add(y2, y2)
    else:
      y3 = torch.add(y2, rounds)
    sizes = self.sizes
    parts = torch.split_with_sizes(y3, sizes, 1)
    first, second, = parts
    out = annotate(Dict[str, Tensor], {"sum": torch.add(first, second)})
    torch._set_item(out, "all", torch.cat(torch.slice(seen, 0, 2, 1), 1))
    return out
"""}

    def run(batch, bias):
        x = y = drawn(batch, batch, 6)
        seen = []
        for i, w in enumerate(weights):
            y = y @ w + np.float32(0.5 * i)
            if i % 2 == 0:
                seen.append(y)
            y = np.maximum(y, 0) * np.float32(3)
        y = y + bias + 3
        outputs = {"sum": y[:, :3] + y[:, 3:], "all": np.concatenate(seen, 1)}
        return {"x": x, "bias": bias}, outputs

    top = module("__torch__.Control", {name: tensor(w) for name, w in zip("abc", weights)} |
                 {"mode": "relu", "sizes": [3, 3]})
    return Case(top, code, ["--input-shape", "x=batch,6", "--input-shape", "bias=6", "--value", "scale=3"],
                [run(2, drawn(9, 6))])


def writes():
    """Writes through views, and nested outputs."""
    code = {"__torch__.py": """class InPlace(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  def forward(self: __torch__.InPlace,
    pair: Tuple[Tensor, Tensor]) -> Tuple[Tensor, List[Tensor], int]:
    x, k, = pair
    _0 = torch.add(torch.size(x, 1), 2)
    _1 = ops.prim.dtype(x)
    y = torch.zeros([torch.size(x, 0), _0], dtype=_1, layout=None, device=ops.prim.device(x), pin_memory=None)
    _2 = torch.slice(torch.slice(y), 1, 1, -1)
    _3 = torch.copy_(_2, x)
    _4 = torch.add_(torch.select(y, 0, 0), 1.)
    z = torch.view(y, [-1])
    _5 = torch.mul_(z, 2.)
    _6 = torch.copy_(torch.select(torch.slice(y), 1, 0), torch.sub(torch.select(torch.slice(y), 1, -1), 3.))
    _7 = torch.masked_fill_(y, torch.lt(y, 0), -inf)
    n = torch.size(y, 1)
    return (y, [torch.index(k, [torch.tensor([1, 0])]), torch.to(k, 6)], n)
"""}

    def run():
        x, k = drawn(1, 3, 4), np.arange(2, dtype=np.int64)
        y = np.zeros((3, 6), np.float32)
        y[:, 1:-1] = x
        y[0] += 1
        y *= 2
        y[:, 0] = y[:, -1] - 3
        y[y < 0] = -np.inf
        return {"pair_0": x, "pair_1": k}, {"output_0": y, "output_1_0": k[::-1], "output_1_1": k.astype(np.float32),
                                             "output_2": np.array(6)}

    return Case(module("__torch__.InPlace", {}), code,
                ["--input-shape", "pair_0=rows,4", "--input-shape", "pair_1=2", "--input-type", "pair_1=i64"], [run()])


def state():
    """A sum that the module keeps between calls; its first call makes it."""
    code = {"__torch__.py": """class Sum(Module):
  __parameters__ = []
  __buffers__ = []
  total : Tensor
  calls : int
  training : bool
  def forward(self: __torch__.Sum,
    x: Tensor) -> Tensor:
    total = self.total
    if torch.eq(torch.len(total), 0):
      total0 = torch.zeros_like(x)
    else:
      total0 = total
    y = torch.add(total0, x)
    self.total = y
    return torch.mul(y, 2)
  def twice(self: __torch__.Sum,
    x: Tensor) -> Tensor:
    return torch.mul(x, 2)
"""}
    x, total = drawn(1, 2, 3), drawn(2, 2, 3)
    run = {"x": x, "total": total}, {"output": (x + total) * 2, "total_out": x + total}
    top = module("__torch__.Sum", {"total": tensor(np.zeros(0, np.float32)), "calls": 0})
    return Case(top, code, ["--input-shape", "x=batch,3", "--state", "explicit"], [run])


def choices():
    """Branches that data decides, one in the other; numbers and tensors come of them, and a weight is read in one."""
    code = {"__torch__.py": """class Choices(Module):
  __parameters__ = ["weight", ]
  __buffers__ = []
  weight : Tensor
  training : bool
  def forward(self: __torch__.Choices,
    x: Tensor) -> Tuple[Tensor, Tensor]:
    total = torch.sum(x)
    scale = 1
    if bool(torch.gt(total, 0)):
      weight = self.weight
      y = torch.softmax(torch.matmul(x, weight), -1)
      if bool(torch.gt(torch.max(y), 0.75)):
        _0 = torch.matmul(torch.softmax(y, 0), weight)
        y0, scale = _0, 3
      else:
        y0, scale = torch.mul(torch.ones_like(y), torch.sum(torch.exp(y), [0], True)), 4
      z = torch.add(y, y0)
    else:
      z = torch.cumsum(torch.softmax(x, -1), 0)
    if torch.__and__(bool(torch.lt(total, 3)), torch.__not__(bool(torch.lt(total, -3)))):
      small = torch.ones_like(total)
    else:
      small = torch.zeros_like(total)
    return (torch.mul(torch.matmul(z, self.weight), scale), small)
"""}
    weight = drawn(3, 4, 4)

    def run(x):
        total, scale = x.sum(), 1
        if total > 0:
            y = softmax(x @ weight)
            e = np.exp(y - y.max(0))
            y0, scale = ((e / e.sum(0)) @ weight, 3) if y.max() > 0.75 else (np.exp(y).sum(0, keepdims=True), 4)
            z = y + y0
        else:
            z = np.cumsum(softmax(x), 0)
        return {"x": x}, {"output_0": z @ weight * scale, "output_1": np.float32(-3 <= total < 3)}

    x = drawn(4, 3, 4) * np.float32(0.1)
    runs = [x - x.mean() + np.float32(0.01), x - x.mean() - 1, x - x.mean() + 1, 5 * (x - x.mean()) + np.float32(0.1)]
    return Case(module("__torch__.Choices", {"weight": tensor(weight)}), code, ["--input-shape", "x=rows,4"],
                [run(value) for value in runs])


def until():
    """A loop that data ends: state of several types, a weight that is read first inside, a branch and another loop in
    each iteration; numbers as state; a condition of f16."""
    code = {"__torch__.py": """class Until(Module):
  __parameters__ = ["weight", ]
  __buffers__ = []
  weight : Tensor
  training : bool
  def forward(self: __torch__.Until,
    x: Tensor,
    h: Tensor) -> Tuple[Tensor, Tensor, int, Tensor, float]:
    _0 = torch.lt(torch.sum(h), 40)
    seen = torch.gt(torch.sum(x), 1000)
    rounds = 1
    scale = 1.
    y = x
    h0 = h
    _1 = bool(_0)
    while _1:
      weight = self.weight
      y0 = torch.add(torch.matmul(y, weight), x)
      if bool(torch.gt(torch.max(y0), 3)):
        y1, seen0 = torch.softmax(torch.matmul(y0, weight), -1), torch.ones_like(seen)
      else:
        y1, seen0 = torch.mul(y0, scale), seen
      low = torch.mul(torch.abs(y1), 9)
      _2 = bool(torch.gt(torch.max(low), 1))
      steps = 0
      while _2:
        low0 = torch.mul(low, 0.5)
        steps0 = torch.add(steps, 1)
        _2, low, steps = bool(torch.gt(torch.max(low0), 1)), low0, steps0
      h1 = torch.add(torch.add(h0, 0.5), torch.remainder(rounds, 2))
      rounds0 = torch.add(rounds, 1)
      scale0 = torch.mul(scale, 0.75)
      y2 = torch.add(y1, torch.mul(low, steps))
      _1, y, h0, rounds, seen, scale = bool(torch.lt(torch.sum(h1), 40)), y2, h1, rounds0, seen0, scale0
    return (torch.add(y, self.weight), h0, torch.mul(rounds, 2), seen, scale)
"""}
    weight = drawn(3, 4, 4) * np.float32(0.4)

    def run(x, h):
        y, seen, rounds, scale = x, x.sum() > 1000, 1, 1.0
        start = h
        while h.astype(np.float32).sum() < 40:
            y = y @ weight + x
            if y.max() > 3:
                y, seen = softmax(y @ weight), np.bool_(True)
            else:
                y = y * np.float32(scale)
            low, steps = np.abs(y) * np.float32(9), 0
            while low.max() > 1:
                low, steps = low * np.float32(0.5), steps + 1
            h = h + np.float16(0.5 + rounds % 2)
            rounds, scale, y = rounds + 1, scale * 0.75, y + low * np.float32(steps)
        return {"x": x, "h": start}, {"output_0": y + weight, "output_1": h, "output_2": np.array(2 * rounds),
                                      "output_3": np.bool_(seen), "output_4": np.float32(scale)}

    x = drawn(4, 4, 4)
    runs = [run(x * np.float32(by), np.full((3,), start, np.float16)) for by in (0.1, 1, 300) for start in (-2, 12, 14)]
    return Case(module("__torch__.Until", {"weight": tensor(weight)}), code,
                ["--input-shape", "x=4,4", "--input-shape", "h=3", "--input-type", "h=f16"], runs)


def breaks():
    """A `for` that data may leave, as the printer writes it, and a branch on a size."""
    code = {"__torch__.py": """class Breaks(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  def forward(self: __torch__.Breaks,
    x: Tensor,
    limit: Tensor) -> Tuple[Tensor, int]:
    rows = torch.size(x, 0)
    if torch.gt(rows, 3):
      x0 = torch.softmax(x, 0)
    else:
      x0 = torch.cumsum(x, 0)
    _0 = True
    y = x0
    last = 0
    _1 = 0
    while _0:
      y0 = torch.mul(y, 1.5)
      if bool(torch.gt(torch.sum(y0), limit)):
        _2, last0 = False, _1
      else:
        _2, last0 = True, last
      _3 = torch.add(_1, 1)
      _4 = torch.__and__(torch.lt(_3, 12), _2)
      _0, y, last, _1 = _4, y0, last0, _3
    return (y, last)
"""}

    def run(x, limit):
        y, last = softmax(x.T).T if len(x) > 3 else np.cumsum(x, 0), 0
        for i in range(12):
            y = y * np.float32(1.5)
            if y.sum() > limit:
                last = i
                break
        return {"x": x, "limit": np.float32(limit)}, {"output_0": y, "output_1": np.array(last)}

    runs = [run(np.abs(drawn(rows, rows, 3)), limit) for rows in (2, 5) for limit in (0, 9, 20, 1e6)]
    return Case(module("__torch__.Breaks", {}), code, ["--input-shape", "x=rows,3", "--input-shape", "limit="], runs)


def steps():
    """A recurrence over as many steps as the input has, forwards and from the end."""
    code = {"__torch__.py": """class Steps(Module):
  __parameters__ = ["weight", ]
  __buffers__ = []
  weight : Tensor
  training : bool
  def forward(self: __torch__.Steps,
    x: Tensor) -> Tuple[Tensor, Tensor, int]:
    h = torch.zeros_like(torch.select(x, 0, 0))
    g = h
    count = 0
    for i in range(torch.size(x, 0)):
      weight = self.weight
      row = torch.select(x, 0, i)
      last = torch.select(x, 0, torch.sub(-1, i))
      h0 = torch.tanh(torch.add(torch.matmul(h, weight), row))
      g0 = torch.tanh(torch.add(torch.matmul(g, weight), torch.mul(last, torch.add(i, 1))))
      count0 = torch.add(count, i)
      h, g, count = h0, g0, count0
    return (torch.add(h, self.weight), g, count)
"""}
    weight = drawn(3, 4, 4) * np.float32(0.4)

    def run(x):
        h = g = np.zeros((4, 4), np.float32)
        for i in range(len(x)):
            h, g = np.tanh(h @ weight + x[i]), np.tanh(g @ weight + x[-1 - i] * np.float32(i + 1))
        return {"x": x}, {"output_0": h + weight, "output_1": g, "output_2": np.array(sum(range(len(x))))}

    return Case(module("__torch__.Steps", {"weight": tensor(weight)}), code, ["--input-shape", "x=steps,4,4"],
                [run(drawn(n, n, 4, 4)) for n in (1, 2, 40)])


def decode():
    """Each iteration of a loop that data ends writes to a row that its counter names, and a side of a branch to another."""
    code = {"__torch__.py": """class Decode(Module):
  __parameters__ = ["weight", ]
  __buffers__ = []
  weight : Tensor
  training : bool
  def forward(self: __torch__.Decode,
    h: Tensor) -> Tuple[Tensor, Tensor, Tensor, int]:
    weight = self.weight
    out = torch.zeros([torch.size(h, 0), 10], dtype=4)
    first = torch.select(out, 1, 0)
    seen = torch.zeros([2], dtype=6)
    _0 = True
    h0 = h
    step = 0
    while _0:
      h1 = torch.tanh(torch.matmul(h0, weight))
      token = torch.argmax(h1, -1)
      _1 = torch.copy_(torch.select(torch.slice(out, 0, 0, 9223372036854775807), 1, step), torch.add(token, 1))
      if bool(torch.gt(torch.sum(h1), 0)):
        _2 = torch.add_(torch.select(seen, 0, 1), 1)
      else:
        _3 = torch.add_(torch.select(seen, 0, 0), torch.max(h1))
      if bool(torch.all(torch.eq(token, 3))):
        _4 = False
      else:
        _4 = True
      step0 = torch.add(step, 1)
      _5 = torch.__and__(torch.lt(step0, 10), _4)
      _0, h0, step = _5, h1, step0
    count = 0
    total = torch.abs(h)
    if torch.lt(0, 5):
      _6 = bool(torch.lt(torch.max(total), 50.))
    else:
      _6 = False
    _7 = _6
    while _7:
      total0 = torch.mul(total, 2)
      count0 = torch.add(count, 1)
      if torch.lt(count0, 5):
        _8 = bool(torch.lt(torch.max(total0), 50.))
      else:
        _8 = False
      _7, total, count = _8, total0, count0
    return (torch.add(out, torch.unsqueeze(first, 1)), seen, total, count)
"""}
    weight = drawn(7, 5, 5)

    def run(h):
        start, out, seen = h, np.zeros((len(h), 10), np.int64), np.zeros(2, np.float32)
        for step in range(10):
            h = np.tanh(h @ weight)
            token = h.argmax(-1)
            out[:, step] = token + 1
            if h.sum() > 0:
                seen[1] += 1
            else:
                seen[0] += h.max()
            if (token == 3).all():
                break
        count, total = 0, np.abs(start)
        while count < 5 and total.max() < 50:
            total, count = total * 2, count + 1
        return {"h": start}, {"output_0": out + out[:, :1], "output_1": seen, "output_2": total, "output_3": np.array(count)}

    runs = [run(drawn(seed, rows, 5) * np.float32(scale)) for seed, rows, scale in ((1, 1, 1), (2, 1, 20), (3, 3, 1), (4, 1, 100))]
    return Case(module("__torch__.Decode", {"weight": tensor(weight)}), code, ["--input-shape", "h=rows,5"], runs)


def rows():
    """Loops and branches within each other that write to one tensor, through two views of it."""
    code = {"__torch__.py": """class Rows(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  def forward(self: __torch__.Rows,
    x: Tensor) -> Tuple[Tensor, Tensor]:
    out = torch.zeros([4, 3], dtype=6)
    row = torch.select(out, 0, 1)
    i = 0
    _0 = bool(torch.gt(torch.sum(x), 0))
    y = x
    while _0:
      j = 0
      _1 = bool(torch.gt(torch.max(y), 1))
      z = y
      while _1:
        z0 = torch.mul(z, 0.5)
        if bool(torch.gt(torch.sum(z0), 2)):
          _2 = torch.add_(torch.select(out, 0, i), z0)
        else:
          _3 = torch.add_(row, 1)
        j0 = torch.add(j, 1)
        _1 = bool(torch.gt(torch.max(z0), 1))
        z, j = z0, j0
      y0 = torch.sub(y, 2)
      i0 = torch.add(i, 1)
      _0 = torch.__and__(torch.lt(i0, 4), bool(torch.gt(torch.sum(y0), 0)))
      y, i = y0, i0
    for k in range(torch.size(x, 0)):
      _4 = torch.add_(torch.select(out, 0, k), torch.select(x, 0, k))
    return (out, torch.mul(row, 2))
"""}

    def run(x):
        start, out = x, np.zeros((4, 3), np.float32)
        row, i, y = out[1], 0, x
        goes = x.sum() > 0
        while goes:
            z, halves = y, y.max() > 1
            while halves:
                z = z * np.float32(0.5)
                if z.sum() > 2:
                    out[i] += z
                else:
                    row += 1
                halves = z.max() > 1
            y, i = y - 2, i + 1
            goes = i < 4 and y.sum() > 0
        for k in range(len(x)):
            out[k] += x[k]
        return {"x": start}, {"output_0": out, "output_1": row * 2}

    runs = [run(np.array(x, np.float32)) for x in ([5, 4, 3], [1, 0, 0], [-1, 0, 0], [30, 20, 9])]
    return Case(module("__torch__.Rows", {}), code, ["--input-shape", "x=3"], runs)


def state_of_later_calls():
    """State that the first call sets before it reads it, and each later call reads, as numbers among the state say. Strings
    choose, too."""
    code = {"__torch__.py": """class M(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  _state : Tensor
  _context : Tensor
  _last_sr : int
  _last_batch_size : int
  def forward(self: __torch__.M,
    x: Tensor,
    sr: int) -> Tensor:
    n = torch.size(x, 0)
    if torch.__not__(bool(torch.eq(self._last_batch_size, 0))):
      pass
    else:
      _0 = (self).reset_states(n, )
    if torch.__isnot__(self._last_sr, 0):
      if torch.ne(self._last_sr, sr):
        _1 = (self).reset_states(n, )
      else:
        pass
    else:
      pass
    if torch.ne(self._last_batch_size, n):
      _2 = (self).reset_states(n, )
    else:
      pass
    if torch.__not__(bool(torch.len(self._context))):
      self._context = torch.zeros([n, 1], dtype=6, layout=None, device=None, pin_memory=None)
    else:
      pass
    words = torch.split(torch.replace("a;b", ";", ",", -1), ",", -1)
    if torch.startswith(words[1], "b", 0, -1):
      x0 = torch.cat([self._context, x], 1)
    else:
      x0 = x
    s = torch.add(torch.mul(self._state, 0.5), torch.sum(x0, [1]))
    self._state = s
    self._context = torch.slice(x0, 1, -1)
    self._last_sr = sr
    self._last_batch_size = n
    return s
  def reset_states(self: __torch__.M,
    n: int=1) -> NoneType:
    self._state = torch.zeros([n], dtype=6, layout=None, device=None, pin_memory=None)
    self._context = torch.zeros([0], dtype=6, layout=None, device=None, pin_memory=None)
    self._last_sr = 0
    self._last_batch_size = 0
    return None
"""}
    empty = np.zeros(0, np.float32)
    held = {"_state": tensor(empty), "_context": tensor(empty), "_last_sr": 0, "_last_batch_size": 0}

    def run(seed):
        x, state, context = drawn(seed, 2, 3), drawn(seed + 1, 2), drawn(seed + 2, 2, 1)
        now = state / 2 + context[:, 0] + x.sum(1)
        return {"x": x, "_context": context, "_state": state}, {"output": now, "_context_out": x[:, -1:], "_state_out": now}

    return Case(module("__torch__.M", held), code,
                ["--input-shape", "x=2,3", "--value", "sr=8000", "--state", "explicit"], [run(1), run(5)])


CASES = {f.__name__: f for f in (control, writes, state, choices, until, breaks, steps, decode, rows, state_of_later_calls)}
