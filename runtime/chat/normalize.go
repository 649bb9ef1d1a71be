package chat

// reasoningKeys are the names under which a message's reasoning is passed; templates read the first,
// or the second.
var reasoningKeys = []string{"reasoning_content", "thinking", "reasoning"}

// Normalize prepares messages that came from an API as newer releases of transformers do before they
// render: keys whose value is None are dropped (many templates would print or stumble over them), and a
// message's reasoning is put under reasoning_content and thinking whatever its name was. The messages
// given are not changed. Render does not do this by itself.
func Normalize(messages []Value) ([]Value, error) {
	v, err := FromGo(messages)
	if err != nil {
		return nil, inputErr("messages: %v", err)
	}
	list := v.(*List)
	for i, m := range list.Items {
		d, ok := m.(*Dict)
		if !ok {
			return nil, inputErr("message %d is a %s; want a dict with role and content", i, typeName(m))
		}
		list.Items[i] = normalizeMessage(d)
	}
	return list.Items, nil
}

func normalizeMessage(d *Dict) *Dict {
	out := &Dict{}
	var reasoning Value
	for _, key := range reasoningKeys {
		if v, _ := d.Get(key); v != nil && reasoning == nil {
			reasoning = v
		}
	}
	if reasoning != nil {
		out.Set("thinking", reasoning)
	}
	for i, k := range d.keys {
		if d.vals[i] != nil {
			h, _ := hashKey(k, 0)
			out.setHashed(h, k, d.vals[i])
		}
	}
	if reasoning != nil {
		out.Set("reasoning_content", reasoning)
	}
	return out
}
