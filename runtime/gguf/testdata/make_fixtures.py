"""Makes the fixtures beside it with the gguf package of PyPI (0.19.0) and its numpy dequantization.

    python make_fixtures.py            types.gguf types.f32 meta.gguf big_endian.gguf ../codebooks.bin
    python make_fixtures.py sums FILE  prints "name type dims sha256(float32 values)" of each tensor of FILE
                                       and "key count sha256(texts)" of each text array, for -real-sums
"""
import hashlib, os, sys
import numpy as np
import gguf
from gguf import GGMLQuantizationType as T, GGUFEndian, GGUFValueType as V, quants

HERE = os.path.dirname(os.path.abspath(__file__))
# type -> byte offsets of its binary16 scales within a block
SCALES = {T.Q4_0: [0], T.Q4_1: [0, 2], T.Q5_0: [0], T.Q5_1: [0, 2], T.Q8_0: [0], T.IQ4_NL: [0], T.MXFP4: [],
          T.Q2_K: [80, 82], T.Q3_K: [108], T.Q4_K: [0, 2], T.Q5_K: [0, 2], T.Q6_K: [208], T.IQ4_XS: [0],
          T.TQ1_0: [52], T.TQ2_0: [64], T.IQ2_XXS: [0], T.IQ2_XS: [0], T.IQ2_S: [0], T.IQ3_XXS: [0], T.IQ3_S: [0],
          T.IQ1_S: [0], T.IQ1_M: [], T.NVFP4: []}
ROWS, COLS = 3, 256


def blocks(rng, t):
    """Random blocks: every bit pattern of the integers may occur, scales are finite halves."""
    per, size = gguf.GGML_QUANT_SIZES[t]
    raw = rng.integers(0, 256, (ROWS * COLS // per, size), dtype=np.uint8)
    for at in SCALES[t]:
        raw[:, at:at + 2] = rng.normal(0, 0.1, (len(raw), 1)).astype(np.float16).view(np.uint8)
    if t == T.IQ1_M:  # the half's nibbles are the top ones of four 16-bit words
        raw[:, 55] = raw[:, 55] & 0x0f | 0x20  # an exponent that is neither 0 nor 31
    return raw.reshape(ROWS, -1)


def codebooks():
    """../codebooks.bin: the vectors that the grid types index, one int8 a value, in the order below."""
    with open(os.path.join(HERE, "..", "codebooks.bin"), "wb") as f:
        for q in (quants.IQ2_XXS, quants.IQ2_XS, quants.IQ2_S, quants.IQ3_XXS, quants.IQ3_S, quants.IQ1_S):
            q.init_grid()
            f.write(q.grid.astype(np.int8).tobytes())


def q8k(rng):
    """Q8_K has no numpy reference: d float32, 256 int8, 16 sums; y = d * q."""
    d = rng.normal(0, 0.1, (ROWS, 1)).astype(np.float32)
    q = rng.integers(-128, 128, (ROWS, 256)).astype(np.int8)
    sums = q.reshape(ROWS, 16, 16).sum(-1).astype(np.int16)
    raw = np.concatenate([d.view(np.uint8), q.view(np.uint8), sums.view(np.uint8)], axis=1)
    return raw, d * q.astype(np.float32)


def types():
    rng = np.random.default_rng(20261201)
    w = gguf.GGUFWriter(os.path.join(HERE, "types.gguf"), "fixture")
    want = []
    x = rng.normal(0, 1, (2, 2, 5)).astype(np.float32)
    w.add_tensor("F32", x); want.append(x)
    h = np.concatenate([x.astype(np.float16).ravel(), np.array([0x0001, 0x83ff, 0x7bff, 0xfc00, 0x8000],
                                                               np.uint16).view(np.float16)])
    w.add_tensor("F16", h); want.append(h.astype(np.float32))
    b = quants.quantize(x.reshape(4, 5), T.BF16)
    w.add_tensor("BF16", b, raw_dtype=T.BF16); want.append(quants.dequantize(b, T.BF16))
    for t in SCALES:
        raw = blocks(rng, t)
        w.add_tensor(t.name, raw, raw_dtype=t); want.append(quants.dequantize(raw, t))
    raw, y = q8k(rng)
    w.add_tensor("Q8_K", raw, raw_dtype=T.Q8_K); want.append(y)
    for name, dt in (("I8", np.int8), ("I16", np.int16), ("F64", np.float64)):
        v = rng.normal(0, 50, 7).astype(dt)
        w.add_tensor(name, v); want.append(v.astype(np.float32))
    finish(w)
    with open(os.path.join(HERE, "types.f32"), "wb") as f:
        f.write(b"".join(np.ascontiguousarray(v, "<f4").tobytes() for v in want))


def meta():
    w = gguf.GGUFWriter(os.path.join(HERE, "meta.gguf"), "fixture")
    w.add_custom_alignment(64)
    for t, v in ((V.UINT8, 200), (V.INT8, -100), (V.UINT16, 60000), (V.INT16, -30000), (V.UINT32, 4000000000),
                 (V.INT32, -2000000000), (V.FLOAT32, 1.5), (V.BOOL, True), (V.STRING, "grüße"),
                 (V.UINT64, 2**64 - 1), (V.INT64, -2**63), (V.FLOAT64, 0.1)):
        w.add_key_value("x." + t.name.lower(), v, t)
    w.add_array("x.ints", [1, -2, 3])
    w.add_array("x.floats", [0.5, -0.25])
    w.add_array("x.bools", [True, False])
    w.add_array("x.texts", ["a", "", "ü"])
    w.add_array("x.nested", [[1, 2], [3]])
    w.add_tokenizer_model("gpt2")
    w.add_tokenizer_pre("default")
    w.add_token_list(["<s>", "</s>", "a", "b", "ab", "<0x00>"])
    w.add_token_scores([0.0, 0.0, -1.0, -2.0, -3.0, 0.0])
    w.add_token_types([3, 3, 1, 1, 1, 6])
    w.add_token_merges(["a b", "  b"])
    w.add_bos_token_id(0)
    w.add_eos_token_id(1)
    w.add_unk_token_id(1)
    w.add_add_bos_token(True)
    w.add_add_space_prefix(False)
    w.add_chat_template([{"name": "default", "template": "{{ m }}"}, {"name": "tool_use", "template": "{{ t }}"}])
    w.add_tensor("t", np.arange(6, dtype=np.float32).reshape(2, 3))
    finish(w)
    w = gguf.GGUFWriter(os.path.join(HERE, "big_endian.gguf"), "fixture", endianess=GGUFEndian.BIG)
    finish(w)


def finish(w):
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def sums(path):
    r = gguf.GGUFReader(path)
    for t in r.tensors:
        y = np.ascontiguousarray(quants.dequantize(t.data, t.tensor_type), "<f4")
        dims = "x".join(str(d) for d in reversed(t.shape.tolist()))
        print("tensor", t.name, t.tensor_type.name, dims, hashlib.sha256(y.tobytes()).hexdigest())
    for k, f in r.fields.items():
        if f.types[:1] == [V.ARRAY] and f.types[-1] == V.STRING:
            text = [bytes(f.parts[i]) for i in f.data]
            print("texts", k, len(text), hashlib.sha256(b"\0".join(text)).hexdigest())


if __name__ == "__main__":
    if sys.argv[1:2] == ["sums"]:
        sums(sys.argv[2])
    else:
        codebooks()
        types()
        meta()
