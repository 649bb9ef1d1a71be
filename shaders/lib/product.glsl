// One set of push constants for every matrix product C[M,N] = alpha * op(A)[M,K] op(B)[K,N] + ...
// Offsets and strides count elements. ld* is the length of a stored row: a product may read windows of A's and B's columns
// and write a window of C's. Product z is batch z / splits, part z % splits of K; batch b is (b / inner, b % inner).
layout(push_constant) uniform Push {
    uint M, N, K;
    uint lda, ldb, ldc;
    uint offA, offB, offC;
    uint aOuter, aInner, bOuter, bInner, cBatch;   // strides of the batch
    uint inner;
    uint splits, chunk;                            // parts of K, and the length of one
    uint cSplit;                                   // stride between the partial results of the parts
    float alpha;
};
