// Stands in for CUDA's header of this name where a program is compiled for a CPU.
#pragma once

// All standard headers first: they use names, such as __noinline__, that the macros below give away.
#include <bits/stdc++.h>
#include <math.h>
#include <stdlib.h>

#include "api.h"
#include "device_functions.h"
#include "launch.h"
#include "texture.h"
#include "vector_types.h"
#include "warp_functions.h"

#define CUDA_ON_CPU 1
// What programs and their headers ask for to know that CUDA is there.
#define __CUDACC__ 1
#define __NVCC__ 1
#define __CUDACC_VER_MAJOR__ 12
#define __CUDACC_VER_MINOR__ 0
#define __CUDA_RUNTIME_H__
#define __DRIVER_TYPES_H__
#define __VECTOR_TYPES_H__
#define __global__
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __forceinline__ inline
#define __noinline__
#define __grid_constant__
#define __device_builtin__
#define __cudart_builtin__
#define __maxnreg__(...)
#define __cluster_dims__(...)
#define CUDART_CB
#define CUDARTAPI
#define CUDAAPI
#define __builtin_align__(bytes) __attribute__((aligned(bytes)))
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __restrict__ __restrict

// Blocks run one after another, so one copy of a block's variables is enough.
#define __shared__ static

#define CUDART_INF_F std::numeric_limits<float>::infinity()
#define CUDART_NAN_F std::numeric_limits<float>::quiet_NaN()
#define CUDART_INF std::numeric_limits<double>::infinity()
#define CUDART_NAN std::numeric_limits<double>::quiet_NaN()
#define CUDART_PI_F 3.141592654f
#define CUDART_PIO2_F 1.570796327f
#define CUDART_2PI_F 6.283185307f
#define CUDART_SQRT_2_F 1.414213562f
#define CUDART_PI 3.1415926535897931
#define CUDART_MAX_NORMAL_F 3.402823466e38f
