// Package generate continues token sequences with a model.
//
//	g := generate.New(loaded, tok)
//	defer g.Close()
//	out, err := g.Run(ctx, [][]int32{tok.Encode("Once", true)}, generate.Options{MaxTokens: 50}, onToken)
//
// A [Generator] feeds prompts through the model's caches (prefill) and then one token a row and step. Each
// shape of a step is recorded once and resubmitted, so that a token is one submission; caches come in a few
// capacities, so that prompts of different lengths share recordings. Prompts of one batch are padded on the
// left.
//
// The pieces: options.go, sample.go (from logits to a token), session.go (caches and recordings), text.go
// (streamed text and stop strings), generate.go (the loop).
package generate
