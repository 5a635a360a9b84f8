// Bias and GELU activation (the tanh form) of a layer's output, in fp32 and in half precision with two values a
// thread: half the traffic and packed arithmetic, while the exponentials stay in fp32.
// Bound by DRAM bandwidth in both: the half one moves twice the values in the same time.
// Usage: bias_gelu [rows] [columns]    (columns: even)
#include "../common.cuh"

#include <cuda_fp16.h>

constexpr int kThreads = 256;

// x * (1 + tanh(u)) / 2 with u = 0.79788456 * (x + 0.044715 x^3) is x / (1 + exp(-2 u)).
__global__ void biasGelu(const float* __restrict__ in, const float* __restrict__ bias, float* __restrict__ out,
                         int columns, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        const float x = in[i] + bias[i % columns];
        const float u = 0.79788456f * x * (1.0f + 0.044715f * x * x);
        out[i] = x / (1.0f + expf(-2.0f * u));
    }
}

// `columns` and `count` in pairs.
__global__ void biasGeluHalf(const __half2* __restrict__ in, const __half2* __restrict__ bias,
                             __half2* __restrict__ out, int columns, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        const __half2 one = __float2half2_rn(1.0f);
        const __half2 x = __hadd2(in[i], bias[i % columns]);
        const __half2 inner = __hfma2(__hmul2(__float2half2_rn(0.044715f), x), x, one);
        const __half2 u = __hmul2(__hmul2(__float2half2_rn(0.79788456f), x), inner);
        const float low = 1.0f / (1.0f + expf(-2.0f * __low2float(u)));
        const float high = 1.0f / (1.0f + expf(-2.0f * __high2float(u)));
        out[i] = __hmul2(x, __floats2half2_rn(low, high));
    }
}

static double gelu(double x) {
    return 0.5 * x * (1.0 + std::tanh(0.7978845608 * (x + 0.044715 * x * x * x)));
}

int main(int argc, char** argv) {
    const int rows = argc > 1 ? atoi(argv[1]) : 4096;
    const int columns = argc > 2 ? atoi(argv[2]) : 1024;
    const int count = rows * columns;
    if (columns % 2 != 0) {
        fprintf(stderr, "the number of columns must be even\n");
        return 1;
    }

    std::vector<float> in(count), bias(columns);
    std::vector<__half2> halfIn(count / 2), halfBias(columns / 2);
    for (int i = 0; i < count; ++i) {
        in[i] = static_cast<float>(i % 1021) / 128.0f - 4.0f;
    }
    for (int i = 0; i < columns; ++i) {
        bias[i] = static_cast<float>(i % 17) / 16.0f - 0.5f;
    }
    for (int i = 0; i < count / 2; ++i) {
        halfIn[i] = __floats2half2_rn(in[2 * i], in[2 * i + 1]);
    }
    for (int i = 0; i < columns / 2; ++i) {
        halfBias[i] = __floats2half2_rn(bias[2 * i], bias[2 * i + 1]);
    }
    float* dIn = toDevice(in);
    float* dBias = toDevice(bias);
    float* dOut = deviceZeros<float>(count);
    __half2* dHalfIn = toDevice(halfIn);
    __half2* dHalfBias = toDevice(halfBias);
    __half2* dHalfOut = deviceZeros<__half2>(count / 2);

    biasGelu<<<(count + kThreads - 1) / kThreads, kThreads>>>(dIn, dBias, dOut, columns, count);
    biasGeluHalf<<<(count / 2 + kThreads - 1) / kThreads, kThreads>>>(dHalfIn, dHalfBias, dHalfOut, columns / 2,
                                                                      count / 2);

    const std::vector<float> out = toHost(dOut, count);
    const std::vector<__half2> halfOut = toHost(dHalfOut, count / 2);
    const int step = count > 1 << 24 ? 7 : 1;  // the reference checks every seventh value of a large matrix
    bool ok = true;
    for (int i = 0; i < count; i += step) {
        // Inputs and bias are exact in half precision.
        const double expected = gelu(static_cast<double>(in[i]) + bias[i % columns]);
        const float half = i % 2 == 0 ? __low2float(halfOut[i / 2]) : __high2float(halfOut[i / 2]);
        ok = ok && near(out[i], expected, 1e-5) && near(half, expected, 1e-2);
    }
    cudaFree(dIn);
    cudaFree(dBias);
    cudaFree(dOut);
    cudaFree(dHalfIn);
    cudaFree(dHalfBias);
    cudaFree(dHalfOut);
    return report(ok, "bias and GELU");
}
