// Package gpu runs compute kernels on a Vulkan device.
//
// The pieces, in the order a program meets them:
//
//   - [Open] finds the Vulkan loader, chooses a device and makes a [Device].
//   - [Device.Alloc] gives persistent tensors in device memory, [Device.AllocHost] mapped ones;
//     [Device.Write] and [Device.Read] move data.
//   - [Device.NewRecorder] starts a [Recorder]. Its Alloc and Free plan temporary tensors: no memory exists
//     yet, only offsets, so a recording that is never finished is a memory plan ([Recorder.Peak]). Dispatch,
//     Fill and Copy append operations.
//   - [Recorder.Finish] allocates one exact arena, compiles the pipelines in parallel, puts barriers where
//     byte ranges conflict and records the command buffers. The [Recording] can be run any number of times.
//
// A minimal program:
//
//	dev, err := gpu.Open(gpu.Options{})
//	x, err := dev.Alloc(gpu.F32, 1000)
//	err = dev.Write(x, values)
//	r := dev.NewRecorder()
//	y := r.Alloc(gpu.F32, 1000)
//	r.DispatchLinear(&double, (1000+63)/64, []uint32{64}, []uint32{1000}, x, y)
//	rec, err := r.Finish()
//	err = rec.Run()
//	err = dev.Read(y, values)
//
// Kernels are SPIR-V modules with storage buffers at set 0, bindings 0 to 15, at most 128 bytes of push
// constants and 32-bit specialization constants. What a kernel reads and writes is taken from the SPIR-V
// (readonly and writeonly in GLSL), so mark every buffer block: an unmarked one counts as read and written
// and costs barriers.
//
// Concurrency: a Device may be used by several goroutines; a Recorder and a Recording by one at a time.
// Everything is submitted to one queue, in the order of the calls.
package gpu
