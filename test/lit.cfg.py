# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Text tests: what a pass or a command makes of a file. Parameters come from kpc_add_lit_suite."""
import ctypes
import os
import shutil
import subprocess

import lit.formats

config.name = "kpc"
config.test_format = lit.formats.ShTest(True)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = lit_config.params.get("kpc_test_out", os.path.join(config.test_source_root, "out"))

tools = [lit_config.params[name] for name in ("kpc_bin", "kpc_llvm_bin") if name in lit_config.params]
config.environment["PATH"] = os.pathsep.join(tools + [os.environ["PATH"]])
# `python3` may be a script that looks for the interpreter at each start, which takes longer than most commands here.
python = subprocess.run(["python3", "-c", "import sys; print(sys.executable)"], stdout=subprocess.PIPE, text=True, check=True)
config.substitutions.append((r"\bpython3\b", python.stdout.strip()))
config.environment["FILECHECK_OPTS"] = "--dump-input=fail"
config.environment["KPC_VERIFY_KERNELS"] = "1"

# Keys for signatures are made by OpenSSL's command, and read by its library.
try:
    ctypes.CDLL("libcrypto.so.3")
    if shutil.which("openssl"):
        config.available_features.add("openssl")
except OSError:
    pass

# Whether NVIDIA's driver is here, which decides where an artifact with GPU code runs.
try:
    ctypes.CDLL("libcuda.so.1")
except OSError:
    config.available_features.add("no-driver")
