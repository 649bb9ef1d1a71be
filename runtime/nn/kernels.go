package nn

import "github.com/vulcast/vulcast/runtime/gpu"

// Kernels is the table of library kernels: a field per kernel of shaders.Sources, named in camel case. The generated
// package kernels fills it in, so that nn depends on no generated code.
type Kernels struct {
	// Reductions over rows.
	SumRows gpu.Kernel

	// Matrix products (matmul.go): lanes for CPU drivers, with and without 64-bit loads; tile and few for GPUs.
	MatmulLanesNt, MatmulLanesNn, MatmulLanesTn, MatmulLanesTt         gpu.Kernel
	MatmulLanes64Nt, MatmulLanes64Nn, MatmulLanes64Tn, MatmulLanes64Tt gpu.Kernel
	MatmulTileNt, MatmulTileNn, MatmulTileTn, MatmulTileTt             gpu.Kernel
	MatmulFew, MatmulJoin                                              gpu.Kernel

	// Matrix products on cooperative matrices (matmul_coop.go).
	MatmulCoopNtBf16, MatmulCoopNnBf16, MatmulCoopTnBf16 gpu.Kernel
	MatmulCoopNtF16, MatmulCoopNnF16, MatmulCoopTnF16    gpu.Kernel

	// Embedding tables (embed.go).
	Embed, EmbedLinks, EmbedGrad gpu.Kernel

	// Loss (loss.go).
	CrossEntropy, CrossEntropyGrad, Total gpu.Kernel

	// Optimizer (optimizer.go).
	SquareSums, GradNorm, Adamw, Adamw64 gpu.Kernel

	// Attention: tile kernels for GPUs, lane kernels for CPU drivers (attention.go).
	AttentionTile, AttentionGradQTile, AttentionGradKvTile             gpu.Kernel
	AttentionLanes, AttentionGradQLanes, AttentionGradKvLanes          gpu.Kernel
	AttentionCombine, AttentionGradSinks, AttentionFew                 gpu.Kernel
	AttentionCoopBf16, AttentionGradQCoopBf16, AttentionGradKvCoopBf16 gpu.Kernel
	AttentionCoopF16, AttentionGradQCoopF16, AttentionGradKvCoopF16    gpu.Kernel

	// Rotary positions and decoding caches (rope.go, cache.go).
	Rope, RopeTable, CacheAppend gpu.Kernel

	// One function of lib/math or lib/act, to check a driver (elementary.go).
	Elementary gpu.Kernel

	// Rearrangements (structure.go).
	StridedCopy, StridedSum, SumTwo, Dropout, ShiftIndex, MaskedShare, TokenPositions, HidePadding, BlockSegments gpu.Kernel

	// Other mixers of tokens (mixers.go, relative_gather.go).
	Dft, Unfold, RelativeGather, DepthwiseConv, AnglePower gpu.Kernel

	// Relative positions (relative.go).
	RelativeBias, RelativeDiagonals, RelativeBiasGrad gpu.Kernel

	// Routing and experts (experts.go).
	GroupIds, Topk, GroupLimit, GatherLast, ScatterLast, Route, ExpertLinear, ExpertGrad gpu.Kernel

	// Positions to compute with (place.go).
	IndexFloat gpu.Kernel

	// Sparse attention (choose_keys.go).
	IndexScores, ChooseKeys gpu.Kernel

	// Convolutions and recurrences over time (conv.go, recurrence.go).
	TokenMask, CausalConv, CausalConvState, CausalConvGrad, CausalConvWeightGrad gpu.Kernel
	Recurrence, RecurrenceBackValues, RecurrenceBackKeys, RowDot                 gpu.Kernel
	SelectiveScan, SelectiveScanGrad                                             gpu.Kernel
}
