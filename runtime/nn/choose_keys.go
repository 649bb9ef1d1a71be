package nn

import "github.com/vulcast/vulcast/runtime/gpu"

// IndexScoresAttrs: the factor of the products of queries and keys.
type IndexScoresAttrs struct{ Scale float32 }

// IndexScores returns F32 [B, T, S]: the sum over heads of w[b,t,h] * max(0, scale * q[b,t,h] . k[b,s]), for q [B, T, H, D],
// k [B, S, D] and w [B, T, H].
func (r *Recorder) IndexScores(q, k, w gpu.Tensor, a IndexScoresAttrs) gpu.Tensor {
	if r.Err() != nil {
		return gpu.Tensor{}
	}
	if len(q.Shape) != 4 || len(k.Shape) != 3 || len(w.Shape) != 3 || k.Dim(0) != q.Dim(0) || k.Dim(2) != q.Dim(3) ||
		w.Dim(0) != q.Dim(0) || w.Dim(1) != q.Dim(1) || w.Dim(2) != q.Dim(2) {
		r.failf("index_scores: q %v, k %v, w %v, want [B T H D], [B S D] and [B T H]", q, k, w)
		return gpu.Tensor{}
	}
	y := r.Alloc(gpu.F32, q.Dim(0), q.Dim(1), k.Dim(1))
	lanes := r.linearLanes()
	r.DispatchLinear(&r.K.IndexScores, ceilDiv(y.Len(), lanes), []uint32{uint32(lanes)},
		[]uint32{uint32(y.Len()), uint32(q.Dim(1)), uint32(k.Dim(1)), uint32(q.Dim(2)), uint32(q.Dim(3)), bits(a.Scale)}, q, k, w, y)
	return y
}

// ChooseKeysAttrs: how many keys a query sees.
type ChooseKeysAttrs struct{ K int }

// ChooseKeys returns, for every query, the K keys of largest score among those that it may see, as bits of words: I32
// [B, T, (S+31)/32]. Equal scores are chosen as the selection algorithm of the reference (introselect, or a heap when there
// are 64 keys for each that is wanted) chooses them. One invocation does a row, so long rows are slow.
func (r *Recorder) ChooseKeys(b *Batch, scores gpu.Tensor, a ChooseKeysAttrs) gpu.Tensor {
	if r.Err() != nil {
		return gpu.Tensor{}
	}
	if a.K < 1 || scores.Type != gpu.F32 || len(scores.Shape) != 3 || scores.Dim(0) != b.B || scores.Dim(1) != b.T ||
		scores.Dim(2) != b.S {
		r.failf("choose_keys: %d keys by scores %v, want F32 [%d %d %d]", a.K, scores, b.B, b.T, b.S)
		return gpu.Tensor{}
	}
	rows := b.B * b.T
	chosen := r.Alloc(gpu.I32, b.B, b.T, ceilDiv(b.S, 32))
	values, places := r.Alloc(gpu.F32, rows, b.S), r.Alloc(gpu.I32, rows, b.S)
	lanes := r.linearLanes()
	r.DispatchLinear(&r.K.ChooseKeys, ceilDiv(rows, lanes), []uint32{uint32(lanes)},
		[]uint32{uint32(rows), uint32(b.T), uint32(b.S), uint32(a.K), flag(b.Base.Valid()), flag(b.Seg.Valid()), flag(b.KeySeg.Valid())},
		scores, b.Base, b.Seg, b.KeySeg, values, places, chosen)
	r.Free(values, places)
	return chosen
}

// AllKeys chooses every key for every query.
func (r *Recorder) AllKeys(b *Batch) gpu.Tensor {
	y := r.Alloc(gpu.I32, b.B, b.T, ceilDiv(b.S, 32))
	r.Fill(y, ^uint32(0))
	return y
}
