// Star stencil of radius 4 (the eighth-order Laplacian) on a 2D grid, twice: every thread reads its 17 points
// from global memory, or the block first loads its tile and halo into shared memory. The arithmetic is the same;
// what differs is where the neighbours are read, and that decides the power of the memory system.
// Usage: stencil_2d [width] [height]
#include "../common.cuh"

constexpr int kRadius = 4;
constexpr int kBlockX = 32;
constexpr int kBlockY = 16;

__constant__ float weights[kRadius + 1];

__global__ void stencilNaive(const float* __restrict__ in, float* __restrict__ out, int width, int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < kRadius || y < kRadius || x >= width - kRadius || y >= height - kRadius) {
        return;
    }
    const int i = y * width + x;
    float sum = 2.0f * weights[0] * in[i];
    for (int r = 1; r <= kRadius; ++r) {
        sum += weights[r] * (in[i - r] + in[i + r] + in[i - r * width] + in[i + r * width]);
    }
    out[i] = sum;
}

__global__ void stencilTiled(const float* __restrict__ in, float* __restrict__ out, int width, int height) {
    __shared__ float tile[kBlockY + 2 * kRadius][kBlockX + 2 * kRadius];
    const int left = blockIdx.x * kBlockX - kRadius;
    const int top = blockIdx.y * kBlockY - kRadius;
    for (int row = threadIdx.y; row < kBlockY + 2 * kRadius; row += kBlockY) {
        for (int column = threadIdx.x; column < kBlockX + 2 * kRadius; column += kBlockX) {
            // Points outside the grid are never used: any address inside will do.
            const int x = min(max(left + column, 0), width - 1);
            const int y = min(max(top + row, 0), height - 1);
            tile[row][column] = in[y * width + x];
        }
    }
    __syncthreads();
    const int x = blockIdx.x * kBlockX + threadIdx.x;
    const int y = blockIdx.y * kBlockY + threadIdx.y;
    if (x < kRadius || y < kRadius || x >= width - kRadius || y >= height - kRadius) {
        return;
    }
    const int column = threadIdx.x + kRadius;
    const int row = threadIdx.y + kRadius;
    float sum = 2.0f * weights[0] * tile[row][column];
    for (int r = 1; r <= kRadius; ++r) {
        sum += weights[r] * (tile[row][column - r] + tile[row][column + r] +
                             tile[row - r][column] + tile[row + r][column]);
    }
    out[y * width + x] = sum;
}

static std::vector<float> stencilOnHost(const std::vector<float>& in, const float* weight, int width, int height) {
    std::vector<float> out(in.size());  // zero on the border
    for (int y = kRadius; y < height - kRadius; ++y) {
        for (int x = kRadius; x < width - kRadius; ++x) {
            const size_t i = static_cast<size_t>(y) * width + x;
            const float* point = in.data() + i;
            double sum = 2.0 * weight[0] * point[0];
            for (int r = 1; r <= kRadius; ++r) {
                const double neighbours = point[-r] + point[r] + point[-r * width] + point[r * width];
                sum += weight[r] * neighbours;
            }
            out[i] = static_cast<float>(sum);
        }
    }
    return out;
}

int main(int argc, char** argv) {
    const int width = argc > 1 ? atoi(argv[1]) : 2048;
    const int height = argc > 2 ? atoi(argv[2]) : 2048;
    const size_t count = static_cast<size_t>(width) * height;
    const float weight[kRadius + 1] = {-205.0f / 72.0f, 8.0f / 5.0f, -1.0f / 5.0f, 8.0f / 315.0f, -1.0f / 560.0f};

    std::vector<float> in(count);
    for (size_t i = 0; i < count; ++i) {
        in[i] = static_cast<float>(i * 7919 % 1009) * 0.001f;
    }
    float* dIn = toDevice(in);
    float* dNaive = deviceZeros<float>(count);
    float* dTiled = deviceZeros<float>(count);
    CUDA_CHECK(cudaMemcpyToSymbol(weights, weight, sizeof(weight)));

    const dim3 block(kBlockX, kBlockY);
    const dim3 grid((width + kBlockX - 1) / kBlockX, (height + kBlockY - 1) / kBlockY);
    stencilNaive<<<grid, block>>>(dIn, dNaive, width, height);
    stencilTiled<<<grid, block>>>(dIn, dTiled, width, height);

    const std::vector<float> naive = toHost(dNaive, count);
    const std::vector<float> tiled = toHost(dTiled, count);
    const std::vector<float> expected = stencilOnHost(in, weight, width, height);
    bool ok = true;
    for (size_t i = 0; i < count; ++i) {
        ok = ok && near(naive[i], expected[i], 1e-4) && near(tiled[i], expected[i], 1e-4);
    }
    cudaFree(dIn);
    cudaFree(dNaive);
    cudaFree(dTiled);
    return report(ok, "star stencil of radius 4");
}
