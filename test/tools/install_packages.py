#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tools/install-packages on machines that are made up: apt and dpkg are scripts of this test's.

    python3 install_packages.py tools/install-packages
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

# What the stand-ins know comes in variables: INSTALLED, AVAILABLE and USER_ID. They write down what they are asked.
STAND_INS = {
    "dpkg-query": 'for name; do :; done; case " $INSTALLED " in *" $name "*) printf "ii " ;; *) exit 1 ;; esac',
    "apt-cache": 'case " $AVAILABLE " in *" $2 "*) ;; *) exit 100 ;; esac',
    "apt-get": 'echo "apt-get $*" >>"$ASKED"',
    "id": 'echo "$USER_ID"',
}
TOOLS = ("bash", "env", "dirname", "mktemp", "rm", "cat")


def wanted():
    lines = (pathlib.Path(SCRIPT).parent / "packages.txt").read_text().splitlines()
    return [line.split()[0] for line in lines if line.strip() and not line.startswith("#")]


class InstallPackagesTest(unittest.TestCase):
    def run_script(self, installed=(), available=(), user=0, options=()):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            for name, body in STAND_INS.items():
                (folder / name).write_text(f"#!/bin/sh\n{body}\n")
                (folder / name).chmod(0o755)
            for name in TOOLS:  # nothing else of this machine's: no sudo
                (folder / name).symlink_to(next(
                    path for path in (pathlib.Path(part) / name for part in os.environ["PATH"].split(os.pathsep))
                    if path.exists()))
            environment = {"PATH": str(folder), "ASKED": str(folder / "asked"), "INSTALLED": " ".join(installed),
                           "AVAILABLE": " ".join(available), "USER_ID": str(user)}
            done = subprocess.run([folder / "bash", SCRIPT, *options], env=environment, capture_output=True, text=True)
            asked = (folder / "asked").read_text() if (folder / "asked").exists() else ""
            return done.returncode, done.stdout + done.stderr, asked

    def test_nothing_to_do(self):
        self.assertEqual(self.run_script(installed=wanted()), (0, "packages: all installed\n", ""))

    def test_installs_what_is_missing_alone(self):
        rest = [name for name in wanted() if name not in ("ccache", "git")]
        code, said, asked = self.run_script(installed=rest, available=wanted())
        self.assertEqual((code, said), (0, "packages: 2 to install: ccache git\npackages: installed\n"))
        self.assertTrue(asked.endswith("install -y --no-install-recommends ccache git\n"), asked)

    def test_dry_run_asks_nothing(self):
        code, said, asked = self.run_script(options=["--dry-run"])
        self.assertEqual((code, asked), (0, ""))
        self.assertIn(f"packages: {len(wanted())} to install: libmlir-22-dev", said)

    def test_says_which_suite_has_llvm(self):
        rest = [name for name in wanted() if "-22" not in name]
        code, said, asked = self.run_script(available=rest)
        self.assertEqual(code, 1)
        self.assertIn("no apt source of this machine has: libmlir-22-dev mlir-22-tools", said)
        self.assertIn("suite `bookworm-security`", said)
        self.assertNotIn("install -y", asked)

    def test_another_missing_package_is_named_by_itself(self):
        code, said, _ = self.run_script(available=[name for name in wanted() if name != "ninja-build"])
        self.assertEqual(code, 1)
        self.assertIn("no apt source of this machine has: ninja-build\n", said)
        self.assertNotIn("bookworm", said)

    def test_needs_root_or_sudo(self):
        code, said, asked = self.run_script(installed=wanted()[1:], user=1000)
        self.assertEqual((code, asked), (1, ""))
        self.assertIn("needs root, and there is no sudo. As root, run: apt-get install libmlir-22-dev", said)


if __name__ == "__main__":
    SCRIPT = os.path.abspath(sys.argv.pop())
    unittest.main()
