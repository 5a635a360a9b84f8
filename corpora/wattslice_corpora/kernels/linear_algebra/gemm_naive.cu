// Matrix product C = A B in single precision, one thread per element, every operand from global memory.
// Each element is read n times; the caches catch most of it, so the power goes into loads and L1/L2 traffic.
// Usage: gemm_naive [n]    (n x n matrices)
#include "matrices.cuh"

constexpr int kSide = 16;

__global__ void gemmNaive(const float* a, const float* b, float* c, int n) {
    const int row = blockIdx.y * kSide + threadIdx.y;
    const int column = blockIdx.x * kSide + threadIdx.x;
    if (row >= n || column >= n) {
        return;
    }
    float sum = 0.0f;
    for (int k = 0; k < n; ++k) {
        sum += a[row * n + k] * b[k * n + column];
    }
    c[row * n + column] = sum;
}

int main(int argc, char** argv) {
    const int n = argc > 1 ? atoi(argv[1]) : 1024;
    const size_t count = static_cast<size_t>(n) * n;
    const std::vector<float> a = uniform(count, 1u), b = uniform(count, 2u);
    float* dA = toDevice(a);
    float* dB = toDevice(b);
    float* dC = deviceZeros<float>(count);

    const int blocks = (n + kSide - 1) / kSide;
    gemmNaive<<<dim3(blocks, blocks), dim3(kSide, kSide)>>>(dA, dB, dC, n);

    const bool ok = isProduct(a, b, toHost(dC, count), n);
    cudaFree(dA);
    cudaFree(dB);
    cudaFree(dC);
    return report(ok, "gemm_naive");
}
