# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What data selects, repeats, gathers into groups or writes by masks, as calls of TorchScript."""
import numpy as np

from script_case import Case, drawn, module

HEAD = """class Picks(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  def forward(self: __torch__.Picks,
"""


def of(inputs, lines, wanted, options):
    """`wanted`: of each run the inputs and the outputs."""
    body = ",\n".join(f"    {name}: Tensor" for name in inputs) + ") -> List[Tensor]:\n"
    code = HEAD + body + "".join(f"    {line}\n" for line in lines)
    return Case(module("__torch__.Picks", {}), {"__torch__.py": code}, options,
                [(given, {f"output_{i}": v for i, v in enumerate(results)}) for given, results in wanted])


def masks():
    """Masks over later axes, and writes of a value for each true element; all, some or none may be true."""
    lines = ["a = torch.index(x, annotate(List[Optional[Tensor]], [None, columns]))",
             "b = torch.argwhere(places)", "y = torch.clone(x)",
             "_0 = torch.index_put_(y, annotate(List[Optional[Tensor]], [None, columns]), torch.tensor(0.5))",
             "z = torch.clone(x)",
             "v = torch.add(torch.mul(torch.index(z, annotate(List[Optional[Tensor]], [places])), 2), 1)",
             "_1 = torch.index_put_(z, annotate(List[Optional[Tensor]], [places]), v)",
             "w = torch.clone(x)", "_2 = torch.index_put_(w, annotate(List[Optional[Tensor]], [rows]), torch.select(x, 0, 0))",
             "return [a, b, y, z, w]"]

    def run(seed, share):
        g, x = np.random.default_rng(seed), drawn(seed, 3, 4, 5)
        places, rows, columns = g.uniform(0, 1, x.shape) < share, g.uniform(0, 1, 3) < share, g.uniform(0, 1, 4) < share
        y, z, w = x.copy(), x.copy(), x.copy()
        y[:, columns] = 0.5
        z[places] = z[places] * 2 + 1
        w[rows] = x[0]
        given = {"x": x, "places": places, "rows": rows, "columns": columns}
        return given, [x[:, columns], np.argwhere(places), y, z, w]

    options = ["--input-shape", "x=3,4,5", "--input-shape", "places=3,4,5", "--input-shape", "rows=3", "--input-shape", "columns=4",
               "--input-type", "places=bool", "--input-type", "rows=bool", "--input-type", "columns=torch.bool"]
    return of(["x", "places", "rows", "columns"], lines, [run(1, 0.5), run(2, 2), run(3, -1)], options)


def repeats():
    """Rows as often as data says, as length regulators of speech have it."""
    lines = ["a = torch.repeat_interleave(x, times, 0)", "b = torch.repeat_interleave(times)",
             "return [a, b, torch.matmul(a, torch.t(x))]"]

    def run(seed, times):
        x, times = drawn(seed, len(times), 4), np.array(times)
        a = np.repeat(x, times, 0)
        return {"x": x, "times": times}, [a, np.repeat(np.arange(len(times)), times), a @ x.T]

    options = ["--input-shape", "x=rows,4", "--input-shape", "times=rows", "--input-type", "times=i64"]
    return of(["x", "times"], lines, [run(1, [1, 0, 3, 2]), run(2, [0, 0]), run(3, [7])], options)


def groups():
    """Elements that meet in groups: sums, means and extremes, with and without what is there."""
    kinds = {"sum": np.sum, "prod": np.prod, "mean": np.mean, "amax": np.max, "amin": np.min}
    calls = [(kind, own) for kind in kinds for own in (True, False)]
    lines = [f'_{i} = torch.scatter_reduce(z, 0, torch.expand(torch.unsqueeze(k, 1), [torch.size(x, 0), 3]), x, "{kind}", include_self={own})'
             for i, (kind, own) in enumerate(calls)]
    lines += [f'r{i} = torch.index_reduce(z, 0, k, x, "{kind}", include_self={own})' for i, (kind, own) in enumerate(calls) if kind != "sum"]
    names = [line.split(" = ")[0] for line in lines]

    def run(seed, count):
        z, x, k = drawn(seed, 5, 3), drawn(seed + 9, count, 3), np.random.default_rng(seed).integers(0, 5, count)

        def reduced(kind, own):
            result = z.astype(np.float64)
            for group in set(k):
                members = x[k == group].astype(np.float64)
                result[group] = kinds[kind](np.concatenate([result[group][None], members]) if own else members, 0)
            return result.astype(np.float32)

        return {"z": z, "x": x, "k": k}, [reduced(*c) for c in calls] + [reduced(*c) for c in calls if c[0] != "sum"]

    options = ["--input-shape", "z=5,3", "--input-shape", "x=n,3", "--input-shape", "k=n", "--input-type", "k=i64"]
    return of(["z", "x", "k"], [*lines, f"return [{', '.join(names)}]"], [run(1, 7), run(2, 1)], options)


CASES = {f.__name__: f for f in (masks, repeats, groups)}
