package main

import (
	"fmt"
	"strings"
)

// The limits, in lines.
const (
	goFileLimit   = 500
	functionLimit = 70
	specLimit     = 150
	tableLimit    = 200 // specs/ops
	templateLimit = 300
	readmeLimit   = 250
)

// judge returns one complaint for each file and each function over its budget, in the order of the files.
func judge(files []file) []string {
	var complaints []string
	complain := func(format string, args ...any) {
		complaints = append(complaints, fmt.Sprintf(format, args...))
	}
	for _, f := range files {
		if f.generated {
			continue
		}
		switch f.kind {
		case goCode, goTest:
			if f.lines > goFileLimit {
				complain("%s: Go file of %d lines, limit %d: split it by idea", f.path, f.lines, goFileLimit)
			}
		case spec:
			switch {
			case strings.HasPrefix(f.path, "specs/ops/"):
				if f.lines > tableLimit {
					complain("%s: op table of %d lines, limit %d: split it by kind", f.path, f.lines, tableLimit)
				}
			case f.lines > specLimit && f.reason == "":
				complain("%s: spec of %d lines, limit %d: shorten it with extends, "+
					"or say \"Long because ...\" in its head comment", f.path, f.lines, specLimit)
			}
		case template:
			if f.lines > templateLimit {
				complain("%s: template of %d lines, limit %d: move parts to shaders/lib", f.path, f.lines, templateLimit)
			}
		case readme:
			if f.lines > readmeLimit {
				complain("%s: README of %d lines, limit %d", f.path, f.lines, readmeLimit)
			}
		}
		if f.kind != goCode {
			continue
		}
		for _, fn := range f.functions {
			if fn.lines > functionLimit {
				complain("%s:%d: function %s of %d lines, limit %d", f.path, fn.line, fn.name, fn.lines, functionLimit)
			}
		}
	}
	return complaints
}
