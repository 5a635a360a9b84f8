// Max pooling of the images of several channels, windows of 3x3 at every second pixel, with the place of the maximum
// kept for the backward pass. Windows overlap, so that the L1 cache serves more than half of the nine loads of an
// output; each load uses every second number of its sectors. Comparisons instead of arithmetic: bound by bandwidth.
// Usage: max_pool [channels] [n]    (n: side of an image)
#include "../common.cuh"

#include <cfloat>

constexpr int kBlockX = 32;
constexpr int kBlockY = 8;
constexpr int kWindow = 3;
constexpr int kStride = 2;

__global__ void maxPool(const float* __restrict__ images, float* __restrict__ maxima, int* __restrict__ places, int n,
                        int pooled) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= pooled || y >= pooled) {
        return;
    }
    const float* image = images + static_cast<size_t>(blockIdx.z) * n * n;
    float maximum = -FLT_MAX;
    int place = 0;
    for (int dy = 0; dy < kWindow; ++dy) {
        for (int dx = 0; dx < kWindow; ++dx) {
            const int i = (y * kStride + dy) * n + x * kStride + dx;
            const float value = image[i];
            if (value > maximum) {
                maximum = value;
                place = i;
            }
        }
    }
    const size_t result = (static_cast<size_t>(blockIdx.z) * pooled + y) * pooled + x;
    maxima[result] = maximum;
    places[result] = place;
}

int main(int argc, char** argv) {
    const int channels = argc > 1 ? atoi(argv[1]) : 64;
    const int n = argc > 2 ? atoi(argv[2]) : 224;
    const int pooled = (n - kWindow) / kStride + 1;
    const size_t pixels = static_cast<size_t>(n) * n;
    const size_t results = static_cast<size_t>(channels) * pooled * pooled;

    std::vector<float> images(pixels * channels);
    for (size_t i = 0; i < images.size(); ++i) {
        images[i] = static_cast<float>(i * 7919 % 65521) * 0.001f - 30.0f;
    }
    float* dImages = toDevice(images);
    float* dMaxima = deviceZeros<float>(results);
    int* dPlaces = deviceZeros<int>(results);

    const dim3 block(kBlockX, kBlockY);
    const dim3 grid((pooled + kBlockX - 1) / kBlockX, (pooled + kBlockY - 1) / kBlockY, channels);
    maxPool<<<grid, block>>>(dImages, dMaxima, dPlaces, n, pooled);

    const std::vector<float> maxima = toHost(dMaxima, results);
    const std::vector<int> places = toHost(dPlaces, results);
    bool ok = true;
    for (size_t result = 0; result < results; ++result) {
        const float* image = images.data() + result / (static_cast<size_t>(pooled) * pooled) * pixels;
        const int y = static_cast<int>(result / pooled % pooled) * kStride;
        const int x = static_cast<int>(result % pooled) * kStride;
        int place = y * n + x;
        for (int i = 0; i < kWindow * kWindow; ++i) {
            const int candidate = (y + i / kWindow) * n + x + i % kWindow;
            place = image[candidate] > image[place] ? candidate : place;
        }
        ok = ok && places[result] == place && maxima[result] == image[place];
    }
    cudaFree(dImages);
    cudaFree(dMaxima);
    cudaFree(dPlaces);
    return report(ok, "max pooling");
}
