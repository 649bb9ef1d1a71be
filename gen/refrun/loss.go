package refrun

import (
	"fmt"
	"math"
)

// crossEntropy: weighted cross-entropy of each row; a label outside [0, V) is ignored.
//
//	In  logits [..., V], labels [rows] (whole numbers)     Batch.LossScale is the weight
//	Out loss [rows], lse [rows], both 0 where ignored
func crossEntropy(c *Call) ([]*Array, error) {
	x, labels := c.In[0], c.In[1]
	v := x.Shape[len(x.Shape)-1]
	n := len(x.Data) / v
	if len(labels.Data) != n {
		return nil, fmt.Errorf("cross_entropy: logits %v, labels %v", x.Shape, labels.Shape)
	}
	loss, lse := zeros(n), zeros(n)
	for r := range n {
		label := int(labels.Data[r])
		if label < 0 || label >= v {
			continue
		}
		lse.Data[r] = logSumExp(row(x, r))
		loss.Data[r] = c.Batch.LossScale * (lse.Data[r] - row(x, r)[label])
	}
	return []*Array{loss, lse}, nil
}

// crossEntropyGrad: the gradient of the sum of the losses.
//
//	In  logits [..., V], labels [rows]   Out dlogits [..., V]
func crossEntropyGrad(c *Call) ([]*Array, error) {
	x, labels := c.In[0], c.In[1]
	v := x.Shape[len(x.Shape)-1]
	dx := zeros(x.Shape...)
	for r := range len(x.Data) / v {
		label := int(labels.Data[r])
		if label < 0 || label >= v {
			continue
		}
		lse, g := logSumExp(row(x, r)), row(dx, r)
		for i, xi := range row(x, r) {
			g[i] = c.Batch.LossScale * math.Exp(xi-lse)
		}
		g[label] -= c.Batch.LossScale
	}
	return []*Array{dx}, nil
}

func logSumExp(x []float64) float64 {
	top := math.Inf(-1)
	for _, v := range x {
		top = max(top, v)
	}
	sum := 0.0
	for _, v := range x {
		sum += math.Exp(v - top)
	}
	return top + math.Log(sum)
}
