// Breadth-first search of a random graph, level by level, twice: topology-driven (every vertex looks at every
// level whether it is its turn) and with a queue of the frontier (only its vertices are visited, at the
// price of atomics). Loads are irregular and warps diverge with the degrees; little arithmetic is done.
// Usage: bfs [vertices]
#include <climits>

#include "../common.cuh"

constexpr int kThreads = 256;
constexpr int kQueueBlocks = 528;
constexpr int kUnseen = INT_MAX;

__global__ void bfsTopology(const int* rows, const int* columns, int* levels, int* changed, int n,
                            int level) {
    const int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n || levels[v] != level) {
        return;
    }
    for (int e = rows[v]; e < rows[v + 1]; ++e) {
        const int w = columns[e];
        if (levels[w] > level) {
            levels[w] = level + 1;
            *changed = 1;
        }
    }
}

__global__ void bfsFrontier(const int* rows, const int* columns, int* levels, const int* frontier, int length,
                            int* next, int* nextLength, int level) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < length; i += gridDim.x * blockDim.x) {
        const int v = frontier[i];
        for (int e = rows[v]; e < rows[v + 1]; ++e) {
            const int w = columns[e];
            if (levels[w] == kUnseen && atomicCAS(&levels[w], kUnseen, level + 1) == kUnseen) {
                next[atomicAdd(nextLength, 1)] = w;
            }
        }
    }
}

int copied(const int* device) {
    return toHost(device, 1)[0];
}

std::vector<int> reference(const std::vector<int>& rows, const std::vector<int>& columns, int n) {
    std::vector<int> levels(n, kUnseen), queue = {0};
    levels[0] = 0;
    for (size_t head = 0; head < queue.size(); ++head) {
        const int v = queue[head];
        for (int e = rows[v]; e < rows[v + 1]; ++e) {
            if (levels[columns[e]] == kUnseen) {
                levels[columns[e]] = levels[v] + 1;
                queue.push_back(columns[e]);
            }
        }
    }
    return levels;
}

int main(int argc, char** argv) {
    const int n = argc > 1 ? atoi(argv[1]) : 1 << 20;
    const int blocks = (n + kThreads - 1) / kThreads;

    std::vector<int> rows(n + 1), columns;
    unsigned random = 12345;
    for (int v = 0; v < n; ++v) {
        const int degree = v % 64 == 0 ? 64 : v % 7;  // a few hubs among vertices of few edges
        for (int e = 0; e < degree; ++e) {
            random = random * 1664525u + 1013904223u;
            columns.push_back(static_cast<int>((random >> 4) % n));
        }
        rows[v + 1] = static_cast<int>(columns.size());
    }
    std::vector<int> levels(n, kUnseen);
    levels[0] = 0;
    const int* dRows = toDevice(rows);
    const int* dColumns = toDevice(columns);
    int* dTopology = toDevice(levels);
    int* dFrontier = toDevice(levels);
    int* dQueue = deviceZeros<int>(n);  // the frontier of level 0 is vertex 0
    int* dNext = deviceZeros<int>(n);
    int* dChanged = deviceZeros<int>(1);
    int* dNextLength = deviceZeros<int>(1);

    int changed = 1;
    for (int level = 0; changed != 0; ++level) {
        CUDA_CHECK(cudaMemset(dChanged, 0, sizeof(int)));
        bfsTopology<<<blocks, kThreads>>>(dRows, dColumns, dTopology, dChanged, n, level);
        changed = copied(dChanged);
    }

    int length = 1;
    for (int level = 0; length > 0; ++level) {
        CUDA_CHECK(cudaMemset(dNextLength, 0, sizeof(int)));
        bfsFrontier<<<kQueueBlocks, kThreads>>>(dRows, dColumns, dFrontier, dQueue, length, dNext,
                                                dNextLength, level);
        length = copied(dNextLength);
        std::swap(dQueue, dNext);
    }

    const std::vector<int> expected = reference(rows, columns, n);
    return report(toHost(dTopology, n) == expected && toHost(dFrontier, n) == expected, "levels");
}
