package chat

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

func filterAbs(in *interp, v Value, a args) Value {
	in.bind("abs", a, 0)
	x, ok := numOf(v)
	if !ok {
		in.typeErr("bad operand type for abs(): '%s'", typeName(v))
	}
	if f, ok := x.(float64); ok {
		return math.Abs(f)
	}
	return normInt(new(big.Int).Abs(toBig(x)))
}

// filterInt is int(v) with a default where that fails.
func filterInt(in *interp, v Value, a args) Value {
	p := in.bind("int", a, 0, "default", "base")
	def := p[0]
	if def == (missing{}) {
		def = int64(0)
	}
	in.undefFail(v)
	if s, ok := textOf(v); ok {
		if n, ok := in.parseInt(s, in.optInt(p[1], 10, "base")); ok {
			return n
		}
		f, ok := parseFloat(s)
		if !ok {
			return def
		}
		v = f
	}
	x, ok := numOf(v)
	if !ok {
		return def
	}
	f, isFloat := x.(float64)
	if !isFloat {
		return x
	}
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return def
	}
	n, _ := big.NewFloat(f).Int(nil)
	return normInt(n)
}

// parseInt reads an integer as Python's int(s, base) does.
func (in *interp) parseInt(s string, base int64) (Value, bool) {
	s = strings.TrimFunc(s, isPySpace)
	in.work(len(s))
	if len(s) > 4300 || base != 0 && (base < 2 || base > 36) {
		return nil, false
	}
	sign := ""
	if s != "" && (s[0] == '-' || s[0] == '+') {
		sign, s = s[:1], s[1:]
	}
	if s == "" || s[0] == '-' || s[0] == '+' {
		return nil, false
	}
	low := strings.ToLower(s)
	for prefix, b := range map[string]int64{"0x": 16, "0o": 8, "0b": 2} {
		if strings.HasPrefix(low, prefix) && (base == b || base == 0) {
			s, base = strings.TrimPrefix(s[2:], "_"), b
			break
		}
	}
	if base == 0 {
		if strings.Trim(s, "0_") != "" && s[0] == '0' {
			return nil, false
		}
		base = 10
	}
	if strings.HasPrefix(s, "_") || strings.HasSuffix(s, "_") || strings.Contains(s, "__") {
		return nil, false
	}
	n, ok := new(big.Int).SetString(sign+asciiDigits(strings.ReplaceAll(s, "_", "")), int(base))
	if !ok {
		return nil, false
	}
	return normInt(n), true
}

// asciiDigits replaces decimal digits of other scripts, which Python's int and float accept.
func asciiDigits(s string) string {
	if isPlain(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if d, ok := digitValue(r); ok {
			return '0' + rune(d)
		}
		return r
	}, s)
}

// parseFloat reads a float as Python's float(s) does.
func parseFloat(s string) (float64, bool) {
	s = strings.TrimFunc(s, isPySpace)
	if strings.HasPrefix(s, "_") || strings.HasSuffix(s, "_") || strings.Contains(s, "__") {
		return 0, false
	}
	low := strings.ToLower(s)
	if strings.ContainsAny(low, "xp") {
		return 0, false
	}
	for i := range len(s) {
		if s[i] == '_' && (i == 0 || !isDigitByte(s[i-1]) || i+1 == len(s) || !isDigitByte(s[i+1])) {
			return 0, false
		}
	}
	f, err := strconv.ParseFloat(asciiDigits(strings.ReplaceAll(low, "_", "")), 64)
	if err != nil && !strings.Contains(err.Error(), "range") {
		return 0, false
	}
	return f, true
}

func isDigitByte(c byte) bool { return c >= '0' && c <= '9' }

func filterFloat(in *interp, v Value, a args) Value {
	p := in.bind("float", a, 0, "default")
	def := p[0]
	if def == (missing{}) {
		def = 0.0
	}
	in.undefFail(v)
	if s, ok := textOf(v); ok {
		if f, ok := parseFloat(s); ok {
			return f
		}
		return def
	}
	if x, ok := numOf(v); ok {
		return in.toFloat(x)
	}
	return def
}

// filterRound rounds to a precision: half to even as Python's round, or up or down.
func filterRound(in *interp, v Value, a args) Value {
	p := in.bind("round", a, 0, "precision", "method")
	prec := in.optInt(p[0], 0, "precision")
	method := in.optStr(p[1], "common", "method")
	if method != "common" && method != "ceil" && method != "floor" {
		in.fail(KindRuntime, "FilterArgumentError: method must be common, ceil or floor")
	}
	x, ok := numOf(v)
	if !ok {
		in.typeErr("type %s doesn't define __round__ method", typeName(v))
	}
	prec = min(max(prec, -400), 400)
	if method == "common" {
		return in.roundCommon(x, prec)
	}
	scale := math.Pow(10, float64(prec))
	f := in.toFloat(x) * scale
	if math.IsNaN(f) || math.IsInf(f, 0) {
		in.fail(KindRuntime, "OverflowError: cannot convert float %s to integer", floatRepr(f))
	}
	if method == "ceil" {
		return roundResult(math.Ceil(f), prec, scale)
	}
	return roundResult(math.Floor(f), prec, scale)
}

func roundResult(f float64, prec int64, scale float64) Value {
	if f == 0 {
		f = 0 // the integer in between has no negative zero
	}
	if prec == 0 {
		return f
	}
	return f / scale
}

func (in *interp) roundCommon(x Value, prec int64) Value {
	f, isFloat := x.(float64)
	if isFloat {
		return roundFloat(f, int(prec))
	}
	if prec >= 0 {
		return x
	}
	ten := new(big.Int).Exp(big.NewInt(10), big.NewInt(-prec), nil)
	r := new(big.Rat).SetFrac(toBig(x), ten)
	half := new(big.Int)
	num := new(big.Int).Mul(r.Num(), big.NewInt(2))
	num.Add(num, r.Denom())
	half.Div(num, new(big.Int).Mul(r.Denom(), big.NewInt(2)))
	back := new(big.Rat).Sub(new(big.Rat).SetInt(half), r)
	if back.Cmp(big.NewRat(1, 2)) == 0 && half.Bit(0) == 1 {
		half.Sub(half, big.NewInt(1))
	}
	return normInt(half.Mul(half, ten))
}

// roundFloat rounds to prec decimals through the exact decimal value.
func roundFloat(f float64, prec int) float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return f
	}
	if prec >= 0 {
		r, _ := strconv.ParseFloat(strconv.FormatFloat(f, 'f', prec, 64), 64)
		return r
	}
	scale := math.Pow(10, float64(-prec))
	if math.IsInf(scale, 0) {
		return math.Copysign(0, f)
	}
	return math.RoundToEven(f/scale) * scale
}

func filterFileSize(in *interp, v Value, a args) Value {
	binary := in.optTruth(in.bind("filesizeformat", a, 0, "binary")[0], false)
	size, ok := 0.0, false
	if s, isStr := textOf(v); isStr {
		size, ok = parseFloat(s)
	} else if x, isNum := numOf(v); isNum {
		size, ok = in.toFloat(x), true
	}
	if !ok {
		in.undefFail(v)
		in.valueErr("could not convert %s to float", in.repr(v))
	}
	base, suffix := 1000.0, "B"
	names := []string{"k", "M", "G", "T", "P", "E", "Z", "Y"}
	if binary {
		base, suffix, names[0] = 1024, "iB", "K"
	}
	if size == 1 {
		return "1 Byte"
	}
	if size < base {
		return fmt.Sprintf("%d Bytes", int64(size))
	}
	unit := base
	for i, name := range names {
		unit *= base
		if size < unit || i == len(names)-1 {
			return strconv.FormatFloat(base*size/unit, 'f', 1, 64) + " " + name + suffix
		}
	}
	return nil
}

// digitValue gives the value of a decimal digit of any script: they come in runs of ten.
func digitValue(r rune) (int, bool) {
	if !isDecimal(r) {
		return 0, false
	}
	n := 0
	for isDecimal(r-1) && n < 9 {
		r--
		n++
	}
	return n, true
}
