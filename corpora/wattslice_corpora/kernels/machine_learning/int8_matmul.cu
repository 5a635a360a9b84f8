// Matrix product of 8-bit integers with 32-bit sums, C = A * B^T: tiles in shared memory, four products an
// instruction (__dp4a), a 2x2 corner of C for each thread. Integer dot products at a quarter of the traffic of fp32.
// Usage: int8_matmul [n]    (a multiple of 4)
#include "../common.cuh"

#include <cstdint>
#include <cstring>

constexpr int kThreads = 16;  // of a block along each side
constexpr int kTile = 32;     // rows and columns of C of a block
constexpr int kWords = 16;    // of four numbers, of a row in a tile

// A and B by rows, four numbers in each word; `words` = n / 4.
__global__ void int8Matmul(const int* __restrict__ a, const int* __restrict__ b, int* __restrict__ c, int n,
                           int words) {
    __shared__ int tileA[kTile][kWords + 1];  // one column of padding: no bank conflicts
    __shared__ int tileB[kTile][kWords + 1];
    const int top = blockIdx.y * kTile;
    const int left = blockIdx.x * kTile;
    int sums[2][2] = {};
    for (int start = 0; start < words; start += kWords) {
        const int word = start + threadIdx.x;
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int row = threadIdx.y + half * kThreads;
            tileA[row][threadIdx.x] = top + row < n && word < words ? a[(top + row) * words + word] : 0;
            tileB[row][threadIdx.x] = left + row < n && word < words ? b[(left + row) * words + word] : 0;
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < kWords; ++k) {
            const int a0 = tileA[threadIdx.y][k];
            const int a1 = tileA[threadIdx.y + kThreads][k];
            const int b0 = tileB[threadIdx.x][k];
            const int b1 = tileB[threadIdx.x + kThreads][k];
            sums[0][0] = __dp4a(a0, b0, sums[0][0]);
            sums[0][1] = __dp4a(a0, b1, sums[0][1]);
            sums[1][0] = __dp4a(a1, b0, sums[1][0]);
            sums[1][1] = __dp4a(a1, b1, sums[1][1]);
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
#pragma unroll
        for (int j = 0; j < 2; ++j) {
            const int row = top + threadIdx.y + i * kThreads;
            const int column = left + threadIdx.x + j * kThreads;
            if (row < n && column < n) {
                c[row * n + column] = sums[i][j];
            }
        }
    }
}

static std::vector<int> packed(const std::vector<int8_t>& numbers) {
    std::vector<int> words(numbers.size() / 4);
    memcpy(words.data(), numbers.data(), numbers.size());
    return words;
}

int main(int argc, char** argv) {
    const int n = argc > 1 ? atoi(argv[1]) : 1024;
    const size_t count = static_cast<size_t>(n) * n;
    if (n % 4 != 0) {
        fprintf(stderr, "n must be a multiple of 4\n");
        return 1;
    }

    std::vector<int8_t> a(count), b(count);
    for (size_t i = 0; i < count; ++i) {
        a[i] = static_cast<int8_t>(static_cast<int>(i * 7919 % 251) - 125);
        b[i] = static_cast<int8_t>(static_cast<int>(i * 6007 % 241) - 120);
    }
    int* dA = toDevice(packed(a));
    int* dB = toDevice(packed(b));
    int* dC = deviceZeros<int>(count);

    const dim3 block(kThreads, kThreads);
    const dim3 grid((n + kTile - 1) / kTile, (n + kTile - 1) / kTile);
    int8Matmul<<<grid, block>>>(dA, dB, dC, n, n / 4);

    const std::vector<int> c = toHost(dC, count);
    const size_t step = count > 65536 ? count / 65536 + 1 : 1;  // the reference checks about 65536 elements
    bool ok = true;
    for (size_t i = 0; i < count; i += step) {
        const int8_t* row = a.data() + i / n * n;
        const int8_t* column = b.data() + i % n * n;
        int expected = 0;
        for (int k = 0; k < n; ++k) {
            expected += row[k] * column[k];
        }
        ok = ok && c[i] == expected;
    }
    cudaFree(dA);
    cudaFree(dB);
    cudaFree(dC);
    return report(ok, "matrix product of 8-bit integers");
}
