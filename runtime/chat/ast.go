package chat

// at is the byte offset of a node in the source.
type at int

func (a at) where() int { return int(a) }

// expr is an expression.
type expr interface{ where() int }

type (
	constExpr struct {
		at
		v Value
	}
	nameExpr struct {
		at
		name string
	}
	tupleExpr struct {
		at
		items []expr
	}
	listExpr struct {
		at
		items []expr
	}
	dictExpr struct {
		at
		keys, vals []expr
	}
	attrExpr struct {
		at
		x    expr
		name string
	}
	indexExpr struct {
		at
		x, arg expr
	}
	// sliceExpr stands only as the arg of an indexExpr; absent parts are nil.
	sliceExpr struct {
		at
		start, stop, step expr
	}
	callExpr struct {
		at
		fn   expr
		args argExprs
	}
	// filterExpr has x nil when it stands for the body of a filter or set block.
	filterExpr struct {
		at
		x    expr
		name string
		fn   filterFunc
		args argExprs
	}
	testExpr struct {
		at
		x    expr
		name string
		fn   testFunc
		args argExprs
	}
	unaryExpr struct {
		at
		op string // "not", "-" or "+"
		x  expr
	}
	binExpr struct {
		at
		op   string
		l, r expr
	}
	logicExpr struct {
		at
		and  bool
		l, r expr
	}
	compareExpr struct {
		at
		first expr
		ops   []compareOp
	}
	concatExpr struct {
		at
		parts []expr
	}
	// condExpr is then if test else other; other may be nil.
	condExpr struct {
		at
		test, then, other expr
	}
	// nsTarget is ns.attr on the left of a set.
	nsTarget struct {
		at
		name, attr string
	}
)

type compareOp struct {
	op string
	x  expr
}

// argExprs are the arguments of a call, filter or test.
type argExprs struct {
	pos     []expr
	names   []string
	vals    []expr
	star    expr // *args
	starred expr // **kwargs
}

// stmt is a statement.
type stmt interface{ where() int }

type (
	textStmt struct {
		at
		text string
	}
	outStmt struct {
		at
		x expr
	}
	ifStmt struct {
		at
		tests  []expr
		bodies [][]stmt
		other  []stmt
	}
	forStmt struct {
		at
		target                         expr
		iter, test                     expr
		recursive                      bool
		body, other                    []stmt
		bodyScope, testScope, elseScop scope
	}
	setStmt struct {
		at
		target, x expr
	}
	setBlock struct {
		at
		target expr
		filter *filterExpr
		body   []stmt
		scope  scope
	}
	macroStmt struct {
		at
		def *macroDef
	}
	// callBlock is {% call %}; its body is the macro named caller.
	callBlock struct {
		at
		call *callExpr
		def  *macroDef
	}
	filterBlock struct {
		at
		filter *filterExpr
		body   []stmt
		scope  scope
	}
	withStmt struct {
		at
		targets, vals []expr
		body          []stmt
		scope         scope
	}
	// genBlock is {% generation %}.
	genBlock struct {
		at
		def *macroDef
	}
	doStmt struct {
		at
		x expr
	}
	loopCtl struct {
		at
		brk bool
	}
)

// macroDef is the function behind a macro, call or generation block.
type macroDef struct {
	at
	name        string
	params      []string
	defaults    []expr // of the last parameters
	body        []stmt
	scope       scope
	usesCaller  bool // the body names caller, kwargs or varargs
	usesKwargs  bool
	usesVarargs bool
}
