// Host-side libraries (cuBLAS, cuFFT, cuRAND, cuSPARSE, cuSOLVER, NVML, NCCL, NVTX, driver API): their types, and
// one shape for the common functions. Anything else is declared on the fly as an unknown name.
#pragma once
#include "wattslice_fp16.cuh"
#include "cuComplex.h"

#define WS_LIBRARY_FUNCTION(R, F) template <class... A> R F(A...);
#define WS_LIBRARY(STATUS, HANDLE, SUCCESS) typedef int STATUS; typedef struct HANDLE##_st* HANDLE; enum { SUCCESS = 0 };
WS_LIBRARY(cublasStatus_t, cublasHandle_t, CUBLAS_STATUS_SUCCESS)
WS_LIBRARY(curandStatus_t, curandGenerator_t, CURAND_STATUS_SUCCESS)
WS_LIBRARY(cusparseStatus_t, cusparseHandle_t, CUSPARSE_STATUS_SUCCESS)
WS_LIBRARY(cusolverStatus_t, cusolverDnHandle_t, CUSOLVER_STATUS_SUCCESS)
WS_LIBRARY(ncclResult_t, ncclComm_t, ncclSuccess)
WS_LIBRARY(nvmlReturn_t, nvmlDevice_t, NVML_SUCCESS)
WS_LIBRARY(cudnnStatus_t, cudnnHandle_t, CUDNN_STATUS_SUCCESS)
typedef cublasStatus_t cublasStatus; typedef int cufftHandle; typedef int cufftResult; enum { CUFFT_SUCCESS = 0 };
typedef cublasHandle_t cublasLtHandle_t; typedef int curandRngType_t; typedef unsigned curandDirectionVectors32_t[32];
typedef float cufftReal; typedef double cufftDoubleReal; typedef cuComplex cufftComplex; typedef cuDoubleComplex cufftDoubleComplex;
enum cublasMath_t { CUBLAS_DEFAULT_MATH, CUBLAS_TENSOR_OP_MATH, CUBLAS_PEDANTIC_MATH, CUBLAS_TF32_TENSOR_OP_MATH };
enum cublasOperation_t { CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C };
enum cudaDataType { CUDA_R_32F, CUDA_R_16F, CUDA_R_16BF, CUDA_R_64F, CUDA_R_8I, CUDA_R_32I, CUDA_C_32F };
typedef cudaDataType cudaDataType_t; typedef cudaDataType cublasDataType_t;
enum cublasComputeType_t { CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_16F, CUBLAS_COMPUTE_32F_FAST_TF32, CUBLAS_COMPUTE_32F_FAST_16F };
enum { CUFFT_FORWARD = -1, CUFFT_INVERSE = 1, CUFFT_C2C = 0x29, CUFFT_R2C = 0x2a, CUFFT_C2R = 0x2c, CUFFT_Z2Z = 0x69, CUFFT_D2Z = 0x6a, CUFFT_Z2D = 0x6c };
enum { CURAND_RNG_PSEUDO_DEFAULT = 100, CURAND_RNG_PSEUDO_XORWOW = 101, CURAND_RNG_PSEUDO_MTGP32 = 141, CURAND_RNG_QUASI_SOBOL32 = 201 };
typedef struct cusparseMatDescr_st* cusparseMatDescr_t; typedef struct cusparseSpMatDescr_st* cusparseSpMatDescr_t;
typedef struct cusparseDnVecDescr_st* cusparseDnVecDescr_t;
typedef int CUresult; typedef int CUdevice; typedef unsigned long long CUdeviceptr; typedef struct CUctx_st* CUcontext;
typedef struct CUmod_st* CUmodule; typedef CUfunc_st* CUfunction; typedef CUstream_st* CUstream; typedef CUevent_st* CUevent;
typedef struct CUarray_st* CUarray; typedef struct CUtexref_st* CUtexref; typedef cudaTextureObject_t CUtexObject; typedef cudaSurfaceObject_t CUsurfObject; enum { CUDA_SUCCESS = 0 };
WS_LIBRARY_FUNCTION(CUresult, cuInit) WS_LIBRARY_FUNCTION(CUresult, cuDeviceGet) WS_LIBRARY_FUNCTION(CUresult, cuCtxCreate)
WS_LIBRARY_FUNCTION(CUresult, cuDeviceGetAttribute) WS_LIBRARY_FUNCTION(CUresult, cuMemAlloc) WS_LIBRARY_FUNCTION(CUresult, cuMemFree)
WS_LIBRARY_FUNCTION(cublasStatus_t, cublasCreate) WS_LIBRARY_FUNCTION(cublasStatus_t, cublasDestroy)
WS_LIBRARY_FUNCTION(cublasStatus_t, cublasSgemm) WS_LIBRARY_FUNCTION(cublasStatus_t, cublasDgemm)
WS_LIBRARY_FUNCTION(cublasStatus_t, cublasSgemv) WS_LIBRARY_FUNCTION(cublasStatus_t, cublasDgemv)
WS_LIBRARY_FUNCTION(cublasStatus_t, cublasSgemmStridedBatched) WS_LIBRARY_FUNCTION(cublasStatus_t, cublasGemmStridedBatchedEx)
WS_LIBRARY_FUNCTION(cublasStatus_t, cublasLtCreate) WS_LIBRARY_FUNCTION(cublasStatus_t, cublasLtDestroy)
WS_LIBRARY_FUNCTION(cublasStatus_t, cublasGemmEx) WS_LIBRARY_FUNCTION(cublasStatus_t, cublasSetMathMode)
WS_LIBRARY_FUNCTION(cublasStatus_t, cublasSetStream) WS_LIBRARY_FUNCTION(curandStatus_t, curandCreateGenerator)
WS_LIBRARY_FUNCTION(curandStatus_t, curandGenerateUniform) WS_LIBRARY_FUNCTION(curandStatus_t, curandSetPseudoRandomGeneratorSeed)
WS_LIBRARY_FUNCTION(curandStatus_t, curandDestroyGenerator) WS_LIBRARY_FUNCTION(curandStatus_t, curandGenerateNormal)
WS_LIBRARY_FUNCTION(cufftResult, cufftPlan1d) WS_LIBRARY_FUNCTION(cufftResult, cufftPlan2d) WS_LIBRARY_FUNCTION(cufftResult, cufftDestroy)
WS_LIBRARY_FUNCTION(cufftResult, cufftExecC2C) WS_LIBRARY_FUNCTION(cufftResult, cufftExecR2C) WS_LIBRARY_FUNCTION(cufftResult, cufftExecC2R)
