// Dot product of two vectors: grid-stride accumulation, then a tree reduction in shared memory.
// Usage: dot_product [n]
#include "../common.cuh"

constexpr int kThreads = 256;
constexpr int kMaxBlocks = 240;

// One partial sum per block; the host adds the partial sums.
__global__ void dotProduct(const float* __restrict__ a, const float* __restrict__ b, float* partial, int n) {
    __shared__ float sums[kThreads];
    const int tid = threadIdx.x;
    float sum = 0.0f;
    for (int i = blockIdx.x * blockDim.x + tid; i < n; i += gridDim.x * blockDim.x) {
        sum += a[i] * b[i];
    }
    sums[tid] = sum;
    __syncthreads();
    for (int stride = kThreads / 2; stride > 0; stride >>= 1) {
        if (tid < stride) {
            sums[tid] += sums[tid + stride];
        }
        __syncthreads();
    }
    if (tid == 0) {
        partial[blockIdx.x] = sums[0];
    }
}

int main(int argc, char** argv) {
    const int n = argc > 1 ? atoi(argv[1]) : 1 << 20;
    int blocks = (n + kThreads - 1) / kThreads;
    if (blocks > kMaxBlocks) {
        blocks = kMaxBlocks;
    }

    std::vector<float> a(n), b(n);
    double expected = 0.0;
    for (int i = 0; i < n; ++i) {
        a[i] = static_cast<float>(i % 17) * 0.125f;
        b[i] = static_cast<float>(i % 23) * 0.0625f;
        expected += static_cast<double>(a[i]) * b[i];
    }

    float* dA = toDevice(a);
    float* dB = toDevice(b);
    float* dPartial = deviceZeros<float>(blocks);

    dotProduct<<<blocks, kThreads>>>(dA, dB, dPartial, n);
    const std::vector<float> partial = toHost(dPartial, blocks);

    double sum = 0.0;
    for (int i = 0; i < blocks; ++i) {
        sum += partial[i];
    }
    cudaFree(dA);
    cudaFree(dB);
    cudaFree(dPartial);
    return report(near(sum, expected, 1e-5), "dot_product");
}
