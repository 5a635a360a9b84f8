// Copies an array in two ways: neighbouring threads copy neighbouring elements; or elements `stride` apart, so
// that a warp touches up to 32 cache lines for what fits into one. Same bytes asked for, far more moved.
// Usage: copy_strided [n] [stride]    (n a multiple of stride)
#include "matrices.cuh"

constexpr int kThreads = 256;

__global__ void copyCoalesced(const float* in, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = in[i];
    }
}

__global__ void copyStrided(const float* in, float* out, int n, int stride) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        const int perRound = n / stride;
        const int at = i % perRound * stride + i / perRound;  // every element once
        out[at] = in[at];
    }
}

int main(int argc, char** argv) {
    const int n = argc > 1 ? atoi(argv[1]) : 1 << 22;
    const int stride = argc > 2 ? atoi(argv[2]) : 32;
    if (n % stride != 0) {
        fprintf(stderr, "n must be a multiple of stride\n");
        return 1;
    }
    const std::vector<float> in = uniform(n, 1u);
    float* dIn = toDevice(in);
    float* dCoalesced = deviceZeros<float>(n);
    float* dStrided = deviceZeros<float>(n);

    const int blocks = (n + kThreads - 1) / kThreads;
    copyCoalesced<<<blocks, kThreads>>>(dIn, dCoalesced, n);
    copyStrided<<<blocks, kThreads>>>(dIn, dStrided, n, stride);

    const bool ok = toHost(dCoalesced, n) == in && toHost(dStrided, n) == in;
    cudaFree(dIn);
    cudaFree(dCoalesced);
    cudaFree(dStrided);
    return report(ok, "copy_strided");
}
