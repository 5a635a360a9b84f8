// Matrix transpose in three ways that move the same bytes: straight, where the writes of a warp go to 32 rows;
// through a tile in shared memory, where they are coalesced but 32 threads meet in one bank; and through a tile
// with a column of padding, where they do neither.
// Usage: transpose_variants [n]    (n x n matrix)
#include "matrices.cuh"

constexpr int kTile = 32;
constexpr int kRowsPerPass = 8;

__global__ void transposeStraight(const float* in, float* out, int n) {
    const int x = blockIdx.x * kTile + threadIdx.x;
    const int firstRow = blockIdx.y * kTile + threadIdx.y;
    for (int y = firstRow; y < firstRow + kTile; y += kRowsPerPass) {
        if (x < n && y < n) {
            out[x * n + y] = in[y * n + x];
        }
    }
}

// kPad columns more than the tile needs move each of its rows by as many banks.
template <int kPad>
__device__ void transposeTile(const float* in, float* out, int n) {
    __shared__ float tile[kTile][kTile + kPad];
    int x = blockIdx.x * kTile + threadIdx.x;
    int y = blockIdx.y * kTile + threadIdx.y;
    for (int row = 0; row < kTile; row += kRowsPerPass) {
        if (x < n && y + row < n) {
            tile[threadIdx.y + row][threadIdx.x] = in[(y + row) * n + x];
        }
    }
    __syncthreads();
    x = blockIdx.y * kTile + threadIdx.x;
    y = blockIdx.x * kTile + threadIdx.y;
    for (int row = 0; row < kTile; row += kRowsPerPass) {
        if (x < n && y + row < n) {
            out[(y + row) * n + x] = tile[threadIdx.x][threadIdx.y + row];
        }
    }
}

__global__ void transposeConflicts(const float* in, float* out, int n) {
    transposeTile<0>(in, out, n);
}

__global__ void transposePadded(const float* in, float* out, int n) {
    transposeTile<1>(in, out, n);
}

static bool isTransposed(const std::vector<float>& in, const float* device, size_t n) {
    const std::vector<float> out = toHost(device, n * n);
    for (size_t at = 0; at < n * n; ++at) {
        if (out[at] != in[at % n * n + at / n]) {
            return false;
        }
    }
    return true;
}

int main(int argc, char** argv) {
    const int n = argc > 1 ? atoi(argv[1]) : 2048;
    const size_t count = static_cast<size_t>(n) * n;
    const std::vector<float> in = uniform(count, 1u);
    float* dIn = toDevice(in);
    float* dStraight = deviceZeros<float>(count);
    float* dConflicts = deviceZeros<float>(count);
    float* dPadded = deviceZeros<float>(count);

    const dim3 block(kTile, kRowsPerPass);
    const dim3 grid((n + kTile - 1) / kTile, (n + kTile - 1) / kTile);
    transposeStraight<<<grid, block>>>(dIn, dStraight, n);
    transposeConflicts<<<grid, block>>>(dIn, dConflicts, n);
    transposePadded<<<grid, block>>>(dIn, dPadded, n);

    const bool ok = isTransposed(in, dStraight, n) && isTransposed(in, dConflicts, n) && isTransposed(in, dPadded, n);
    cudaFree(dIn);
    cudaFree(dStraight);
    cudaFree(dConflicts);
    cudaFree(dPadded);
    return report(ok, "transpose_variants");
}
