// Package hfconfig reads a checkpoint's config.json (and files like it) the way model code needs it: by a
// list of spellings with a default, collecting every wrong or missing key, so that one run reports all of
// them.
//
//	f, err := hfconfig.Load("model/")
//	hidden := f.Int("hidden_size", "n_embd")          // the first key present wins; null counts as absent
//	theta := f.FloatOr(10000, "rope_theta", "rope_parameters.rope_theta")
//	text := f.Sub("text_config")                      // shares the error list
//	err = f.Err()                                     // config.json: "hidden_size" is "64", want a whole number
//
// The text is kept: File.Bytes gives it back byte for byte, and File.Set changes one value and nothing around
// it, so a saved model's configuration differs from the loaded one only where it must.
//
// Besides JSON, the tokens NaN, Infinity and -Infinity are read, as Python writes them, and {"__float__":
// "Infinity"} as newer versions of the transformers library do.
package hfconfig
