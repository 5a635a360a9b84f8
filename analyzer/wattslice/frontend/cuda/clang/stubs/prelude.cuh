// What every CUDA file sees before its first line (stands in for cuda_runtime.h), written from NVIDIA's public
// programming guide and API reference. A function declared here without a body is an intrinsic: the analyzer
// goes by its name. Nothing here is ever run.
#pragma once

#define WS_H __attribute__((host))
#define WS_D __attribute__((device))
#define WS_HD __attribute__((host)) __attribute__((device))

#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __managed__ __attribute__((device)) __attribute__((annotate("managed")))
#define __grid_constant__ __attribute__((annotate("grid_constant")))
#define __launch_bounds__(...) \
  __attribute__((launch_bounds(__VA_ARGS__))) __attribute__((annotate("launch_bounds", __VA_ARGS__)))
#define __maxnreg__(...) __attribute__((annotate("maxnreg", __VA_ARGS__)))
#define __cluster_dims__(...) __attribute__((annotate("cluster_dims", __VA_ARGS__)))
#define __block_size__(...) __attribute__((annotate("block_size", __VA_ARGS__)))
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __inline_hint__
#define __nv_pure__ __attribute__((pure))
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __attribute__((aligned(n)))
#define __thread__ __thread
#define alignas(...) __attribute__((aligned(__VA_ARGS__)))  // nvcc takes it between specifiers as well
#define __location__(x) __##x##__
#define __device_builtin__
#define __cudart_builtin__
#define __CUDA_RUNTIME_H__
#define __DRIVER_TYPES_H__  // helper headers ask for it before they declare their error checks
#define CUDARTAPI
#define CUDART_CB
#define CUDARTAPI_CDECL
#define CUDAAPI
#define CUDA_CB

#define __CUDACC__ 1
#define __NVCC__ 1
#define __CUDACC_VER_MAJOR__ 12
#define __CUDACC_VER_MINOR__ 4
#define __CUDACC_VER_BUILD__ 131
#define __CUDACC_EXTENDED_LAMBDA__ 1
#define __CUDACC_RELAXED_CONSTEXPR__ 1
#define CUDART_VERSION 12040
#define CUDA_VERSION 12040
#define __CUDART_API_VERSION CUDART_VERSION
#define __nv_is_extended_device_lambda_closure_type(T) false
#define __CUDA_ARCH_LIST__ 800

#include "wattslice_std_base.h"
#include "wattslice_cuda_vectors.cuh"
#include "wattslice_cuda_math.cuh"
#include "wattslice_builtins.cuh"
#include "wattslice_cuda_device.cuh"
#include "wattslice_cuda_texture.cuh"
#include "wattslice_cuda_runtime.cuh"
#include "wattslice_std_c.h"
#include "wattslice_std_cpp.h"
