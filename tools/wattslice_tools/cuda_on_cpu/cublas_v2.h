// Stands in for the header of cuBLAS: handles, copies and products of matrices, for programs whose own kernels
// stand beside them. What is not here does not compile, and is said.
#pragma once

#include "cuda_bf16.h"

enum cublasStatus_t { CUBLAS_STATUS_SUCCESS, CUBLAS_STATUS_NOT_INITIALIZED, CUBLAS_STATUS_ALLOC_FAILED = 3,
                      CUBLAS_STATUS_INVALID_VALUE = 7, CUBLAS_STATUS_ARCH_MISMATCH = 8, CUBLAS_STATUS_MAPPING_ERROR = 11,
                      CUBLAS_STATUS_EXECUTION_FAILED = 13, CUBLAS_STATUS_INTERNAL_ERROR, CUBLAS_STATUS_NOT_SUPPORTED };
enum cublasOperation_t { CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C };
enum cublasMath_t { CUBLAS_DEFAULT_MATH, CUBLAS_TENSOR_OP_MATH, CUBLAS_PEDANTIC_MATH, CUBLAS_TF32_TENSOR_OP_MATH };
enum cublasComputeType_t { CUBLAS_COMPUTE_16F = 64, CUBLAS_COMPUTE_32F = 68, CUBLAS_COMPUTE_32F_FAST_TF32 = 77 };
enum cudaDataType_t { CUDA_R_32F, CUDA_R_64F, CUDA_R_16F, CUDA_R_8I, CUDA_R_32I = 10, CUDA_R_16BF = 14 };
using cudaDataType = cudaDataType_t;
using cublasHandle_t = struct cublasContext*;

inline cublasStatus_t cublasCreate(cublasHandle_t* handle) {
    *handle = nullptr;
    return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasDestroy(cublasHandle_t) { return CUBLAS_STATUS_SUCCESS; }
inline cublasStatus_t cublasSetStream(cublasHandle_t, cudaStream_t) { return CUBLAS_STATUS_SUCCESS; }
inline cublasStatus_t cublasSetMathMode(cublasHandle_t, cublasMath_t) { return CUBLAS_STATUS_SUCCESS; }

// Columns lie one after another: c = alpha op(a) op(b) + beta c, with m rows, n columns and k terms.
template <class T>
cublasStatus_t cudaOnCpuGemm(cublasOperation_t opA, cublasOperation_t opB, int m, int n, int k, const T* alpha,
                             const T* a, int lda, const T* b, int ldb, const T* beta, T* c, int ldc) {
    for (int column = 0; column < n; ++column) {
        for (int row = 0; row < m; ++row) {
            T sum = 0;
            for (int i = 0; i < k; ++i) {
                sum += a[opA == CUBLAS_OP_N ? size_t(i) * lda + row : size_t(row) * lda + i] *
                       b[opB == CUBLAS_OP_N ? size_t(column) * ldb + i : size_t(i) * ldb + column];
            }
            T& element = c[size_t(column) * ldc + row];
            element = *alpha * sum + (*beta == 0 ? 0 : *beta * element);
        }
    }
    return CUBLAS_STATUS_SUCCESS;
}
#define CUDA_ON_CPU_GEMM(NAME, T)                                                                                    \
    inline cublasStatus_t NAME(cublasHandle_t, cublasOperation_t opA, cublasOperation_t opB, int m, int n, int k,    \
                               const T* alpha, const T* a, int lda, const T* b, int ldb, const T* beta, T* c,        \
                               int ldc) {                                                                            \
        return cudaOnCpuGemm(opA, opB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);                                \
    }                                                                                                                \
    inline cublasStatus_t NAME##StridedBatched(                                                                      \
        cublasHandle_t, cublasOperation_t opA, cublasOperation_t opB, int m, int n, int k, const T* alpha,           \
        const T* a, int lda, long long strideA, const T* b, int ldb, long long strideB, const T* beta, T* c,         \
        int ldc, long long strideC, int count) {                                                                     \
        for (int i = 0; i < count; ++i) {                                                                            \
            cudaOnCpuGemm(opA, opB, m, n, k, alpha, a + i * strideA, lda, b + i * strideB, ldb, beta,                \
                          c + i * strideC, ldc);                                                                     \
        }                                                                                                            \
        return CUBLAS_STATUS_SUCCESS;                                                                                \
    }
CUDA_ON_CPU_GEMM(cublasSgemm, float)
CUDA_ON_CPU_GEMM(cublasDgemm, double)
