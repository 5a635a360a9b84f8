// Layer normalisation with scale and shift: one warp a row, mean and variance by shuffles, without shared memory or
// barriers. The row is read three times, after the first time from the L1 cache; bound by DRAM bandwidth.
// Usage: layer_norm [rows] [columns]
#include "../common.cuh"

constexpr int kWarpsPerBlock = 8;
constexpr float kEpsilon = 1e-5f;

__device__ float warpSum(float value) {
    for (int offset = 16; offset > 0; offset >>= 1) {
        value += __shfl_xor_sync(0xffffffffu, value, offset);
    }
    return value;
}

__global__ void layerNorm(const float* __restrict__ in, const float* __restrict__ scale,
                          const float* __restrict__ shift, float* __restrict__ out, int rows, int columns) {
    const int r = blockIdx.x * kWarpsPerBlock + threadIdx.y;
    if (r >= rows) {
        return;
    }
    const float* row = in + static_cast<size_t>(r) * columns;
    float* result = out + static_cast<size_t>(r) * columns;

    float sum = 0.0f;
    for (int i = threadIdx.x; i < columns; i += 32) {
        sum += row[i];
    }
    const float mean = warpSum(sum) / static_cast<float>(columns);
    float squares = 0.0f;
    for (int i = threadIdx.x; i < columns; i += 32) {
        const float difference = row[i] - mean;
        squares += difference * difference;
    }
    const float inverse = rsqrtf(warpSum(squares) / static_cast<float>(columns) + kEpsilon);
    for (int i = threadIdx.x; i < columns; i += 32) {
        result[i] = (row[i] - mean) * inverse * scale[i] + shift[i];
    }
}

int main(int argc, char** argv) {
    const int rows = argc > 1 ? atoi(argv[1]) : 8192;
    const int columns = argc > 2 ? atoi(argv[2]) : 768;
    const size_t count = static_cast<size_t>(rows) * columns;

    std::vector<float> in(count), scale(columns), shift(columns);
    for (size_t i = 0; i < count; ++i) {
        in[i] = static_cast<float>(i * 7919 % 1999) * 0.002f - 1.0f;
    }
    for (int i = 0; i < columns; ++i) {
        scale[i] = 0.5f + static_cast<float>(i % 11) * 0.1f;
        shift[i] = static_cast<float>(i % 7) * 0.1f - 0.3f;
    }
    float* dIn = toDevice(in);
    float* dScale = toDevice(scale);
    float* dShift = toDevice(shift);
    float* dOut = deviceZeros<float>(count);

    const dim3 block(32, kWarpsPerBlock);
    const int blocks = (rows + kWarpsPerBlock - 1) / kWarpsPerBlock;
    layerNorm<<<blocks, block>>>(dIn, dScale, dShift, dOut, rows, columns);

    const std::vector<float> out = toHost(dOut, count);
    bool ok = true;
    for (int r = 0; r < rows; ++r) {
        const float* row = in.data() + static_cast<size_t>(r) * columns;
        const float* result = out.data() + static_cast<size_t>(r) * columns;
        double mean = 0.0, variance = 0.0;
        for (int i = 0; i < columns; ++i) {
            mean += row[i] / static_cast<double>(columns);
        }
        for (int i = 0; i < columns; ++i) {
            variance += (row[i] - mean) * (row[i] - mean) / columns;
        }
        const double deviation = std::sqrt(variance + kEpsilon);
        for (int i = 0; i < columns; ++i) {
            ok = ok && near(result[i], (row[i] - mean) / deviation * scale[i] + shift[i], 1e-4);
        }
    }
    cudaFree(dIn);
    cudaFree(dScale);
    cudaFree(dShift);
    cudaFree(dOut);
    return report(ok, "layer normalisation");
}
