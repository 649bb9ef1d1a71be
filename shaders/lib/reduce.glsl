// Sums and maxima over the workgroup, in a fixed order, returned to every lane. The workgroup is whole subgroups, at most
// 64; of one subgroup alone (oneSubgroup) it needs neither shared memory nor barriers. Call them in uniform control flow.
shared float reducePart[64];

float rowSum(float v) {
    v = subgroupAdd(v);
    if (oneSubgroup) return v;
    barrier();                                  // the call before may still read
    if (subgroupElect()) reducePart[gl_SubgroupID] = v;
    barrier();
    float total = 0.0;
    for (uint i = 0; i < gl_NumSubgroups; i++) total += reducePart[i];
    return total;
}

float rowMax(float v) {
    v = subgroupMax(v);
    if (oneSubgroup) return v;
    barrier();
    if (subgroupElect()) reducePart[gl_SubgroupID] = v;
    barrier();
    float top = reducePart[0];
    for (uint i = 1; i < gl_NumSubgroups; i++) top = max(top, reducePart[i]);
    return top;
}
