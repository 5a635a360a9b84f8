// Matrix multiply-add D = A * B + C in double precision, straight from global memory through the
// read-only path (__ldg): the counterpart of multiply_add without shared memory.
// Usage: multiply_add_double [n]    (n x n matrices)
#include "../common.cuh"

constexpr int kBlock = 16;

__global__ void multiplyAddDouble(const double* __restrict__ a, const double* __restrict__ b,
                                  const double* __restrict__ c, double* __restrict__ d, int n) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n || col >= n) {
        return;
    }
    double sum = __ldg(&c[row * n + col]);
    for (int k = 0; k < n; ++k) {
        sum += __ldg(&a[row * n + k]) * __ldg(&b[k * n + col]);
    }
    d[row * n + col] = sum;
}

int main(int argc, char** argv) {
    const int n = argc > 1 ? atoi(argv[1]) : 256;
    const size_t count = static_cast<size_t>(n) * n;

    std::vector<double> a(count), b(count), c(count);
    for (size_t i = 0; i < count; ++i) {
        a[i] = static_cast<double>(i % 7) - 3.0;
        b[i] = static_cast<double>(i % 5) - 2.0;
        c[i] = static_cast<double>(i % 11);
    }

    double* dA = toDevice(a);
    double* dB = toDevice(b);
    double* dC = toDevice(c);
    double* dD = deviceZeros<double>(count);

    const dim3 block(kBlock, kBlock);
    const dim3 grid((n + kBlock - 1) / kBlock, (n + kBlock - 1) / kBlock);
    multiplyAddDouble<<<grid, block>>>(dA, dB, dC, dD, n);
    const std::vector<double> d = toHost(dD, count);

    // Small whole numbers: the sums are exact, so the comparison is too. A sample of rows is enough.
    bool ok = true;
    for (int row = 0; row < n && ok; row += 1 + n / 16) {
        for (int col = 0; col < n; ++col) {
            const size_t at = static_cast<size_t>(row) * n + col;
            double sum = c[at];
            for (int k = 0; k < n; ++k) {
                sum += a[static_cast<size_t>(row) * n + k] * b[static_cast<size_t>(k) * n + col];
            }
            ok = ok && d[at] == sum;
        }
    }
    cudaFree(dA);
    cudaFree(dB);
    cudaFree(dC);
    cudaFree(dD);
    return report(ok, "multiply_add_double");
}
