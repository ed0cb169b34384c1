# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PTX as basic blocks of instructions, of what LLVM writes for kernels.   kernels(text) -> {name: Kernel}"""

import dataclasses
import re


def flat(operands):
    for one in operands:
        if isinstance(one, list):
            yield from flat(one)
        elif isinstance(one, str):
            yield one


TYPE_BYTES = {"b8": 1, "u8": 1, "s8": 1, "b16": 2, "u16": 2, "s16": 2, "f16": 2, "bf16": 2, "b32": 4, "u32": 4, "s32": 4, "f32": 4, "f16x2": 4,
              "bf16x2": 4,
              "b64": 8, "u64": 8, "s64": 8, "f64": 8, "f32x2": 8, "b128": 16}


@dataclasses.dataclass
class Instruction:
    opcode: str
    parts: list  # the opcode between its dots
    operands: list  # registers, numbers and names as text; lists of them for {…} and for [base, offset]
    guard: str = ""  # a predicate
    negated: bool = False

    def __post_init__(self):
        self.kind = next((part for part in reversed(self.parts) if part in TYPE_BYTES or part == "pred"), "")
        self.size = TYPE_BYTES.get(self.kind, 4)
        self.space = next((word for word in ("param", "global", "shared", "local", "const")
                           for part in self.parts if part == word or part.startswith(word + "::")), "")
        first = self.operands if self.parts[0] in ("st", "red", "bra", "bar", "cp") else self.operands[1:]
        self.reads = [name for name in flat(first) if name.startswith("%")]
        if self.guard:
            self.reads.append(self.guard)


@dataclasses.dataclass
class Kernel:
    name: str
    parameters: list  # (name, bytes)
    threads: tuple  # of a block
    blocks: list  # lists of instructions
    targets: dict  # label -> number of the block
    shared: dict  # name -> (address, bytes)
    shared_bytes: int


ENTRY = re.compile(r"\.entry\s+(\w+)\s*\((.*?)\)(.*?)\n\{(.*?)\n\}", re.S)
ARRAY = re.compile(r"\.(shared|local|const|global)\s+(?:\.align\s+(\d+)\s+)?\.(\w+)\s+([\w$]+)(?:\[(\d*)\])?")


def split_operands(text):
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(text):
        depth += (letter in "{[(") - (letter in "}])")
        if letter == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    parts.append(text[start:].strip())
    return [part for part in parts if part]


def operand(text):
    if text.startswith("{"):
        return [operand(part) for part in split_operands(text[1:-1])]
    if text.startswith("["):
        inside = text[1:-1].strip()
        if "," in inside:
            return ["many", *(operand(part) for part in split_operands(inside))]
        base, _, offset = inside.partition("+")
        if not offset and "-" in inside[1:]:
            base, _, offset = inside.rpartition("-")
            offset = "-" + offset
        return [base.strip(), int(offset or "0", 0)]
    return text


def instruction(text):
    guard, negated = "", False
    if text.startswith("@"):
        word, text = text.split(None, 1)
        negated = word.startswith("@!")
        guard = word.lstrip("@!")
    opcode, _, rest = text.partition(" ")
    if "|" in rest and opcode.startswith(("setp", "shfl", "elect")):
        rest = rest.replace("|", ", ", 1)
        opcode += ".pair"
    return Instruction(opcode, opcode.split("."), [operand(part) for part in split_operands(rest.strip())], guard, negated)


def ends_block(one):
    return one.parts[0] in ("bra", "ret", "exit", "trap", "brx")


def body_blocks(body):
    blocks, targets, current = [], {}, []
    flat = re.sub(r"//.*", "", body)
    # Inline assembly stands in braces of its own, with registers of its own.
    for statement in re.split(r";|(?<=:)\s*\n", flat):
        text = " ".join(statement.split())
        while text.startswith("{") and not re.match(r"\{[^}]*\}\s*,", text):
            text = text[1:].strip()
        while text.startswith("}"):
            text = text[1:].strip()
        label = re.match(r"^([\w$]+):\s*(.*)$", text)
        if label:
            if current:
                blocks.append(current)
                current = []
            targets[label[1]] = len(blocks)
            text = label[2]
        if not text or text.startswith((".reg", ".shared", ".local", ".loc", ".pragma", ".branchtargets", ".file", ".b8", ".const")):
            continue
        one = instruction(text)
        current.append(one)
        if ends_block(one):
            blocks.append(current)
            current = []
    blocks.append(current)
    return blocks, targets


def arrays(text, at):
    """Addresses of shared and local arrays, and where the next one would begin."""
    places = {}
    for _, align, kind, name, count in ARRAY.findall(text):
        size = TYPE_BYTES.get(kind, 1) * int(count or 1)
        at += -at % int(align or 4)
        places[name] = (at, size)
        at += size
    return places, at


def kernels(text):
    found = {}
    for name, parameters, head, body in ENTRY.findall(text):
        listed = []
        for part in parameters.split(","):
            match = re.search(r"\.param\s+(?:\.align\s+\d+\s+)?\.(\w+).*?([\w$]+)(\[\d+\])?\s*$", part.strip())
            if match:
                listed.append((match[2], int(match[3][1:-1]) if match[3] else TYPE_BYTES[match[1]]))
        threads = re.search(r"\.(?:maxntid|reqntid)\s+(\d+)(?:,\s*(\d+))?(?:,\s*(\d+))?", head)
        blocks, targets = body_blocks(body)
        outside, at = arrays(text[:text.find(".entry")], 0)
        inside, at = arrays(body, at)
        found[name] = Kernel(name, listed, tuple(int(n or 1) for n in threads.groups()) if threads else (1, 1, 1), blocks, targets,
                             {**outside, **inside}, at)
    return found
