package shaders

// layouts are the four ways to store the operands of C[M,N] = op(A) op(B). The letters are those of BLAS: "nt" is
// A[M,K] B[N,K], "nn" is A[M,K] B[K,N], "tn" is A[K,M] B[K,N], "tt" is A[K,M] B[N,K].
var layouts = []struct {
	name   string
	ta, tb bool
}{{"nt", false, true}, {"nn", false, false}, {"tn", true, false}, {"tt", true, true}}

// matmulSources lists the matrix products.
func matmulSources() []Source {
	var all []Source
	for _, l := range layouts {
		for _, wide := range []bool{true, false} {
			name := "matmul_lanes_" + l.name
			if wide {
				name = "matmul_lanes64_" + l.name
			}
			all = append(all, Source{Name: name, Template: "matmul_lanes.comp.tmpl", Params: map[string]any{
				"Layout": l.name, "TA": l.ta, "TB": l.tb, "Wide": wide}})
		}
		all = append(all, Source{Name: "matmul_tile_" + l.name, Template: "matmul_tile.comp.tmpl",
			Params: map[string]any{"Layout": l.name, "TA": l.ta, "TB": l.tb}})
	}
	return append(all,
		Source{Name: "matmul_few", Template: "matmul_few.comp.tmpl"},
		Source{Name: "matmul_join", Template: "matmul_join.comp.tmpl"})
}
