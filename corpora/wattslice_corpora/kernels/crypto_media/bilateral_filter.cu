// Bilateral filter of a picture, 7 x 7: every neighbour counts by its distance, from a table in constant
// memory, and by how near its brightness is, an exponential per neighbour. The neighbourhoods overlap, so
// the caches serve the loads; special-function and fp32 units are busy.
// Usage: bilateral_filter [width] [height]
#include "../common.cuh"

constexpr int kSide = 16;
constexpr int kRadius = 3;
constexpr int kSpan = 2 * kRadius + 1;
constexpr float kBrightnessScale = -50.0f;  // -1 / (2 sigma^2), sigma = 0.1

__constant__ float nearness[kSpan * kSpan];

__global__ void bilateralFilter(const float* in, float* out, int width, int height) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= width || row >= height) {
        return;
    }
    const float centre = in[row * width + column];
    float sum = 0.0f;
    float weights = 0.0f;
    for (int dy = -kRadius; dy <= kRadius; ++dy) {
        const int y = min(max(row + dy, 0), height - 1);
        for (int dx = -kRadius; dx <= kRadius; ++dx) {
            const int x = min(max(column + dx, 0), width - 1);
            const float value = in[y * width + x];
            const float difference = value - centre;
            const float weight = nearness[(dy + kRadius) * kSpan + dx + kRadius] *
                                 __expf(kBrightnessScale * difference * difference);
            sum += weight * value;
            weights += weight;
        }
    }
    out[row * width + column] = sum / weights;
}

int main(int argc, char** argv) {
    const int width = argc > 1 ? atoi(argv[1]) : 1920;
    const int height = argc > 2 ? atoi(argv[2]) : 1080;
    const int n = width * height;

    std::vector<float> in(n), table(kSpan * kSpan);
    for (int i = 0; i < n; ++i) {
        const float step = i % width / 40 % 2 == i / width / 40 % 2 ? 0.25f : 0.75f;  // a noisy chessboard
        in[i] = step + (i * 2654435761u >> 16) / 655360.0f;
    }
    for (int i = 0; i < kSpan * kSpan; ++i) {
        const int dx = i % kSpan - kRadius;
        const int dy = i / kSpan - kRadius;
        table[i] = expf(-(dx * dx + dy * dy) / 8.0f);
    }
    CUDA_CHECK(cudaMemcpyToSymbol(nearness, table.data(), sizeof(nearness)));
    const float* dIn = toDevice(in);
    float* dOut = deviceZeros<float>(n);
    const dim3 block(kSide, kSide);
    const dim3 grid((width + kSide - 1) / kSide, (height + kSide - 1) / kSide);

    bilateralFilter<<<grid, block>>>(dIn, dOut, width, height);

    const std::vector<float> out = toHost(dOut, n);
    bool ok = true;
    for (int row = 0; row < height; row += 1 + height / 256) {  // a sample of many rows
        for (int column = 0; column < width; ++column) {
            double sum = 0.0, weights = 0.0;
            for (int i = 0; i < kSpan * kSpan; ++i) {
                const int x = std::min(std::max(column + i % kSpan - kRadius, 0), width - 1);
                const int y = std::min(std::max(row + i / kSpan - kRadius, 0), height - 1);
                const double value = in[y * width + x];
                const double difference = value - in[row * width + column];
                const double weight = table[i] * exp(kBrightnessScale * difference * difference);
                sum += weight * value;
                weights += weight;
            }
            ok = ok && near(out[row * width + column], sum / weights, 1e-4);
        }
    }
    return report(ok, "filtered image");
}
