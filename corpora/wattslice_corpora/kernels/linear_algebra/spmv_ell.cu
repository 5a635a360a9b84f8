// Sparse matrix in ELLPACK form times vector: every row padded to the same number of entries and stored column
// after column, so that neighbouring threads read neighbouring entries. Coalesced and without divergence; only
// the gather of x is scattered.
// Usage: spmv_ell [rows] [width]
#include "matrices.cuh"

constexpr int kThreads = 256;

__global__ void spmvEll(const int* columns, const float* values, const float* x, float* y, int rows, int width) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) {
        return;
    }
    float sum = 0.0f;
    for (int entry = 0; entry < width; ++entry) {
        sum += values[entry * rows + row] * x[columns[entry * rows + row]];
    }
    y[row] = sum;
}

int main(int argc, char** argv) {
    const int rows = argc > 1 ? atoi(argv[1]) : 1 << 17;
    const int width = argc > 2 ? atoi(argv[2]) : 16;
    const size_t count = static_cast<size_t>(rows) * width;
    std::vector<int> columns(count);
    std::vector<float> values = uniform(count, 1u);
    unsigned int state = 3u;
    for (size_t at = 0; at < count; ++at) {
        state = state * 1664525u + 1013904223u;
        columns[at] = static_cast<int>((state >> 4) % rows);
        if (at / rows > static_cast<size_t>(width / 2) && state >> 30 == 0) {
            values[at] = 0.0f;  // padding of a short row
        }
    }
    const std::vector<float> x = uniform(rows, 2u);
    int* dColumns = toDevice(columns);
    float* dValues = toDevice(values);
    float* dX = toDevice(x);
    float* dY = deviceZeros<float>(rows);

    spmvEll<<<(rows + kThreads - 1) / kThreads, kThreads>>>(dColumns, dValues, dX, dY, rows, width);

    const std::vector<float> y = toHost(dY, rows);
    std::vector<double> expected(rows, 0.0);
    for (size_t at = 0; at < count; ++at) {
        expected[at % rows] += static_cast<double>(values[at]) * x[columns[at]];
    }
    bool ok = true;
    for (int row = 0; row < rows; ++row) {
        ok = ok && near(y[row], expected[row], 1e-4);
    }
    cudaFree(dColumns);
    cudaFree(dValues);
    cudaFree(dX);
    cudaFree(dY);
    return report(ok, "spmv_ell");
}
