package spec

// orderLets puts every let behind those that its expression mentions, else in the order of the files: a child may
// build what its parent computes on values of its own. Lets that mention one another stay where they are.
func orderLets(lets []Let) []Let {
	byName := map[string]Let{}
	for _, l := range lets {
		byName[l.Name] = l
	}
	out := make([]Let, 0, len(lets))
	seen := map[string]bool{}
	var visit func(l Let)
	visit = func(l Let) {
		if seen[l.Name] {
			return
		}
		seen[l.Name] = true
		for _, name := range l.Expr.Names() {
			if other, ok := byName[name]; ok {
				visit(other)
			}
		}
		out = append(out, l)
	}
	for _, l := range lets {
		visit(l)
	}
	return out
}
