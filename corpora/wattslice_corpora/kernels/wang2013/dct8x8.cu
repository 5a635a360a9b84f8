// 8x8 discrete cosine transform (type II, orthonormal) of an image: rows, then columns, with the
// cosine table in constant memory and the block of pixels in shared memory.
// Usage: dct8x8 [width] [height]    (multiples of 8)
#include "../common.cuh"

constexpr int kSide = 8;

__constant__ float basis[kSide * kSide];  // basis[u * 8 + x] = c(u) cos((2x + 1) u pi / 16)

__global__ void dct8x8(const float* image, float* coefficients, int width) {
    __shared__ float pixels[kSide][kSide];
    __shared__ float rows[kSide][kSide];
    const int tx = threadIdx.x;
    const int ty = threadIdx.y;
    const int at = (blockIdx.y * kSide + ty) * width + blockIdx.x * kSide + tx;
    pixels[ty][tx] = image[at] - 128.0f;
    __syncthreads();
    float sum = 0.0f;
#pragma unroll
    for (int x = 0; x < kSide; ++x) {
        sum += basis[tx * kSide + x] * pixels[ty][x];
    }
    rows[ty][tx] = sum;
    __syncthreads();
    sum = 0.0f;
#pragma unroll
    for (int y = 0; y < kSide; ++y) {
        sum += basis[ty * kSide + y] * rows[y][tx];
    }
    coefficients[at] = sum;
}

int main(int argc, char** argv) {
    const int width = argc > 1 ? atoi(argv[1]) : 1024;
    const int height = argc > 2 ? atoi(argv[2]) : 768;
    if (width % kSide != 0 || height % kSide != 0) {
        fprintf(stderr, "width and height must be multiples of %d\n", kSide);
        return 1;
    }
    const int count = width * height;

    const double pi = 3.14159265358979323846;
    std::vector<float> table(kSide * kSide);
    for (int u = 0; u < kSide; ++u) {
        for (int x = 0; x < kSide; ++x) {
            const double scale = u == 0 ? std::sqrt(1.0 / kSide) : std::sqrt(2.0 / kSide);
            table[u * kSide + x] = static_cast<float>(scale * std::cos((2 * x + 1) * u * pi / (2 * kSide)));
        }
    }
    std::vector<float> image(count);
    for (int i = 0; i < count; ++i) {
        image[i] = static_cast<float>((i * 37 + i / width * 11) % 256);
    }

    float* dImage = toDevice(image);
    float* dCoefficients = deviceZeros<float>(count);
    CUDA_CHECK(cudaMemcpyToSymbol(basis, table.data(), kSide * kSide * sizeof(float)));

    const dim3 block(kSide, kSide);
    const dim3 grid(width / kSide, height / kSide);
    dct8x8<<<grid, block>>>(dImage, dCoefficients, width);
    const std::vector<float> coefficients = toHost(dCoefficients, count);

    // The definition, as a double sum over the pixels, for every 16th block.
    bool ok = true;
    const int blocksX = width / kSide;
    for (int b = 0; b < blocksX * (height / kSide); b += 16) {
        const int x0 = b % blocksX * kSide;
        const int y0 = b / blocksX * kSide;
        for (int v = 0; v < kSide; ++v) {
            for (int u = 0; u < kSide; ++u) {
                double expected = 0.0;
                for (int y = 0; y < kSide; ++y) {
                    for (int x = 0; x < kSide; ++x) {
                        const double pixel = image[(y0 + y) * width + x0 + x] - 128.0;
                        expected += pixel * table[u * kSide + x] * table[v * kSide + y];
                    }
                }
                ok = ok && std::fabs(coefficients[(y0 + v) * width + x0 + u] - expected) < 1e-2;
            }
        }
    }
    cudaFree(dImage);
    cudaFree(dCoefficients);
    return report(ok, "dct8x8");
}
