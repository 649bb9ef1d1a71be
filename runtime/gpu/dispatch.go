package gpu

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// Dispatch records groups workgroups of k. spec holds the specialization constants 0 to len(spec)-1; the
// constants 100+b are set to the DType of bufs[b] where the kernel has them. push holds the push constants.
// bufs[b] is bound at binding b; the zero Tensor binds a small dummy buffer. No groups: nothing is
// recorded.
func (r *Recorder) Dispatch(k *Kernel, groups [3]int, spec, push []uint32, bufs ...Tensor) {
	switch {
	case r.err != nil:
		return
	case k == nil:
		r.fail("Dispatch without a kernel")
		return
	case r.finished:
		r.fail("kernel %s: %w", k.Name, errFinished)
		return
	}
	if err := r.dispatch(k, groups, spec, push, bufs); err != nil {
		r.err = fmt.Errorf("kernel %s: %w", k.Name, err)
	}
}

func (r *Recorder) dispatch(k *Kernel, groups [3]int, spec, push []uint32, bufs []Tensor) error {
	p, err := r.dev.program(k)
	if err != nil {
		return err
	}
	o := op{kind: opDispatch, firstBuf: len(r.bufs), bufs: len(bufs), firstArg: len(r.words), args: len(push)}
	empty := false
	for i, g := range groups {
		if g < 0 || g > r.dev.Info.MaxGroups[i] {
			return fmt.Errorf("%v workgroups; dimension %d allows 0 to %d (DispatchLinear folds larger counts)",
				groups, i, r.dev.Info.MaxGroups[i])
		}
		o.groups[i] = uint32(g)
		empty = empty || g == 0
	}
	if err := r.interfaceOf(p, push, bufs); err != nil {
		return err
	}
	if o.pipe, err = r.dev.pipeline(p, spec, bufs); err != nil {
		return err
	}
	if err := r.bind(p, bufs); err != nil {
		r.bufs = r.bufs[:o.firstBuf]
		return err
	}
	if empty {
		r.bufs = r.bufs[:o.firstBuf]
		return nil
	}
	r.words = append(r.words, push...)
	r.ops = append(r.ops, o)
	return nil
}

// interfaceOf checks the number of buffers and push constants against the module.
func (r *Recorder) interfaceOf(p *program, push []uint32, bufs []Tensor) error {
	if p.kernel.Addresses {
		if size := 8*len(bufs) + 4*len(push); size < p.meta.pushBytes || size > maxPush || len(bufs) > maxBindings {
			return fmt.Errorf("%d addresses and %d words given, the module takes %d bytes of push constants, "+
				"at most %d are allowed",
				len(bufs), len(push), p.meta.pushBytes, maxPush)
		}
		return nil
	}
	want := 0
	if n := len(p.meta.bindings); n > 0 {
		want = p.meta.bindings[n-1].number + 1
	}
	if len(bufs) < want || len(bufs) > maxBindings || len(bufs) > r.dev.Info.MaxBindings {
		return fmt.Errorf("%d buffers given, the module binds %d, at most %d are allowed", len(bufs), want,
			min(maxBindings, r.dev.Info.MaxBindings))
	}
	if len(push)*4 < p.meta.pushBytes || len(push)*4 > maxPush {
		return fmt.Errorf("%d words of push constants given, the module takes %d, at most %d are allowed",
			len(push), p.meta.pushBytes/4, maxPush/4)
	}
	return nil
}

// bind appends the uses of the buffers.
func (r *Recorder) bind(p *program, bufs []Tensor) error {
	at := 0
	for b, t := range bufs {
		var info binding
		for at < len(p.meta.bindings) && p.meta.bindings[at].number < b {
			at++
		}
		if at < len(p.meta.bindings) && p.meta.bindings[at].number == b {
			info = p.meta.bindings[at]
		}
		where := func() string { return bindingText(b, info.name) }
		if t.err != nil || t.st != nil && (t.st.kind == planned || t.st.dead || t.st.dev != r.dev) {
			if err := r.check(where(), t); err != nil {
				return err
			}
		}
		if t.st == nil || t.Bytes() == 0 { // validation takes the dummy for a real buffer
			v := r.dev.opt.Validation
			r.bufs = append(r.bufs, use{r.dev.dummy, 0, allocAlign, v && info.reads, v && info.writes})
			continue
		}
		from, to := t.span()
		if p.kernel.Addresses {
			r.touch(t.st, p.kernel.Name)
			r.bufs = append(r.bufs, use{t.st, from, to, true, p.kernel.Writes>>b&1 != 0})
			continue
		}
		if from%r.dev.Info.MinOffsetAlign != 0 {
			return fmt.Errorf("%s: view %v starts %d bytes into its storage, which is no multiple of the device's "+
				"alignment of %d; copy it first", where(), t, from, r.dev.Info.MinOffsetAlign)
		}
		if t.Bytes() > r.dev.Info.MaxStorageBufferRange {
			return fmt.Errorf("%s: tensor %v has %d bytes, one binding reaches %d on %s; "+
				"split it by rows (DispatchRows)",
				where(), t, t.Bytes(), r.dev.Info.MaxStorageBufferRange, r.dev.Info.Name)
		}
		to = min(to, from+r.dev.Info.MaxStorageBufferRange)
		r.touch(t.st, p.kernel.Name)
		r.bufs = append(r.bufs, use{t.st, from, to, info.reads, info.writes})
	}
	return nil
}

func bindingText(b int, name string) string {
	if name == "" {
		return fmt.Sprintf("binding %d", b)
	}
	return fmt.Sprintf("binding %d (%s)", b, name)
}

// DispatchLinear records groups workgroups in one line, folded into x and y where the device's limit on x
// is smaller. The kernel computes gl_WorkGroupID.y*gl_NumWorkGroups.x+gl_WorkGroupID.x and checks it
// against a push constant, because the folded grid may have more groups than asked for.
func (r *Recorder) DispatchLinear(k *Kernel, groups int, spec, push []uint32, bufs ...Tensor) {
	r.Dispatch(k, fold(groups, r.dev.Info.MaxGroups[0]), spec, push, bufs...)
}

// fold splits n into x*y >= n with x <= limit and little excess.
func fold(n, limit int) [3]int {
	if n <= limit {
		return [3]int{n, 1, 1}
	}
	y := (n + limit - 1) / limit
	return [3]int{(n + y - 1) / y, y, 1}
}

// Bind is a buffer of DispatchRows. PerRow: dimension 0 (or the product of leading dimensions) is split
// along with the rows; else every chunk gets the whole tensor.
type Bind struct {
	T      Tensor
	PerRow bool
}

// DispatchRows records a kernel over rows independent rows: once, or, when a PerRow binding is larger than
// one binding reaches, once per chunk of rows. groupsFor and push are asked for each chunk's row count. The
// bytes of a PerRow tensor must be a multiple of rows.
func (r *Recorder) DispatchRows(k *Kernel, rows int, groupsFor func(rows int) int, spec []uint32,
	push func(rows int) []uint32, binds ...Bind) {
	if r.err != nil || rows <= 0 {
		return
	}
	if k == nil {
		r.fail("DispatchRows without a kernel")
		return
	}
	chunk, err := r.chunkRows(rows, binds)
	if err != nil {
		r.err = fmt.Errorf("kernel %s: %w", k.Name, err)
		return
	}
	bufs := make([]Tensor, len(binds))
	for from := 0; from < rows; from += chunk {
		n := min(chunk, rows-from)
		for b, bind := range binds {
			bufs[b] = bind.T
			if bind.PerRow && bind.T.st != nil && chunk < rows {
				bufs[b] = bind.T.Reshape(rows, -1).Slice(from, from+n)
			}
		}
		r.DispatchLinear(k, groupsFor(n), spec, push(n), bufs...)
	}
}

// chunkRows returns the largest row count whose PerRow ranges fit and start aligned.
func (r *Recorder) chunkRows(rows int, binds []Bind) (int, error) {
	limit, align := r.dev.Info.MaxStorageBufferRange, r.dev.Info.MinOffsetAlign
	chunk, step := rows, 1
	for b, bind := range binds {
		if !bind.PerRow || bind.T.st == nil {
			continue
		}
		bytes := bind.T.Bytes()
		if bytes%int64(rows) != 0 {
			return 0, fmt.Errorf("binding %d: %v does not divide into %d rows", b, bind.T, rows)
		}
		row := bytes / int64(rows)
		if row == 0 {
			continue
		}
		step = lcm(step, int(align/gcd(row, align)))
		if bytes > limit {
			chunk = min(chunk, int(limit/row))
		}
	}
	if chunk == rows {
		return rows, nil
	}
	if chunk = chunk / step * step; chunk == 0 {
		return 0, fmt.Errorf("%d rows cannot be split: %d rows are needed for aligned starts, and one binding "+
			"reaches %d bytes", rows, step, limit)
	}
	return chunk, nil
}

func gcd[T ~int | ~int64](a, b T) T {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func lcm(a, b int) int { return a / gcd(a, b) * b }

// pipeline finds or makes the specialization of p for these constants and buffer types. It is compiled
// later, by Finish.
func (d *Device) pipeline(p *program, spec []uint32, bufs []Tensor) (*pipeline, error) {
	var room [160]byte
	key := append(room[:0], byte(len(bufs)))
	for _, s := range spec {
		key = binary.LittleEndian.AppendUint32(key, s)
	}
	for _, id := range p.meta.specIDs {
		if b := int(id) - typeSpec; b >= 0 && b < len(bufs) {
			key = append(key, byte(bufs[b].Type))
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if pl := p.pipelines[string(key)]; pl != nil {
		return pl, nil
	}
	pl := &pipeline{prog: p, binds: len(bufs)}
	if p.kernel.Addresses {
		pl.binds = 0
	}
	given := map[uint32]uint32{}
	for _, id := range p.meta.specIDs {
		b := int(id) - typeSpec
		switch {
		case int(id) < len(spec) && id < typeSpec:
			given[id] = spec[id]
		case b >= 0 && b < len(bufs):
			given[id] = uint32(bufs[b].Type)
		default:
			continue
		}
		pl.ids, pl.values = append(pl.ids, id), append(pl.values, given[id])
	}
	if err := d.fits(p, given); err != nil {
		return nil, err
	}
	p.pipelines[string(key)] = pl
	return pl, nil
}

// fits checks workgroup size and memory of a specialization.
func (d *Device) fits(p *program, given map[uint32]uint32) error {
	if len(given) > 64 {
		return fmt.Errorf("%d specialization constants; at most 64 are allowed", len(given))
	}
	if n := p.meta.sharedBytes(given); n > d.Info.SharedBytes {
		return fmt.Errorf("%d bytes of workgroup memory; the device %s has %d", n, d.Info.Name, d.Info.SharedBytes)
	}
	size, ok := p.meta.groupSize(given)
	if !ok {
		return nil
	}
	total := 1
	for i, n := range size {
		total *= int(n)
		if n == 0 || int(n) > d.Info.MaxGroupSize[i] || total > d.Info.MaxInvocations {
			return fmt.Errorf("workgroup of %v invocations; the device %s allows %v and %d in all", size, d.Info.Name,
				d.Info.MaxGroupSize, d.Info.MaxInvocations)
		}
	}
	width := p.kernel.SubgroupSize
	if width == 0 {
		width = d.Info.SubgroupSize
	}
	if p.kernel.FullSubgroups && size[0]%width != 0 {
		return fmt.Errorf("workgroup of %v invocations: x is no multiple of the subgroup size %d, and full "+
			"subgroups are wanted", size, width)
	}
	return nil
}

// pipelinesOf returns the distinct pipelines of ops in order of first use.
func pipelinesOf(ops []op) []*pipeline {
	seen := map[*pipeline]bool{}
	var list []*pipeline
	for _, o := range ops {
		if o.pipe != nil && !seen[o.pipe] {
			seen[o.pipe] = true
			list = append(list, o.pipe)
		}
	}
	return slices.Clip(list)
}
