"""Makes the expected texts of the chat package's tests with Python's Jinja2.

  python3 oracle.py            writes golden.jsonl from cases.txt
  python3 oracle.py --real DIR writes DIR/cases.jsonl from DIR/templates/*.jinja and DIR/inputs.json

Needs jinja2 3.1.6. The environment is set up as transformers does it for chat templates: immutable
sandbox, trim_blocks, lstrip_blocks, loop controls, a generation tag, tojson as json.dumps without
ASCII escapes, raise_exception and strftime_now (here at a fixed time). {% do %} is added.

cases.txt: blocks separated by lines "=== NAME"; the rest is the template, byte for byte but for the
last newline. Every case gets the input below.
"""

import datetime
import json
import pathlib
import sys

import jinja2
from jinja2 import ext, nodes, sandbox

HERE = pathlib.Path(__file__).parent
NOW = datetime.datetime(2026, 12, 1, 13, 5, 9, 123456)
TAG = "CONTINUE_FINAL_MESSAGE_TAG "

INPUT = {
    "messages": [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "Hi <b> & 'you'\n", "n": 3},
        {"role": "assistant", "content": "", "tool_calls": [
            {"type": "function", "function": {"name": "add", "arguments": {"a": 1, "b": [1.5, None, True]}}}]},
        {"role": "tool", "content": "3", "name": "add"},
        {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "What is this? \u65e5\u672c"}]},
    ],
    "tools": [{"type": "function", "function": {"name": "add", "description": "Adds \"a\" & b", "parameters": {
        "type": "object", "properties": {"b": {"type": "number"}, "a": {"type": "number"}}, "required": ["a"]}}}],
    "documents": None,
    "g": True,
    "c": False,
    "special": {"bos_token": "<s>", "eos_token": "</s>"},
    "extra": {
        "nums": [3, 1, 2], "words": ["b", "A", "c", "a"], "empty": [], "pi": 3.14159, "big": 12345678901234567890123,
        "neg": -7, "text": "The quick brown fox", "nothing": None, "yes": True, "uni": "\u00e9\u00df\u01c5 \u0130\U0001f642",
        "d": {"z": 1, "a": 2, "M": {"x": [1, {"y": "deep"}]}, "items": "shadow"},
        "people": [{"name": "Bo", "age": 31, "city": "Oslo"}, {"name": "al", "age": 25, "city": "Rome"},
                   {"name": "Cy", "age": 25, "city": "oslo"}],
        "tree": [{"v": 1, "kids": [{"v": 2, "kids": []}, {"v": 3, "kids": [{"v": 4, "kids": []}]}]}, {"v": 5, "kids": []}],
    },
}


class Generation(ext.Extension):
    """The generation tag: a call block that notes where its text starts and ends."""

    tags = {"generation"}
    written, spans = [], []

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return nodes.CallBlock(self.call_method("_note"), [], [], body).set_lineno(line)

    def _note(self, caller):
        text = caller()
        start = len("".join(self.written))
        self.spans.append((start, start + len(text)))
        return text


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


ENV = sandbox.ImmutableSandboxedEnvironment(
    trim_blocks=True, lstrip_blocks=True, extensions=[Generation, ext.loopcontrols, ext.do])
ENV.filters["tojson"] = tojson
ENV.globals.update(raise_exception=raise_exception, strftime_now=NOW.strftime)


def tagged(messages):
    """Marks the end of the last message; returns what it ended with."""
    content = messages[-1]["content"]
    if isinstance(content, str):
        messages[-1]["content"] += TAG
        return content
    part = [p for p in content if "text" in p][-1]
    text = part["text"]
    part["text"] += TAG
    return text


def render(template, inp):
    inp = json.loads(json.dumps(inp))
    final = tagged(inp["messages"]) if inp["c"] else None
    Generation.written, Generation.spans = [], []
    args = dict(messages=inp["messages"], tools=inp["tools"], documents=inp["documents"],
                add_generation_prompt=inp["g"], **{**inp["special"], **inp["extra"]})
    for piece in ENV.from_string(template).generate(**args):
        Generation.written.append(piece)
    text = "".join(Generation.written)
    if final is not None:
        if final.strip() not in text or TAG.strip() not in text:
            raise ValueError("final message is not in the text")
        at = text.rindex(TAG.strip())
        text = text[:at] if text[at:].startswith(TAG) else text[:at].rstrip()
    return text, Generation.spans


def case(name, template, inp, stored_template):
    row = {"name": name, "template": stored_template, "input": inp}
    try:
        text, spans = render(template, inp)
        row["want"] = text
        text.encode()
        row["spans"] = [[len(text[:a].encode()), len(text[:b].encode())] for a, b in spans]
    except Exception as e:
        row.pop("want", None)
        row["error"] = f"{type(e).__name__}: {e}"[:300]
        row["line"] = getattr(e, "lineno", 0) or 0
    return row


def golden():
    text = (HERE / "cases.txt").read_bytes().decode()
    rows = []
    for block in text.split("=== ")[1:]:
        name, template = block.split("\n", 1)
        row = case(name, template[:-1], INPUT, template[:-1])
        del row["input"]
        rows.append(row)
    write(HERE / "golden.jsonl", [{"name": "INPUT", "input": INPUT}] + rows)


def real(folder):
    inputs = json.loads((folder / "inputs.json").read_text())
    rows = []
    for path in sorted((folder / "templates").glob("*.jinja")):
        with open(path, newline="") as f:
            template = f.read()
        rows += [case(str(i), template, inp, path.name) for i, inp in enumerate(inputs)]
    write(folder / "cases.jsonl", rows)


def write(path, rows):
    with open(path, "w") as f:
        for row in rows:
            f.write(json.dumps(row, ensure_ascii=False) + "\n")
    print(len(rows), "cases,", sum("error" in r for r in rows), "of them errors:", path)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--real"]:
        real(pathlib.Path(sys.argv[2]))
    else:
        golden()
