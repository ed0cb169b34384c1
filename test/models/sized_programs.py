# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs that compute numbers from their sizes, change the sizes of tensors in place, or route, scan and pad as networks
do: cases of written_programs.py."""
import numpy as np

from program_writer import Graph, Program, Type

CASES = {}
SHORT = ("kv_cache_mutation", "sym_float_scale", "sym_size_half", "inplace_shapes", "windows_of_padded_images", "blocks_of_padded_rows",
         "sizes_that_only_pytorch_proves", "caches_of_equal_lengths", "groups_as_many_as_rows", "kv_cache_rows", "kv_cache_slices",
         "kv_caches_in_one_buffer", "as_many_as_declared", "more_than_there_are", "counts_of_one_mask", "declared_in_a_branch",
         "fewer_than_rows")  # what each run of the tests has time for
# What `kpc inspect` must say: the output is the cache in the input's memory.
SHOWS = {"kv_cache_mutation": "may take the memory of cache", "kv_cache_rows": "may take the memory of keys",
         "kv_cache_slices": "may take the memory of cache", "kv_caches_in_one_buffer": "may take the memory of caches"}
EXACT = {"fp16_layernorm_chain": (2e-3, 2e-3)}


def case(function):
    CASES[function.__name__] = function
    return function


def drawn(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def one(program, operator, arguments, type, shape):
    return program.node("aten." + operator, arguments, [(type, shape)])[0]


@case
def sym_float_scale():
    p = Program({"s0": (1, 64)})
    x = p.input("x", ("s0", 4))
    n = p.number("aten.sym_size.int", {"self": x, "dim": 0}, "s0")
    r = p.real("torch._sym_sqrt", [n])
    q = p.real("_operator.truediv", [1.0, r])
    p.output(one(p, "mul.Tensor", {"self": x, "other": q}, "f4", ("s0", 4)))
    p.output(one(p, "div.Tensor", {"self": x, "other": r}, "f4", ("s0", 4)))
    m = p.real("_operator.mul", [n, 0.5])
    p.output(one(p, "add.Tensor", {"self": x, "other": m}, "f4", ("s0", 4)))
    return p, [({"x": drawn(n_, n_, 4)}, [drawn(n_, n_, 4)/np.sqrt(np.float32(n_)), drawn(n_, n_, 4)/np.sqrt(np.float32(n_)), drawn(n_, n_, 4)+np.float32(n_/2)]) for n_ in (1, 5)]


@case
def sym_size_half():
    """x[: int(x.shape[0] * 0.5)], x[: math.ceil(x.shape[0] / 2)]"""
    p = Program({"s0": (2, 64)})
    x = p.input("x", ("s0", 4))
    n = p.number("aten.sym_size.int", {"self": x, "dim": 0}, "s0")
    S = "Symbol('s0', positive=True, integer=True)"
    m = p.real("_operator.mul", [n, 0.5])
    k = p.number("math.trunc", [m], f"TruncToInt(Mul(Float('0.5', precision=53), ToFloat({S})))")
    p.output(one(p, "slice.Tensor", {"self": x, "dim": 0, "start": 0, "end": k}, "f4", (f"TruncToInt(Mul(Float('0.5', precision=53), ToFloat({S})))", 4)))
    d = p.real("_operator.truediv", [n, 2])
    c = p.number("math.ceil", [d], f"CeilToInt(IntTrueDiv({S}, Integer(2)))")
    p.output(one(p, "slice.Tensor", {"self": x, "dim": 0, "start": 0, "end": c}, "f4", (f"CeilToInt(IntTrueDiv({S}, Integer(2)))", 4)))
    return p, [({"x": drawn(n_, n_, 4)}, [drawn(n_, n_, 4)[:n_//2], drawn(n_, n_, 4)[:-(-n_//2)]]) for n_ in (2, 5, 8)]


@case
def inplace_shapes():
    p = Program({"s0": (2, 64)})
    x = p.input("x", ("s0", 4))
    y = one(p, "clone.default", {"self": x}, "f4", ("s0", 4))
    z = one(p, "unsqueeze_.default", {"self": y, "dim": 0}, "f4", (1, "s0", 4))
    w = one(p, "add_.Tensor", {"self": z, "other": 1.0}, "f4", (1, "s0", 4))
    v = one(p, "squeeze_.dim", {"self": w, "dim": 0}, "f4", ("s0", 4))
    p.output(one(p, "t_.default", {"self": v}, "f4", (4, "s0")))
    u = one(p, "clone.default", {"self": x}, "f4", ("s0", 4))
    p.output(one(p, "resize_.default", {"self": u, "size": [2, 2]}, "f4", (2, 2)))
    return p, [({"x": drawn(3, 3, 4)}, [(drawn(3, 3, 4)+1).T, drawn(3, 3, 4)[0].reshape(2,2)])]


@case
def groups_as_many_as_rows():
    """How many groups there are data decides, and the sums say."""
    p = Program({"u0": (2, 64)})
    sums, groups = p.input("sums", (2, 4)), p.input("groups", (3,), "i8")
    counts = one(p, "bincount.default", {"self": groups, "minlength": 2}, "i8", ("u0",))
    column = one(p, "unsqueeze.default", {"self": counts, "dim": 1}, "i8", ("u0", 1))
    p.output(one(p, "div.Tensor", {"self": sums, "other": column}, "f4", (2, 4)))
    return p, [({"sums": drawn(1, 2, 4), "groups": np.array(g)}, [drawn(1, 2, 4) / np.float32([[g.count(0)], [g.count(1)]])]) for g in ([0, 1, 1], [1, 0, 0])]


@case
def kv_cache_mutation():
    """A row of a cache that is an input, written by index_copy, and one of another by index_put_: in place."""
    p = Program()
    cache, new, pos = p.input("cache", (1, 6, 4)), p.input("new", (1, 1, 4)), p.input("pos", (1,), "i8")
    c = one(p, "index_copy.default", {"self": cache, "dim": 1, "index": pos, "source": new}, "f4", (1, 6, 4))
    s = one(p, "sum.dim_IntList", {"self": c, "dim": [1]}, "f4", (1, 4))
    one(p, "copy_.default", {"self": cache, "src": c}, "f4", (1, 6, 4))
    other = p.input("other", (6, 4))
    row = one(p, "view.default", {"self": new, "size": [4]}, "f4", (4,))
    one(p, "index_put_.default", {"self": other, "indices": [pos], "values": row}, "f4", (6, 4))
    p.output(s)
    p.output(one(p, "sum.dim_IntList", {"self": other, "dim": [0]}, "f4", (4,)))
    runs = []
    for at in (2, 5):
        ca, ne, ot = drawn(1, 1, 6, 4), drawn(2, 1, 1, 4), drawn(3, 6, 4)
        w, v = ca.copy(), ot.copy()
        w[:, at:at + 1], v[at] = ne, ne[0, 0]
        runs.append(({"cache": ca, "new": ne, "pos": np.array([at]), "other": ot}, [w.sum(1), v.sum(0)]))
    return p, runs


@case
def kv_cache_rows():
    """As many rows of two caches as there are new tokens, where a vector says: in place."""
    p = Program({"s0": (1, 6)})
    shape = (2, 3, 6, 4)
    keys, values, new = p.input("keys", shape), p.input("values", shape), p.input("new", (2, 3, "s0", 4))
    pos = p.input("pos", ("s0",), "i8")
    one(p, "index_copy_.default", {"self": keys, "dim": 2, "index": pos, "source": new}, "f4", shape)
    one(p, "index_put_.default", {"self": values, "indices": [None, None, pos], "values": new}, "f4", shape)
    p.output(one(p, "matmul.default", {"self": keys, "other": one(p, "mT.default", {"self": values}, "f4", (2, 3, 4, 6))}, "f4", (2, 3, 6, 6)))
    runs = []
    for at in ([2], [0, 1, 2], [5, 1, 0, 3, 4, 2]):
        k, v, n = drawn(1, *shape), drawn(2, *shape), drawn(3, 2, 3, len(at), 4)
        a, b = k.copy(), v.copy()
        a[:, :, at] = b[:, :, at] = n
        runs.append(({"keys": k, "values": v, "new": n, "pos": np.array(at)}, [a @ b.swapaxes(2, 3)]))
    return p, runs


@case
def kv_cache_slices():
    """Rows 1 to 2 of a cache by copy_ to a slice, and then row 4 of what was turned: in place."""
    p = Program()
    cache, new = p.input("cache", (2, 6, 4)), p.input("new", (2, 2, 4))
    rows = one(p, "slice.Tensor", {"self": cache, "dim": 1, "start": 1, "end": 3}, "f4", (2, 2, 4))
    one(p, "copy_.default", {"self": rows, "src": new}, "f4", (2, 2, 4))
    turned = one(p, "transpose.int", {"self": cache, "dim0": 0, "dim1": 1}, "f4", (6, 2, 4))
    row = one(p, "select.int", {"self": turned, "dim": 0, "index": 4}, "f4", (2, 4))
    one(p, "fill_.Scalar", {"self": row, "value": 7.0}, "f4", (2, 4))
    p.output(one(p, "sum.dim_IntList", {"self": cache, "dim": [1]}, "f4", (2, 4)))
    c, n = drawn(1, 2, 6, 4), drawn(2, 2, 2, 4)
    w = c.copy()
    w[:, 1:3], w[:, 4] = n, 7
    return p, [({"cache": c, "new": n}, [w.sum(1)])]


@case
def kv_caches_in_one_buffer():
    """Keys and values are parts of one tensor, as decompositions write it: in place."""
    p = Program()
    caches, new, pos = p.input("caches", (2, 6, 4)), p.input("new", (2, 4)), p.input("pos", (2,), "i8")
    whole = caches
    for i, write in enumerate(("index_copy.default", "index_put.default")):
        part = one(p, "select.int", {"self": whole, "dim": 0, "index": i}, "f4", (6, 4))
        at = {"dim": 0, "index": pos, "source": new} if i == 0 else {"indices": [pos], "values": new}
        part = one(p, write, {"self": part, **at}, "f4", (6, 4))
        whole = one(p, "select_scatter.default", {"self": whole, "src": part, "dim": 0, "index": i}, "f4", (2, 6, 4))
    one(p, "copy_.default", {"self": caches, "src": whole}, "f4", (2, 6, 4))
    p.output(one(p, "sum.dim_IntList", {"self": whole, "dim": [1]}, "f4", (2, 4)))
    runs = []
    for at in ([2, 3], [5, 0]):
        c, n = drawn(1, 2, 6, 4), drawn(2, 2, 4)
        w = c.copy()
        w[:, at] = n
        runs.append(({"caches": c, "new": n, "pos": np.array(at)}, [w.sum(1)]))
    return p, runs


#===--- sizes of data that the archive declares --------------------------------===#


@case
def as_many_as_declared():
    """The program was exported for three that are none of zero."""
    p = Program()
    x = p.input("x", (6,))
    p.output(one(p, "nonzero.default", {"self": x}, "i8", (3, 1)))
    found = np.float32([0, 1, 0, 2, 0, 3])
    return p, [({"x": found}, [np.argwhere(found)]), ({"x": found * (found > 1)}, "'nonzero_"), ({"x": np.ones(6, np.float32)}, "declared as 3")]


@case
def more_than_there_are():
    p = Program()
    x = p.input("x", (6,))
    p.output(one(p, "nonzero.default", {"self": x}, "i8", (7, 1)))
    return p, "finds at most 6 elements, but the archive declares 7"


@case
def counts_of_one_mask():
    """One number for two tensors by one mask; a third one by another mask must have as many."""
    p = Program({"u0": (0, 6)})
    x, mask, other = p.input("x", (6,)), p.input("mask", (6,), "?"), p.input("other", (6,), "?")
    a = one(p, "index.Tensor", {"self": x, "indices": [mask]}, "f4", ("u0",))
    b = one(p, "index.Tensor", {"self": one(p, "neg.default", {"self": x}, "f4", (6,)), "indices": [mask]}, "f4", ("u0",))
    c = one(p, "masked_select.default", {"self": x, "mask": other}, "f4", ("u0",))
    p.output(one(p, "add.Tensor", {"self": one(p, "mul.Tensor", {"self": a, "other": b}, "f4", ("u0",)), "other": c}, "f4", ("u0",)))
    x, runs = drawn(1, 6), []
    for m, o in (([1, 0, 1, 1, 0, 0], [0, 1, 1, 0, 1, 0]), ([0] * 6, [0] * 6), ([1] * 6, [1] * 6)):
        m, o = np.array(m, bool), np.array(o, bool)
        runs.append(({"x": x, "mask": m, "other": o}, [-x[m] * x[m] + x[o]]))
    runs.append(({"x": x, "mask": np.ones(6, bool), "other": np.arange(6) > 1}, "'masked_select_"))
    return p, runs


@case
def declared_in_a_branch():
    p = Program()
    x, flag = p.input("x", (6,)), p.input("flag", (), "?")
    sides = []
    for side in range(2):
        g = Graph()
        v = g.input((6,))
        if side:
            v = g.node("aten.neg.default", {"self": v}, [("f4", (6,))])[0]
        at = g.node("aten.nonzero.default", {"self": g.node("aten.gt.Scalar", {"self": v, "other": 0}, [("?", (6,))])[0]}, [("i8", (2 + side, 1))])[0]
        y = g.node("aten.sum.default", {"self": at}, [("i8", ())])[0]
        g.output(g.node("aten.cumsum.default", {"self": g.node("aten.mul.Tensor", {"self": v, "other": y}, [("f4", (6,))])[0], "dim": 0}, [("f4", (6,))])[0])
        sides.append(g)
    p.output(p.node("higher_order.cond", [flag, *sides, [x]], [("f4", (6,))])[0])
    x = np.float32([1, -2, 3, -4, -5, 0])
    right = [({"x": x, "flag": np.array(True)}, [np.cumsum(x * np.argwhere(x > 0).sum())]),
             ({"x": x, "flag": np.array(False)}, [np.cumsum(-x * np.argwhere(x < 0).sum())])]
    return p, right + [({"x": -x, "flag": np.array(True)}, "declared as 2, got another size")]


@case
def fewer_than_rows():
    """What torch._check says of a size of data and an input's."""
    p = Program({"s0": (2, 64), "u0": (0, 64)})
    n, x = p.input("n", (), "i8"), p.input("x", ("s0",))
    k = p.number("aten.item.default", {"self": n}, "u0")
    rows = p.number("aten.sym_size.int", {"self": x, "dim": 0}, "s0")
    p.conditions["le"] = "Symbol('u0', integer=True) <= Symbol('s0', positive=True, integer=True)"
    p.add("_operator.le", [k, rows], [{"as_sym_bool": {"as_name": "le"}}])
    p.nodes.append({"target": "torch.ops.aten._assert_scalar.default", "outputs": [], "metadata": {}, "is_hop_single_tensor_return": None, "name": None,
                    "inputs": [{"name": "self", "arg": {"as_sym_bool": {"as_name": "le"}}, "kind": 1},
                               {"name": "assert_msg", "arg": {"as_string": "u0 <= s0"}, "kind": 1}]})
    p.output(one(p, "slice.Tensor", {"self": x, "dim": 0, "start": 0, "end": k}, "f4", ("u0",)))
    x = drawn(1, 5)
    return p, [({"n": np.array(3), "x": x}, [x[:3]]), ({"n": np.array(5), "x": x}, [x]), ({"n": np.array(6), "x": x}, "the program checks its sizes")]


@case
def moe_routing():
    p = Program({"s0": (1, 32)})
    x = p.input("x", ("s0", 8)); wr = p.weight("r", drawn(5, 4, 8)); 
    l = one(p, "linear.default", {"input": x, "weight": wr}, "f4", ("s0", 4))
    s = one(p, "softmax.int", {"self": l, "dim": -1}, "f4", ("s0", 4))
    v, i = p.node("aten.topk.default", {"self": s, "k": 2, "dim": -1}, [("f4", ("s0", 2)), ("i8", ("s0", 2))])
    t = one(p, "sum.dim_IntList", {"self": v, "dim": [-1], "keepdim": True}, "f4", ("s0", 1))
    v = one(p, "div.Tensor", {"self": v, "other": t}, "f4", ("s0", 2))
    h = one(p, "one_hot.default", {"self": i, "num_classes": 4}, "i8", ("s0", 2, 4))
    h = one(p, "permute.default", {"self": h, "dims": [2, 1, 0]}, "i8", (4, 2, "s0"))
    out = one(p, "zeros_like.default", {"self": x}, "f4", ("s0", 8))
    e = drawn(6, 4, 8, 8)
    for k in range(4):
        m = one(p, "select.int", {"self": h, "dim": 0, "index": k}, "i8", (2, "s0"))
        m = one(p, "permute.default", {"self": m, "dims": [1, 0]}, "i8", ("s0", 2))
        g = one(p, "mul.Tensor", {"self": m, "other": v}, "f4", ("s0", 2))
        g = one(p, "sum.dim_IntList", {"self": g, "dim": [1], "keepdim": True}, "f4", ("s0", 1))
        y = one(p, "linear.default", {"input": x, "weight": p.weight(f"e{k}", e[k])}, "f4", ("s0", 8))
        out = one(p, "add.Tensor", {"self": out, "other": one(p, "mul.Tensor", {"self": y, "other": g}, "f4", ("s0", 8))}, "f4", ("s0", 8))
    p.output(out)
    runs = []
    for n in (1, 6):
        x_ = drawn(n, n, 8); l_ = x_ @ drawn(5, 4, 8).T; s_ = np.exp(l_); s_ /= s_.sum(1, keepdims=True)
        g = np.where(s_ >= np.sort(s_, 1)[:, -2:-1], s_, 0); g /= g.sum(1, keepdims=True)
        runs.append(({"x": x_}, [sum(g[:, k:k+1]*(x_@e[k].T) for k in range(4))]))
    return p, runs


@case
def selective_scan():
    p = Program({"s0": (1, 32)})
    dt, a, b = p.input("dt", ("s0", 3)), p.input("a", (3,)), p.input("b", ("s0", 3))
    s = one(p, "softplus.default", {"self": dt}, "f4", ("s0", 3))
    e = one(p, "mul.Tensor", {"self": s, "other": a}, "f4", ("s0", 3))
    c = one(p, "cumsum.default", {"self": e, "dim": 0}, "f4", ("s0", 3))
    x = one(p, "exp.default", {"self": c}, "f4", ("s0", 3))
    y = one(p, "div.Tensor", {"self": b, "other": x}, "f4", ("s0", 3))
    y = one(p, "cumsum.default", {"self": y, "dim": 0}, "f4", ("s0", 3))
    p.output(one(p, "mul.Tensor", {"self": y, "other": x}, "f4", ("s0", 3)))
    runs = []
    for n in (1, 9):
        d, b_, a_ = drawn(n, n, 3), drawn(n+1, n, 3), -np.abs(drawn(7, 3))
        x_ = np.exp(np.cumsum(np.log1p(np.exp(d))*a_, 0)); runs.append(({"dt": d, "a": a_, "b": b_}, [(np.cumsum(b_/x_, 0)*x_).astype(np.float32)]))
    return p, runs


@case
def conv_transpose_1d_weight_norm():
    p = Program({"s0": (2, 32)})
    x = p.input("x", (1, 3, "s0")); v, g = p.weight("v", drawn(1, 3, 2, 4)), p.weight("g", drawn(2, 3, 1, 1))
    w = one(p, "_weight_norm.default", {"v": v, "g": g, "dim": 0}, "f4", (3, 2, 4))
    y = one(p, "conv_transpose1d.default", {"input": x, "weight": w, "bias": None, "stride": [2], "padding": [1]}, "f4", (1, 2, "2*s0"))
    p.output(one(p, "leaky_relu.default", {"self": y, "negative_slope": 0.1}, "f4", (1, 2, "2*s0")))
    v_, g_ = drawn(1, 3, 2, 4), drawn(2, 3, 1, 1); w_ = v_*g_/np.sqrt((v_**2).sum((1,2),keepdims=True))
    runs = []
    for n in (2, 5):
        x_ = drawn(n, 1, 3, n); y_ = np.zeros((1, 2, 2*n+2), np.float32)
        for i in range(n):
            y_[:, :, 2*i:2*i+4] += np.einsum("bc,cok->bok", x_[:, :, i], w_)
        y_ = y_[:, :, 1:-1]; runs.append(({"x": x_}, [np.where(y_ > 0, y_, y_*np.float32(.1))]))
    return p, runs


@case
def bucketize_embedding_bag():
    p = Program({"s0": (1, 16)})
    x = p.input("x", ("s0",)); bounds, table = p.weight("b", np.array([-1, 0, 1], np.float32)), p.weight("t", drawn(3, 4, 5))
    i = one(p, "bucketize.Tensor", {"self": x, "boundaries": bounds, "right": True}, "i8", ("s0",))
    e = one(p, "embedding.default", {"weight": table, "indices": i}, "f4", ("s0", 5))
    p.output(one(p, "amax.default", {"self": e, "dim": [0]}, "f4", (5,)))
    return p, [({"x": drawn(n, n)}, [drawn(3, 4, 5)[np.digitize(drawn(n, n), [-1,0,1])].max(0)]) for n in (1, 7)]


@case
def rope_cat():
    p = Program({"s0": (1, 16)})
    q = p.input("q", (1, 2, "s0", 8)); inv = p.weight("inv", (1/10**np.arange(4)).astype(np.float32))
    n = p.number("aten.sym_size.int", {"self": q, "dim": 2}, "s0")
    t = one(p, "arange.default", {"end": n, "dtype": Type("f4")}, "f4", ("s0",))
    f = one(p, "outer.default", {"self": t, "vec2": inv}, "f4", ("s0", 4))
    e = one(p, "cat.default", {"tensors": [f, f], "dim": -1}, "f4", ("s0", 8))
    c, s = one(p, "cos.default", {"self": e}, "f4", ("s0", 8)), one(p, "sin.default", {"self": e}, "f4", ("s0", 8))
    a, b = p.node("aten.chunk.default", {"self": q, "chunks": 2, "dim": -1}, [("f4", (1, 2, "s0", 4))]*2)
    r = one(p, "cat.default", {"tensors": [one(p, "neg.default", {"self": b}, "f4", (1,2,"s0",4)), a], "dim": -1}, "f4", (1,2,"s0",8))
    p.output(one(p, "add.Tensor", {"self": one(p, "mul.Tensor", {"self": q, "other": c}, "f4", (1,2,"s0",8)), "other": one(p, "mul.Tensor", {"self": r, "other": s}, "f4", (1,2,"s0",8))}, "f4", (1,2,"s0",8)))
    runs = []
    for n in (1, 6):
        q_ = drawn(n, 1, 2, n, 8); e_ = np.outer(np.arange(n), 1/10**np.arange(4)); e_ = np.concatenate([e_, e_], -1)
        runs.append(({"q": q_}, [(q_*np.cos(e_) + np.concatenate([-q_[..., 4:], q_[..., :4]], -1)*np.sin(e_)).astype(np.float32)]))
    return p, runs


@case
def pad_sequence_pt2():
    p = Program({"s0": (1, 9), "s1": (1, 9)})
    a, b = p.input("a", ("s0", 2)), p.input("b", ("s1", 2))
    S = lambda s: f"Symbol('{s}', positive=True, integer=True)"
    p.output(one(p, "pad_sequence.default", {"sequences": [a, b], "batch_first": True, "padding_value": 7.0}, "f4", (2, f"Max({S('s0')}, {S('s1')})", 2)))
    return p, [({"a": drawn(1, m, 2), "b": drawn(2, n, 2)}, [np.stack([np.concatenate([v, np.full((max(m,n)-len(v), 2), 7, np.float32)]) for v in (drawn(1, m, 2), drawn(2, n, 2))])]) for m, n in ((1,4),(5,2),(3,3))]


@case
def sym_max_min():
    p = Program({"s0": (1, 9), "s1": (1, 9)})
    a, b = p.input("a", ("s0", 2)), p.input("b", ("s1", 2))
    S = lambda s: f"Symbol('{s}', positive=True, integer=True)"
    m, n = p.number("aten.sym_size.int", {"self": a, "dim": 0}, "s0"), p.number("aten.sym_size.int", {"self": b, "dim": 0}, "s1")
    k = p.number("torch.sym_min", [m, n], f"Min({S('s0')}, {S('s1')})")
    x = one(p, "slice.Tensor", {"self": a, "dim": 0, "start": 0, "end": k}, "f4", (f"Min({S('s0')}, {S('s1')})", 2))
    y = one(p, "slice.Tensor", {"self": b, "dim": 0, "start": 0, "end": k}, "f4", (f"Min({S('s0')}, {S('s1')})", 2))
    p.output(one(p, "add.Tensor", {"self": x, "other": y}, "f4", (f"Min({S('s0')}, {S('s1')})", 2)))
    return p, [({"a": drawn(1, m, 2), "b": drawn(2, n, 2)}, [drawn(1, m, 2)[:min(m,n)]+drawn(2, n, 2)[:min(m,n)]]) for m, n in ((1,4),(5,2),(3,3))]


@case
def fp16_layernorm_chain():
    p = Program({"s0": (1, 9)})
    x = p.input("x", ("s0", 16), "f2")
    y = one(p, "layer_norm.default", {"input": x, "normalized_shape": [16], "weight": p.weight("w", np.ones(16, np.float16)), "bias": None, "eps": 1e-5}, "f2", ("s0", 16))
    y = one(p, "to.dtype", {"self": y, "dtype": Type("f4")}, "f4", ("s0", 16))
    y = one(p, "log_softmax.int", {"self": y, "dim": -1}, "f4", ("s0", 16))
    v, i = p.node("aten.sort.default", {"self": y, "dim": -1, "descending": True}, [("f4", ("s0", 16)), ("i8", ("s0", 16))])
    p.output(v)
    runs = []
    for n in (1, 4):
        x_ = drawn(n, n, 16).astype(np.float16); z = x_.astype(np.float32); z = ((z-z.mean(-1,keepdims=True))/np.sqrt(z.var(-1,keepdims=True)+1e-5)).astype(np.float16).astype(np.float32)
        z = z - np.log(np.exp(z).sum(-1, keepdims=True)); runs.append(({"x": x_}, [-np.sort(-z, -1)]))
    return p, runs


def padded(s, to):
    """A size filled up to whole blocks, as PyTorch writes it, and how much is added: -n % 4 is (3 * n) % 4."""
    added = f"Mod(Mul(Integer({to - 1}), {s}), Integer({to}))"
    return f"Add({s}, {added})", added


def symbol(s):
    return f"Symbol('{s}', positive=True, integer=True)"


def blocks(s, to):
    """The sizes of `reshape(n // to, to)`: PyTorch declares the second one as what the first one leaves."""
    count = f"FloorDiv({s}, Integer({to}))"
    return count, f"FloorDiv({s}, {count})"


@case
def windows_of_padded_images():
    """Window partition: both sides are filled up to a multiple of the window, and cut."""
    p = Program({"s0": (4, 64), "s1": (4, 64)})
    x = p.input("x", (2, 3, "s0", "s1"))
    (h, more_h), (w, more_w) = padded(symbol("s0"), 4), padded(symbol("s1"), 4)
    (rows, high), (columns, wide) = blocks(h, 4), blocks(w, 4)
    adds = [p.number("_operator.mod", [p.number("aten.sym_size.int", {"self": x, "dim": d}, s), 4], m) for d, s, m in ((3, "s1", more_w), (2, "s0", more_h))]
    y = one(p, "pad.default", {"self": x, "pad": [0, adds[0], 0, adds[1]]}, "f4", (2, 3, h, w))
    counts = [p.number("_operator.floordiv", [p.number("aten.sym_size.int", {"self": y, "dim": d}, s), 4], n) for d, s, n in ((2, h, rows), (3, w, columns))]
    y = one(p, "reshape.default", {"self": y, "shape": [2, 3, counts[0], 4, counts[1], 4]}, "f4", (2, 3, rows, high, columns, wide))
    y = one(p, "permute.default", {"self": y, "dims": [0, 2, 4, 3, 5, 1]}, "f4", (2, rows, columns, high, wide, 3))
    y = one(p, "flatten.using_ints", {"self": y, "start_dim": 3}, "f4", (2, rows, columns, f"Mul(Integer(3), {high}, {wide})"))
    p.output(one(p, "mean.dim", {"self": y, "dim": [-1]}, "f4", (2, rows, columns)))
    runs = []
    for h_, w_ in ((4, 4), (5, 8), (7, 18)):
        v = np.pad(drawn(h_, 2, 3, h_, w_), ((0, 0), (0, 0), (0, -h_ % 4), (0, -w_ % 4)))
        v = v.reshape(2, 3, v.shape[2] // 4, 4, v.shape[3] // 4, 4).transpose(0, 2, 4, 3, 5, 1)
        runs.append(({"x": drawn(h_, 2, 3, h_, w_)}, [v.reshape(*v.shape[:3], -1).mean(-1)]))
    return p, runs


@case
def blocks_of_padded_rows():
    """view with -1, unflatten, a view that is written to, and what is joined again."""
    p = Program({"s0": (1, 64)})
    x = p.input("x", ("s0", 6))
    n, more = padded(symbol("s0"), 5)
    count, long = blocks(n, 5)
    added = p.number("_operator.mod", [p.number("aten.sym_size.int", {"self": x, "dim": 0}, "s0"), 5], more)
    y = one(p, "constant_pad_nd.default", {"self": x, "pad": [0, 0, 0, added], "value": 1.0}, "f4", (n, 6))
    a = one(p, "view.default", {"self": y, "size": [-1, 5, 6]}, "f4", (count, long, 6))
    b = one(p, "unflatten.int", {"self": y, "dim": 0, "sizes": [-1, 5]}, "f4", (count, long, 6))
    c = one(p, "mul.Tensor", {"self": a, "other": b}, "f4", (count, long, 6))
    p.output(one(p, "sum.dim_IntList", {"self": c, "dim": [1]}, "f4", (count, 6)))
    one(p, "add_.Tensor", {"self": a, "other": 2.0}, "f4", (count, long, 6))
    p.output(one(p, "flatten.using_ints", {"self": a, "start_dim": 0, "end_dim": 1}, "f4", (f"Mul({count}, {long})", 6)))
    p.output(y)
    runs = []
    for n_ in (1, 5, 13):
        v = np.pad(drawn(n_, n_, 6), ((0, -n_ % 5), (0, 0)), constant_values=1)
        runs.append(({"x": drawn(n_, n_, 6)}, [(v * v).reshape(-1, 5, 6).sum(1), v + 2, v + 2]))
    return p, runs


@case
def sizes_that_only_pytorch_proves():
    """What no algebra makes of the sizes is compared when a run binds them."""
    p = Program({"s0": (1, 64), "s1": (1, 64)}, dims={"x": ["n"], "y": ["m"]})
    x, y = p.input("x", ("s0",)), p.input("y", ("s1",))
    m = p.number("aten.sym_size.int", {"self": y, "dim": 0}, "s1")
    z = one(p, "reshape.default", {"self": x, "shape": [m, 3]}, "f4", ("s1", 3))
    p.output(one(p, "mul.Tensor", {"self": z, "other": one(p, "unsqueeze.default", {"self": y, "dim": 1}, "f4", ("s1", 1))}, "f4", ("s1", 3)))
    runs = [({"x": drawn(n, 3 * n), "y": drawn(n + 1, n)}, [drawn(n, 3 * n).reshape(n, 3) * drawn(n + 1, n)[:, None]]) for n in (1, 5)]
    return p, runs + [({"x": drawn(1, 14), "y": drawn(2, 5)}, "to be equal")]


@case
def caches_of_equal_lengths():
    """Keys and values of caches whose lengths PyTorch gives two names: its attention does not compare them."""
    p = Program({"s0": (1, 64), "s1": (1, 64)})
    q, k, v = p.input("q", (2, 1, 4)), p.input("k", (2, "s0", 4)), p.input("v", (2, "s1", 4))
    new = p.input("new", (2, 1, 4))
    after = [f"Add(Symbol('{s}', positive=True, integer=True), Integer(1))" for s in ("s0", "s1")]
    keys, values = (one(p, "cat.default", {"tensors": [past, new], "dim": 1}, "f4", (2, size, 4)) for past, size in zip((k, v), after))
    p.output(one(p, "scaled_dot_product_attention.default", {"query": q, "key": keys, "value": values}, "f4", (2, 1, 4)))

    def run(length, other=None):
        given = {"q": drawn(1, 2, 1, 4), "k": drawn(2, 2, length, 4), "v": drawn(3, 2, other or length, 4), "new": drawn(4, 2, 1, 4)}
        if other:
            return given, "k_1 is 5 already"
        keys, values = (np.concatenate([given[name], given["new"]], 1) for name in "kv")
        scores = given["q"] @ keys.transpose(0, 2, 1) / 2
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        return given, [weights / weights.sum(-1, keepdims=True) @ values]

    return p, [run(5), run(1), run(5, 6)]
