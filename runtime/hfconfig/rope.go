package hfconfig

// RopeScaling is how a model's rotary positions are scaled, from either form of the configuration: the older
// rope_scaling object with "type" or "rope_type", or the newer rope_parameters with "rope_type" and
// "rope_theta".
type RopeScaling struct {
	Type   string         // "default" when nothing is said
	Values map[string]any // the object's members, as File.Any gives them; nil when there is none
	Key    string         // where it was found, for messages
}

// Rope returns the first of the keyed objects that is present. It is never nil.
func (f *File) Rope(keys ...string) *RopeScaling {
	key, n := f.first(keys)
	r := &RopeScaling{Type: "default", Key: f.path + key}
	if n == nil {
		return r
	}
	values, ok := n.any().(map[string]any)
	if !ok {
		f.note(key, n.describe(), "an object")
		return r
	}
	r.Values = values
	for _, k := range []string{"rope_type", "type"} {
		if v, ok := values[k]; ok && v != nil {
			if r.Type, ok = v.(string); !ok {
				r.Type = "default"
				f.note(key+"."+k, n.get(k).describe(), aText)
			}
			break
		}
	}
	return r
}

// Float returns a number of the object, def when it is absent, null or no number.
func (r *RopeScaling) Float(key string, def float64) float64 {
	switch v := r.Values[key].(type) {
	case int:
		return float64(v)
	case float64:
		return v
	}
	return def
}

// Floats returns a list of numbers of the object; nil when it is absent or something else.
func (r *RopeScaling) Floats(key string) []float64 {
	list, ok := r.Values[key].([]any)
	if !ok {
		return nil
	}
	out := make([]float64, len(list))
	for i, e := range list {
		switch v := e.(type) {
		case int:
			out[i] = float64(v)
		case float64:
			out[i] = v
		default:
			return nil
		}
	}
	return out
}

// Bool returns a truth value of the object, def when it is absent or something else.
func (r *RopeScaling) Bool(key string, def bool) bool {
	if v, ok := r.Values[key].(bool); ok {
		return v
	}
	return def
}
