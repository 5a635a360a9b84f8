// Edges of a colour picture: conversion to luminance, then the Sobel operator on a tile with a border in
// shared memory, both in integers. The first is limited by DRAM; the second reads every pixel once from
// DRAM and eight times from shared memory for a dozen additions.
// Usage: grayscale_sobel [width] [height]
#include "../common.cuh"

constexpr int kSide = 16;
constexpr int kTile = kSide + 2;

__host__ __device__ inline int clamped(int i, int length) {
    return i < 0 ? 0 : i < length ? i : length - 1;
}

// Weights of ITU-R BT.601 in 256ths.
__host__ __device__ inline unsigned char luminance(uchar4 colour) {
    return static_cast<unsigned char>((77 * colour.x + 150 * colour.y + 29 * colour.z) >> 8);
}

__global__ void grayscale(const uchar4* colours, unsigned char* gray, int width, int height) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column < width && row < height) {
        gray[row * width + column] = luminance(colours[row * width + column]);
    }
}

__global__ void sobel(const unsigned char* gray, unsigned char* edges, int width, int height) {
    __shared__ int tile[kTile][kTile];
    const int left = blockIdx.x * kSide - 1;
    const int top = blockIdx.y * kSide - 1;
    for (int i = threadIdx.y * kSide + threadIdx.x; i < kTile * kTile; i += kSide * kSide) {
        const int column = clamped(left + i % kTile, width);
        const int row = clamped(top + i / kTile, height);
        tile[i / kTile][i % kTile] = gray[row * width + column];
    }
    __syncthreads();
    const int column = blockIdx.x * kSide + threadIdx.x;
    const int row = blockIdx.y * kSide + threadIdx.y;
    if (column >= width || row >= height) {
        return;
    }
    const int x = threadIdx.x;
    const int y = threadIdx.y;
    const int horizontal = tile[y][x + 2] + 2 * tile[y + 1][x + 2] + tile[y + 2][x + 2] - tile[y][x] -
                           2 * tile[y + 1][x] - tile[y + 2][x];
    const int vertical = tile[y + 2][x] + 2 * tile[y + 2][x + 1] + tile[y + 2][x + 2] - tile[y][x] -
                         2 * tile[y][x + 1] - tile[y][x + 2];
    edges[row * width + column] = static_cast<unsigned char>(min(abs(horizontal) + abs(vertical), 255));
}

int main(int argc, char** argv) {
    const int width = argc > 1 ? atoi(argv[1]) : 1920;
    const int height = argc > 2 ? atoi(argv[2]) : 1080;
    const int n = width * height;

    std::vector<uchar4> colours(n);
    for (int i = 0; i < n; ++i) {
        const unsigned hash = i * 2654435761u;
        colours[i] = make_uchar4(i % width * 255 / width, i / width * 255 / height, hash >> 27, 255);
    }
    const uchar4* dColours = toDevice(colours);
    unsigned char* dGray = deviceZeros<unsigned char>(n);
    unsigned char* dEdges = deviceZeros<unsigned char>(n);
    const dim3 block(kSide, kSide);
    const dim3 grid((width + kSide - 1) / kSide, (height + kSide - 1) / kSide);

    grayscale<<<grid, block>>>(dColours, dGray, width, height);
    sobel<<<grid, block>>>(dGray, dEdges, width, height);

    const std::vector<unsigned char> edges = toHost(dEdges, n);
    bool ok = true;
    for (int row = 0; row < height; ++row) {
        for (int column = 0; column < width; ++column) {
            int horizontal = 0, vertical = 0;
            for (int dy = -1; dy <= 1; ++dy) {
                for (int dx = -1; dx <= 1; ++dx) {
                    const int at = clamped(row + dy, height) * width + clamped(column + dx, width);
                    horizontal += dx * (2 - dy * dy) * luminance(colours[at]);
                    vertical += dy * (2 - dx * dx) * luminance(colours[at]);
                }
            }
            ok = ok && edges[row * width + column] == std::min(abs(horizontal) + abs(vertical), 255);
        }
    }
    return report(ok, "edges");
}
