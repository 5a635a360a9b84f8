// Convolution layer, 8 channels in, 16 out, 5x5 filters: directly from global memory, one output a thread; or with
// the filters in constant memory, the image tile of a channel in shared memory and four output channels a thread,
// so that each value that was read is used four times. The first is bound by loads, the second moves the work to the
// fp32 pipe.
// Usage: convolution [n]    (side of the image)
#include "../common.cuh"

constexpr int kIn = 8;
constexpr int kOut = 16;
constexpr int kFilter = 5;
constexpr int kHalf = kFilter / 2;
constexpr int kWeights = kOut * kIn * kFilter * kFilter;
constexpr int kBlockX = 32;
constexpr int kBlockY = 8;
constexpr int kOutPerThread = 4;

__constant__ float constantFilters[kWeights];

__global__ void convolutionDirect(const float* __restrict__ image, const float* __restrict__ filters,
                                  float* __restrict__ out, int n) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    const int channelOut = blockIdx.z;
    if (x >= n || y >= n) {
        return;
    }
    float sum = 0.0f;
    for (int channel = 0; channel < kIn; ++channel) {
        for (int row = 0; row < kFilter; ++row) {
            for (int column = 0; column < kFilter; ++column) {
                const int fromX = x + column - kHalf;
                const int fromY = y + row - kHalf;
                if (fromX >= 0 && fromX < n && fromY >= 0 && fromY < n) {
                    const float weight = filters[((channelOut * kIn + channel) * kFilter + row) * kFilter + column];
                    sum += weight * image[(channel * n + fromY) * n + fromX];
                }
            }
        }
    }
    out[(channelOut * n + y) * n + x] = sum;
}

__global__ void convolutionTiled(const float* __restrict__ image, float* __restrict__ out, int n) {
    __shared__ float tile[kBlockY + 2 * kHalf][kBlockX + 2 * kHalf];
    const int x = blockIdx.x * kBlockX + threadIdx.x;
    const int y = blockIdx.y * kBlockY + threadIdx.y;
    const int firstOut = blockIdx.z * kOutPerThread;
    float sums[kOutPerThread] = {};
    for (int channel = 0; channel < kIn; ++channel) {
        for (int row = threadIdx.y; row < kBlockY + 2 * kHalf; row += kBlockY) {
            for (int column = threadIdx.x; column < kBlockX + 2 * kHalf; column += kBlockX) {
                const int fromX = static_cast<int>(blockIdx.x) * kBlockX + column - kHalf;
                const int fromY = static_cast<int>(blockIdx.y) * kBlockY + row - kHalf;
                const bool inside = fromX >= 0 && fromX < n && fromY >= 0 && fromY < n;
                tile[row][column] = inside ? image[(channel * n + fromY) * n + fromX] : 0.0f;
            }
        }
        __syncthreads();
#pragma unroll
        for (int row = 0; row < kFilter; ++row) {
#pragma unroll
            for (int column = 0; column < kFilter; ++column) {
                const float value = tile[threadIdx.y + row][threadIdx.x + column];
#pragma unroll
                for (int o = 0; o < kOutPerThread; ++o) {
                    const int filter = (firstOut + o) * kIn + channel;
                    sums[o] += constantFilters[(filter * kFilter + row) * kFilter + column] * value;
                }
            }
        }
        __syncthreads();
    }
    if (x < n && y < n) {
#pragma unroll
        for (int o = 0; o < kOutPerThread; ++o) {
            out[((firstOut + o) * n + y) * n + x] = sums[o];
        }
    }
}

// The output of one channel at (x, y).
static double convolve(const std::vector<float>& image, const std::vector<float>& filters, int channelOut, int y,
                       int x, int n) {
    double sum = 0.0;
    for (int channel = 0; channel < kIn; ++channel) {
        for (int dy = -kHalf; dy <= kHalf; ++dy) {
            for (int dx = -kHalf; dx <= kHalf; ++dx) {
                if (x + dx >= 0 && x + dx < n && y + dy >= 0 && y + dy < n) {
                    const int row = (channelOut * kIn + channel) * kFilter + dy + kHalf;
                    const int weight = row * kFilter + dx + kHalf;
                    const size_t pixel = (static_cast<size_t>(channel) * n + y + dy) * n + x + dx;
                    sum += static_cast<double>(filters[weight]) * image[pixel];
                }
            }
        }
    }
    return sum;
}

int main(int argc, char** argv) {
    const int n = argc > 1 ? atoi(argv[1]) : 512;
    const size_t pixels = static_cast<size_t>(n) * n;

    std::vector<float> image(pixels * kIn), filters(kWeights);
    for (size_t i = 0; i < image.size(); ++i) {
        image[i] = static_cast<float>(i * 7919 % 1021) * 0.002f - 1.0f;
    }
    for (int i = 0; i < kWeights; ++i) {
        filters[i] = static_cast<float>(i * 37 % 101) * 0.002f - 0.1f;
    }
    float* dImage = toDevice(image);
    float* dFilters = toDevice(filters);
    float* dDirect = deviceZeros<float>(pixels * kOut);
    float* dTiled = deviceZeros<float>(pixels * kOut);
    CUDA_CHECK(cudaMemcpyToSymbol(constantFilters, filters.data(), sizeof(constantFilters)));

    const dim3 block(kBlockX, kBlockY);
    const dim3 directGrid((n + kBlockX - 1) / kBlockX, (n + kBlockY - 1) / kBlockY, kOut);
    convolutionDirect<<<directGrid, block>>>(dImage, dFilters, dDirect, n);
    const dim3 tiledGrid((n + kBlockX - 1) / kBlockX, (n + kBlockY - 1) / kBlockY, kOut / kOutPerThread);
    convolutionTiled<<<tiledGrid, block>>>(dImage, dTiled, n);

    const std::vector<float> direct = toHost(dDirect, pixels * kOut);
    const std::vector<float> tiled = toHost(dTiled, pixels * kOut);
    const size_t step = pixels * kOut > 500000 ? 97 : 1;  // the reference checks every 97th output of a large layer
    bool ok = true;
    for (size_t i = 0; i < pixels * kOut; i += step) {
        const int channel = static_cast<int>(i / pixels);
        const int y = static_cast<int>(i % pixels / n);
        const int x = static_cast<int>(i % n);
        const double expected = convolve(image, filters, channel, y, x, n);
        ok = ok && near(direct[i], expected, 1e-4) && near(tiled[i], expected, 1e-4);
    }
    cudaFree(dImage);
    cudaFree(dFilters);
    cudaFree(dDirect);
    cudaFree(dTiled);
    return report(ok, "convolution layer");
}
