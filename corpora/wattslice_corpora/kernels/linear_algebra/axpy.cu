// z = s x + y in single and in double precision: one multiply-add for three numbers moved, so the memory decides;
// double precision moves twice the bytes and, on most GPUs, has far fewer units.
// Usage: axpy [n]
#include "matrices.cuh"

constexpr int kThreads = 256;

__global__ void axpyFloat(float s, const float* x, const float* y, float* z, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        z[i] = s * x[i] + y[i];
    }
}

__global__ void axpyDouble(double s, const double* x, const double* y, double* z, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        z[i] = s * x[i] + y[i];
    }
}

int main(int argc, char** argv) {
    const int n = argc > 1 ? atoi(argv[1]) : 1 << 22;
    const double s = 1.7;
    const std::vector<float> x = uniform(n, 1u), y = uniform(n, 2u);
    float* dX = toDevice(x);
    float* dY = toDevice(y);
    float* dZ = deviceZeros<float>(n);
    double* dXDouble = toDevice(std::vector<double>(x.begin(), x.end()));
    double* dYDouble = toDevice(std::vector<double>(y.begin(), y.end()));
    double* dZDouble = deviceZeros<double>(n);

    const int blocks = (n + kThreads - 1) / kThreads;
    axpyFloat<<<blocks, kThreads>>>(static_cast<float>(s), dX, dY, dZ, n);
    axpyDouble<<<blocks, kThreads>>>(s, dXDouble, dYDouble, dZDouble, n);

    const std::vector<float> z = toHost(dZ, n);
    const std::vector<double> zDouble = toHost(dZDouble, n);
    bool ok = true;
    for (int i = 0; i < n; ++i) {
        const double expected = s * x[i] + y[i];
        ok = ok && near(z[i], expected, 1e-6) && near(zDouble[i], expected, 1e-14);
    }
    cudaFree(dX);
    cudaFree(dY);
    cudaFree(dZ);
    cudaFree(dXDouble);
    cudaFree(dYDouble);
    cudaFree(dZDouble);
    return report(ok, "axpy");
}
