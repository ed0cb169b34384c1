"""Finds the lines of a file that mean what a question means: python search.py MODEL_FOLDER LINES.txt "a question"."""
import pathlib, re, sys
import kpc, numpy as np

folder, lines, question = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).read_text().splitlines(), sys.argv[3]
numbers = {piece: number for number, piece in enumerate((folder / "vocab.txt").read_text(encoding="utf-8").split("\n"))}
session = kpc.compile(folder / "minilm.onnx", arch="host", dims={"batch": (1, 64), "sequence": (2, 256)}).session()

def embed(sentences):
    rows = [["[CLS]", *(p for w in re.findall(r"\w+|[^\w\s]", text.lower()) for p in pieces(w)), "[SEP]"] for text in sentences]
    ids = np.zeros((len(rows), max(map(len, rows))), np.int64)
    for row, found in zip(ids, rows):
        row[:len(found)] = [numbers[piece] for piece in found]
    return session(input_ids=ids, attention_mask=(ids != numbers["[PAD]"]).astype(np.int64))

def pieces(word, mark=""):
    end = next((end for end in range(len(word), 0, -1) if mark + word[:end] in numbers), 0)
    return ([mark + word[:end]] + (pieces(word[end:], "##") if end < len(word) else [])) if end else ["[UNK]"]

for score, line in sorted(zip(embed(lines) @ embed([question])[0], lines), reverse=True)[:3]:
    print(f"{score:.3f}  {line}")
