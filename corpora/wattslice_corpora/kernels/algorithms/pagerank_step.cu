// One step of PageRank on a random graph, twice: every vertex pushes its rank to its successors with atomics,
// and every vertex pulls the ranks of its predecessors into a register. Both gather irregularly from L2 and
// DRAM; the push adds an atomic per edge, the pull a store per vertex.
// Usage: pagerank_step [vertices]
#include "../common.cuh"

constexpr int kThreads = 256;
constexpr float kDamping = 0.85f;

// next: (1 - kDamping) / n everywhere.
__global__ void pushRanks(const int* rows, const int* successors, const float* ranks, float* next, int n) {
    const int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n) {
        return;
    }
    const int end = rows[v + 1];
    const float share = kDamping * ranks[v] / (end - rows[v]);
    for (int e = rows[v]; e < end; ++e) {
        atomicAdd(&next[successors[e]], share);
    }
}

// inverseDegrees: 1 / number of successors.
__global__ void pullRanks(const int* rows, const int* predecessors, const float* ranks,
                          const float* inverseDegrees, float* next, int n) {
    const int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n) {
        return;
    }
    float sum = 0.0f;
    for (int e = rows[v]; e < rows[v + 1]; ++e) {
        const int u = predecessors[e];
        sum += ranks[u] * inverseDegrees[u];
    }
    next[v] = (1.0f - kDamping) / n + kDamping * sum;
}

int main(int argc, char** argv) {
    const int n = argc > 1 ? atoi(argv[1]) : 1 << 18;
    const int blocks = (n + kThreads - 1) / kThreads;

    std::vector<int> rows(n + 1), successors, inRows(n + 1);
    unsigned random = 12345;
    for (int v = 0; v < n; ++v) {
        const int degree = v % 128 == 0 ? 128 : 1 + v % 15;  // a few hubs
        for (int e = 0; e < degree; ++e) {
            random = random * 1664525u + 1013904223u;
            successors.push_back(static_cast<int>((random >> 4) % n));
            ++inRows[successors.back() + 1];
        }
        rows[v + 1] = static_cast<int>(successors.size());
    }
    for (int v = 0; v < n; ++v) {
        inRows[v + 1] += inRows[v];
    }
    std::vector<int> predecessors(successors.size()), filled = inRows;
    std::vector<float> ranks(n), inverseDegrees(n), next(n, (1.0f - kDamping) / n);
    std::vector<double> expected(n, (1.0 - kDamping) / n);
    for (int v = 0; v < n; ++v) {
        ranks[v] = (1.0f + v % 3) / (2.0f * n);
        inverseDegrees[v] = 1.0f / (rows[v + 1] - rows[v]);
        for (int e = rows[v]; e < rows[v + 1]; ++e) {
            predecessors[filled[successors[e]]++] = v;
            expected[successors[e]] += kDamping * static_cast<double>(ranks[v]) / (rows[v + 1] - rows[v]);
        }
    }
    const int* dRows = toDevice(rows);
    const int* dSuccessors = toDevice(successors);
    const int* dInRows = toDevice(inRows);
    const int* dPredecessors = toDevice(predecessors);
    const float* dRanks = toDevice(ranks);
    const float* dInverseDegrees = toDevice(inverseDegrees);
    float* dPushed = toDevice(next);
    float* dPulled = deviceZeros<float>(n);

    pushRanks<<<blocks, kThreads>>>(dRows, dSuccessors, dRanks, dPushed, n);
    pullRanks<<<blocks, kThreads>>>(dInRows, dPredecessors, dRanks, dInverseDegrees, dPulled, n);

    const std::vector<float> pushed = toHost(dPushed, n);
    const std::vector<float> pulled = toHost(dPulled, n);
    bool ok = true;
    for (int v = 0; v < n; ++v) {  // ranks are of the order of 1 / n
        ok = ok && near(pushed[v] * n, expected[v] * n, 1e-4) && near(pulled[v] * n, expected[v] * n, 1e-4);
    }
    return report(ok, "ranks");
}
