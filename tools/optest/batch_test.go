package optest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/vulcast/vulcast/gen/refrun"
	"github.com/vulcast/vulcast/runtime/gpu"
	"github.com/vulcast/vulcast/runtime/nn"
)

// TestBatchReaders compares what primitives read out of a batch, or make for its tokens, with the definition.
func TestBatchReaders(t *testing.T) {
	d := device(t)
	const B, T, special = 2, 5, 1
	tokens, pos := []int{1, 4, 1, 5, 6, 7, 1, 8, 9, 1}, []int{0, 0, 1, 2, 3, 0, 1, 2, 0, 1}
	seg := []int{0, 1, 1, 1, 1, 1, 1, 1, 2, 2}
	b := &nn.Batch{B: B, T: T, S: T, Tokens: uploadInts(t, d, tokens, B, T), Pos: uploadInts(t, d, pos, B, T),
		Seg: uploadInts(t, d, seg, B, T), KeySeg: uploadInts(t, d, seg, B, T)}
	r := recorder(d, gpu.F32)
	hidden := *b
	r.HidePadding(&hidden, b.Tokens, nn.HidePaddingAttrs{Padding: special})
	each := func(f func(i int) float64) []float64 { return nn.Each(B*T, f) }
	padded := func(i int) float64 {
		if tokens[i] == special {
			return special
		}
		at := special + 1 + pos[i]
		for j := i / T * T; j < i; j++ {
			if tokens[j] == special && seg[j] == seg[i] {
				at--
			}
		}
		return float64(at)
	}
	share := func(i int) float64 {
		if tokens[i] == special {
			return 0
		}
		all, kept := 0.0, 0.0
		for j := i / T * T; j < i/T*T+T; j++ {
			if seg[j] == seg[i] {
				all++
				if tokens[j] != special {
					kept++
				}
			}
		}
		return 0.88 * all / kept
	}
	outs := []struct {
		op   string
		got  gpu.Tensor
		want []float64
	}{
		{"token_positions", r.TokenPositions(b, nn.TokenPositionsAttrs{Padding: special}), each(padded)},
		{"masked_share", r.MaskedShare(b, nn.MaskedShareAttrs{Mask: special, Kept: 0.88}), each(share)},
		{"hide_padding", hidden.KeySeg, []float64{0, 1, 0, 1, 1, 1, 0, 1, 2, 0}},
		{"token_mask", r.TokenMask(b), []float64{0, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
		{"positions", r.Positions(b, nn.PositionsAttrs{Offset: -3}), each(func(i int) float64 { return float64(pos[i] - 3) })},
		{"place", r.Place(b), each(func(i int) float64 { return float64(pos[i]) })},
		{"token_numbers", r.TokenNumbers(b), each(func(i int) float64 { return float64(tokens[i]) })},
		{"token_types", r.TokenTypes(b), make([]float64, B*T)},
		{"constant_index", r.ConstantIndex(b, nn.ConstantIndexAttrs{Value: -7}), each(func(int) float64 { return -7 })},
		{"group_ids", r.GroupIDs(b, nn.GroupIDsAttrs{Groups: 3}), nn.Each(B*T*3, func(i int) float64 { return float64(i % 3) })},
		{"all_keys", r.AllKeys(b), each(func(int) float64 { return -1 })}, // every bit
		{"no_tokens", r.NoTokens(nn.NoTokensAttrs{Shape: []int{B, T}}), make([]float64, B*T)},
	}
	run(t, r)
	for _, o := range outs {
		read := func() []float64 { return download(t, d, o.got) }
		if o.got.Type == gpu.I32 {
			read = func() []float64 { return downloadInts(t, d, o.got) }
		}
		near(t, o.op, read(), &refrun.Array{Data: o.want}, 1e-6)
	}
	for name, f := range map[string]func(r *nn.Recorder){
		"at most 4, for the test": func(r *nn.Recorder) { r.AtMost(b, b.Tokens, nn.AtMostAttrs{Tokens: 4, Why: "for the test"}) },
		"at most 3":               func(r *nn.Recorder) { r.LimitLength(b, b.Tokens, nn.LimitLengthAttrs{Most: 3}) },
	} {
		r := recorder(d, gpu.F32)
		f(r)
		if err := r.Err(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("error %v, want one with %q", err, name)
		}
	}
}

// TestDropout: what is kept is scaled and the rest is zero, the gradient follows the same mask, and about p falls.
func TestDropout(t *testing.T) {
	d := device(t)
	const n, p = 3001, 0.25
	x, dy := normals(rand.New(rand.NewPCG(4, 4)), n), normals(rand.New(rand.NewPCG(4, 5)), n)
	r := recorder(d, gpu.F32)
	r.Training, r.Seed = true, uploadWords(t, d, 3, 4)
	y, mask := r.Dropout(upload(t, d, gpu.F32, x), nn.DropoutAttrs{P: p})
	dx := r.DropoutGrad(upload(t, d, gpu.F32, dy), mask, nn.DropoutAttrs{P: p})
	run(t, r)
	wantY, wantDx, kept := &refrun.Array{Data: make([]float64, n)}, &refrun.Array{Data: make([]float64, n)}, 0.0
	got := download(t, d, y)
	for i, v := range got {
		if v != 0 {
			wantY.Data[i], wantDx.Data[i] = x.Data[i]/(1-p), dy.Data[i]/(1-p)
			kept++
		}
	}
	near(t, "y", got, wantY, 1e-6)
	near(t, "dx", download(t, d, dx), wantDx, 1e-6)
	if deviations := (kept - n*(1-p)) / math.Sqrt(n*p*(1-p)); math.Abs(deviations) > 4 {
		t.Errorf("%g of %d elements kept: %.1f standard deviations from the mean", kept, n, deviations)
	}
}

// TestTables compares tables that the host makes with their definitions.
func TestTables(t *testing.T) {
	d := device(t)
	for _, c := range []struct {
		a    nn.AlibiAttrs
		want []float64 // exponents of two
	}{
		{nn.AlibiAttrs{Heads: 4, On: true, Max: 8, Scale: 1}, []float64{-2, -4, -6, -8}},
		{nn.AlibiAttrs{Heads: 3, On: true, Max: 8, Scale: 1}, []float64{-4, -8, -2}},
		{nn.AlibiAttrs{Heads: 3, On: true, Max: 8, Scale: 1, Interleaved: true}, []float64{-4, -8, -2}},
	} {
		slopes, err := nn.NewAlibiSlopes(d, c.a)
		if err != nil {
			t.Fatal(err)
		}
		want := &refrun.Array{Data: nn.Each(len(c.want), func(i int) float64 { return math.Exp2(c.want[i]) })}
		near(t, fmt.Sprint("alibi", c.a), download(t, d, recorder(d, gpu.F32).Alibi(slopes)), want, 1e-7)
	}
	const rows, cols = 11, 6
	for _, a := range []nn.SinusoidAttrs{{Rows: rows, Cols: cols, Theta: 1e4, Zero: -1}, {Rows: rows, Cols: cols, Theta: 1e4, Reach: true, Interleaved: true, Zero: 3}} {
		table, err := nn.NewSinusoidTable(d, a)
		if err != nil {
			t.Fatal(err)
		}
		r := recorder(d, gpu.F32)
		y := r.Sinusoid(table, uploadInts(t, d, []int{10, 3, 0, 7}, 4))
		run(t, r)
		want := &refrun.Array{}
		for _, p := range []int{10, 3, 0, 7} {
			for c := range cols {
				i, cosine := c%(cols/2), c >= cols/2
				if a.Interleaved {
					i, cosine = c/2, c%2 == 1
				}
				exponent := 2 * float64(i) / cols
				if a.Reach {
					exponent = float64(i) / (cols/2 - 1)
				}
				v := math.Sin(float64(p) * math.Pow(a.Theta, -exponent))
				if cosine {
					v = math.Cos(float64(p) * math.Pow(a.Theta, -exponent))
				}
				if p == a.Zero {
					v = 0
				}
				want.Data = append(want.Data, v)
			}
		}
		near(t, fmt.Sprint("sinusoid", a), download(t, d, y), want, 1e-6)
	}
}
