// Matrix multiply-add D = A * B + C in single precision, tiles of A and B kept in shared memory.
// Usage: multiply_add [n]    (n x n matrices)
#include "../common.cuh"

constexpr int kTile = 16;

__global__ void multiplyAdd(const float* a, const float* b, const float* c, float* d, int n) {
    __shared__ float tileA[kTile][kTile];
    __shared__ float tileB[kTile][kTile];
    const int tx = threadIdx.x;
    const int ty = threadIdx.y;
    const int row = blockIdx.y * kTile + ty;
    const int col = blockIdx.x * kTile + tx;
    float sum = 0.0f;
    for (int start = 0; start < n; start += kTile) {
        tileA[ty][tx] = row < n && start + tx < n ? a[row * n + start + tx] : 0.0f;
        tileB[ty][tx] = start + ty < n && col < n ? b[(start + ty) * n + col] : 0.0f;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < kTile; ++k) {
            sum += tileA[ty][k] * tileB[k][tx];
        }
        __syncthreads();
    }
    if (row < n && col < n) {
        d[row * n + col] = sum + c[row * n + col];
    }
}

int main(int argc, char** argv) {
    const int n = argc > 1 ? atoi(argv[1]) : 512;
    const size_t count = static_cast<size_t>(n) * n;

    std::vector<float> a(count), b(count), c(count);
    for (size_t i = 0; i < count; ++i) {
        a[i] = static_cast<float>(i % 7) - 3.0f;
        b[i] = static_cast<float>(i % 5) - 2.0f;
        c[i] = static_cast<float>(i % 11);
    }

    float* dA = toDevice(a);
    float* dB = toDevice(b);
    float* dC = toDevice(c);
    float* dD = deviceZeros<float>(count);

    const dim3 block(kTile, kTile);
    const dim3 grid((n + kTile - 1) / kTile, (n + kTile - 1) / kTile);
    multiplyAdd<<<grid, block>>>(dA, dB, dC, dD, n);
    const std::vector<float> d = toHost(dD, count);

    // Small whole numbers: the sums are exact, so the comparison is too. A sample of rows is enough.
    bool ok = true;
    for (int row = 0; row < n && ok; row += 1 + n / 16) {
        for (int col = 0; col < n; ++col) {
            float sum = 0.0f;
            for (int k = 0; k < n; ++k) {
                sum += a[static_cast<size_t>(row) * n + k] * b[static_cast<size_t>(k) * n + col];
            }
            const size_t at = static_cast<size_t>(row) * n + col;
            ok = ok && d[at] == sum + c[at];
        }
    }
    cudaFree(dA);
    cudaFree(dB);
    cudaFree(dC);
    cudaFree(dD);
    return report(ok, "multiply_add");
}
