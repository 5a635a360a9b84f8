// Mandelbrot set by escape time, one pixel per thread: multiply-adds in registers until the point escapes, so
// the threads of a warp leave the loop at different times and the warp runs as long as its last one. No
// memory traffic but one store per pixel: fp32 throughput less what divergence idles.
// Usage: mandelbrot [width] [height]
#include "../common.cuh"

constexpr int kSide = 16;
constexpr int kLimit = 512;

__host__ __device__ inline int escapeTime(int column, int row, int width, int height) {
    const float cx = 3.0f * column / width - 2.25f;
    const float cy = 2.5f * row / height - 1.25f;
    float x = 0.0f;
    float y = 0.0f;
    int steps = 0;
    while (steps < kLimit && x * x + y * y <= 4.0f) {
        const float next = x * x - y * y + cx;
        y = 2.0f * x * y + cy;
        x = next;
        ++steps;
    }
    return steps;
}

__global__ void mandelbrot(int* steps, int width, int height) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column < width && row < height) {
        steps[row * width + column] = escapeTime(column, row, width, height);
    }
}

int main(int argc, char** argv) {
    const int width = argc > 1 ? atoi(argv[1]) : 1024;
    const int height = argc > 2 ? atoi(argv[2]) : 1024;

    int* dSteps = deviceZeros<int>(width * height);
    const dim3 block(kSide, kSide);
    const dim3 grid((width + kSide - 1) / kSide, (height + kSide - 1) / kSide);

    mandelbrot<<<grid, block>>>(dSteps, width, height);

    // Near the border of the set the rounding of a fused multiply-add decides: few pixels may differ.
    const std::vector<int> steps = toHost(dSteps, width * height);
    int pixels = 0, differing = 0;
    for (int row = 0; row < height; row += 1 + height / 256) {  // a sample of many rows
        for (int column = 0; column < width; ++column) {
            ++pixels;
            differing += steps[row * width + column] != escapeTime(column, row, width, height);
        }
    }
    return report(differing <= 0.02 * pixels, "escape times");
}
