// Smith-Waterman local alignment of one query with many subjects, one subject per thread: a column of scores
// stays in registers while the subject streams by, coalesced because the subjects are interleaved. The query
// comes from constant memory, the same symbol for the whole warp: additions and maxima of integers.
// Usage: smith_waterman [subjects] [length]
#include "../common.cuh"

constexpr int kQuery = 32;
constexpr int kThreads = 128;
constexpr int kMatch = 5;
constexpr int kMismatch = -3;
constexpr int kGap = -6;

__constant__ char query[kQuery];

// subjects: symbol-major, symbol i of subject s at i * count + s.
__global__ void alignSubjects(const char* subjects, int* best, int count, int length) {
    const int subject = blockIdx.x * blockDim.x + threadIdx.x;
    if (subject >= count) {
        return;
    }
    int scores[kQuery] = {};
    int highest = 0;
    for (int i = 0; i < length; ++i) {
        const char symbol = subjects[static_cast<size_t>(i) * count + subject];
        int diagonal = 0;
        int above = 0;
#pragma unroll
        for (int q = 0; q < kQuery; ++q) {
            const int substitution = diagonal + (symbol == query[q] ? kMatch : kMismatch);
            const int gap = max(above, scores[q]) + kGap;
            diagonal = scores[q];
            above = max(0, max(substitution, gap));
            scores[q] = above;
            highest = max(highest, above);
        }
    }
    best[subject] = highest;
}

int reference(const std::vector<char>& hQuery, const char* subject, int stride, int length) {
    std::vector<int> before(length + 1), row(length + 1);
    int highest = 0;
    for (const char symbol : hQuery) {
        for (int i = 1; i <= length; ++i) {
            const bool same = symbol == subject[static_cast<size_t>(i - 1) * stride];
            const int gap = std::max(before[i], row[i - 1]) + kGap;
            row[i] = std::max({0, before[i - 1] + (same ? kMatch : kMismatch), gap});
            highest = std::max(highest, row[i]);
        }
        std::swap(before, row);
    }
    return highest;
}

int main(int argc, char** argv) {
    const int count = argc > 1 ? atoi(argv[1]) : 65536;
    const int length = argc > 2 ? atoi(argv[2]) : 128;

    std::vector<char> hQuery(kQuery), subjects(static_cast<size_t>(count) * length);
    for (int q = 0; q < kQuery; ++q) {
        hQuery[q] = "ACGT"[q * 2654435761u >> 30];
    }
    for (size_t i = 0; i < subjects.size(); ++i) {
        subjects[i] = "ACGT"[static_cast<unsigned>(i + i / count) * 2654435761u >> 30];
    }
    CUDA_CHECK(cudaMemcpyToSymbol(query, hQuery.data(), kQuery));
    const char* dSubjects = toDevice(subjects);
    int* dBest = deviceZeros<int>(count);

    alignSubjects<<<(count + kThreads - 1) / kThreads, kThreads>>>(dSubjects, dBest, count, length);

    const std::vector<int> best = toHost(dBest, count);
    bool ok = true;
    for (int subject = 0; subject < count; subject += 1 + count / 4096) {  // a sample of many subjects
        ok = ok && best[subject] == reference(hQuery, &subjects[subject], count, length);
    }
    return report(ok, "scores");
}
