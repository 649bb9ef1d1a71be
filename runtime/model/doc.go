// Package model is what every architecture looks like to the rest of the program: an Arch that can be built
// from a configuration, a Model that records its forward, backward and decoding steps, and the loading and
// saving of checkpoints around it.
//
//	loaded, err := model.Open("dir/", dev, archs.All(), model.Options{Kernels: &kernels.NN})
//	r := loaded.NewRecorder()
//	logits := loaded.Model.Logits(r, inputs)
//	rec, err := r.Finish()
//	...
//	err = loaded.Save("out/", model.SaveOptions{})
//
// Open goes from config.json to an architecture (resolve.go), from its parameters to the tensors of the
// checkpoint (bind.go), checks that everything is there once, with the right shape and type, and fits the
// device (memory.go), and only then moves bytes (layout.go, load.go). Save inverts every step (save.go): a
// tensor keeps its name, layout and element type, elements that did not change keep their bits, and tensors
// and files that the model does not use pass through byte for byte. Create starts a model from random values
// (create.go, philox.go).
package model
