// Package verify compares a model with what a reference implementation computed for it.
//
// A fixture is a folder with a small checkpoint (config.json, model.safetensors, ...) and the reference's
// results:
//
//	expect.safetensors   inputs; logits64, loss (float64 truth); left.*, gen.*, adamw2.losses, train8.losses
//	grads.safetensors    the gradient of every parameter, under the checkpoint's names
//	adamw2.safetensors   every parameter after two AdamW steps
//	meta.json            kind, and hf_fp32_err: how far the reference's own float32 run is from the truth
//
// With ulp(x) the float32 spacing at x and e.q = hf_fp32_err.q (0 where absent), the largest absolute
// difference must stay within (bounds.go):
//
//	logits, left      max(4 e.q, 4 ulp(max |logit|))          at positions whose mask is 1
//	loss              max(4 e.loss, 4 ulp(loss))
//	grads             max(4 e.grads, 2^-20 e.grad_scale)
//	adamw2            max(2e-7, 2 e.adamw2, ulp(max |parameter|))
//	losses            relative max(1e-4, 4 e.train8)          adamw2.losses, train8.losses
//	generate          the same ids, and 10 x the logits bound
//	roundtrip         loading and saving changes no byte of any tensor, nor of config.json
//
// The reference's own float32 run meets each of these with a factor to spare, so a correct float32
// implementation can, whatever its order of summation. A fixture that lacks a file skips the checks that need
// it, by name.
//
// A fixture may also be small (project.go): gradients and parameters are then kept as a maximum, a norm and a
// few random projections, whose bounds follow from the ones above. Shrink makes such fixtures.
package verify
