// H.264 intra prediction of the luma plane: for every 4x4 block the best of nine modes, for every
// 16x16 macroblock the best of four, by the sum of absolute differences. As encoders do on a GPU,
// neighbours are taken from the source frame (texture, clamped at the edges), so that all blocks are
// independent. Formulas: ITU-T H.264, sections 8.3.1.2 and 8.3.3.
// Usage: h264_intra [width] [height]    (multiples of 16)
#include "../common.cuh"

constexpr int kMacroblock = 16;
constexpr int kModes4x4 = 9;
constexpr int kModes16x16 = 4;
constexpr int kThreadsY = 8;

// The 13 neighbours of a 4x4 block as one line: left column from bottom to top (0..3), corner (4),
// the row above and above right (5..12). A diagonal neighbour is then just the next index.
constexpr int kEdge = 13;

__host__ __device__ int average3(const int* edge, int centre) {
    return (edge[centre - 1] + 2 * edge[centre] + edge[centre + 1] + 2) >> 2;
}

__host__ __device__ int average2(const int* edge, int first) {
    return (edge[first] + edge[first + 1] + 1) >> 1;
}

// Predicted pixel (x, y) of a 4x4 block in one of the nine modes.
__host__ __device__ int predict4x4(const int* edge, int mode, int x, int y) {
    switch (mode) {
        case 0:  // vertical
            return edge[5 + x];
        case 1:  // horizontal
            return edge[3 - y];
        case 2: {  // mean
            int sum = 4;
            for (int i = 0; i < 4; ++i) {
                sum += edge[i] + edge[5 + i];
            }
            return sum >> 3;
        }
        case 3:  // diagonal down left
            return x + y == 6 ? (edge[11] + 3 * edge[12] + 2) >> 2 : average3(edge, 6 + x + y);
        case 4:  // diagonal down right
            return average3(edge, 4 + x - y);
        case 5: {  // vertical right
            const int z = 2 * x - y;
            if (z < -1) {
                return average3(edge, 5 - y);
            }
            if (z == -1 || (z & 1) != 0) {
                return average3(edge, 4 + x - (y >> 1));
            }
            return average2(edge, 4 + x - (y >> 1));
        }
        case 6: {  // horizontal down
            const int z = 2 * y - x;
            if (z < -1) {
                return average3(edge, 3 + x);
            }
            if (z == -1 || (z & 1) != 0) {
                return average3(edge, 4 - y + (x >> 1));
            }
            return average2(edge, 3 - y + (x >> 1));
        }
        case 7:  // vertical left
            return (y & 1) != 0 ? average3(edge, 6 + x + (y >> 1)) : average2(edge, 5 + x + (y >> 1));
        default: {  // horizontal up
            const int z = x + 2 * y;
            if (z > 5) {
                return edge[0];
            }
            if (z == 5) {
                return (edge[1] + 3 * edge[0] + 2) >> 2;
            }
            return (z & 1) != 0 ? average3(edge, 2 - y - (x >> 1)) : average2(edge, 2 - y - (x >> 1));
        }
    }
}

// One thread per 4x4 block tries all nine modes.
__global__ void intra4x4(cudaTextureObject_t frame, unsigned char* modes, int* costs, int blocksX, int blocksY) {
    const int bx = blockIdx.x * blockDim.x + threadIdx.x;
    const int by = blockIdx.y * blockDim.y + threadIdx.y;
    if (bx >= blocksX || by >= blocksY) {
        return;
    }
    const int x0 = bx * 4;
    const int y0 = by * 4;
    int edge[kEdge];
    for (int i = 0; i < 4; ++i) {
        edge[i] = tex2D<unsigned char>(frame, x0 - 1, y0 + 3 - i);
    }
    for (int i = 4; i < kEdge; ++i) {
        edge[i] = tex2D<unsigned char>(frame, x0 + i - 5, y0 - 1);
    }
    int bestMode = 0;
    int bestCost = 1 << 30;
    for (int mode = 0; mode < kModes4x4; ++mode) {
        int cost = 0;
        for (int y = 0; y < 4; ++y) {
            for (int x = 0; x < 4; ++x) {
                const int pixel = tex2D<unsigned char>(frame, x0 + x, y0 + y);
                cost += abs(pixel - predict4x4(edge, mode, x, y));
            }
        }
        if (cost < bestCost) {
            bestCost = cost;
            bestMode = mode;
        }
    }
    modes[by * blocksX + bx] = static_cast<unsigned char>(bestMode);
    costs[by * blocksX + bx] = bestCost;
}

__host__ __device__ int clampByte(int value) {
    return value < 0 ? 0 : value > 255 ? 255 : value;
}

// One block of 16x16 threads per macroblock, one pixel per thread.
__global__ void intra16x16(cudaTextureObject_t frame, unsigned char* modes, int* costs) {
    __shared__ int top[kMacroblock + 1];  // [0] is the corner
    __shared__ int left[kMacroblock + 1];
    __shared__ int cost[kModes16x16];
    const int x = threadIdx.x;
    const int y = threadIdx.y;
    const int x0 = blockIdx.x * kMacroblock;
    const int y0 = blockIdx.y * kMacroblock;
    if (y == 0) {
        top[x + 1] = tex2D<unsigned char>(frame, x0 + x, y0 - 1);
        left[x + 1] = tex2D<unsigned char>(frame, x0 - 1, y0 + x);
        if (x == 0) {
            top[0] = tex2D<unsigned char>(frame, x0 - 1, y0 - 1);
            left[0] = top[0];
        }
        if (x < kModes16x16) {
            cost[x] = 0;
        }
    }
    __syncthreads();

    int sum = 16;
    int gradientX = 0;
    int gradientY = 0;
    for (int i = 1; i <= kMacroblock; ++i) {
        sum += top[i] + left[i];
    }
    for (int i = 1; i <= 8; ++i) {
        gradientX += i * (top[8 + i] - top[8 - i]);
        gradientY += i * (left[8 + i] - left[8 - i]);
    }
    const int slopeX = (5 * gradientX + 32) >> 6;
    const int slopeY = (5 * gradientY + 32) >> 6;
    const int plane = 16 * (left[16] + top[16]) + slopeX * (x - 7) + slopeY * (y - 7) + 16;

    const int pixel = tex2D<unsigned char>(frame, x0 + x, y0 + y);
    for (int mode = 0; mode < kModes16x16; ++mode) {
        int predicted;
        if (mode == 0) {
            predicted = top[x + 1];
        } else if (mode == 1) {
            predicted = left[y + 1];
        } else if (mode == 2) {
            predicted = sum >> 5;
        } else {
            predicted = clampByte(plane >> 5);
        }
        atomicAdd(&cost[mode], abs(pixel - predicted));
    }
    __syncthreads();
    if (x == 0 && y == 0) {
        int best = 0;
        for (int mode = 1; mode < kModes16x16; ++mode) {
            if (cost[mode] < cost[best]) {
                best = mode;
            }
        }
        modes[blockIdx.y * gridDim.x + blockIdx.x] = static_cast<unsigned char>(best);
        costs[blockIdx.y * gridDim.x + blockIdx.x] = cost[best];
    }
}

// ---- the reference: one block after the other, from the frame in host memory ----

struct Frame {
    const unsigned char* pixels;
    int width;
    int height;
    int at(int x, int y) const {
        x = x < 0 ? 0 : x >= width ? width - 1 : x;
        y = y < 0 ? 0 : y >= height ? height - 1 : y;
        return pixels[y * width + x];
    }
};

static int referenceCost4x4(const Frame& frame, int x0, int y0, int mode) {
    int edge[kEdge];
    for (int i = 0; i < kEdge; ++i) {
        edge[i] = i < 4 ? frame.at(x0 - 1, y0 + 3 - i) : frame.at(x0 + i - 5, y0 - 1);
    }
    int cost = 0;
    for (int i = 0; i < 16; ++i) {
        cost += abs(frame.at(x0 + i % 4, y0 + i / 4) - predict4x4(edge, mode, i % 4, i / 4));
    }
    return cost;
}

static int referenceCost16x16(const Frame& frame, int x0, int y0, int mode) {
    int sum = 16, h = 0, v = 0;
    for (int i = 0; i < 16; ++i) {
        sum += frame.at(x0 + i, y0 - 1) + frame.at(x0 - 1, y0 + i);
    }
    for (int i = 0; i < 8; ++i) {
        h += (i + 1) * (frame.at(x0 + 8 + i, y0 - 1) - frame.at(x0 + 6 - i, y0 - 1));
        v += (i + 1) * (frame.at(x0 - 1, y0 + 8 + i) - frame.at(x0 - 1, y0 + 6 - i));
    }
    const int a = 16 * (frame.at(x0 - 1, y0 + 15) + frame.at(x0 + 15, y0 - 1));
    const int b = (5 * h + 32) >> 6;
    const int c = (5 * v + 32) >> 6;
    int cost = 0;
    for (int y = 0; y < 16; ++y) {
        for (int x = 0; x < 16; ++x) {
            const int predicted[] = {frame.at(x0 + x, y0 - 1), frame.at(x0 - 1, y0 + y), sum >> 5,
                                     clampByte((a + b * (x - 7) + c * (y - 7) + 16) >> 5)};
            cost += abs(frame.at(x0 + x, y0 + y) - predicted[mode]);
        }
    }
    return cost;
}

static bool check(const Frame& frame, int side, int modeCount, const std::vector<unsigned char>& modes,
                  const std::vector<int>& costs) {
    const int across = frame.width / side;
    for (size_t i = 0; i < modes.size(); ++i) {
        const int x0 = static_cast<int>(i) % across * side;
        const int y0 = static_cast<int>(i) / across * side;
        int best = 0, bestCost = 1 << 30;
        for (int mode = 0; mode < modeCount; ++mode) {
            const int cost =
                side == 4 ? referenceCost4x4(frame, x0, y0, mode) : referenceCost16x16(frame, x0, y0, mode);
            if (cost < bestCost) {
                best = mode;
                bestCost = cost;
            }
        }
        if (modes[i] != best || costs[i] != bestCost) {
            return false;
        }
    }
    return true;
}

int main(int argc, char** argv) {
    const int width = argc > 1 ? atoi(argv[1]) : 1280;
    const int height = argc > 2 ? atoi(argv[2]) : 720;
    if (width % kMacroblock != 0 || height % kMacroblock != 0) {
        fprintf(stderr, "width and height must be multiples of %d\n", kMacroblock);
        return 1;
    }

    std::vector<unsigned char> pixels(static_cast<size_t>(width) * height);
    for (int y = 0; y < height; ++y) {
        for (int x = 0; x < width; ++x) {
            const int stripe = ((x + y) / 24 + x / 40) % 3 * 60;
            const int value = (stripe + x / 3 + (x * y) % 7) & 0xff;
            pixels[static_cast<size_t>(y) * width + x] = static_cast<unsigned char>(value);
        }
    }

    cudaArray_t array;
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<unsigned char>();
    CUDA_CHECK(cudaMallocArray(&array, &format, width, height));
    CUDA_CHECK(cudaMemcpy2DToArray(array, 0, 0, pixels.data(), width, width, height, cudaMemcpyHostToDevice));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureDesc sampling = {};
    sampling.addressMode[0] = cudaAddressModeClamp;
    sampling.addressMode[1] = cudaAddressModeClamp;
    sampling.filterMode = cudaFilterModePoint;
    sampling.readMode = cudaReadModeElementType;
    cudaTextureObject_t frame = 0;
    CUDA_CHECK(cudaCreateTextureObject(&frame, &resource, &sampling, nullptr));

    const int blocksX = width / 4, blocksY = height / 4;
    const int macroblocksX = width / kMacroblock, macroblocksY = height / kMacroblock;
    const int blockCount = blocksX * blocksY, macroblockCount = macroblocksX * macroblocksY;
    unsigned char* dModes4 = deviceZeros<unsigned char>(blockCount);
    unsigned char* dModes16 = deviceZeros<unsigned char>(macroblockCount);
    int* dCosts4 = deviceZeros<int>(blockCount);
    int* dCosts16 = deviceZeros<int>(macroblockCount);

    const dim3 block4(16, kThreadsY);
    const dim3 grid4((blocksX + block4.x - 1) / block4.x, (blocksY + block4.y - 1) / block4.y);
    intra4x4<<<grid4, block4>>>(frame, dModes4, dCosts4, blocksX, blocksY);
    const dim3 block16(kMacroblock, kMacroblock);
    const dim3 grid16(macroblocksX, macroblocksY);
    intra16x16<<<grid16, block16>>>(frame, dModes16, dCosts16);
    const std::vector<unsigned char> modes4 = toHost(dModes4, blockCount);
    const std::vector<int> costs4 = toHost(dCosts4, blockCount);
    const std::vector<unsigned char> modes16 = toHost(dModes16, macroblockCount);
    const std::vector<int> costs16 = toHost(dCosts16, macroblockCount);

    const Frame source = {pixels.data(), width, height};
    const bool ok =
        check(source, 4, kModes4x4, modes4, costs4) && check(source, kMacroblock, kModes16x16, modes16, costs16);
    cudaDestroyTextureObject(frame);
    cudaFreeArray(array);
    cudaFree(dModes4);
    cudaFree(dModes16);
    cudaFree(dCosts4);
    cudaFree(dCosts16);
    return report(ok, "h264_intra");
}
