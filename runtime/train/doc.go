// Package train trains a model.
//
//	t, err := train.New(loaded, trainData, evalSet, config, train.Options{Folder: "run/"})
//	result, err := t.Run(ctx)
//	err = loaded.Save("out/", t.SaveOptions())
//
// A [Trainer] owns what training adds to a model: the optimizer's moments, the recordings of a step, and the
// run's folder:
//
//	metrics.jsonl            one object a line: steps and evaluations
//	loss.png                 the loss curve
//	checkpoints/step-N/      state.safetensors and trainer.json, see checkpoint.go
//
// One step reads Accumulate micro-batches from a [data.Loader], runs forward and backward passes, and updates
// the parameters: a recording for each shape, made once and resubmitted. Numbers that change from step to
// step (learning rate, bias corrections, loss scale) travel in a small buffer. The order of all additions is
// fixed, so that the same run gives the same bits, and so does a run that was killed and resumed.
//
// The pieces: config.go (what can be chosen), schedule.go (learning rates), groups.go (decay groups),
// memory.go (the optimizer's tensors), step.go (recordings), run.go (the loop), evaluate.go, checkpoint.go,
// nonfinite.go (what to say when a loss is not a number), metrics.go, curve.go, plan.go (memory before
// anything runs), settings.go (TOML).
package train
