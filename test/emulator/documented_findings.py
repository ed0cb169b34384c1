#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every example of docs/emulator-findings.md gives the finding that its heading names.   documented_findings.py KPC-EMULATE PAGE SOURCE

SOURCE is emulator/execute/Finding.cpp, whose names must all be there. An example is the body of a kernel; its first line may say
how it is launched ("// threads 64, blocks 4, cluster 2, target sm_100a, seconds 0.1").
"""

import pathlib
import re
import subprocess
import sys
import tempfile

DEFAULTS = {"threads": "32", "blocks": "1", "cluster": "", "target": "sm_90a", "seconds": "60", "early": ""}


def kernel(body, launch):
    cluster = f".reqnctapercluster {launch['cluster']}" if launch["cluster"] else ""
    return f"""
.version 8.8
.target {launch['target']}
.address_size 64
.const .u32 constant = 1;
.visible .entry k(.param .u64 in, .param .u64 out) {cluster} {{
.reg .pred %p<16>; .reg .b16 %rs<16>; .reg .b32 %r<64>; .reg .b64 %rd<32>;
.shared .align 1024 .b8 tile[4096]; .shared .align 8 .b64 bar;
ld.param.u64 %rd0, [in]; ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 4;
add.u64 %rd2, %rd0, %rd3; add.u64 %rd3, %rd1, %rd3;
{body}
ret; }}
"""


def run(program, body, folder):
    launch = dict(DEFAULTS)
    if head := re.match(r"// ((?:\w+ [\w.]+(?:, )?)+)\n", body):
        launch |= dict(part.split(" ") for part in head[1].split(", "))
    text = folder / "k.ptx"
    text.write_text(kernel(body, launch))
    (folder / "in").write_bytes(bytes(4096))
    done = subprocess.run([program, text, "--entry", "k", "--grid", launch["blocks"], "--block", launch["threads"],
                           "--time-limit", launch["seconds"], *(["--begins-early"] if launch["early"] else []), "--arg",
                           f"in:{folder / 'in'}", "--arg", f"out:256:{folder / 'out'}"], capture_output=True, text=True, timeout=60)
    return done.stdout + done.stderr


def main():
    program, page, source = sys.argv[1:]
    names = set(re.findall(r'return "([a-z-]+)";', pathlib.Path(source).read_text())) - {"unknown"}
    sections = re.split(r"(?m)^### ", pathlib.Path(page).read_text())[1:]
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for section in sections:
            name = section.split("\n", 1)[0].strip(" `")
            names.discard(name)
            blocks = re.findall(r"```ptx\n(.*?)```", section, re.S)
            for body in blocks:
                text = run(program, body, pathlib.Path(folder))
                found = re.search(r"([a-z-]+): ", text.replace("kpc-emulate: ", "").replace("emulator: ", ""))
                if not found or found[1] != name:
                    print(f"{name}: the example gives {text.strip() or 'nothing'}")
                    failed += 1
            if not blocks and "```cpp" not in section:  # what the host does wrong
                print(f"{name} has no example")
                failed += 1
    for name in sorted(names):
        print(f"{name} is not on the page")
        failed += 1
    print(f"{len(sections)} findings, {failed} wrong")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
