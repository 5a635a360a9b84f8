// C = A B in single precision, n x n: a block makes kTileM x kTileN elements, a thread kThreadM x kThreadN of them.
// The five constants above this text are one variant of the space that a tuner searches; n is a multiple of all of them.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

constexpr int kColumns = kTileN / kThreadN;  // threads in x
constexpr int kRows = kTileM / kThreadM;     // threads in y
constexpr int kThreads = kColumns * kRows;

__global__ void __launch_bounds__(kThreads) tiledGemm(const float* a, const float* b, float* c, int n) {
    __shared__ float tileA[kTileK][kTileM + 1];
    __shared__ float tileB[kTileK][kTileN];
    const int thread = threadIdx.y * kColumns + threadIdx.x;
    const int row = blockIdx.y * kTileM;
    const int column = blockIdx.x * kTileN;
    float sums[kThreadM][kThreadN] = {};
    for (int start = 0; start < n; start += kTileK) {
        for (int i = thread; i < kTileM * kTileK; i += kThreads) {
            tileA[i % kTileK][i / kTileK] = a[(row + i / kTileK) * n + start + i % kTileK];
        }
        for (int i = thread; i < kTileK * kTileN; i += kThreads) {
            tileB[i / kTileN][i % kTileN] = b[(start + i / kTileN) * n + column + i % kTileN];
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < kTileK; ++k) {
            float mine[kThreadM];
#pragma unroll
            for (int i = 0; i < kThreadM; ++i) {
                mine[i] = tileA[k][threadIdx.y * kThreadM + i];
            }
#pragma unroll
            for (int j = 0; j < kThreadN; ++j) {
                const float other = tileB[k][threadIdx.x + j * kColumns];
#pragma unroll
                for (int i = 0; i < kThreadM; ++i) {
                    sums[i][j] += mine[i] * other;
                }
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < kThreadM; ++i) {
#pragma unroll
        for (int j = 0; j < kThreadN; ++j) {
            c[(row + threadIdx.y * kThreadM + i) * n + column + threadIdx.x + j * kColumns] = sums[i][j];
        }
    }
}

int main() {
    const int n = 4096;
    const size_t count = static_cast<size_t>(n) * n;
    std::vector<float> values(count);
    unsigned state = 1u;
    for (float& value : values) {
        state = state * 1664525u + 1013904223u;
        value = static_cast<float>(state >> 8) / static_cast<float>(1 << 23) - 1.0f;
    }
    float *a, *b, *c;
    cudaMalloc(&a, count * sizeof(float));
    cudaMalloc(&b, count * sizeof(float));
    cudaMalloc(&c, count * sizeof(float));
    cudaMemcpy(a, values.data(), count * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(b, values.data(), count * sizeof(float), cudaMemcpyHostToDevice);
    tiledGemm<<<dim3(n / kTileN, n / kTileM), dim3(kColumns, kRows)>>>(a, b, c, n);
    std::vector<float> found(count);
    cudaMemcpy(found.data(), c, count * sizeof(float), cudaMemcpyDeviceToHost);
    for (int i = 0; i < 64; ++i) {  // some elements of every part
        const int row = i * 61 % n, column = i * 1009 % n;
        double wanted = 0.0;
        for (int k = 0; k < n; ++k) {
            wanted += static_cast<double>(values[static_cast<size_t>(row) * n + k]) * values[static_cast<size_t>(k) * n + column];
        }
        const double off = found[static_cast<size_t>(row) * n + column] - wanted;
        if (off > 0.05 || off < -0.05) {
            printf("FAILED: row %d, column %d is off by %g\n", row, column, off);
            return 1;
        }
    }
    printf("OK: tiled_gemm\n");
    return 0;
}
