package refrun

import (
	"math"
	"testing"
)

func TestActivationDerivatives(t *testing.T) {
	for name, a := range activationTable() {
		t.Run(name, func(t *testing.T) {
			const h = 1e-5
			for x := -7.3; x < 12; x += 0.0937 {
				want := (a.f(x+h) - a.f(x-h)) / (2 * h)
				if got := a.grad(x); math.Abs(got-want) > 2e-9*(1+math.Abs(want)) {
					t.Errorf("at %g: derivative %.12g, central difference %.12g", x, got, want)
				}
			}
		})
	}
}

func TestActivationUnknown(t *testing.T) {
	if _, _, err := Activation("xielu"); err == nil {
		t.Error("xielu accepted")
	}
}
