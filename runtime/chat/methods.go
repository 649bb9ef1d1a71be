package chat

// seqMethod gives the methods of list and tuple that do not modify.
func seqMethod(items []Value, name string, self Value) (Value, bool) {
	switch name {
	case "count":
		return &builtin{name, func(in *interp, a args) Value {
			x := in.bind(name, a, 1, "value")[0]
			n := int64(0)
			for _, it := range items {
				if in.eq(it, x) {
					n++
				}
			}
			return n
		}}, true
	case "index":
		return &builtin{name, func(in *interp, a args) Value { return in.seqIndex(items, a) }}, true
	case "copy":
		if l, ok := self.(*List); ok {
			return &builtin{name, func(in *interp, a args) Value { return in.newList(l.Items) }}, true
		}
	}
	return nil, false
}

func (in *interp) seqIndex(items []Value, a args) Value {
	p := in.bind("index", a, 1, "value", "start", "stop")
	n := int64(len(items))
	lo, hi := sliceRange(n, in.optInt(p[1], 0, "start"), true, in.optInt(p[2], n, "stop"), true, 1)
	for i := lo; i < hi; i++ {
		if in.eq(items[i], p[0]) {
			return i
		}
	}
	in.valueErr("%s is not in list", in.repr(p[0]))
	return nil
}

// dictMethod gives the methods of dict that do not modify.
func dictMethod(d *Dict, name string) (Value, bool) {
	switch name {
	case "keys", "values", "items":
		return &builtin{name, func(in *interp, a args) Value {
			in.bind(name, a, 0)
			return &dictView{d, name[0]}
		}}, true
	case "get":
		return &builtin{name, func(in *interp, a args) Value {
			p := in.bind(name, a, 1, "key", "default")
			if i, ok := d.index[in.hash(p[0])]; ok {
				return d.vals[i]
			}
			if p[1] == (missing{}) {
				return nil
			}
			return p[1]
		}}, true
	case "copy":
		return &builtin{name, func(in *interp, a args) Value { return d }}, true
	case "fromkeys":
		return &builtin{name, dictFromKeys}, true
	}
	return nil, false
}

func dictFromKeys(in *interp, a args) Value {
	p := in.bind("fromkeys", a, 1, "iterable", "value")
	if p[1] == (missing{}) {
		p[1] = nil
	}
	d := &Dict{}
	for _, k := range in.list(p[0]) {
		d.setHashed(in.hash(k), k, p[1])
	}
	in.alloc(int64(d.Len()) * 64)
	return d
}

// rangeAttr gives the attributes of a range object.
func rangeAttr(in *interp, r rangeValue, name string) (Value, bool) {
	switch name {
	case "start":
		return r.start, true
	case "stop":
		return r.stop, true
	case "step":
		return r.step, true
	case "index", "count":
		return seqMethod(in.list(r), name, r)
	}
	return nil, false
}
