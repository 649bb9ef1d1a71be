package tokenizer

import (
	"maps"
	"slices"
	"strings"
	"unicode"
)

// newCategories is what Unicode 16.0 has beyond 15.0.
var newCategories = map[string]runeRanges{"Ll": newLl, "Lm": newLm, "Lo": newLo, "Lu": newLu, "Mc": newMc,
	"Mn": newMn, "Nd": newNd, "Pd": newPd, "Po": newPo, "Sm": newSm, "So": newSo}

// longNames are the other names of categories.
var longNames = map[string]string{"letter": "L", "uppercaseletter": "Lu", "lowercaseletter": "Ll",
	"titlecaseletter": "Lt", "modifierletter": "Lm", "otherletter": "Lo", "mark": "M", "nonspacingmark": "Mn",
	"spacingmark": "Mc", "enclosingmark": "Me", "number": "N", "decimalnumber": "Nd", "letternumber": "Nl",
	"othernumber": "No", "punctuation": "P", "connectorpunctuation": "Pc", "dashpunctuation": "Pd",
	"openpunctuation": "Ps", "closepunctuation": "Pe", "initialpunctuation": "Pi", "finalpunctuation": "Pf",
	"otherpunctuation": "Po", "symbol": "S", "mathsymbol": "Sm", "currencysymbol": "Sc", "modifiersymbol": "Sk",
	"othersymbol": "So", "separator": "Z", "spaceseparator": "Zs", "lineseparator": "Zl",
	"paragraphseparator": "Zp", "other": "C", "control": "Cc", "format": "Cf", "privateuse": "Co",
	"unassigned": "Cn", "surrogate": "Cs"}

// plainName returns how regexp2 writes a category, with what Unicode 16.0 has more; "" for other sets.
func plainName(name string) string {
	switch name {
	case `\d`:
		name = "Nd"
	case "Mn", "C", "Cn":
		return ""
	}
	if _, ok := unicode.Categories[name]; !ok || len(name) > 2 {
		return ""
	}
	out := `\p{` + name + `}`
	for _, c := range slices.Sorted(maps.Keys(newCategories)) {
		if strings.HasPrefix(c, name) {
			out += newCategories[c].text()
		}
	}
	return out
}

// namedSet returns a property, script, POSIX class or one of \w \d \s \h, as of Unicode 16.0.
func namedSet(name string) (runeRanges, bool) {
	posix := false
	name, posix = strings.CutPrefix(name, "posix ")
	key := strings.NewReplacer("_", "", " ", "", "-", "").Replace(strings.ToLower(name))
	if posix && key == "punct" {
		return union(category("P"), category("S")), true
	}
	switch key {
	case `\s`, "space", "whitespace":
		return fromTable(unicode.White_Space), true
	case `\d`, "digit":
		return category("Nd"), true
	case `\h`, "xdigit":
		return runeRanges{{'0', '9'}, {'A', 'F'}, {'a', 'f'}}, true
	case `\w`, "word":
		return union(category("L"), category("M"), category("Nd"), category("Nl"), category("Pc"),
			circledLetters), true
	case "alpha", "alphabetic":
		return union(category("L"), category("Nl"), fromTable(unicode.Other_Alphabetic), newAlphabetic), true
	case "alnum":
		a, _ := namedSet("alpha")
		return union(a, category("Nd")), true
	case "punct":
		return category("P"), true
	case "upper", "uppercase":
		return union(category("Lu"), fromTable(unicode.Other_Uppercase)), true
	case "lower", "lowercase":
		return union(category("Ll"), fromTable(unicode.Other_Lowercase)), true
	case "cntrl":
		return category("Cc"), true
	case "blank":
		return union(category("Zs"), runeRanges{{'\t', '\t'}}), true
	case "any":
		return runeRanges(nil).complement(), true
	case "ascii":
		return runeRanges{{0, 0x7F}}, true
	}
	return propertySet(name, key)
}

// propertySet returns a category or script.
func propertySet(name, key string) (runeRanges, bool) {
	if long, ok := longNames[key]; ok {
		name = long
	}
	if len(name) <= 2 {
		for c := range unicode.Categories {
			if strings.EqualFold(c, name) && len(c) <= 2 {
				return category(c), true
			}
		}
		if strings.EqualFold(name, "Cn") {
			return category("Cn"), true
		}
	}
	return script(key)
}

// circledLetters are alphabetic symbols.
var circledLetters = runeRanges{{0x24B6, 0x24E9}, {0x1F130, 0x1F149}, {0x1F150, 0x1F169}, {0x1F170, 0x1F189}}

func script(key string) (runeRanges, bool) {
	key = strings.TrimPrefix(strings.TrimPrefix(key, "script="), "sc=")
	for name, table := range unicode.Scripts {
		if strings.ReplaceAll(strings.ToLower(name), "_", "") == key {
			set := fromTable(table)
			if name == "Han" {
				set = union(set, newHan)
			}
			return set, true
		}
	}
	return nil, false
}

// category returns a general category or, for one letter, a group of them.
func category(name string) runeRanges {
	if name == "Cn" {
		return union(category("L"), category("M"), category("N"), category("P"), category("S"), category("Z"),
			category("Cc"), category("Cf"), category("Co")).complement()
	}
	if name == "C" {
		return union(category("Cc"), category("Cf"), category("Co"), category("Cn"))
	}
	set := fromTable(unicode.Categories[name])
	for c, more := range newCategories {
		if strings.HasPrefix(c, name) {
			set = append(set, more...)
		}
	}
	set = set.normal()
	if name == "Mn" { // U+1171E is Mc in 16.0
		set = set.intersect(runeRanges{{0x1171E, 0x1171E}}.complement())
	}
	return set
}

func union(sets ...runeRanges) runeRanges { return runeRanges(slices.Concat(sets...)).normal() }

func fromTable(t *unicode.RangeTable) runeRanges {
	var out runeRanges
	add := func(lo, hi, stride rune) {
		if stride == 1 {
			out = append(out, [2]rune{lo, hi})
			return
		}
		for r := lo; r <= hi; r += stride {
			out = append(out, [2]rune{r, r})
		}
	}
	for _, x := range t.R16 {
		add(rune(x.Lo), rune(x.Hi), rune(x.Stride))
	}
	for _, x := range t.R32 {
		add(rune(x.Lo), rune(x.Hi), rune(x.Stride))
	}
	return out.normal()
}
