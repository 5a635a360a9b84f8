// Dot product of two vectors: grid-stride accumulation, then a tree reduction in shared memory.
// Usage: dot_product [n]
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CUDA_CHECK(call)                                                                  \
    do {                                                                                  \
        const cudaError_t status = (call);                                                \
        if (status != cudaSuccess) {                                                      \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
            exit(1);                                                                      \
        }                                                                                 \
    } while (0)

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

    std::vector<float> a(n), b(n), partial(blocks);
    double expected = 0.0;
    for (int i = 0; i < n; ++i) {
        a[i] = static_cast<float>(i % 17) * 0.125f;
        b[i] = static_cast<float>(i % 23) * 0.0625f;
        expected += static_cast<double>(a[i]) * b[i];
    }

    float *dA, *dB, *dPartial;
    CUDA_CHECK(cudaMalloc(&dA, n * sizeof(float)));
    CUDA_CHECK(cudaMalloc(&dB, n * sizeof(float)));
    CUDA_CHECK(cudaMalloc(&dPartial, blocks * sizeof(float)));
    CUDA_CHECK(cudaMemcpy(dA, a.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(dB, b.data(), n * sizeof(float), cudaMemcpyHostToDevice));

    dotProduct<<<blocks, kThreads>>>(dA, dB, dPartial, n);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaMemcpy(partial.data(), dPartial, blocks * sizeof(float), cudaMemcpyDeviceToHost));

    double sum = 0.0;
    for (int i = 0; i < blocks; ++i) {
        sum += partial[i];
    }
    const bool ok = std::fabs(sum - expected) <= 1e-5 * std::fabs(expected) + 1e-6;
    printf("%s: %.6f, expected %.6f\n", ok ? "OK" : "FAILED", sum, expected);
    cudaFree(dA);
    cudaFree(dB);
    cudaFree(dPartial);
    return ok ? 0 : 1;
}
