# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The list of known cliffs: what is slower than it could be, with the reason, and what a sweep finds beside it.

A line `cause: reason` begins a group: what has that reason in common. A line of the group is `case type | target factor, target factor …`.
`refused` stands for a case that does not compile. What has no reason yet says what was found behind a second `|`, and fails.
A line `swept target type: case case …` says what has been looked at: all that is not listed there and swept is no cliff. `*` stands for all cases.
"""

import dataclasses

MOST = 3.0  # times the roofline: more is a cliff
SLACK = 1.15  # an entry near the limit neither comes nor goes by less
GROWTH = 1.5  # a known one may not get so much worse
OPEN = "not looked into"  # how the reason of a new entry begins
STEPS = (3, 3.5, 4, 5, 6, 7, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 80)


def rounded(factor):
    """So coarse that small changes of schedules leave the list as it is."""
    scale = 1.0
    while factor / scale >= 100:
        scale *= 10
    near = min(STEPS + (100,), key=lambda step: abs(step - factor / scale))
    return near * scale


@dataclasses.dataclass
class Entry:
    factors: dict  # target -> factor; "refused" -> 0
    reason: str

    def line(self, key):
        def text(target, factor):
            return target if target == "refused" else f"{target} {factor:g}"
        found = f" | {self.reason}" if self.reason.startswith(OPEN) else ""
        return f"{key[0]} {key[1]} | {', '.join(text(*one) for one in sorted(self.factors.items()))}{found}"


@dataclasses.dataclass
class List:
    entries: dict  # (case, type) -> Entry
    swept: dict  # (target, type) -> names of cases
    unused: list = dataclasses.field(default_factory=list)  # reasons of which nothing is left

    def holds(self, case, kind, target):
        names = self.swept.get((target, kind), ())
        return "*" in names or case in names

    def targets(self, case, kind):
        return {target for target, other in self.swept if other == kind and self.holds(case, kind, target)}


def read(path):
    entries, swept, reason, reasons = {}, {}, "", []
    for number, line in enumerate(path.read_text().splitlines() if path.exists() else [], 1):
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith("swept "):
            head, _, names = line.partition(":")
            swept.setdefault(tuple(head.split()[1:3]), set()).update(names.split())
            continue
        if line.startswith("cause: "):
            reason = line.removeprefix("cause: ").strip()
            reasons.append(reason)
            continue
        parts = [part.strip() for part in line.split("|", 2)]
        own = parts[2] if len(parts) == 3 else reason
        if len(parts) < 2 or len(parts[0].split()) != 2 or not own or (len(parts) == 3) != own.startswith(OPEN):
            raise SystemExit(f"{path}:{number}: expected `case type | target factor, …` below a line `cause: reason`, got `{line}`")
        if tuple(parts[0].split()) in entries:
            raise SystemExit(f"{path}:{number}: {parts[0]} stands there twice; join the lines")
        factors = {}
        for one in parts[1].split(","):
            target, _, factor = one.strip().partition(" ")
            factors[target] = float(factor or 0)
        entries[tuple(parts[0].split())] = Entry(factors, own)
    used = {entry.reason for entry in entries.values()}
    return List(entries, swept, [reason for reason in reasons if reason not in used])


def found(verdicts):
    """What a sweep says, in the form of the list, of all that is over the limit or near it."""
    entries = {}
    for one in verdicts:
        key = one.case, one.kind
        if one.problem:
            entries[key] = Entry({"refused": 0}, f"{OPEN}: {one.problem}")
        elif one.factor > MOST / SLACK:
            entry = entries.setdefault(key, Entry({}, ""))
            if not entry.factors or one.factor > max(entry.factors.values()):
                entry.reason = f"{OPEN}: {one.family}: {one.limit}" + (f", {one.launches} launches" if one.launches > 3 else "")
            entry.factors[one.target] = one.factor
    return entries


def compare(known, verdicts, there=()):
    """What is new, worse or gone, in sentences, of what has been swept. `there`: all cases that there are."""
    old, now = known.entries, found(verdicts)
    problems = [f"gone: there is no case {key[0]} {key[1]}; take it off the list" for key in old if there and key not in there]
    problems += [f"the list says no reason for {key[0]} {key[1]}" for key, entry in old.items() if entry.reason.startswith(OPEN)]
    problems += [f"gone: nothing has the cause `{reason}` any more; take it off the list" for reason in known.unused]
    for one in verdicts:
        key, name = (one.case, one.kind), f"{one.case} {one.kind} on {one.target}"
        listed = old[key].factors if key in old else {}
        if one.problem:
            if known.targets(*key) and "refused" not in listed:
                problems.append(f"new: {one.case} {one.kind} does not compile: {one.problem}")
        elif "refused" in listed:
            problems.append(f"gone: {name} compiles; take it off the list")
        elif one.target in listed:
            if one.factor > listed[one.target] * GROWTH:
                problems.append(f"worse: {name} takes {one.factor:.1f} times its roofline, known were {listed[one.target]:g}")
            elif one.factor < MOST / SLACK:
                problems.append(f"gone: {name} is no cliff any more, it takes {one.factor:.1f} times its roofline; take it off the list")
        elif one.factor > MOST * SLACK and known.holds(*key, one.target):
            problems.append(f"new: {name} takes {one.factor:.1f} times its roofline: {now[key].reason.removeprefix(OPEN + ': ')}")
    return problems


def update(path, known, verdicts, there):
    """Writes the list anew: entries that stay keep their reasons, and those of cases that were not swept."""
    old = known.entries
    cases, targets = {(one.case, one.kind) for one in verdicts}, {one.target for one in verdicts} - {"all"}
    entries = {key: entry for key, entry in old.items() if key not in cases and key in there}
    # What holds of a case in one type holds in others, until somebody looks.
    reasons = {key[0]: entry.reason for key, entry in old.items() if not entry.reason.startswith(OPEN)}
    for key, entry in found(verdicts).items():
        before = old.get(key)
        kept = {target: factor for target, factor in (before.factors if before else {}).items() if target not in targets and target != "refused"}
        for target, factor in entry.factors.items():
            listed = before.factors.get(target) if before else None
            if target == "refused":
                kept[target] = 0
            elif factor >= MOST or listed:
                # A figure that is near the one in the list stays, so that the list changes where speed does.
                kept[target] = listed if listed and listed / GROWTH < factor < listed * SLACK else rounded(factor)
        if kept:
            entries[key] = Entry(kept, before.reason if before else reasons.get(key[0], entry.reason))
    # Cases differ in the targets that they are swept for. One that is refused was compiled for those of which the list says so, else for all.
    pairs = {(target, one.case, one.kind) for one in verdicts
             for target in ([one.target] if not one.problem else known.targets(one.case, one.kind) or targets)}
    for target, kind in {(target, kind) for target, _, kind in pairs}:
        names = known.swept.setdefault((target, kind), set())
        names |= {case for where, case, other in pairs if (where, other) == (target, kind)}
        if "*" in names or names >= {case for case, other in there if other == kind}:
            known.swept[target, kind] = {"*"}
    head = [line for line in path.read_text().splitlines() if line.startswith("#")] if path.exists() else []
    swept = [f"swept {target} {kind}: {' '.join(sorted(names))}" for (target, kind), names in sorted(known.swept.items())]
    groups = {}
    for key, entry in sorted(entries.items()):
        groups.setdefault("" if entry.reason.startswith(OPEN) else entry.reason, []).append(entry.line(key))
    lines = [line for reason, group in sorted(groups.items()) for line in (["", f"cause: {reason}"] if reason else [""]) + group]
    path.write_text("\n".join(head + swept + lines) + "\n")
