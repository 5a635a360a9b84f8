// Matrix product C = A B in single precision with tiles of both operands in shared memory: each element is
// read from global memory n / 32 times instead of n, but every multiply-add still takes two shared loads.
// Usage: gemm_tiled [n]    (n x n matrices)
#include "matrices.cuh"

constexpr int kTile = 32;

__global__ void gemmTiled(const float* a, const float* b, float* c, int n) {
    __shared__ float tileA[kTile][kTile];
    __shared__ float tileB[kTile][kTile];
    const int tx = threadIdx.x;
    const int ty = threadIdx.y;
    const int row = blockIdx.y * kTile + ty;
    const int column = blockIdx.x * kTile + tx;
    float sum = 0.0f;
    for (int start = 0; start < n; start += kTile) {
        tileA[ty][tx] = row < n && start + tx < n ? a[row * n + start + tx] : 0.0f;
        tileB[ty][tx] = start + ty < n && column < n ? b[(start + ty) * n + column] : 0.0f;
        __syncthreads();
        for (int k = 0; k < kTile; ++k) {
            sum += tileA[ty][k] * tileB[k][tx];
        }
        __syncthreads();
    }
    if (row < n && column < n) {
        c[row * n + column] = sum;
    }
}

int main(int argc, char** argv) {
    const int n = argc > 1 ? atoi(argv[1]) : 1024;
    const size_t count = static_cast<size_t>(n) * n;
    const std::vector<float> a = uniform(count, 1u), b = uniform(count, 2u);
    float* dA = toDevice(a);
    float* dB = toDevice(b);
    float* dC = deviceZeros<float>(count);

    const int blocks = (n + kTile - 1) / kTile;
    gemmTiled<<<dim3(blocks, blocks), dim3(kTile, kTile)>>>(dA, dB, dC, n);

    const bool ok = isProduct(a, b, toHost(dC, count), n);
    cudaFree(dA);
    cudaFree(dB);
    cudaFree(dC);
    return report(ok, "gemm_tiled");
}
