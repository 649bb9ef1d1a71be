// finish writes alpha * sum + bias + C + add to four neighbouring columns of a row, as far as they exist.
void finish(uint baseC, uint row, uint col, vec4 sum) {
    if (row >= M || col >= N) return;
    const uint at = baseC + row * ldc + col, last = N - 1 - col;
    vec4 v = alpha * sum;
    if (C4) {
        if ((EPILOGUE & 1) != 0) v += bias4(col / 4);
        if ((EPILOGUE & 2) != 0) v += c4(at / 4);
        if ((EPILOGUE & 4) != 0) v += plus4(at / 4);
        setC4(at / 4, v);
        return;
    }
    [[unroll]] for (uint e = 0; e < 4; e++) {
        if ((EPILOGUE & 1) != 0) v[e] += bias(col + min(e, last));
        if ((EPILOGUE & 2) != 0) v[e] += c(at + min(e, last));
        if ((EPILOGUE & 4) != 0) v[e] += plus(at + min(e, last));
        if (cType == F32 && e <= last) setC(at + e, v[e]);
    }
    if (cType != F32) {   // N is even
        setC2(at / 2, v.xy);
        if (last >= 2) setC2(at / 2 + 1, v.zw);
    }
}
