// Compiles where GL_NV_cooperative_matrix2 is known: workgroup scope and tensor layouts.
#version 450
#extension GL_KHR_cooperative_matrix : require
#extension GL_NV_cooperative_matrix2 : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_buffer_reference : require

layout(local_size_x = 128) in;
layout(binding = 0) readonly buffer A { float16_t a[]; };
layout(binding = 1) writeonly buffer C { float c[]; };

void main() {
    tensorLayoutNV<2, gl_CooperativeMatrixClampModeConstantNV> rows = createTensorLayoutNV(2, gl_CooperativeMatrixClampModeConstantNV);
    rows = setTensorLayoutDimensionNV(rows, 100, 64);
    coopmat<float16_t, gl_ScopeWorkgroup, 64, 64, gl_MatrixUseA> x;
    coopmat<float16_t, gl_ScopeWorkgroup, 64, 64, gl_MatrixUseB> y;
    coopmat<float, gl_ScopeWorkgroup, 64, 64, gl_MatrixUseAccumulator> sum =
        coopmat<float, gl_ScopeWorkgroup, 64, 64, gl_MatrixUseAccumulator>(0.0);
    coopMatLoadTensorNV(x, a, 0, sliceTensorLayoutNV(rows, 64, 64, 0, 64));
    coopMatLoad(y, a, 0, 64, gl_CooperativeMatrixLayoutColumnMajor);
    sum = coopMatMulAdd(x, y, sum);
    coopMatStore(sum, c, 0, 64, gl_CooperativeMatrixLayoutRowMajor);
}
