# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``torch.compile(model, backend="kpc")``: graphs that PyTorch hands over run as artifacts of kpc.

    import torch

    fast = torch.compile(model.eval(), backend="kpc", options={"precision": "fp16"})
    with torch.inference_mode():
        y = fast(x)

A graph is compiled once for each kind of its inputs (types, ranks, and sizes that are not dynamic), and the artifact is kept
on disk for the next process. What kpc cannot compile runs as PyTorch runs it, with one ``kpc.CompileWarning`` that says why.
Training is not for kpc: a graph that needs gradients falls back, too.

Options: `precision`, `io_precision`, `arch` (default: of the inputs' device), `cache_dir` (default:
``$XDG_CACHE_HOME/kpc/torch``) and `via` ("pt2" or "onnx").
"""

from __future__ import annotations

import copy
import hashlib
import os
import pathlib
import tempfile
import threading
import warnings
from typing import Any, Callable, Sequence

import torch

import kpc

from ._compile import compile as compile_model
from ._errors import CompileWarning, Error
from ._executable import log
from ._torch import save_model

_OPTIONS = ("precision", "io_precision", "arch", "cache_dir", "via")
_warned = threading.Event()


def _fall_back(why: str, graph: Any) -> Callable[..., Any]:
    """Eager execution. The first reason in a process is said aloud, the others at the level INFO of the logger kpc."""
    if not _warned.is_set():
        _warned.set()
        warnings.warn(f"kpc falls back to PyTorch's eager mode for a graph: {why}", CompileWarning, stacklevel=2)
    else:
        log.info("eager mode for a graph: %s", why)
    forward: Callable[..., Any] = graph.forward
    return forward


def _cache_folder(options: dict[str, Any]) -> pathlib.Path:
    chosen = options.get("cache_dir")
    if chosen is None:
        chosen = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache", "kpc", "torch")
    folder = pathlib.Path(chosen)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _default_arch(values: Sequence[Any]) -> str:
    for value in values:
        if isinstance(value, torch.Tensor) and value.is_cuda:
            major, minor = torch.cuda.get_device_capability(value.device)
            chip = f"sm_{major}{minor}" + ("a" if major >= 9 else "")
            return chip if chip in {target.name for target in kpc.targets()} else "portable"
    return "host"


def _device(values: Sequence[Any]) -> str:
    devices = {str(value.device) for value in values if isinstance(value, torch.Tensor)}
    if len(devices) > 1:
        raise Error(f"its inputs are on several devices: {', '.join(sorted(devices))}")
    device = devices.pop() if devices else "cpu"
    return "cuda:0" if device == "cuda" else device


def _is_weight(value: Any) -> bool:
    """Whether an input is a parameter or buffer of the model: dynamo hands these over like any other."""
    return isinstance(value, torch.nn.Parameter) or getattr(value, "_dynamo_static_input_type", None) is not None


def _is_symbol(size: Any) -> bool:
    """Whether a traced size may change; one that the trace has fixed is still a SymInt."""
    return isinstance(size, torch.SymInt) and size.node.maybe_as_int() is None


def _scalars(graph: torch.fx.GraphModule) -> list[int]:
    """The inputs that are numbers of Python: dynamo wraps a float that may change (all do with dynamic=True, a norm's
    epsilon too) as a tensor without dims, of which the graph takes the item."""
    placeholders = [node for node in graph.graph.nodes if node.op == "placeholder"]
    return [index for index, node in enumerate(placeholders) if node.users and all(
        user.op == "call_method" and user.target == "item" for user in node.users)]


def _with_scalars(graph: torch.fx.GraphModule, values: dict[int, float]) -> torch.fx.GraphModule:
    """The graph with the values of these inputs as constants."""
    inner = copy.deepcopy(graph.graph)
    placeholders = [node for node in inner.nodes if node.op == "placeholder"]
    for index, value in values.items():
        for item in list(placeholders[index].users):
            for user in list(item.users):
                user.args, user.kwargs = torch.fx.node.map_arg(
                    (user.args, user.kwargs), lambda node: value if node is item else node)  # pylint: disable=W0640
            inner.erase_node(item)
    return torch.fx.GraphModule(graph, inner)


class _Graph:
    """PyTorch's graph as a module of its tensors alone: weights are its own, and sizes among the inputs are read from the
    tensors again.

    `inputs` are those of the graph, as examples; `traced` the same with symbols for sizes that are dynamic.
    """

    def __init__(self, graph: torch.fx.GraphModule, inputs: Sequence[Any], traced: Sequence[Any]) -> None:
        is_tensor = [isinstance(value, torch.Tensor) for value in inputs]
        scalars = {index: inputs[index].item() for index in _scalars(graph) if is_tensor[index]}
        #: Which inputs are tensors of the caller.
        self.tensors = [index for index, value in enumerate(inputs) if
                        is_tensor[index] and index not in scalars and not _is_weight(value)]
        root = torch.nn.Module()
        root.add_module("graph_module", _with_scalars(graph, scalars) if scalars else graph)
        outer = torch.fx.Graph()
        # Parameters with names, not *tensors: the guards of an export name them.
        given = {index: outer.placeholder(f"input_{index}") for index in self.tensors}
        for index, value in enumerate(inputs):
            if index in given:
                continue
            if index in scalars:
                given[index] = scalars[index]
            elif is_tensor[index]:
                root.register_buffer(f"weight_{index}", value.detach())
                given[index] = outer.get_attr(f"weight_{index}")
            else:
                number, dim = self._place(traced[index], traced)
                given[index] = outer.call_method("size", (given[self.tensors[number]], dim))
        outer.output(outer.call_module("graph_module", tuple(given[index] for index in sorted(given))))
        self.module = torch.fx.GraphModule(root, outer).eval()

    def _place(self, wanted: Any, traced: Sequence[Any]) -> tuple[int, int]:
        for number, index in enumerate(self.tensors):
            for dim, size in enumerate(traced[index].shape):
                if isinstance(size, torch.SymInt) and str(size) == str(wanted):
                    return number, dim
        raise Error(f"an input is {wanted!r}, which is the size of none of its tensors")

    def dynamic_shapes(self, traced: Sequence[Any]) -> Any:
        """Sizes that PyTorch traced as symbols stay dynamic where the graph lets them; the export finds which are equal."""
        shapes = [{dim: torch.export.Dim.AUTO for dim, size in enumerate(traced[index].shape)
                   if _is_symbol(size)} for index in self.tensors]
        return tuple(shapes) if any(shapes) else None


def _needs_gradients(graph: torch.fx.GraphModule, values: Sequence[Any]) -> bool:
    tensors = [value for value in values if isinstance(value, torch.Tensor)] + list(graph.parameters())
    return torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)


def _digest(program: Any, facts: Any) -> str:
    """Of the graph and its weights: an exporter's file holds names and dates, too."""
    digest = hashlib.sha256(repr((kpc.__version__, facts)).encode())
    digest.update(str(program.graph).encode())
    for key, tensor in sorted({**program.state_dict, **program.constants}.items()):
        digest.update(key.encode())
        if isinstance(tensor, torch.Tensor):
            digest.update(f"{tensor.dtype}{tuple(tensor.shape)}".encode())
            flat = tensor.detach().cpu().contiguous().reshape(-1)
            if flat.numel():
                digest.update(flat.view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _session(graph: torch.fx.GraphModule, inputs: Sequence[Any], options: dict[str, Any]) -> tuple["kpc.Session", _Graph]:
    placeholders = [node for node in graph.graph.nodes if node.op == "placeholder"]
    traced = [node.meta.get("example_value", value) for node, value in zip(placeholders, inputs)]
    module = _Graph(graph, inputs, traced)
    tensors = [inputs[index] for index in module.tensors]
    shapes = module.dynamic_shapes(traced)
    arch = options.get("arch") or _default_arch(inputs)
    # The export is not part of the trace that it is called in.
    with tempfile.TemporaryDirectory(prefix="kpc-") as name, torch.no_grad(), torch._guards.tracing(None):
        examples = tuple(torch.zeros_like(tensor, requires_grad=False) for tensor in tensors)
        program = torch.export.export(module.module, examples, dynamic_shapes=shapes)
        kept = _cache_folder(options) / f"{_digest(program, (arch, sorted(options.items(), key=str), str(shapes)))}.kpc"
        artifact = None
        if kept.exists():
            try:
                artifact = kpc.load(kept)
            except kpc.RunError:
                kept.unlink(missing_ok=True)  # of another version, or damaged
        if artifact is None:
            path = save_model(program, pathlib.Path(name), None, None, options.get("via", "pt2"))
            artifact = compile_model(path, kept, arch=arch, precision=options.get("precision"),
                                     io_precision=options.get("io_precision"))
    if len(artifact.inputs) != len(tensors):
        raise Error(f"it has {len(tensors)} inputs, and the artifact {len(artifact.inputs)}")
    outputs = next(node for node in reversed(graph.graph.nodes) if node.op == "output").args[0]
    count = len(outputs) if isinstance(outputs, (tuple, list)) else 1
    if count != len(artifact.outputs):
        raise Error(f"it has {count} outputs, and the artifact {len(artifact.outputs)}")
    return artifact.session(_device(tensors)), module


def backend(graph: torch.fx.GraphModule, example_inputs: Sequence[Any], *, options: dict[str, Any] | None = None,
            **_: Any) -> Callable[..., Any]:
    """What ``torch.compile`` calls with each graph; returns what runs instead of it."""
    options = dict(options or {})
    if unknown := [name for name in options if name not in _OPTIONS]:
        raise ValueError(f"backend='kpc': unknown option {unknown[0]!r}; the options are {', '.join(_OPTIONS)}")
    if _needs_gradients(graph, example_inputs):
        return _fall_back("it needs gradients, and kpc compiles inference alone (torch.no_grad, torch.inference_mode)", graph)
    weights = [index for index, value in enumerate(example_inputs) if _is_weight(value)]
    scalars = [index for index in _scalars(graph) if isinstance(example_inputs[index], torch.Tensor)]

    def key_of(values: Sequence[Any]) -> tuple[Any, ...]:
        # Tensors of inference mode count no versions.
        return (*((id(values[index]), 0 if values[index].is_inference() else values[index]._version) for index in weights),
                *(values[index].item() for index in scalars))

    # One graph serves all modules of one kind, whose weights (and numbers) are constants of an artifact each.
    ready: dict[tuple[Any, ...], tuple[Callable[..., Any], Any]] = {}

    def prepare(values: Sequence[Any]) -> Callable[..., Any]:
        try:
            session, module = _session(graph, values, options)
        except Exception as error:  # whatever torch.export raises: the model still runs
            return _fall_back(f"{type(error).__name__}: {error}", graph)

        def run(*given: Any) -> Any:
            try:
                return tuple(session._run([given[index] for index in module.tensors], None))
            except kpc.RunError as error:
                if error.code not in ("KPC_ERROR_WRONG_SHAPE", "KPC_ERROR_OUT_OF_RANGE"):
                    raise
                # A size that the export had to fix.
                return _fall_back(f"{error}", graph)(*given)

        return run

    def dispatch(*values: Any) -> Any:
        key = key_of(values)
        found = ready.get(key)
        if found is None:
            # The weights are kept with it: an id is one object's as long as that lives.
            found = ready[key] = (prepare(values), [values[index] for index in weights])
        return found[0](*values)

    ready[key_of(example_inputs)] = (prepare(example_inputs), [example_inputs[index] for index in weights])
    return dispatch
