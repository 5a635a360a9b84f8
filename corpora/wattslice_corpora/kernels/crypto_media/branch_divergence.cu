// One of two chains of multiply-adds per thread, twice: chosen by the parity of the warp, so that every warp
// takes one way, and by the parity of the lane, so that every warp takes both with half its lanes. The same
// arithmetic in all; the divergent kernel issues twice the instructions. The chains reflect their value to and fro,
// so that its bits keep toggling in every round.
// Usage: branch_divergence [n] [rounds]
#include "../common.cuh"

constexpr int kThreads = 256;

__host__ __device__ inline float reflectedLow(float x, int rounds) {
    for (int round = 0; round < rounds; ++round) {
        x = 0.125f - 0.99993896f * x;
    }
    return x;
}

__host__ __device__ inline float reflectedHigh(float x, int rounds) {
    for (int round = 0; round < rounds; ++round) {
        x = 0.5f - 0.99987793f * x;
    }
    return x;
}

__global__ void branchByWarp(const float* in, float* out, int n, int rounds) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    if (i / 32 % 2 == 0) {
        out[i] = reflectedLow(in[i], rounds);
    } else {
        out[i] = reflectedHigh(in[i], rounds);
    }
}

__global__ void branchByLane(const float* in, float* out, int n, int rounds) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    if (i % 2 == 0) {
        out[i] = reflectedLow(in[i], rounds);
    } else {
        out[i] = reflectedHigh(in[i], rounds);
    }
}

int main(int argc, char** argv) {
    const int n = argc > 1 ? atoi(argv[1]) : 1 << 20;
    const int rounds = argc > 2 ? atoi(argv[2]) : 256;
    const int blocks = (n + kThreads - 1) / kThreads;

    std::vector<float> in(n);
    for (int i = 0; i < n; ++i) {
        in[i] = (i * 2654435761u >> 16) / 65536.0f;
    }
    const float* dIn = toDevice(in);
    float* dByWarp = deviceZeros<float>(n);
    float* dByLane = deviceZeros<float>(n);

    branchByWarp<<<blocks, kThreads>>>(dIn, dByWarp, n, rounds);
    branchByLane<<<blocks, kThreads>>>(dIn, dByLane, n, rounds);

    const std::vector<float> byWarp = toHost(dByWarp, n);
    const std::vector<float> byLane = toHost(dByLane, n);
    bool ok = true;
    for (int i = 0; i < n; i += 1 + n / 65536) {  // a sample of many elements
        const float even = reflectedLow(in[i], rounds);
        const float odd = reflectedHigh(in[i], rounds);
        ok = ok && near(byWarp[i], i / 32 % 2 == 0 ? even : odd, 1e-5) &&
             near(byLane[i], i % 2 == 0 ? even : odd, 1e-5);
    }
    return report(ok, "chains");
}
