// Stands in for the header of cuBLASLt: a handle, for programs that make one and never use it.
#pragma once

#include "cublas_v2.h"

using cublasLtHandle_t = struct cublasLtContext*;

inline cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
    *handle = nullptr;
    return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtDestroy(cublasLtHandle_t) { return CUBLAS_STATUS_SUCCESS; }
