package hfconfig

import (
	"strings"
	"testing"
)

func TestPositive(t *testing.T) {
	f := mustParse(t, `{"heads": 0}`)
	if f.Positive(f.Int("heads"), "heads") || f.Err() == nil || !strings.Contains(f.Err().Error(), "above 0") {
		t.Errorf("zero heads: %v", f.Err())
	}
	if f = mustParse(t, `{"heads": 4}`); !f.Positive(f.Int("heads"), "heads") || f.Err() != nil {
		t.Errorf("four heads: %v", f.Err())
	}
}

func TestRecover(t *testing.T) {
	f := mustParse(t, `{}`)
	short := []int{1}
	read := func(i int) (err error) {
		defer f.Recover(&err)
		_ = short[i]
		return nil
	}
	if err := read(3); err == nil || !strings.Contains(err.Error(), "index out of range") {
		t.Errorf("short list: %v", err)
	}
	if err := read(0); err != nil {
		t.Error(err)
	}
}

func TestObject(t *testing.T) {
	f := mustParse(t, `{"rope_scaling": null, "rope_parameters": {"rope_type": "yarn"}, "x": 3}`)
	if m := f.Object("rope_scaling", "rope_parameters"); m["rope_type"] != "yarn" {
		t.Errorf("object %v", m)
	}
	if m := f.Object("none"); m != nil || f.Err() != nil {
		t.Errorf("absent object %v, %v", m, f.Err())
	}
	if f.Object("x"); f.Err() == nil {
		t.Error("a number passed as an object")
	}
}
