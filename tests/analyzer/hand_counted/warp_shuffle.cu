// Difficulty: warp reduction by shuffles, votes.
__inline__ __device__ float warpSum(float v) {
    for (int offset = warpSize / 2; offset > 0; offset /= 2) {
        v += __shfl_down_sync(0xffffffff, v, offset);
    }
    return v;
}

__global__ void warpSums(const float* x, float* sums, int* positive) {
    int tid = threadIdx.x;
    float v = x[tid];
    unsigned int votes = __ballot_sync(0xffffffff, v > 0.0f);
    float sum = warpSum(v);
    if ((tid & 31) == 0) {
        sums[tid >> 5] = sum;
        positive[tid >> 5] = __popc(votes);
    }
}

void run(const float* x, float* sums, int* positive) { warpSums<<<1, 256>>>(x, sums, positive); }
