// Stands in for CUDA's header of this name where a corpus program is compiled for a CPU.
#pragma once

// All standard headers first: they use names, such as __noinline__, that the macros below give away.
#include <bits/stdc++.h>

#include "api.h"
#include "device_functions.h"
#include "launch.h"
#include "texture.h"
#include "vector_types.h"
#include "warp_functions.h"

#define CUDA_ON_CPU 1
#define __global__
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __forceinline__ inline
#define __noinline__
#define __grid_constant__
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __restrict__ __restrict

// Blocks run one after another, so one copy of a block's variables is enough.
#define __shared__ static
