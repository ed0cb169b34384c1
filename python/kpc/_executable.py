# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The bundled command `kpc`, and how the package asks it.

The compiler runs in a process of its own: a fault of it is an exception here and not the end of the program, the GIL is
free, Ctrl-C ends it with all its workers, and LLVM shares no symbols with what the program has loaded.
"""

from __future__ import annotations

import json
import logging
import os
import pathlib
import signal
import subprocess
import sys
import threading
from typing import Any, Callable, NoReturn, Sequence

from ._errors import CompileError, Diagnostic, InternalError, UsageError, diagnostics_of_text, in_python

log = logging.getLogger("kpc")

FOLDER = pathlib.Path(__file__).resolve().parent
EMULATOR = FOLDER / "lib" / "libkpc_emulator_driver.so"

#: What is done now, how much of it, and of how much: ``("kernels", 12, 40)``.
ProgressCallback = Callable[[str, int, int], None]

INTERNAL_FAULT, WRONG_USAGE, INTERRUPTED = 70, 2, 130
_SECONDS_TO_END = 10.0  # after Ctrl-C; kpc itself gives up after 3


def executable() -> str:
    """The path of the bundled `kpc`; the variable KPC_EXECUTABLE names another."""
    return os.environ.get("KPC_EXECUTABLE") or str(FOLDER / "bin" / "kpc")


def main() -> NoReturn:
    """The console script: becomes the bundled command."""
    path = executable()
    os.execv(path, [path, *sys.argv[1:]])


class Bar:
    """A progress bar on the standard error, taken away at the end."""

    def __init__(self) -> None:
        self.shown = False

    def __call__(self, phase: str, done: int, total: int) -> None:
        width = 30
        bar = f" [{'=' * (width * done // total):<{width}}] {done}/{total}" if total > 1 else ""
        sys.stderr.write(f"\r{phase:<12}{bar}\033[K")
        sys.stderr.flush()
        self.shown = True

    def clear(self) -> None:
        if self.shown:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()


def _in_notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"


def _shower(progress: bool | ProgressCallback | None) -> ProgressCallback | None:
    if callable(progress):
        return progress
    if progress is None:
        progress = sys.stderr is not None and (sys.stderr.isatty() or _in_notebook())
    return Bar() if progress else None


class Reply:
    """What a command gave: its exit code and both its texts."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    def json(self) -> Any:
        """The JSON of the standard output; raises what the command said where there is none."""
        try:
            return json.loads(self.out)
        except json.JSONDecodeError:
            self.fail()

    def fail(self, diagnostics: Sequence[Diagnostic] | None = None, reproducer: str = "", replay: str = "") -> NoReturn:
        """Raises the exception that fits the exit code."""
        found = list(diagnostics) if diagnostics is not None else []
        for diagnostic in diagnostics_of_text(self.err):
            if diagnostic.code not in {d.code for d in found}:
                found.append(diagnostic)
        text = "\n".join(str(d) for d in found) or self.err.strip() or f"kpc ended with exit code {self.code} and said nothing"
        text += in_python(text)
        if self.code == WRONG_USAGE:
            raise UsageError(text, found)
        if self.code == INTERNAL_FAULT or self.code < 0:
            how = f"kpc was ended by signal {-self.code}" if self.code < 0 else ""
            raise InternalError("\n".join(part for part in (text, how) if part), found, reproducer, replay)
        raise CompileError(text, found)


def _read_errors(stream: Any, show: ProgressCallback | None, kept: list[str], failed: list[BaseException]) -> None:
    for line in stream:
        if line.startswith('{"phase":'):
            try:
                entry = json.loads(line)
                if show and not failed:
                    show(entry["phase"], entry["done"], entry["total"])
            except Exception as error:  # the caller's callback; told when the command has ended
                failed.append(error)
        else:
            kept.append(line)


def ask(arguments: Sequence[str], progress: bool | ProgressCallback | None = False) -> Reply:
    """Runs `kpc` with these arguments. Ctrl-C ends it and is raised here, when nothing of it is left."""
    show = _shower(progress)
    log.debug("kpc %s", " ".join(arguments))
    # In a session of its own a terminal's Ctrl-C reaches kpc once: from here.
    process = subprocess.Popen([executable(), *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, encoding="utf-8", errors="replace", start_new_session=True)
    out: list[str] = []
    err: list[str] = []
    failed: list[BaseException] = []
    readers = [threading.Thread(target=lambda: out.append(process.stdout.read()), daemon=True),  # type: ignore[union-attr]
               threading.Thread(target=_read_errors, args=(process.stderr, show, err, failed), daemon=True)]
    for reader in readers:
        reader.start()
    try:
        code = process.wait()
        for reader in readers:
            reader.join()
    except BaseException:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(_SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for reader in readers:
            reader.join(1)
        raise
    finally:
        if isinstance(show, Bar):
            show.clear()
        if process.returncode is not None:
            for stream in (process.stdout, process.stderr):
                if stream and not any(reader.is_alive() for reader in readers):
                    stream.close()
    if failed:
        raise failed[0]
    if code == INTERRUPTED:  # by someone else
        raise KeyboardInterrupt
    return Reply(code, "".join(out), "".join(err))
