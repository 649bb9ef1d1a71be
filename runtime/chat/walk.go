package chat

// eachName calls f for every name an expression reads.
func eachName(x expr, f func(*nameExpr)) {
	if n, ok := x.(*nameExpr); ok {
		f(n)
		return
	}
	for _, c := range children(x) {
		if c != nil {
			eachName(c, f)
		}
	}
}

// children lists the parts of an expression; some may be nil.
func children(x expr) []expr {
	switch x := x.(type) {
	case *tupleExpr:
		return x.items
	case *listExpr:
		return x.items
	case *dictExpr:
		return append(x.keys[:len(x.keys):len(x.keys)], x.vals...)
	case *attrExpr:
		return []expr{x.x}
	case *indexExpr:
		return []expr{x.x, x.arg}
	case *sliceExpr:
		return []expr{x.start, x.stop, x.step}
	case *callExpr:
		return append([]expr{x.fn}, x.args.all()...)
	case *filterExpr:
		return append([]expr{x.x}, x.args.all()...)
	case *testExpr:
		return append([]expr{x.x}, x.args.all()...)
	case *unaryExpr:
		return []expr{x.x}
	case *binExpr:
		return []expr{x.l, x.r}
	case *logicExpr:
		return []expr{x.l, x.r}
	case *compareExpr:
		out := []expr{x.first}
		for _, op := range x.ops {
			out = append(out, op.x)
		}
		return out
	case *concatExpr:
		return x.parts
	case *condExpr:
		return []expr{x.test, x.then, x.other}
	}
	return nil
}

func (a argExprs) all() []expr {
	out := append(a.pos[:len(a.pos):len(a.pos)], a.vals...)
	return append(out, a.star, a.starred)
}

// eachStmtName calls f for every name read in statements and all blocks nested in them.
func eachStmtName(body []stmt, f func(*nameExpr)) {
	for _, st := range body {
		exprs, bodies := parts(st)
		for _, x := range exprs {
			if x != nil {
				eachName(x, f)
			}
		}
		for _, b := range bodies {
			eachStmtName(b, f)
		}
	}
}

// parts lists the expressions a statement reads and the statement lists inside it.
func parts(st stmt) ([]expr, [][]stmt) {
	switch st := st.(type) {
	case *outStmt:
		return []expr{st.x}, nil
	case *doStmt:
		return []expr{st.x}, nil
	case *ifStmt:
		return st.tests, append(st.bodies[:len(st.bodies):len(st.bodies)], st.other)
	case *forStmt:
		return []expr{st.iter, st.test}, [][]stmt{st.body, st.other}
	case *setStmt:
		return []expr{st.x}, nil
	case *setBlock:
		if st.filter != nil {
			return []expr{st.filter}, [][]stmt{st.body}
		}
		return nil, [][]stmt{st.body}
	case *macroStmt:
		return st.def.defaults, [][]stmt{st.def.body}
	case *callBlock:
		return append([]expr{st.call}, st.def.defaults...), [][]stmt{st.def.body}
	case *filterBlock:
		return []expr{st.filter}, [][]stmt{st.body}
	case *withStmt:
		return st.vals, [][]stmt{st.body}
	case *genBlock:
		return nil, [][]stmt{st.def.body}
	}
	return nil, nil
}
