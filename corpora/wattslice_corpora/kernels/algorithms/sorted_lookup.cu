// Place of each query in a sorted array, twice: a binary search per thread, whose lanes soon touch a sector
// each, and a 16-ary search tree as of a B+ tree, where half a warp compares one node with one load. Both
// are chains of dependent loads; the tree makes five or six of them where the array makes twenty or more.
// Usage: sorted_lookup [log16_keys] [queries]
#include <cstdint>

#include "../common.cuh"

constexpr int kThreads = 256;
constexpr int kFanout = 16;

__global__ void binarySearch(const uint32_t* keys, int length, const uint32_t* queries, int* places, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    const uint32_t query = queries[i];
    int place = 0;
    for (int step = length / 2; step > 0; step /= 2) {  // the length is a power of two
        if (keys[place + step] <= query) {
            place += step;
        }
    }
    places[i] = place;
}

// tree: its levels from the root, a node being the first keys of its 16 children; the last level is the keys.
__global__ void treeSearch(const uint32_t* tree, int levels, const uint32_t* queries, int* places, int n) {
    const int thread = blockIdx.x * blockDim.x + threadIdx.x;
    const int i = thread / kFanout;
    const int lane = thread % kFanout;
    const int half = threadIdx.x / kFanout % 2;
    const uint32_t query = i < n ? queries[i] : 0;
    const uint32_t* level = tree;
    int node = 0;
    int nodes = 1;
    for (int depth = 0; depth < levels; ++depth) {
        const unsigned lanes = __ballot_sync(0xffffffffu, level[node * kFanout + lane] <= query);
        const int child = max(__popc(lanes >> (half * kFanout) & 0xffff) - 1, 0);
        node = node * kFanout + child;
        nodes *= kFanout;
        level += nodes;
    }
    if (i < n && lane == 0) {
        places[i] = node;
    }
}

int main(int argc, char** argv) {
    const int levels = argc > 1 ? atoi(argv[1]) : 5;
    const int n = argc > 2 ? atoi(argv[2]) : 1 << 20;
    const int length = 1 << (4 * levels);

    std::vector<uint32_t> keys(length), tree, queries(n);
    for (int i = 0; i < length; ++i) {
        keys[i] = 16u * i + (i * 2654435761u >> 28);
    }
    keys[0] = 0;
    for (int stride = length / kFanout; stride > 0; stride /= kFanout) {
        for (int i = 0; i < length; i += stride) {
            tree.push_back(keys[i]);
        }
    }
    for (int i = 0; i < n; ++i) {
        queries[i] = (i * 2654435761u ^ i >> 3) % (16u * length);
    }
    const uint32_t* dKeys = toDevice(keys);
    const uint32_t* dTree = toDevice(tree);
    const uint32_t* dQueries = toDevice(queries);
    int* dBinary = deviceZeros<int>(n);
    int* dTree16 = deviceZeros<int>(n);

    binarySearch<<<(n + kThreads - 1) / kThreads, kThreads>>>(dKeys, length, dQueries, dBinary, n);
    treeSearch<<<(n * kFanout + kThreads - 1) / kThreads, kThreads>>>(dTree, levels, dQueries, dTree16, n);

    std::vector<int> expected(n);
    for (int i = 0; i < n; ++i) {
        const auto after = std::upper_bound(keys.begin(), keys.end(), queries[i]);
        expected[i] = static_cast<int>(after - keys.begin()) - 1;
    }
    return report(toHost(dBinary, n) == expected && toHost(dTree16, n) == expected, "places");
}
