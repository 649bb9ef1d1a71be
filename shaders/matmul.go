package shaders

import "maps"

// layouts are the four ways to store the operands of C[M,N] = op(A) op(B). The letters are those of BLAS: "nt" is
// A[M,K] B[N,K], "nn" is A[M,K] B[K,N], "tn" is A[K,M] B[K,N], "tt" is A[K,M] B[N,K].
func layouts() []map[string]any {
	return []map[string]any{
		{"Layout": "nt", "TA": false, "TB": true, "A": "M K", "B": "N K"},
		{"Layout": "nn", "TA": false, "TB": false, "A": "M K", "B": "K N"},
		{"Layout": "tn", "TA": true, "TB": false, "A": "K M", "B": "K N"},
		{"Layout": "tt", "TA": true, "TB": true, "A": "K M", "B": "N K"},
	}
}

// matmulSources lists the matrix products.
func matmulSources() []Source {
	var all []Source
	for _, l := range layouts() {
		name := l["Layout"].(string)
		narrow, wide := maps.Clone(l), maps.Clone(l)
		narrow["Wide"], wide["Wide"] = false, true
		all = append(all,
			Source{Name: "matmul_lanes_" + name, Template: "matmul_lanes.comp.tmpl", Params: narrow},
			Source{Name: "matmul_lanes64_" + name, Template: "matmul_lanes.comp.tmpl", Params: wide},
			Source{Name: "matmul_tile_" + name, Template: "matmul_tile.comp.tmpl", Params: l})
	}
	all = append(all, coopSources()...)
	return append(all,
		Source{Name: "matmul_few", Template: "matmul_few.comp.tmpl"},
		Source{Name: "matmul_join", Template: "matmul_join.comp.tmpl"})
}

// coopSources lists the matrix products on cooperative matrices: bf16 and f16 operands in the layouts of training. They take
// buffer addresses, which cost no bounds checks: 2 to 5 % of their speed.
func coopSources() []Source {
	var all []Source
	for _, l := range layouts()[:3] {
		for _, name := range []string{"bf16", "f16"} {
			p := maps.Clone(l)
			p["Name"], p["BF"] = name, name == "bf16"
			all = append(all, Source{Name: "matmul_coop_" + l["Layout"].(string) + "_" + name,
				Template: "matmul_coop.comp.tmpl", Params: p, Addresses: true, Writes: 1 << 2})
		}
	}
	return all
}
