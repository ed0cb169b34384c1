#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Speaks with kpc-lsp-server as an editor does, over its standard input and output.

    python3 lsp_server.py build/dev/bin/kpc-lsp-server
"""

import json
import subprocess
import sys
import unittest

GRAPH = """\
!x = !graph.tensor<[n, 4], f32>
func.func @main(%x: !x) -> !x {
  %rectified = graph.relu %x : !x
  %result = graph.neg %rectified : !x
  return %result : !x
}
"""
# A plan, and the level in between, are known too.
KERNEL = """\
func.func @kernel(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %sum = linalg.add ins(%x, %x : tensor<?xf32>, tensor<?xf32>) outs(%y : tensor<?xf32>) -> tensor<?xf32>
  return %sum : tensor<?xf32>
}
"""


class Server:
    """One process of the server; requests one after the other."""

    def __init__(self, program):
        self.process = subprocess.Popen([program, "--log=error"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.requests = 0

    def send(self, method, params, **fields):
        body = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **fields}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()

    def receive(self):
        length = 0
        while (line := self.process.stdout.readline().strip()) != b"":
            name, value = line.split(b":")
            if name == b"Content-Length":
                length = int(value)
        if not length:
            raise EOFError("the server is gone")
        return json.loads(self.process.stdout.read(length))

    def ask(self, method, params):
        self.requests += 1
        self.send(method, params, id=self.requests)
        while (answer := self.receive()).get("id") != self.requests:
            pass
        return answer["result"]

    def open(self, uri, text):
        """Opens a file and returns what the server has to say about it."""
        self.send("textDocument/didOpen",
                  {"textDocument": {"uri": uri, "languageId": "mlir", "version": 1, "text": text}})
        while (answer := self.receive()).get("method") != "textDocument/publishDiagnostics":
            pass
        return answer["params"]["diagnostics"]


def place(uri, text, word, nth=0):
    """Where a word stands: its nth occurrence."""
    offset = -1
    for _ in range(nth + 1):
        offset = text.index(word, offset + 1)
    before = text[:offset].split("\n")
    return {"textDocument": {"uri": uri},
            "position": {"line": len(before) - 1, "character": len(before[-1]) + 1}}


class LspServerTest(unittest.TestCase):
    def setUp(self):
        self.server = Server(PROGRAM)
        answer = self.server.ask("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
        self.assertTrue(answer["capabilities"]["hoverProvider"])
        self.assertTrue(answer["capabilities"]["definitionProvider"])
        self.server.send("initialized", {})

    def tearDown(self):
        self.server.ask("shutdown", None)
        self.server.send("exit", None)
        self.assertEqual(self.server.process.wait(20), 0)
        self.server.process.stdin.close()
        self.server.process.stdout.close()

    def test_hover_names_the_op(self):
        uri = "file:///model.graph.mlir"
        self.assertEqual(self.server.open(uri, GRAPH), [])
        hover = self.server.ask("textDocument/hover", place(uri, GRAPH, "graph.neg"))
        self.assertIn('"graph.neg"', hover["contents"]["value"])
        self.assertIn("!graph.tensor<[n, 4], f32>", hover["contents"]["value"])

    def test_definition_of_a_value(self):
        uri = "file:///model.graph.mlir"
        self.assertEqual(self.server.open(uri, GRAPH), [])
        found = self.server.ask("textDocument/definition", place(uri, GRAPH, "%rectified", 1))
        self.assertEqual(found[0]["range"]["start"]["line"], 2)

    def test_a_verifier_error_is_a_diagnostic(self):
        broken = GRAPH.replace("-> !x {", "-> !graph.tensor<[n, 5], f32> {").replace(
            "return %result : !x", "%r = graph.reshape %result : !x to !graph.tensor<[n, 5], f32>\n"
            "  return %r : !graph.tensor<[n, 5], f32>")
        said = self.server.open("file:///broken.graph.mlir", broken)
        self.assertEqual(len(said), 1)
        self.assertEqual(said[0]["range"]["start"]["line"], 4)
        self.assertIn("elements", said[0]["message"])

    def test_the_form_of_kernels(self):
        self.assertEqual(self.server.open("file:///model.linalg.mlir", KERNEL), [])


if __name__ == "__main__":
    PROGRAM = sys.argv.pop()
    unittest.main()
