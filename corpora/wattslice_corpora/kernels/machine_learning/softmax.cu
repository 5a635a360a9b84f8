// Softmax of every row of a matrix, one block a row: in three passes (maximum, sum of exponentials, quotients), or
// with the running maximum and sum of the online algorithm in two. Each pass reads the row again, from the cache if
// it is still there: the traffic decides the power, the exponentials keep the special function unit busy.
// Usage: softmax [rows] [columns]
#include "../common.cuh"

#include <cfloat>

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;

__device__ float warpMax(float value) {
    for (int offset = 16; offset > 0; offset >>= 1) {
        value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, offset));
    }
    return value;
}

__device__ float warpSum(float value) {
    for (int offset = 16; offset > 0; offset >>= 1) {
        value += __shfl_xor_sync(0xffffffffu, value, offset);
    }
    return value;
}

__global__ void softmaxThreePasses(const float* __restrict__ in, float* __restrict__ out, int columns) {
    __shared__ float maxima[kWarps];
    __shared__ float sums[kWarps];
    const float* row = in + static_cast<size_t>(blockIdx.x) * columns;
    float* result = out + static_cast<size_t>(blockIdx.x) * columns;
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;

    float maximum = -FLT_MAX;
    for (int i = threadIdx.x; i < columns; i += kThreads) {
        maximum = fmaxf(maximum, row[i]);
    }
    maximum = warpMax(maximum);
    if (lane == 0) {
        maxima[warp] = maximum;
    }
    __syncthreads();
    for (int w = 0; w < kWarps; ++w) {
        maximum = fmaxf(maximum, maxima[w]);
    }

    float sum = 0.0f;
    for (int i = threadIdx.x; i < columns; i += kThreads) {
        sum += expf(row[i] - maximum);
    }
    sum = warpSum(sum);
    if (lane == 0) {
        sums[warp] = sum;
    }
    __syncthreads();
    sum = 0.0f;
    for (int w = 0; w < kWarps; ++w) {
        sum += sums[w];
    }

    const float scale = 1.0f / sum;
    for (int i = threadIdx.x; i < columns; i += kThreads) {
        result[i] = expf(row[i] - maximum) * scale;
    }
}

__global__ void softmaxOnline(const float* __restrict__ in, float* __restrict__ out, int columns) {
    __shared__ float maxima[kWarps];
    __shared__ float sums[kWarps];
    const float* row = in + static_cast<size_t>(blockIdx.x) * columns;
    float* result = out + static_cast<size_t>(blockIdx.x) * columns;
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;

    // A sum belongs to a maximum; when the maximum grows, the sum so far shrinks.
    float maximum = -FLT_MAX;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < columns; i += kThreads) {
        const float value = row[i];
        const float larger = fmaxf(maximum, value);
        sum = sum * expf(maximum - larger) + expf(value - larger);
        maximum = larger;
    }
    const float warpMaximum = warpMax(maximum);
    sum = warpSum(sum * expf(maximum - warpMaximum));
    if (lane == 0) {
        maxima[warp] = warpMaximum;
        sums[warp] = sum;
    }
    __syncthreads();
    maximum = maxima[0];
    for (int w = 1; w < kWarps; ++w) {
        maximum = fmaxf(maximum, maxima[w]);
    }
    sum = 0.0f;
    for (int w = 0; w < kWarps; ++w) {
        sum += sums[w] * expf(maxima[w] - maximum);
    }

    const float scale = 1.0f / sum;
    for (int i = threadIdx.x; i < columns; i += kThreads) {
        result[i] = expf(row[i] - maximum) * scale;
    }
}

int main(int argc, char** argv) {
    const int rows = argc > 1 ? atoi(argv[1]) : 4096;
    const int columns = argc > 2 ? atoi(argv[2]) : 1024;
    const size_t count = static_cast<size_t>(rows) * columns;

    std::vector<float> in(count);
    for (size_t i = 0; i < count; ++i) {
        in[i] = static_cast<float>(i * 7919 % 2017) * 0.01f - 10.0f;
    }
    float* dIn = toDevice(in);
    float* dThreePasses = deviceZeros<float>(count);
    float* dOnline = deviceZeros<float>(count);

    softmaxThreePasses<<<rows, kThreads>>>(dIn, dThreePasses, columns);
    softmaxOnline<<<rows, kThreads>>>(dIn, dOnline, columns);

    const std::vector<float> threePasses = toHost(dThreePasses, count);
    const std::vector<float> online = toHost(dOnline, count);
    bool ok = true;
    for (int r = 0; r < rows; ++r) {
        const size_t start = static_cast<size_t>(r) * columns;
        const float* row = in.data() + start;
        const double maximum = *std::max_element(row, row + columns);
        double sum = 0.0;
        for (int i = 0; i < columns; ++i) {
            sum += std::exp(row[i] - maximum);
        }
        for (int i = 0; i < columns; ++i) {
            // The probabilities are small: what counts is their size times the number of columns.
            const double expected = std::exp(row[i] - maximum) / sum * columns;
            ok = ok && near(static_cast<double>(threePasses[start + i]) * columns, expected, 1e-4);
            ok = ok && near(static_cast<double>(online[start + i]) * columns, expected, 1e-4);
        }
    }
    cudaFree(dIn);
    cudaFree(dThreePasses);
    cudaFree(dOnline);
    return report(ok, "softmax");
}
