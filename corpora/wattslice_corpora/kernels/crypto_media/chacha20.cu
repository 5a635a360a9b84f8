// ChaCha20 stream cipher: every thread makes one 64-byte block of key stream in 16 registers and applies it
// to its part of the text. Additions, exclusive-ors and rotations of integers in a fixed order, no tables
// and no branches: the integer pipes run full while DRAM moves 128 bytes per thread.
// Usage: chacha20 [blocks]
#include <cstdint>

#include "../common.cuh"

constexpr int kThreads = 256;
constexpr int kWords = 16;

__constant__ uint32_t initialState[kWords];  // word 12, the counter, is the first block's

__host__ __device__ inline uint32_t rotatedLeft(uint32_t x, int bits) {
    return x << bits | x >> (32 - bits);
}

__host__ __device__ inline void quarterRound(uint32_t& a, uint32_t& b, uint32_t& c, uint32_t& d) {
    a += b;
    d = rotatedLeft(d ^ a, 16);
    c += d;
    b = rotatedLeft(b ^ c, 12);
    a += b;
    d = rotatedLeft(d ^ a, 8);
    c += d;
    b = rotatedLeft(b ^ c, 7);
}

__global__ void encryptBlocks(const uint4* text, uint4* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    uint32_t x[kWords];
#pragma unroll
    for (int w = 0; w < kWords; ++w) {
        x[w] = initialState[w];
    }
    x[12] += i;
    for (int twoRounds = 0; twoRounds < 10; ++twoRounds) {
        quarterRound(x[0], x[4], x[8], x[12]);
        quarterRound(x[1], x[5], x[9], x[13]);
        quarterRound(x[2], x[6], x[10], x[14]);
        quarterRound(x[3], x[7], x[11], x[15]);
        quarterRound(x[0], x[5], x[10], x[15]);
        quarterRound(x[1], x[6], x[11], x[12]);
        quarterRound(x[2], x[7], x[8], x[13]);
        quarterRound(x[3], x[4], x[9], x[14]);
    }
    x[12] += i;
#pragma unroll
    for (int part = 0; part < kWords / 4; ++part) {
        const int w = 4 * part;
        const uint4 plain = text[4 * i + part];
        out[4 * i + part] = make_uint4(
            plain.x ^ (x[w] + initialState[w]), plain.y ^ (x[w + 1] + initialState[w + 1]),
            plain.z ^ (x[w + 2] + initialState[w + 2]), plain.w ^ (x[w + 3] + initialState[w + 3]));
    }
}

// Columns, then diagonals, by index.
std::vector<uint32_t> keyStream(std::vector<uint32_t> state, uint32_t block) {
    state[12] += block;
    std::vector<uint32_t> x = state;
    for (int round = 0; round < 20; ++round) {
        const int slant = round % 2;
        for (int c = 0; c < 4; ++c) {
            quarterRound(x[c], x[4 + (c + slant) % 4], x[8 + (c + 2 * slant) % 4],
                         x[12 + (c + 3 * slant) % 4]);
        }
    }
    for (int w = 0; w < kWords; ++w) {
        x[w] += state[w];
    }
    return x;
}

int main(int argc, char** argv) {
    const int n = argc > 1 ? atoi(argv[1]) : 1 << 18;

    // RFC 8439, section 2.3.2: its constants, key, counter and nonce, and the first word that they give.
    std::vector<uint32_t> state = {0x61707865u, 0x3320646eu, 0x79622d32u, 0x6b206574u};
    for (uint32_t byte = 0; byte < 32; byte += 4) {
        state.push_back(byte | (byte + 1) << 8 | (byte + 2) << 16 | (byte + 3) << 24);
    }
    state.insert(state.end(), {1u, 0x09000000u, 0x4a000000u, 0u});
    std::vector<uint4> text(4 * static_cast<size_t>(n));
    for (size_t i = 0; i < text.size(); ++i) {
        const uint32_t hash = static_cast<uint32_t>(i) * 2654435761u;
        text[i] = make_uint4(hash, ~hash, hash ^ hash >> 15, static_cast<uint32_t>(i));
    }
    CUDA_CHECK(cudaMemcpyToSymbol(initialState, state.data(), sizeof(initialState)));
    const uint4* dText = toDevice(text);
    uint4* dOut = deviceZeros<uint4>(text.size());

    encryptBlocks<<<(n + kThreads - 1) / kThreads, kThreads>>>(dText, dOut, n);

    const std::vector<uint4> out = toHost(dOut, text.size());
    bool ok = keyStream(state, 0)[0] == 0xe4e7f110u;
    for (int block = 0; block < n; block += 1 + n / 65536) {  // a sample of many blocks
        const std::vector<uint32_t> stream = keyStream(state, block);
        for (int part = 0; part < 4; ++part) {
            const uint4 plain = text[4 * static_cast<size_t>(block) + part];
            const uint4 cipher = out[4 * static_cast<size_t>(block) + part];
            const uint32_t* key = &stream[4 * part];
            ok = ok && cipher.x == (plain.x ^ key[0]) && cipher.y == (plain.y ^ key[1]) &&
                 cipher.z == (plain.z ^ key[2]) && cipher.w == (plain.w ^ key[3]);
        }
    }
    return report(ok, "encrypted text");
}
