// Embedding of tokens: each gathers its row of 256 numbers from a large table, as four numbers a thread, and adds
// that of its position. The rows are random, but each is read in one piece: DRAM bandwidth at nearly full coalescing.
// Usage: embedding [tokens] [vocabulary]
#include "../common.cuh"

constexpr int kWidth = 256;
constexpr int kVectors = kWidth / 4;     // float4 in a row
constexpr int kTokensPerBlock = 4;
constexpr int kContext = 1024;  // positions, after which they start again

__global__ void embedTokens(const int* __restrict__ tokens, const float4* __restrict__ table,
                            const float4* __restrict__ positions, float4* __restrict__ out, int count) {
    const int i = blockIdx.x * kTokensPerBlock + threadIdx.y;
    if (i >= count) {
        return;
    }
    const float4 word = table[tokens[i] * kVectors + threadIdx.x];
    const float4 position = positions[i % kContext * kVectors + threadIdx.x];
    out[i * kVectors + threadIdx.x] =
        make_float4(word.x + position.x, word.y + position.y, word.z + position.z, word.w + position.w);
}

static std::vector<float4> numbers(size_t rows, unsigned seed) {
    std::vector<float4> table(rows * kVectors);
    for (size_t i = 0; i < table.size(); ++i) {
        const float value = static_cast<float>(i * seed % 4093) * 0.001f;
        table[i] = make_float4(value, value + 0.25f, value + 0.5f, value + 0.75f);
    }
    return table;
}

int main(int argc, char** argv) {
    const int count = argc > 1 ? atoi(argv[1]) : 16384;
    const int vocabulary = argc > 2 ? atoi(argv[2]) : 32768;
    const size_t vectors = static_cast<size_t>(count) * kVectors;

    std::vector<int> tokens(count);
    for (int i = 0; i < count; ++i) {
        tokens[i] = static_cast<int>(static_cast<unsigned>(i) * 2654435761u % static_cast<unsigned>(vocabulary));
    }
    const std::vector<float4> table = numbers(vocabulary, 7919);
    const std::vector<float4> positions = numbers(kContext, 6007);
    int* dTokens = toDevice(tokens);
    float4* dTable = toDevice(table);
    float4* dPositions = toDevice(positions);
    float4* dOut = deviceZeros<float4>(vectors);

    const dim3 block(kVectors, kTokensPerBlock);
    const int blocks = (count + kTokensPerBlock - 1) / kTokensPerBlock;
    embedTokens<<<blocks, block>>>(dTokens, dTable, dPositions, dOut, count);

    const std::vector<float4> out = toHost(dOut, vectors);
    bool ok = true;
    for (int i = 0; i < count; ++i) {
        const float4* word = table.data() + static_cast<size_t>(tokens[i]) * kVectors;
        const float4* position = positions.data() + static_cast<size_t>(i % kContext) * kVectors;
        for (int v = 0; v < kVectors; ++v) {
            const float4 actual = out[static_cast<size_t>(i) * kVectors + v];
            ok = ok && actual.x == word[v].x + position[v].x && actual.y == word[v].y + position[v].y &&
                 actual.z == word[v].z + position[v].z && actual.w == word[v].w + position[v].w;
        }
    }
    cudaFree(dTokens);
    cudaFree(dTable);
    cudaFree(dPositions);
    cudaFree(dOut);
    return report(ok, "embedding of tokens");
}
