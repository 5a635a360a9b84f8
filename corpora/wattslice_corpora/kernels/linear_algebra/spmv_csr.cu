// Sparse matrix (compressed rows) times vector in two ways: a thread per row, where the lanes of a warp walk
// through rows of different length far apart in memory; and a warp per row, where they read it side by side.
// Rows have 1 to 64 entries in scattered columns, so x is gathered at random either way.
// Usage: spmv_csr [rows]
#include "matrices.cuh"

constexpr int kThreads = 256;
constexpr int kWarp = 32;
constexpr int kRowsPerBlock = kThreads / kWarp;

__global__ void spmvScalar(const int* rowStart, const int* columns, const float* values, const float* x, float* y,
                           int rows) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) {
        return;
    }
    float sum = 0.0f;
    for (int entry = rowStart[row]; entry < rowStart[row + 1]; ++entry) {
        sum += values[entry] * x[columns[entry]];
    }
    y[row] = sum;
}

__global__ void spmvVector(const int* rowStart, const int* columns, const float* values, const float* x, float* y,
                           int rows) {
    const int row = blockIdx.x * kRowsPerBlock + threadIdx.x / kWarp;
    const int lane = threadIdx.x % kWarp;
    if (row >= rows) {
        return;
    }
    float sum = 0.0f;
    for (int entry = rowStart[row] + lane; entry < rowStart[row + 1]; entry += kWarp) {
        sum += values[entry] * x[columns[entry]];
    }
    for (int offset = kWarp / 2; offset > 0; offset /= 2) {
        sum += __shfl_down_sync(0xffffffffu, sum, offset);
    }
    if (lane == 0) {
        y[row] = sum;
    }
}

int main(int argc, char** argv) {
    const int rows = argc > 1 ? atoi(argv[1]) : 1 << 16;
    std::vector<int> rowStart(rows + 1), columns;
    unsigned int state = 3u;
    for (int row = 0; row < rows; ++row) {
        state = state * 1664525u + 1013904223u;
        const int entries = 1 + static_cast<int>(state >> 26);
        for (int entry = 0; entry < entries; ++entry) {
            state = state * 1664525u + 1013904223u;
            columns.push_back(static_cast<int>((state >> 4) % rows));
        }
        rowStart[row + 1] = static_cast<int>(columns.size());
    }
    const std::vector<float> values = uniform(columns.size(), 1u), x = uniform(rows, 2u);
    int* dRowStart = toDevice(rowStart);
    int* dColumns = toDevice(columns);
    float* dValues = toDevice(values);
    float* dX = toDevice(x);
    float* dByThread = deviceZeros<float>(rows);
    float* dByWarp = deviceZeros<float>(rows);

    spmvScalar<<<(rows + kThreads - 1) / kThreads, kThreads>>>(dRowStart, dColumns, dValues, dX, dByThread, rows);
    spmvVector<<<(rows + kRowsPerBlock - 1) / kRowsPerBlock, kThreads>>>(dRowStart, dColumns, dValues, dX, dByWarp,
                                                                         rows);

    const std::vector<float> byThread = toHost(dByThread, rows), byWarp = toHost(dByWarp, rows);
    bool ok = true;
    for (int row = 0; row < rows; ++row) {
        double expected = 0.0;
        for (int entry = rowStart[row]; entry < rowStart[row + 1]; ++entry) {
            expected += static_cast<double>(values[entry]) * x[columns[entry]];
        }
        ok = ok && near(byThread[row], expected, 1e-4) && near(byWarp[row], expected, 1e-4);
    }
    cudaFree(dRowStart);
    cudaFree(dColumns);
    cudaFree(dValues);
    cudaFree(dX);
    cudaFree(dByThread);
    cudaFree(dByWarp);
    return report(ok, "spmv_csr");
}
