// Solves L X = B for a lower triangular L and many right-hand sides: one thread per column of X, sixteen rows of
// it in registers, the matching tile of L in shared memory. The rows follow each other, so only the number of
// columns fills the GPU.
// Usage: triangular_solve [n] [columns]    (n a multiple of 16)
#include "matrices.cuh"

constexpr int kTile = 16;
constexpr int kThreads = 128;

__device__ void loadTile(float (*tile)[kTile], const float* lower, int n, int firstRow, int firstColumn) {
    __syncthreads();  // nobody reads the previous tile any more
    for (int at = threadIdx.x; at < kTile * kTile; at += kThreads) {
        tile[at / kTile][at % kTile] = lower[(firstRow + at / kTile) * n + firstColumn + at % kTile];
    }
    __syncthreads();
}

__global__ void triangularSolve(const float* lower, const float* b, float* x, int n, int columns) {
    __shared__ float tile[kTile][kTile];
    const int column = blockIdx.x * kThreads + threadIdx.x;
    const bool mine = column < columns;
    for (int firstRow = 0; firstRow < n; firstRow += kTile) {
        float sum[kTile];
#pragma unroll
        for (int row = 0; row < kTile; ++row) {
            sum[row] = mine ? b[(firstRow + row) * columns + column] : 0.0f;
        }
        for (int firstColumn = 0; firstColumn < firstRow; firstColumn += kTile) {
            loadTile(tile, lower, n, firstRow, firstColumn);
            for (int k = 0; k < kTile; ++k) {
                const float known = mine ? x[(firstColumn + k) * columns + column] : 0.0f;
#pragma unroll
                for (int row = 0; row < kTile; ++row) {
                    sum[row] -= tile[row][k] * known;
                }
            }
        }
        loadTile(tile, lower, n, firstRow, firstRow);
#pragma unroll
        for (int row = 0; row < kTile; ++row) {
#pragma unroll
            for (int k = 0; k < row; ++k) {
                sum[row] -= tile[row][k] * sum[k];
            }
            sum[row] /= tile[row][row];
            if (mine) {
                x[(firstRow + row) * columns + column] = sum[row];
            }
        }
    }
}

int main(int argc, char** argv) {
    const int n = argc > 1 ? atoi(argv[1]) : 256;
    const int columns = argc > 2 ? atoi(argv[2]) : 1 << 15;
    if (n % kTile != 0) {
        fprintf(stderr, "n must be a multiple of %d\n", kTile);
        return 1;
    }
    std::vector<float> lower = uniform(static_cast<size_t>(n) * n, 1u);
    for (int i = 0; i < n; ++i) {
        lower[static_cast<size_t>(i) * n + i] = static_cast<float>(n);
    }
    const size_t count = static_cast<size_t>(n) * columns;
    const std::vector<float> b = uniform(count, 2u);
    float* dLower = toDevice(lower);
    float* dB = toDevice(b);
    float* dX = deviceZeros<float>(count);

    triangularSolve<<<(columns + kThreads - 1) / kThreads, kThreads>>>(dLower, dB, dX, n, columns);

    // L times X must be B again; about 64 columns are looked at.
    const std::vector<float> x = toHost(dX, count);
    bool ok = true;
    for (int column = 0; column < columns; column += 1 + columns / 64) {
        for (size_t row = 0; row < static_cast<size_t>(n); ++row) {
            double product = 0.0;
            for (size_t k = 0; k <= row; ++k) {
                product += static_cast<double>(lower[row * n + k]) * x[k * columns + column];
            }
            ok = ok && near(product, b[row * columns + column], 1e-4);
        }
    }
    cudaFree(dLower);
    cudaFree(dB);
    cudaFree(dX);
    return report(ok, "triangular_solve");
}
