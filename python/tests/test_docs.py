# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What docs/python.md and README.md show runs, and so does examples/sentence-search."""

import doctest
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import digits

ROOT = pathlib.Path(os.environ["KPC_SOURCE"])
SKIPPED = 77


class Pages(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        self.folder = pathlib.Path(folder.name)
        for name in ("digits.onnx", "images.npy"):
            shutil.copy(digits.FOLDER / name, self.folder)
        os.chdir(self.folder)

    def test_the_page_on_python(self):
        text = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
        blocks = "\n".join(re.findall(r"^```python\n(.*?)^```", text, re.M | re.S))
        test = doctest.DocTestParser().get_doctest(blocks, {}, "docs/python.md", "docs/python.md", 0)
        self.assertGreater(len(test.examples), 20)
        result = doctest.DocTestRunner(optionflags=doctest.IGNORE_EXCEPTION_DETAIL).run(test)
        self.assertEqual(result.failed, 0)

    def test_the_first_page(self):
        text = (ROOT / "README.md").read_text(encoding="utf-8")
        block, = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
        names = {}
        exec(compile(block, "README.md", "exec"), names)  # pylint: disable=exec-used
        self.assertEqual(names["scores"].shape, (360, 10))


class Examples(unittest.TestCase):
    def test_sentence_search(self):
        example = ROOT / "examples" / "sentence-search"
        with tempfile.TemporaryDirectory() as folder:
            made = subprocess.run([sys.executable, example / "prepare.py", folder], capture_output=True, text=True, check=False)
            if made.returncode == SKIPPED:
                self.skipTest(made.stdout.strip())
            self.assertEqual(made.returncode, 0, made.stderr)
            found = subprocess.run([sys.executable, example / "search.py", folder, example / "lines.txt",
                                    "How can I get back into my account?"], capture_output=True, text=True, check=False)
            self.assertEqual(found.returncode, 0, found.stderr)
            lines = found.stdout.splitlines()
            self.assertIn("Reset your password", lines[0])
            self.assertEqual(len(lines), 3)


if __name__ == "__main__":
    unittest.main()
