// Matrix transpose through a padded shared-memory tile: both global accesses are coalesced.
// Usage: transpose [width] [height]
#include "../common.cuh"

constexpr int kTile = 32;
constexpr int kRowsPerPass = 8;

__global__ void transpose(const float* in, float* out, int width, int height) {
    __shared__ float tile[kTile][kTile + 1];  // one column of padding: no bank conflicts
    int x = blockIdx.x * kTile + threadIdx.x;
    int y = blockIdx.y * kTile + threadIdx.y;
    for (int row = 0; row < kTile; row += kRowsPerPass) {
        if (x < width && y + row < height) {
            tile[threadIdx.y + row][threadIdx.x] = in[(y + row) * width + x];
        }
    }
    __syncthreads();
    x = blockIdx.y * kTile + threadIdx.x;
    y = blockIdx.x * kTile + threadIdx.y;
    for (int row = 0; row < kTile; row += kRowsPerPass) {
        if (x < height && y + row < width) {
            out[(y + row) * height + x] = tile[threadIdx.x][threadIdx.y + row];
        }
    }
}

int main(int argc, char** argv) {
    const int width = argc > 1 ? atoi(argv[1]) : 1024;
    const int height = argc > 2 ? atoi(argv[2]) : 1024;
    const size_t count = static_cast<size_t>(width) * height;

    std::vector<float> in(count);
    for (size_t i = 0; i < count; ++i) {
        in[i] = static_cast<float>(i % 65521);
    }

    float* dIn = toDevice(in);
    float* dOut = deviceZeros<float>(count);

    const dim3 block(kTile, kRowsPerPass);
    const dim3 grid((width + kTile - 1) / kTile, (height + kTile - 1) / kTile);
    transpose<<<grid, block>>>(dIn, dOut, width, height);
    const std::vector<float> out = toHost(dOut, count);

    bool ok = true;
    for (int y = 0; y < height; ++y) {
        for (int x = 0; x < width; ++x) {
            ok = ok && out[static_cast<size_t>(x) * height + y] == in[static_cast<size_t>(y) * width + x];
        }
    }
    cudaFree(dIn);
    cudaFree(dOut);
    return report(ok, "transpose");
}
