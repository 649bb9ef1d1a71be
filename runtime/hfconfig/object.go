package hfconfig

// Object returns the first of the keyed objects that is present and not null, as decoded JSON; nil when there is none. A
// value that is no object is an error.
func (f *File) Object(keys ...string) map[string]any {
	v := f.Any(keys...)
	if v == nil {
		return nil
	}
	m, ok := v.(map[string]any)
	if !ok {
		f.Fail(keys[0], "a value of another kind", "an object")
	}
	return m
}

// Refuse records that the configuration asks for what the graph does not do: condition is what must hold, why tells what
// breaks.
func (f *File) Refuse(condition, why string) { f.Fail(condition, "not so", why) }
