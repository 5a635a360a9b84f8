// Products of many small matrices, 16 x 16, one block each: both operands are read once into shared memory,
// so little arithmetic follows on each load and the memory decides.
// Usage: gemm_batched [batch]
#include "matrices.cuh"

constexpr int kSide = 16;
constexpr int kCount = kSide * kSide;

__global__ void gemmBatched(const float* a, const float* b, float* c) {
    __shared__ float tileA[kSide][kSide];
    __shared__ float tileB[kSide][kSide];
    const int row = threadIdx.y;
    const int column = threadIdx.x;
    const int at = blockIdx.x * kCount + row * kSide + column;
    tileA[row][column] = a[at];
    tileB[row][column] = b[at];
    __syncthreads();
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < kSide; ++k) {
        sum += tileA[row][k] * tileB[k][column];
    }
    c[at] = sum;
}

int main(int argc, char** argv) {
    const int batch = argc > 1 ? atoi(argv[1]) : 4096;
    const size_t count = static_cast<size_t>(batch) * kCount;
    const std::vector<float> a = uniform(count, 1u), b = uniform(count, 2u);
    float* dA = toDevice(a);
    float* dB = toDevice(b);
    float* dC = deviceZeros<float>(count);

    gemmBatched<<<batch, dim3(kSide, kSide)>>>(dA, dB, dC);

    const std::vector<float> c = toHost(dC, count);
    bool ok = true;
    for (size_t at = 0; at < count; ++at) {
        const float* rowOfA = &a[at / kSide * kSide];
        const float* columnOfB = &b[at / kCount * kCount + at % kSide];
        double expected = 0.0;
        for (int k = 0; k < kSide; ++k) {
            expected += static_cast<double>(rowOfA[k]) * columnOfB[k * kSide];
        }
        ok = ok && near(c[at], expected, 1e-5);
    }
    cudaFree(dA);
    cudaFree(dB);
    cudaFree(dC);
    return report(ok, "gemm_batched");
}
