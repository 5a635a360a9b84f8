// Matrix times vector, y = A x, in two ways: a warp per row reads it coalesced and adds up with shuffles;
// a thread per row reads with a stride of a whole row, so that a warp touches 32 cache lines with each load.
// Usage: gemv [rows] [columns]
#include "matrices.cuh"

constexpr int kThreads = 256;
constexpr int kWarp = 32;
constexpr int kRowsPerBlock = kThreads / kWarp;

__global__ void gemvWarp(const float* a, const float* x, float* y, int rows, int columns) {
    const int row = blockIdx.x * kRowsPerBlock + threadIdx.x / kWarp;
    if (row >= rows) {
        return;
    }
    float sum = 0.0f;
    for (int column = threadIdx.x % kWarp; column < columns; column += kWarp) {
        sum += a[row * columns + column] * x[column];
    }
    for (int offset = kWarp / 2; offset > 0; offset /= 2) {
        sum += __shfl_down_sync(0xffffffffu, sum, offset);
    }
    if (threadIdx.x % kWarp == 0) {
        y[row] = sum;
    }
}

__global__ void gemvThread(const float* a, const float* x, float* y, int rows, int columns) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) {
        return;
    }
    float sum = 0.0f;
    for (int column = 0; column < columns; ++column) {
        sum += a[row * columns + column] * x[column];
    }
    y[row] = sum;
}

int main(int argc, char** argv) {
    const int rows = argc > 1 ? atoi(argv[1]) : 4096;
    const int columns = argc > 2 ? atoi(argv[2]) : 4096;
    const std::vector<float> a = uniform(static_cast<size_t>(rows) * columns, 1u), x = uniform(columns, 2u);
    float* dA = toDevice(a);
    float* dX = toDevice(x);
    float* dByWarp = deviceZeros<float>(rows);
    float* dByThread = deviceZeros<float>(rows);

    gemvWarp<<<(rows + kRowsPerBlock - 1) / kRowsPerBlock, kThreads>>>(dA, dX, dByWarp, rows, columns);
    gemvThread<<<(rows + kThreads - 1) / kThreads, kThreads>>>(dA, dX, dByThread, rows, columns);

    const std::vector<float> byWarp = toHost(dByWarp, rows), byThread = toHost(dByThread, rows);
    bool ok = true;
    for (int row = 0; row < rows; ++row) {
        double expected = 0.0;
        for (int column = 0; column < columns; ++column) {
            expected += static_cast<double>(a[static_cast<size_t>(row) * columns + column]) * x[column];
        }
        ok = ok && near(byWarp[row], expected, 1e-3) && near(byThread[row], expected, 1e-3);
    }
    cudaFree(dA);
    cudaFree(dX);
    cudaFree(dByWarp);
    cudaFree(dByThread);
    return report(ok, "gemv");
}
