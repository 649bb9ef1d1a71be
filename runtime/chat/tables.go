package chat

import (
	"strings"
	"unicode"
)

// filterFunc is a filter: v is what stands before the "|".
type filterFunc func(in *interp, v Value, a args) Value

// testFunc is a test, as in "x is defined".
type testFunc func(in *interp, v Value, a args) bool

// tables holds what templates can name. Each Template has its own, as a package variable would depend
// on itself: filters such as map look filters up.
type tables struct {
	filters map[string]filterFunc
	tests   map[string]testFunc
	methods map[string]strMethod
}

func newTables() *tables {
	return &tables{filters: filterTable(), tests: testTable(), methods: strMethodTable()}
}

// strMethodTable lists the methods of str.
func strMethodTable() map[string]strMethod {
	letterOrNumber := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }
	return map[string]strMethod{
		"strip": strip("strip", true, true), "lstrip": strip("lstrip", true, false),
		"rstrip": strip("rstrip", false, true),
		"upper":  plain("upper", pyUpper), "lower": plain("lower", pyLower), "title": plain("title", pyTitle),
		"capitalize": plain("capitalize", pyCapitalize), "swapcase": plain("swapcase", pySwapcase),
		"casefold": plain("casefold", pyCasefold), "startswith": affix("startswith", strings.HasPrefix),
		"endswith": affix("endswith", strings.HasSuffix), "find": find("find", strings.Index, false),
		"rfind": find("rfind", strings.LastIndex, false), "index": find("index", strings.Index, true),
		"rindex": find("rindex", strings.LastIndex, true), "count": strCount, "replace": strReplace,
		"join": strJoin, "partition": strPartition("partition", false),
		"rpartition": strPartition("rpartition", true), "center": pad("center"), "ljust": pad("ljust"),
		"rjust": pad("rjust"), "zfill": strZfill, "expandtabs": strExpandtabs,
		"removeprefix": strAffixCut("removeprefix", strings.TrimPrefix),
		"removesuffix": strAffixCut("removesuffix", strings.TrimSuffix),
		"encode":       noBytes("encode"), "translate": noBytes("translate"),
		"maketrans": noBytes("maketrans"), "split": strSplit, "rsplit": strRsplit,
		"splitlines": strSplitlines, "format": strFormat, "format_map": strFormatMap,
		"isdigit": check("isdigit", all(isDigit)), "isdecimal": check("isdecimal", all(unicode.IsDigit)),
		"isnumeric": check("isnumeric", all(unicode.IsNumber)), "isalpha": check("isalpha", all(unicode.IsLetter)),
		"isalnum":     check("isalnum", all(letterOrNumber)),
		"isspace":     check("isspace", all(isPySpace)),
		"isprintable": check("isprintable", func(s string) bool { return s == "" || all(isPrintable)(s) }),
		"isascii":     check("isascii", func(s string) bool { return s == "" || all(isASCII)(s) }),
		"isupper":     check("isupper", pyIsUpper), "islower": check("islower", pyIsLower),
		"istitle": check("istitle", pyIsTitle), "isidentifier": check("isidentifier", isIdentifier),
	}
}
