package nn

import (
	"github.com/vulcast/vulcast/runtime/gpu"
)

// headBytes is how much memory the logits of one piece of rows may take: large enough that a piece fills a device, small
// beside the activations of a long batch.
const headBytes = 512 << 20

// pieceRows is the number of rows whose logits are made at a time: a multiple of 64 unless it is all of them or the
// vocabulary is huge, so that the labels of every piece begin where a kernel can bind them.
func (r *Recorder) pieceRows(rows, vocab int) int {
	limit := int64(headBytes)
	if m := r.info().MaxStorageBufferRange; m < limit {
		limit = m
	}
	n := int(limit / int64(4*vocab))
	if n >= 64 {
		n = n / 64 * 64
	}
	return max(1, min(rows, n))
}

// HeadLoss returns the loss F32 [B*T] of every token of h [B, T, D]; head makes the logits of a piece [1, rows, D].
func (r *Recorder) HeadLoss(b *Batch, h gpu.Tensor, vocab int, head func(b *Batch, h gpu.Tensor) gpu.Tensor) gpu.Tensor {
	loss := r.Alloc(gpu.F32, b.B*b.T)
	r.pieces(b, h, vocab, func(piece *Batch, h gpu.Tensor, from, to int) {
		logits := head(piece, h)
		part, lse := r.CrossEntropy(piece, logits, piece.Labels)
		r.Copy(loss.Slice(from, to), part)
		r.Free(logits, part, lse)
	})
	return loss
}

// HeadGrad is HeadLoss with the gradient dh of h: for each piece head makes the logits and gives the function that turns
// their gradient into that of the piece.
func (r *Recorder) HeadGrad(b *Batch, h gpu.Tensor, vocab int,
	head func(b *Batch, h gpu.Tensor) (logits gpu.Tensor, back func(dlogits gpu.Tensor) gpu.Tensor)) (loss, dh gpu.Tensor) {
	loss, dh = r.Alloc(gpu.F32, b.B*b.T), r.Alloc(r.Act, h.Shape...)
	d := h.Cols()
	r.pieces(b, h, vocab, func(piece *Batch, h gpu.Tensor, from, to int) {
		logits, back := head(piece, h)
		part, lse := r.CrossEntropy(piece, logits, piece.Labels)
		r.Copy(loss.Slice(from, to), part)
		dlogits := r.CrossEntropyGrad(piece, logits, piece.Labels, lse)
		r.Free(logits, part, lse)
		dpiece := back(dlogits)
		r.Free(dlogits)
		r.Copy(dh.Reshape(-1, d).Slice(from, to), dpiece.Reshape(-1, d))
		r.Free(dpiece)
	})
	return loss, dh
}

// pieces calls do for every piece of rows of h.
func (r *Recorder) pieces(b *Batch, h gpu.Tensor, vocab int, do func(piece *Batch, h gpu.Tensor, from, to int)) {
	rows, d := b.B*b.T, h.Cols()
	if r.Err() != nil {
		return
	}
	step := r.pieceRows(rows, vocab)
	for from := 0; from < rows; from += step {
		to := min(rows, from+step)
		piece := *b
		piece.B, piece.T, piece.S = 1, to-from, to-from
		piece.Labels = b.Labels.Reshape(rows).Slice(from, to)
		do(&piece, h.Reshape(rows, d).Slice(from, to).Reshape(1, to-from, d), from, to)
		if r.Err() != nil {
			return
		}
	}
}
