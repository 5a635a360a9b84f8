// Scalar products of many pairs of vectors: one block per pair, warp shuffles for the last step.
// Usage: scalar_product [pairs] [length]
#include "../common.cuh"

constexpr int kThreads = 128;
constexpr int kWarp = 32;

__device__ float warpSum(float value) {
    for (int offset = kWarp / 2; offset > 0; offset /= 2) {
        value += __shfl_down_sync(0xffffffffu, value, offset);
    }
    return value;
}

__global__ void scalarProduct(const float* a, const float* b, float* products, int length) {
    __shared__ float warpSums[kThreads / kWarp];
    const float* rowA = a + blockIdx.x * length;
    const float* rowB = b + blockIdx.x * length;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < length; i += blockDim.x) {
        sum += rowA[i] * rowB[i];
    }
    sum = warpSum(sum);
    if (threadIdx.x % kWarp == 0) {
        warpSums[threadIdx.x / kWarp] = sum;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        float total = 0.0f;
        for (int w = 0; w < kThreads / kWarp; ++w) {
            total += warpSums[w];
        }
        products[blockIdx.x] = total;
    }
}

int main(int argc, char** argv) {
    const int pairs = argc > 1 ? atoi(argv[1]) : 256;
    const int length = argc > 2 ? atoi(argv[2]) : 4096;
    const size_t count = static_cast<size_t>(pairs) * length;

    std::vector<float> a(count), b(count);
    for (size_t i = 0; i < count; ++i) {
        a[i] = static_cast<float>(i % 13) * 0.25f;
        b[i] = static_cast<float>(i % 19) * 0.125f;
    }

    float* dA = toDevice(a);
    float* dB = toDevice(b);
    float* dProducts = deviceZeros<float>(pairs);

    scalarProduct<<<pairs, kThreads>>>(dA, dB, dProducts, length);
    const std::vector<float> products = toHost(dProducts, pairs);

    bool ok = true;
    for (int pair = 0; pair < pairs; ++pair) {
        double expected = 0.0;
        for (int i = 0; i < length; ++i) {
            const size_t at = static_cast<size_t>(pair) * length + i;
            expected += static_cast<double>(a[at]) * b[at];
        }
        ok = ok && near(products[pair], expected, 1e-5);
    }
    cudaFree(dA);
    cudaFree(dB);
    cudaFree(dProducts);
    return report(ok, "scalar_product");
}
