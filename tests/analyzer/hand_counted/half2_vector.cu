// Difficulty: half2 operations count both lanes.
#include <cuda_fp16.h>

__global__ void half2Math(const __half2* x, __half2* y, int n) {
    int i = threadIdx.x;
    __half2 sum = __float2half2_rn(0.0f);
    for (int k = 0; k < n; ++k) {
        sum = __hfma2(x[i], x[k], sum);
    }
    y[i] = __hmul2(sum, __hadd2(sum, x[i]));
}

void run(const __half2* x, __half2* y) { half2Math<<<1, 32>>>(x, y, 7); }
