// Difficulty: half precision by operators and by intrinsics.
#include <cuda_fp16.h>

__global__ void halfMath(const __half* x, __half* y, __half a) {
    int i = threadIdx.x;
    __half v = x[i];
    v = v * a;
    v = __hadd(v, a);
    v = __hfma(v, a, x[i]);
    y[i] = v;
}

void run(const __half* x, __half* y) { halfMath<<<1, 64>>>(x, y, __float2half(2.0f)); }
