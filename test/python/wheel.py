#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds the wheel of a tree, installs it into a fresh environment, and runs python/tests there.

    python3 wheel.py --tree build/dev [--cc clang-22 --cxx clang++-22] [TEST...]

nanobind and scikit-build-core come from the environment of the tests (test/requirements.txt), numpy as well, so nothing is
downloaded. Exits 77 (a skip) where one of them is not installed.
"""

import argparse
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77
NEEDED = ("numpy", "nanobind", "scikit_build_core")
LARGEST = 60 << 20  # bytes of a wheel


def build(arguments, folder):
    shutil.rmtree(folder, ignore_errors=True)
    environment = {**os.environ, "CC": arguments.cc, "CXX": arguments.cxx, "KPC_TREE": str(arguments.tree)}
    if shutil.which("ccache"):
        environment |= {"CMAKE_C_COMPILER_LAUNCHER": "ccache", "CMAKE_CXX_COMPILER_LAUNCHER": "ccache"}
    subprocess.run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation",
                    "--disable-pip-version-check", "--wheel-dir", folder, ROOT / "python"], check=True, env=environment)
    wheel, = folder.glob("kpc-*.whl")
    size = wheel.stat().st_size
    print(f"{wheel.name}: {size / (1 << 20):.1f} MiB")
    names = set(zipfile.ZipFile(wheel).namelist())
    missing = {"kpc/bin/kpc", "kpc/lib/libkpc_emulator_driver.so", "kpc/py.typed", "kpc/_runtime.pyi",
               "kpc/licenses/LICENSE"} - names
    if missing or size > LARGEST:
        sys.exit(f"the wheel lacks {sorted(missing)}" if missing else f"expected a wheel of at most {LARGEST} bytes, got {size}")
    return wheel


def install(wheel, folder):
    """A fresh environment with the wheel. Its numpy is the one of the tests."""
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    python = folder / "bin" / "python"
    site = subprocess.run([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], check=True, text=True,
                          capture_output=True).stdout.strip()
    # pip finds numpy there, as it does in an environment that has it.
    (pathlib.Path(site) / "peers.pth").write_text(sysconfig.get_path("purelib") + "\n")
    subprocess.run([sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-index",
                    "--disable-pip-version-check", wheel], check=True)
    return python


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tree", type=pathlib.Path, required=True)
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--cxx", default="c++")
    parser.add_argument("tests", nargs="*")
    arguments = parser.parse_args()
    arguments.tree = arguments.tree.resolve()
    missing = [name for name in NEEDED if not importlib.util.find_spec(name)]
    if missing:
        print(f"SKIPPED: the Python package '{missing[0]}' is not installed")
        return SKIPPED
    folder = arguments.tree / "test" / "python"
    folder.mkdir(parents=True, exist_ok=True)
    python = install(build(arguments, folder / "wheels"), folder / "venv")
    environment = {**os.environ, "KPC_SOURCE": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    tests = arguments.tests or ["discover"]
    return subprocess.run([python, "-W", "error::ResourceWarning", "-m", "unittest", *tests, "-v"],
                          cwd=ROOT / "python" / "tests", env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
