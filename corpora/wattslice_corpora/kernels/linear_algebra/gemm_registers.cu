// Matrix product C = A B in single precision: tiles of 64 x 64 in shared memory, 4 x 4 results per thread
// in registers, all accesses as float4. Two shared loads of four values feed sixteen multiply-adds, so most
// of the power goes into arithmetic.
// Usage: gemm_registers [n]    (n x n matrices, n a multiple of 64)
#include "matrices.cuh"

constexpr int kTile = 64;        // rows and columns of C per block
constexpr int kDepth = 16;       // of A and B per step
constexpr int kPerThread = 4;    // rows and columns of C per thread
constexpr int kThreads = kTile / kPerThread * (kTile / kPerThread);

__global__ void __launch_bounds__(kThreads) gemmRegisters(const float* a, const float* b, float* c, int n) {
    __shared__ __align__(16) float tileA[kDepth][kTile];  // transposed: a thread reads four rows at once
    __shared__ __align__(16) float tileB[kDepth][kTile];
    const int tid = threadIdx.x;
    const int tx = tid % (kTile / kPerThread);
    const int ty = tid / (kTile / kPerThread);
    const int loadRowA = tid / (kDepth / 4);
    const int loadColumnA = tid % (kDepth / 4) * 4;
    const int loadRowB = tid / (kTile / 4);
    const int loadColumnB = tid % (kTile / 4) * 4;
    const float* fromA = a + (blockIdx.y * kTile + loadRowA) * n + loadColumnA;
    const float* fromB = b + loadRowB * n + blockIdx.x * kTile + loadColumnB;

    float sum[kPerThread][kPerThread] = {};
    for (int start = 0; start < n; start += kDepth) {
        const float4 fourA = *reinterpret_cast<const float4*>(fromA + start);
        const float4 fourB = *reinterpret_cast<const float4*>(fromB + start * n);
        tileA[loadColumnA + 0][loadRowA] = fourA.x;
        tileA[loadColumnA + 1][loadRowA] = fourA.y;
        tileA[loadColumnA + 2][loadRowA] = fourA.z;
        tileA[loadColumnA + 3][loadRowA] = fourA.w;
        *reinterpret_cast<float4*>(&tileB[loadRowB][loadColumnB]) = fourB;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < kDepth; ++k) {
            const float4 partA = *reinterpret_cast<const float4*>(&tileA[k][ty * kPerThread]);
            const float4 partB = *reinterpret_cast<const float4*>(&tileB[k][tx * kPerThread]);
            const float rows[kPerThread] = {partA.x, partA.y, partA.z, partA.w};
            const float columns[kPerThread] = {partB.x, partB.y, partB.z, partB.w};
#pragma unroll
            for (int i = 0; i < kPerThread; ++i) {
#pragma unroll
                for (int j = 0; j < kPerThread; ++j) {
                    sum[i][j] += rows[i] * columns[j];
                }
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < kPerThread; ++i) {
        const int row = blockIdx.y * kTile + ty * kPerThread + i;
        const int column = blockIdx.x * kTile + tx * kPerThread;
        *reinterpret_cast<float4*>(&c[row * n + column]) =
            make_float4(sum[i][0], sum[i][1], sum[i][2], sum[i][3]);
    }
}

int main(int argc, char** argv) {
    const int n = argc > 1 ? atoi(argv[1]) : 1024;
    if (n % kTile != 0) {
        fprintf(stderr, "n must be a multiple of %d\n", kTile);
        return 1;
    }
    const size_t count = static_cast<size_t>(n) * n;
    const std::vector<float> a = uniform(count, 1u), b = uniform(count, 2u);
    float* dA = toDevice(a);
    float* dB = toDevice(b);
    float* dC = deviceZeros<float>(count);

    const int blocks = n / kTile;
    gemmRegisters<<<dim3(blocks, blocks), kThreads>>>(dA, dB, dC, n);

    const bool ok = isProduct(a, b, toHost(dC, count), n);
    cudaFree(dA);
    cudaFree(dB);
    cudaFree(dC);
    return report(ok, "gemm_registers");
}
