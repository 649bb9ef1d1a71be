package chat

import (
	"math"
	"math/big"
	"strings"
	"unicode/utf8"
)

// normInt keeps integers as int64 where they fit.
func normInt(n *big.Int) Value {
	if n.IsInt64() {
		return n.Int64()
	}
	return n
}

func toBig(v Value) *big.Int {
	switch v := v.(type) {
	case int64:
		return big.NewInt(v)
	case *big.Int:
		return v
	}
	return new(big.Int)
}

func (in *interp) toFloat(v Value) float64 {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case *big.Int:
		f, _ := new(big.Float).SetInt(v).Float64()
		if math.IsInf(f, 0) {
			in.fail(KindRuntime, "OverflowError: int too large to convert to float")
		}
		return f
	case float64:
		return v
	}
	return 0
}

// binary evaluates an arithmetic operator as Python does.
func (in *interp) binary(op string, a, b Value) Value {
	x, okx := numOf(a)
	y, oky := numOf(b)
	if okx && oky {
		_, fx := x.(float64)
		_, fy := y.(float64)
		if fx || fy || op == "/" {
			return in.floatOp(op, x, y)
		}
		return in.intOp(op, x, y)
	}
	if op == "%" {
		if s, ok := textOf(a); ok {
			return like(a, in.percent(s, b))
		}
	}
	in.undefFail(a)
	in.undefFail(b)
	switch op {
	case "+":
		if v, ok := in.addSeq(a, b); ok {
			return v
		}
	case "*":
		if oky {
			if v, ok := in.repeat(a, y); ok {
				return v
			}
		}
		if okx {
			if v, ok := in.repeat(b, x); ok {
				return v
			}
		}
	}
	in.typeErr("unsupported operand type(s) for %s: '%s' and '%s'", op, typeName(a), typeName(b))
	return nil
}

// addSeq joins strings, lists or tuples.
func (in *interp) addSeq(a, b Value) (Value, bool) {
	if s, ok := textOf(a); ok {
		t, ok := textOf(b)
		if !ok {
			in.typeErr(`can only concatenate str (not "%s") to str`, typeName(b))
		}
		_, ma := a.(markup)
		_, mb := b.(markup)
		if ma != mb {
			if ma {
				t = escapeHTML(t)
			} else {
				s = escapeHTML(s)
			}
		}
		in.checkSize(int64(len(s) + len(t)))
		r := in.made(s + t)
		if ma || mb {
			return markup(r), true
		}
		return r, true
	}
	switch x := a.(type) {
	case *List:
		y, ok := b.(*List)
		if !ok {
			in.typeErr(`can only concatenate list (not "%s") to list`, typeName(b))
		}
		return in.newList(append(x.Items[:len(x.Items):len(x.Items)], y.Items...)), true
	case Tuple:
		y, ok := b.(Tuple)
		if !ok {
			in.typeErr(`can only concatenate tuple (not "%s") to tuple`, typeName(b))
		}
		in.alloc(int64(len(x)+len(y)) * 16)
		return append(x[:len(x):len(x)], y...), true
	}
	return nil, false
}

func (in *interp) repeat(v, count Value) (Value, bool) {
	n, ok := count.(int64)
	_, isBig := count.(*big.Int)
	switch v.(type) {
	case string, markup, *List, Tuple:
		if isBig {
			in.fail(KindLimit, "OverflowError: repetition count of more than 64 bits")
		}
	default:
		return nil, false
	}
	if !ok {
		return nil, false
	}
	n = max(n, 0)
	if s, ok := textOf(v); ok {
		in.checkProduct(n, int64(len(s)))
		return like(v, in.made(strings.Repeat(s, int(n)))), true
	}
	switch x := v.(type) {
	case *List:
		return &List{Items: in.repeatItems(x.Items, n)}, true
	case Tuple:
		return Tuple(in.repeatItems(x, n)), true
	}
	return nil, false
}

func (in *interp) repeatItems(items []Value, n int64) []Value {
	in.checkProduct(n, int64(len(items))*16)
	if len(items) == 0 {
		return nil
	}
	out := make([]Value, 0, int(n)*len(items))
	for range n {
		out = append(out, items...)
	}
	return out
}

func (in *interp) intOp(op string, a, b Value) Value {
	x, ok1 := a.(int64)
	y, ok2 := b.(int64)
	if ok1 && ok2 {
		if v, ok := smallOp(op, x, y); ok {
			return v
		}
	}
	if op == "**" {
		return in.intPow(toBig(a), toBig(b))
	}
	p, q := toBig(a), toBig(b)
	in.work(p.BitLen()/64 + q.BitLen()/64)
	z := new(big.Int)
	switch op {
	case "+":
		z.Add(p, q)
	case "-":
		z.Sub(p, q)
	case "*":
		z.Mul(p, q)
	default:
		if q.Sign() == 0 {
			in.zeroDiv("integer division or modulo by zero")
		}
		m := new(big.Int)
		z.DivMod(p, q, m) // Euclidean; Python floors
		if m.Sign() != 0 && q.Sign() < 0 {
			z.Sub(z, big.NewInt(1))
			m.Add(m, q)
		}
		if op == "%" {
			z = m
		}
	}
	in.checkInt(z)
	return normInt(z)
}

func (in *interp) zeroDiv(msg string) { in.fail(KindRuntime, "ZeroDivisionError: %s", msg) }

func (in *interp) checkInt(z *big.Int) {
	if z.BitLen() > in.lim.MaxIntBits {
		in.fail(KindLimit, "integer of %d bits; the limit is %d", z.BitLen(), in.lim.MaxIntBits)
	}
}

// smallOp is the 64-bit path; false where the result may not fit or the general path must decide.
func smallOp(op string, x, y int64) (Value, bool) {
	const half = 1 << 31
	switch op {
	case "+":
		z := x + y
		return z, (z > x) == (y > 0)
	case "-":
		z := x - y
		return z, (z < x) == (y > 0)
	case "*":
		return x * y, x > -half && x < half && y > -half && y < half
	case "//", "%":
		if y == 0 || y == -1 {
			return nil, false
		}
		q, m := x/y, x%y
		if m != 0 && (m < 0) != (y < 0) {
			q, m = q-1, m+y
		}
		if op == "%" {
			return m, true
		}
		return q, true
	}
	return nil, false
}

func (in *interp) intPow(x, y *big.Int) Value {
	if y.Sign() < 0 {
		if x.Sign() == 0 {
			in.zeroDiv("0.0 cannot be raised to a negative power")
		}
		return math.Pow(in.toFloat(normInt(x)), in.toFloat(normInt(y)))
	}
	tooBig := !y.IsInt64() || y.Int64() > int64(in.lim.MaxIntBits)
	if x.BitLen() > 1 && (tooBig || y.Int64()*int64(x.BitLen()-1) > int64(in.lim.MaxIntBits)) {
		in.fail(KindLimit, "power with more than %d bits", in.lim.MaxIntBits)
	}
	if x.BitLen() <= 1 { // 0, 1, -1
		if x.Sign() < 0 && y.Bit(0) == 0 || y.Sign() == 0 { // also 0 ** 0
			return int64(1)
		}
		return normInt(x)
	}
	z := new(big.Int).Exp(x, y, nil)
	in.checkInt(z)
	return normInt(z)
}

func (in *interp) floatOp(op string, a, b Value) Value {
	if op == "/" {
		if v, ok := in.intDiv(a, b); ok {
			return v
		}
	}
	x, y := in.toFloat(a), in.toFloat(b)
	switch op {
	case "+":
		return x + y
	case "-":
		return x - y
	case "*":
		return x * y
	case "**":
		return in.floatPow(x, y)
	}
	if y == 0 {
		in.zeroDiv(map[string]string{"/": "float division by zero", "//": "float floor division by zero",
			"%": "float modulo"}[op])
	}
	if op == "/" {
		return x / y
	}
	q, m := floorMod(x, y)
	if op == "%" {
		return m
	}
	return q
}

// floorMod follows CPython's float_divmod: the remainder has the divisor's sign.
func floorMod(x, y float64) (float64, float64) {
	m := math.Mod(x, y)
	div := (x - m) / y
	if m != 0 {
		if (y < 0) != (m < 0) {
			m += y
			div--
		}
	} else {
		m = math.Copysign(0, y)
	}
	if div == 0 {
		return math.Copysign(0, x/y), m
	}
	q := math.Floor(div)
	if div-q > 0.5 {
		q++
	}
	return q, m
}

// intDiv is true division of two integers, correctly rounded also beyond 53 bits.
func (in *interp) intDiv(a, b Value) (Value, bool) {
	if _, ok := a.(float64); ok {
		return nil, false
	}
	if _, ok := b.(float64); ok {
		return nil, false
	}
	q := toBig(b)
	if q.Sign() == 0 {
		in.zeroDiv("division by zero")
	}
	f, _ := new(big.Rat).SetFrac(toBig(a), q).Float64()
	if math.IsInf(f, 0) {
		in.fail(KindRuntime, "OverflowError: integer division result too large for a float")
	}
	return f, true
}

func (in *interp) floatPow(x, y float64) Value {
	if x == 0 && y < 0 {
		in.zeroDiv("0.0 cannot be raised to a negative power")
	}
	if x < 0 && y != math.Trunc(y) && !math.IsInf(x, 0) && !math.IsInf(y, 0) {
		in.fail(KindRuntime, "TypeError: complex numbers are not supported (negative number to a fractional power)")
	}
	z := math.Pow(x, y)
	if math.IsInf(z, 0) && !math.IsInf(x, 0) && !math.IsInf(y, 0) {
		in.fail(KindRuntime, "OverflowError: (34, 'Numerical result out of range')")
	}
	return z
}

// unary evaluates + and -.
func (in *interp) unary(op string, v Value) Value {
	in.undefFail(v)
	x, ok := numOf(v)
	if !ok {
		in.typeErr("bad operand type for unary %s: '%s'", op, typeName(v))
	}
	if op == "+" {
		return x
	}
	switch x := x.(type) {
	case int64:
		if x != math.MinInt64 {
			return -x
		}
	case float64:
		return -x
	}
	return normInt(new(big.Int).Neg(toBig(x)))
}

// like gives s the string type of v, so that the methods of a Markup stay Markup.
func like(v Value, s string) Value {
	if _, ok := v.(markup); ok {
		return markup(s)
	}
	return s
}

var htmlEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;")

func escapeHTML(s string) string { return htmlEscaper.Replace(s) }

func runeLen(s string) int64 { return int64(utf8.RuneCountInString(s)) }
