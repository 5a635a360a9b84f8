// Connected components of a sparse random graph by union-find: every edge hooks the larger of its roots below
// the smaller with a compare-and-swap, then every vertex follows its parents to the root. Chains of
// dependent, scattered loads of lengths that differ from lane to lane: latency, hardly any arithmetic.
// Usage: connected_components [vertices]
#include "../common.cuh"

constexpr int kThreads = 256;

// Follows the parents and points each vertex on the way to its grandparent.
__device__ int findRoot(int* parents, int v) {
    int parent = parents[v];
    while (parent != v) {
        const int grandparent = parents[parent];
        parents[v] = grandparent;
        v = parent;
        parent = grandparent;
    }
    return v;
}

__global__ void hookEdges(const int2* edges, int* parents, int count) {
    const int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= count) {
        return;
    }
    int u = findRoot(parents, edges[e].x);
    int v = findRoot(parents, edges[e].y);
    while (u != v) {
        const int larger = max(u, v);
        const int smaller = min(u, v);
        const int seen = atomicCAS(&parents[larger], larger, smaller);
        if (seen == larger) {
            return;
        }
        u = findRoot(parents, seen);
        v = findRoot(parents, smaller);
    }
}

__global__ void labelVertices(const int* parents, int* labels, int n) {
    const int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n) {
        return;
    }
    int root = v;
    while (parents[root] != root) {
        root = parents[root];
    }
    labels[v] = root;
}

int main(int argc, char** argv) {
    const int n = argc > 1 ? atoi(argv[1]) : 1 << 20;
    const int count = n / 4 * 3;  // 1.5 ends per vertex: one large component and many small ones

    std::vector<int2> edges(count);
    unsigned random = 12345;
    for (int e = 0; e < count; ++e) {
        random = random * 1664525u + 1013904223u;
        edges[e].x = static_cast<int>((random >> 4) % n);
        random = random * 1664525u + 1013904223u;
        edges[e].y = static_cast<int>((random >> 4) % n);
    }
    std::vector<int> parents(n);
    for (int v = 0; v < n; ++v) {
        parents[v] = v;
    }
    const int2* dEdges = toDevice(edges);
    int* dParents = toDevice(parents);
    int* dLabels = deviceZeros<int>(n);

    hookEdges<<<(count + kThreads - 1) / kThreads, kThreads>>>(dEdges, dParents, count);
    labelVertices<<<(n + kThreads - 1) / kThreads, kThreads>>>(dParents, dLabels, n);

    const auto root = [&parents](int v) {
        while (parents[v] != v) {
            v = parents[v] = parents[parents[v]];
        }
        return v;
    };
    for (const int2& edge : edges) {
        const int u = root(edge.x);
        const int v = root(edge.y);
        parents[std::max(u, v)] = std::min(u, v);
    }
    std::vector<int> labels(n);
    for (int v = 0; v < n; ++v) {
        labels[v] = root(v);
    }
    return report(toHost(dLabels, n) == labels, "component of each vertex");
}
