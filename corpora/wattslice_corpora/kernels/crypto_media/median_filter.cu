// Median filter of a picture, 3 x 3: a network of minima and maxima sorts the columns of the neighbourhood in
// registers and takes the median of what can still be it. The same operations for every pixel, no branch
// on the data; integer minima and nine loads that the L1 cache serves.
// Usage: median_filter [width] [height]
#include "../common.cuh"

constexpr int kBlockWidth = 32;
constexpr int kBlockHeight = 8;

__device__ int median3(int a, int b, int c) {
    return max(min(a, b), min(max(a, b), c));
}

__global__ void medianFilter(const unsigned char* in, unsigned char* out, int width, int height) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= width || row >= height) {
        return;
    }
    const int above = max(row - 1, 0) * width;
    const int here = row * width;
    const int below = min(row + 1, height - 1) * width;
    int highestLow = 0;
    int lowestHigh = 255;
    int middles[3];
#pragma unroll
    for (int dx = -1; dx <= 1; ++dx) {
        const int x = min(max(column + dx, 0), width - 1);
        const int a = in[above + x];
        const int b = in[here + x];
        const int c = in[below + x];
        highestLow = max(highestLow, min(a, min(b, c)));
        lowestHigh = min(lowestHigh, max(a, max(b, c)));
        middles[dx + 1] = median3(a, b, c);
    }
    const int middle = median3(middles[0], middles[1], middles[2]);
    out[here + column] = static_cast<unsigned char>(median3(highestLow, middle, lowestHigh));
}

int main(int argc, char** argv) {
    const int width = argc > 1 ? atoi(argv[1]) : 1920;
    const int height = argc > 2 ? atoi(argv[2]) : 1080;
    const int n = width * height;

    std::vector<unsigned char> in(n);
    for (int i = 0; i < n; ++i) {
        const unsigned hash = i * 2654435761u;
        in[i] = static_cast<unsigned char>(hash >> 29 == 0 ? hash >> 16 : i % width * 255 / width);  // specks
    }
    const unsigned char* dIn = toDevice(in);
    unsigned char* dOut = deviceZeros<unsigned char>(n);
    const dim3 block(kBlockWidth, kBlockHeight);
    const dim3 grid((width + kBlockWidth - 1) / kBlockWidth, (height + kBlockHeight - 1) / kBlockHeight);

    medianFilter<<<grid, block>>>(dIn, dOut, width, height);

    const std::vector<unsigned char> out = toHost(dOut, n);
    bool ok = true;
    for (int row = 0; row < height; ++row) {
        for (int column = 0; column < width; ++column) {
            unsigned char values[9];
            for (int i = 0; i < 9; ++i) {
                const int x = std::min(std::max(column + i % 3 - 1, 0), width - 1);
                const int y = std::min(std::max(row + i / 3 - 1, 0), height - 1);
                values[i] = in[y * width + x];
            }
            std::nth_element(values, values + 4, values + 9);
            ok = ok && out[row * width + column] == values[4];
        }
    }
    return report(ok, "filtered image");
}
