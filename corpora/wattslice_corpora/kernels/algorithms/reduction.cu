// Sum of an array, one partial sum per block, by three trees: interleaved pairs found with a modulo (warps
// diverge), sequential addressing in shared memory (whole warps retire), and warp shuffles over values in
// registers. The work is the same; idle lanes, shared-memory traffic and barriers set the power apart.
// Usage: reduction [n]
#include "../common.cuh"

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;

__global__ void reduceDivergent(const float* in, float* sums, int n) {
    __shared__ float partial[kThreads];
    const int tid = threadIdx.x;
    const int i = blockIdx.x * kThreads + tid;
    partial[tid] = i < n ? in[i] : 0.0f;
    __syncthreads();
    for (int stride = 1; stride < kThreads; stride *= 2) {
        if (tid % (2 * stride) == 0) {
            partial[tid] += partial[tid + stride];
        }
        __syncthreads();
    }
    if (tid == 0) {
        sums[blockIdx.x] = partial[0];
    }
}

__global__ void reduceSequential(const float* in, float* sums, int n) {
    __shared__ float partial[kThreads];
    const int tid = threadIdx.x;
    const int i = blockIdx.x * kThreads + tid;
    partial[tid] = i < n ? in[i] : 0.0f;
    __syncthreads();
    for (int stride = kThreads / 2; stride > 0; stride /= 2) {
        if (tid < stride) {
            partial[tid] += partial[tid + stride];
        }
        __syncthreads();
    }
    if (tid == 0) {
        sums[blockIdx.x] = partial[0];
    }
}

__device__ float warpSum(float value) {
    for (int offset = 16; offset > 0; offset /= 2) {
        value += __shfl_down_sync(0xffffffffu, value, offset);
    }
    return value;
}

__global__ void reduceShuffle(const float* in, float* sums, int n) {
    __shared__ float partial[kWarps];
    const int tid = threadIdx.x;
    const int i = blockIdx.x * kThreads + tid;
    float value = warpSum(i < n ? in[i] : 0.0f);
    if (tid % 32 == 0) {
        partial[tid / 32] = value;
    }
    __syncthreads();
    if (tid < 32) {
        value = warpSum(tid < kWarps ? partial[tid] : 0.0f);
        if (tid == 0) {
            sums[blockIdx.x] = value;
        }
    }
}

bool matches(const std::vector<float>& sums, const std::vector<float>& in) {
    for (size_t block = 0; block < sums.size(); ++block) {
        double expected = 0.0;
        for (size_t i = block * kThreads; i < std::min(in.size(), (block + 1) * kThreads); ++i) {
            expected += in[i];
        }
        if (!near(sums[block], expected, 1e-5)) {
            return false;
        }
    }
    return true;
}

int main(int argc, char** argv) {
    const int n = argc > 1 ? atoi(argv[1]) : 1 << 20;
    const int blocks = (n + kThreads - 1) / kThreads;

    std::vector<float> in(n);
    for (int i = 0; i < n; ++i) {
        in[i] = (i * 2654435761u >> 16) / 65536.0f;
    }
    const float* dIn = toDevice(in);
    float* dDivergent = deviceZeros<float>(blocks);
    float* dSequential = deviceZeros<float>(blocks);
    float* dShuffle = deviceZeros<float>(blocks);

    reduceDivergent<<<blocks, kThreads>>>(dIn, dDivergent, n);
    reduceSequential<<<blocks, kThreads>>>(dIn, dSequential, n);
    reduceShuffle<<<blocks, kThreads>>>(dIn, dShuffle, n);

    return report(matches(toHost(dDivergent, blocks), in) && matches(toHost(dSequential, blocks), in) &&
                      matches(toHost(dShuffle, blocks), in),
                  "sums of blocks");
}
