// Matrix product C = A B on the tensor cores: half-precision operands, single-precision sums. A block of four
// warps makes 64 x 64 results from tiles in shared memory, a warp 32 x 32 of them. One instruction stands for
// 4096 multiply-adds, so the power goes into the tensor cores and into keeping them fed.
// Usage: gemm_tensor [n]    (n x n matrices, n a multiple of 64)
#include <cuda_fp16.h>
#include <mma.h>

#include "matrices.cuh"

using namespace nvcuda;

constexpr int kTile = 64;      // rows and columns of C per block
constexpr int kDepth = 32;     // of A and B per step
constexpr int kFragment = 16;  // rows, columns and depth of one tensor core operation
constexpr int kPad = 8;        // halves: rows start in different banks
constexpr int kThreads = 128;
constexpr int kEight = 8;      // halves that one load of 16 bytes brings

__global__ void gemmTensor(const half* a, const half* b, float* c, int n) {
    __shared__ __align__(32) half tileA[kTile][kDepth + kPad];
    __shared__ __align__(32) half tileB[kDepth][kTile + kPad];
    const int warp = threadIdx.x / warpSize;
    const int warpRow = warp / 2 * 2 * kFragment;  // of its 32 x 32 results in the block's tile
    const int warpColumn = warp % 2 * 2 * kFragment;

    wmma::fragment<wmma::accumulator, kFragment, kFragment, kFragment, float> sums[2][2];
    for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < 2; ++j) {
            wmma::fill_fragment(sums[i][j], 0.0f);
        }
    }
    for (int start = 0; start < n; start += kDepth) {
        for (int part = threadIdx.x; part < kTile * kDepth / kEight; part += kThreads) {
            const int rowA = part / (kDepth / kEight);
            const int columnA = part % (kDepth / kEight) * kEight;
            *reinterpret_cast<int4*>(&tileA[rowA][columnA]) =
                *reinterpret_cast<const int4*>(&a[(blockIdx.y * kTile + rowA) * n + start + columnA]);
            const int rowB = part / (kTile / kEight);
            const int columnB = part % (kTile / kEight) * kEight;
            *reinterpret_cast<int4*>(&tileB[rowB][columnB]) =
                *reinterpret_cast<const int4*>(&b[(start + rowB) * n + blockIdx.x * kTile + columnB]);
        }
        __syncthreads();
        for (int k = 0; k < kDepth; k += kFragment) {
            wmma::fragment<wmma::matrix_a, kFragment, kFragment, kFragment, half, wmma::row_major> partsA[2];
            wmma::fragment<wmma::matrix_b, kFragment, kFragment, kFragment, half, wmma::row_major> partsB[2];
            for (int i = 0; i < 2; ++i) {
                wmma::load_matrix_sync(partsA[i], &tileA[warpRow + i * kFragment][k], kDepth + kPad);
                wmma::load_matrix_sync(partsB[i], &tileB[k][warpColumn + i * kFragment], kTile + kPad);
            }
            for (int i = 0; i < 2; ++i) {
                for (int j = 0; j < 2; ++j) {
                    wmma::mma_sync(sums[i][j], partsA[i], partsB[j], sums[i][j]);
                }
            }
        }
        __syncthreads();
    }
    for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < 2; ++j) {
            const int row = blockIdx.y * kTile + warpRow + i * kFragment;
            const int column = blockIdx.x * kTile + warpColumn + j * kFragment;
            wmma::store_matrix_sync(&c[row * n + column], sums[i][j], n, wmma::mem_row_major);
        }
    }
}

// The values as halves, and `values` rounded to them, so that the reference multiplies the same numbers.
static std::vector<half> toHalf(std::vector<float>& values) {
    std::vector<half> halves(values.size());
    for (size_t i = 0; i < values.size(); ++i) {
        halves[i] = __float2half(values[i]);
        values[i] = __half2float(halves[i]);
    }
    return halves;
}

int main(int argc, char** argv) {
    const int n = argc > 1 ? atoi(argv[1]) : 1024;
    if (n % kTile != 0) {
        fprintf(stderr, "n must be a multiple of %d\n", kTile);
        return 1;
    }
    const size_t count = static_cast<size_t>(n) * n;
    std::vector<float> a = uniform(count, 1u), b = uniform(count, 2u);
    half* dA = toDevice(toHalf(a));
    half* dB = toDevice(toHalf(b));
    float* dC = deviceZeros<float>(count);

    const int blocks = n / kTile;
    gemmTensor<<<dim3(blocks, blocks), kThreads>>>(dA, dB, dC, n);

    const bool ok = isProduct(a, b, toHost(dC, count), n);
    cudaFree(dA);
    cudaFree(dB);
    cudaFree(dC);
    return report(ok, "gemm_tensor");
}
