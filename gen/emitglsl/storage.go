package emitglsl

import (
	"fmt"
	"strings"
)

// access gives the block's qualifier for read, write and readwrite, with the accessors that go with it.
var access = map[string]struct {
	qualifier   string
	read, write bool
}{
	"read":      {"readonly ", true, false},
	"write":     {"writeonly ", false, true},
	"readwrite": {"", true, true},
}

// buffer declares a tensor of any storage type at a binding, with its accessors:
//
//	uint  xType                  constant 100+binding: 0 f32, 1 bf16, 2 f16
//	float x(uint i)              element i
//	vec4  x4(uint i)             elements 4i .. 4i+3
//	void  x8(uint i, out vec4 a, out vec4 b)   elements 8i .. 8i+7: one 16-byte load for 16-bit storage
//	void  setX(uint i, float v)  f32 storage only
//	void  setX2(uint i, vec2 v)  elements 2i, 2i+1, rounded to nearest even
//	void  setX4(uint i, vec4 v)  elements 4i .. 4i+3, rounded to nearest even
//
// The same bytes are declared as words of 4, 8 and 16 bytes, so that drivers issue the widest load.
func buffer(binding int, name, mode string) (string, error) {
	return typed(binding, name, mode, declareViews+readers, writers)
}

// buffer64 is buffer for devices with 64-bit integers whose loads cost by the word, not by the byte (lavapipe).
func buffer64(binding int, name, mode string) (string, error) {
	return typed(binding, name, mode, declareViews64+readers64, writers64)
}

// storage is buffer64 if wide, else buffer: for templates that make both variants.
func storage(wide bool, binding int, name, mode string) (string, error) {
	if wide {
		return buffer64(binding, name, mode)
	}
	return buffer(binding, name, mode)
}

func typed(binding int, name, mode, read, write string) (string, error) {
	a, ok := access[mode]
	if !ok {
		return "", fmt.Errorf("buffer %d %s: access is %q, want read, write or readwrite", binding, name, mode)
	}
	views, readers, _ := strings.Cut(read, "\n\n")
	text := views + "\n"
	if a.read {
		text += "\n" + readers
	}
	if a.write {
		text += write
	}
	return strings.NewReplacer(
		"NAME", name, "CAP", capital(name), "BINDING", fmt.Sprint(binding), "ID", fmt.Sprint(100+binding),
		"QUAL ", a.qualifier).Replace(text), nil
}

const declareViews = `
layout(constant_id = ID) const uint NAMEType = 0;
layout(binding = BINDING, std430) QUAL buffer CAPWords { uint NAMEWord[]; };
layout(binding = BINDING, std430) QUAL buffer CAPPairs { uvec2 NAMEPair[]; };
layout(binding = BINDING, std430) QUAL buffer CAPQuads { uvec4 NAMEQuad[]; };
`

const readers = `
float NAME(uint i) {
    if (NAMEType == F32) return uintBitsToFloat(NAMEWord[i]);
    const vec2 v = unpack2(NAMEType, NAMEWord[i >> 1]);
    return (i & 1u) == 0u ? v.x : v.y;
}
vec4 NAME4(uint i) {
    if (NAMEType == F32) return uintBitsToFloat(NAMEQuad[i]);
    const uvec2 w = NAMEPair[i];
    return vec4(unpack2(NAMEType, w.x), unpack2(NAMEType, w.y));
}
void NAME8(uint i, out vec4 a, out vec4 b) {
    if (NAMEType == F32) {
        a = uintBitsToFloat(NAMEQuad[2 * i]);
        b = uintBitsToFloat(NAMEQuad[2 * i + 1]);
        return;
    }
    const uvec4 w = NAMEQuad[i];
    a = vec4(unpack2(NAMEType, w.x), unpack2(NAMEType, w.y));
    b = vec4(unpack2(NAMEType, w.z), unpack2(NAMEType, w.w));
}
`

const writers = `
void setCAP(uint i, float v) { NAMEWord[i] = floatBitsToUint(v); }
void setCAP2(uint i, vec2 v) {
    if (NAMEType == F32) NAMEPair[i] = floatBitsToUint(v);
    else NAMEWord[i] = pack2(NAMEType, v);
}
void setCAP4(uint i, vec4 v) {
    if (NAMEType == F32) NAMEQuad[i] = floatBitsToUint(v);
    else NAMEPair[i] = uvec2(pack2(NAMEType, v.xy), pack2(NAMEType, v.zw));
}
`

const declareViews64 = `
layout(constant_id = ID) const uint NAMEType = 0;
layout(binding = BINDING, std430) QUAL buffer CAPWords { uint NAMEWord[]; };
layout(binding = BINDING, std430) QUAL buffer CAPPairs { uint64_t NAMEPair[]; };
layout(binding = BINDING, std430) QUAL buffer CAPQuads { u64vec2 NAMEQuad[]; };
layout(binding = BINDING, std430) QUAL buffer CAPOcts { u64vec4 NAMEOct[]; };
`

const readers64 = `
float NAME(uint i) {
    if (NAMEType == F32) return uintBitsToFloat(NAMEWord[i]);
    const vec2 v = unpack2(NAMEType, NAMEWord[i >> 1]);
    return (i & 1u) == 0u ? v.x : v.y;
}
vec4 NAME4(uint i) {
    if (NAMEType == F32) return floats(NAMEQuad[i]);
    return widen(NAMEType, NAMEPair[i]);
}
void NAME8(uint i, out vec4 a, out vec4 b) {
    if (NAMEType == F32) {
        const u64vec4 w = NAMEOct[i];
        a = floats(w.xy);
        b = floats(w.zw);
        return;
    }
    const u64vec2 w = NAMEQuad[i];
    a = widen(NAMEType, w.x);
    b = widen(NAMEType, w.y);
}
`

const writers64 = `
void setCAP(uint i, float v) { NAMEWord[i] = floatBitsToUint(v); }
void setCAP2(uint i, vec2 v) {
    if (NAMEType == F32) NAMEPair[i] = pack64(floatBitsToUint(v));
    else NAMEWord[i] = pack2(NAMEType, v);
}
void setCAP4(uint i, vec4 v) {
    if (NAMEType == F32) NAMEQuad[i] = u64vec2(pack64(floatBitsToUint(v.xy)), pack64(floatBitsToUint(v.zw)));
    else NAMEPair[i] = pack64(uvec2(pack2(NAMEType, v.xy), pack2(NAMEType, v.zw)));
}
`

// ibuffer declares I32 words: int name[].
func ibuffer(binding int, name, mode string) (string, error) {
	return plain(binding, name, mode, "int")
}

// ubuffer declares U32 words: uint name[].
func ubuffer(binding int, name, mode string) (string, error) {
	return plain(binding, name, mode, "uint")
}

// fbuffer declares words that are always f32 (statistics, losses): float name[].
func fbuffer(binding int, name, mode string) (string, error) {
	return plain(binding, name, mode, "float")
}

func plain(binding int, name, mode, typ string) (string, error) {
	a, ok := access[mode]
	if !ok {
		return "", fmt.Errorf("buffer %d %s: access is %q, want read, write or readwrite", binding, name, mode)
	}
	return fmt.Sprintf("layout(binding = %d, std430) %sbuffer %sBlock { %s %s[]; };",
		binding, a.qualifier, capital(name), typ, name), nil
}

func capital(name string) string { return strings.ToUpper(name[:1]) + name[1:] }
