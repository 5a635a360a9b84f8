// AES-128 encryption of independent blocks, one per thread, by table: with the table in constant memory,
// which serves one address at a time, so that the data-dependent indices of a warp queue up; and with a copy
// in shared memory, where only bank conflicts do. Look-ups and exclusive-ors, 16 of each a round.
// Usage: aes128 [blocks]
#include <cstdint>

#include "../common.cuh"

constexpr int kThreads = 256;
constexpr int kRounds = 10;
constexpr int kTable = 256;

// S-box and column mix of one byte x: 2 S(x), S(x), S(x), 3 S(x) from the highest byte down.
__constant__ uint32_t mixTable[kTable];
__constant__ uint32_t roundKeys[4 * (kRounds + 1)];

__device__ uint32_t rotatedRight(uint32_t x, int bits) {
    return x >> bits | x << (32 - bits);
}

__device__ uint32_t mixedColumn(const uint32_t* table, uint32_t a, uint32_t b, uint32_t c, uint32_t d,
                                uint32_t key) {
    return table[a >> 24] ^ rotatedRight(table[b >> 16 & 255], 8) ^ rotatedRight(table[c >> 8 & 255], 16) ^
           rotatedRight(table[d & 255], 24) ^ key;
}

__device__ uint32_t lastColumn(const uint32_t* table, uint32_t a, uint32_t b, uint32_t c, uint32_t d,
                               uint32_t key) {
    const uint32_t high = (table[a >> 24] >> 8 & 255) << 24 | (table[b >> 16 & 255] >> 8 & 255) << 16;
    const uint32_t low = (table[c >> 8 & 255] >> 8 & 255) << 8 | (table[d & 255] >> 8 & 255);
    return (high | low) ^ key;
}

__device__ uint4 encrypted(const uint32_t* table, uint4 s) {
    s.x ^= roundKeys[0];
    s.y ^= roundKeys[1];
    s.z ^= roundKeys[2];
    s.w ^= roundKeys[3];
    for (int round = 1; round < kRounds; ++round) {
        const uint32_t* key = roundKeys + 4 * round;
        s = make_uint4(mixedColumn(table, s.x, s.y, s.z, s.w, key[0]),
                       mixedColumn(table, s.y, s.z, s.w, s.x, key[1]),
                       mixedColumn(table, s.z, s.w, s.x, s.y, key[2]),
                       mixedColumn(table, s.w, s.x, s.y, s.z, key[3]));
    }
    const uint32_t* key = roundKeys + 4 * kRounds;
    return make_uint4(lastColumn(table, s.x, s.y, s.z, s.w, key[0]),
                      lastColumn(table, s.y, s.z, s.w, s.x, key[1]),
                      lastColumn(table, s.z, s.w, s.x, s.y, key[2]),
                      lastColumn(table, s.w, s.x, s.y, s.z, key[3]));
}

__global__ void encryptConstant(const uint4* in, uint4* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = encrypted(mixTable, in[i]);
    }
}

__global__ void encryptShared(const uint4* in, uint4* out, int n) {
    __shared__ uint32_t table[kTable];
    table[threadIdx.x] = mixTable[threadIdx.x];
    __syncthreads();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = encrypted(table, in[i]);
    }
}

// Product in GF(2^8) modulo x^8 + x^4 + x^3 + x + 1.
uint8_t product(uint8_t a, uint8_t b) {
    uint8_t sum = 0;
    for (; b != 0; b >>= 1) {
        sum ^= b & 1 ? a : 0;
        a = static_cast<uint8_t>(a << 1 ^ (a & 0x80 ? 0x1b : 0));
    }
    return sum;
}

// The inverse in GF(2^8), then the affine map.
std::vector<uint8_t> substitutionBox() {
    std::vector<uint8_t> box(256);
    for (int x = 0; x < 256; ++x) {
        uint8_t inverse = 0;
        for (int y = 0; y < 256; ++y) {
            if (product(static_cast<uint8_t>(x), static_cast<uint8_t>(y)) == 1) {
                inverse = static_cast<uint8_t>(y);
            }
        }
        const int twice = inverse << 8 | inverse;
        box[x] = static_cast<uint8_t>(twice ^ twice >> 4 ^ twice >> 5 ^ twice >> 6 ^ twice >> 7 ^ 0x63);
    }
    return box;
}

std::vector<uint32_t> expandedKey(const std::vector<uint8_t>& box) {
    std::vector<uint32_t> words = {0x00010203u, 0x04050607u, 0x08090a0bu, 0x0c0d0e0fu};
    uint8_t constant = 1;
    while (words.size() < 4 * (kRounds + 1)) {
        uint32_t word = words.back();
        if (words.size() % 4 == 0) {
            word = static_cast<uint32_t>(box[word >> 16 & 255]) << 24 | box[word >> 8 & 255] << 16 |
                   box[word & 255] << 8 | box[word >> 24];
            word ^= static_cast<uint32_t>(constant) << 24;
            constant = product(constant, 2);
        }
        words.push_back(words[words.size() - 4] ^ word);
    }
    return words;
}

// Byte by byte as the standard describes it; byte row + 4 * column of the state.
uint4 reference(uint4 block, const std::vector<uint8_t>& box, const std::vector<uint32_t>& keys) {
    const uint32_t words[4] = {block.x, block.y, block.z, block.w};
    uint8_t state[16];
    for (int i = 0; i < 16; ++i) {
        state[i] = static_cast<uint8_t>((words[i / 4] ^ keys[i / 4]) >> (24 - 8 * (i % 4)));
    }
    for (int round = 1; round <= kRounds; ++round) {
        uint8_t shifted[16];
        for (int i = 0; i < 16; ++i) {
            shifted[i] = box[state[(i + 4 * (i % 4)) % 16]];
        }
        for (int i = 0; i < 16; ++i) {
            const uint8_t* column = shifted + i / 4 * 4;
            const uint8_t mixed = product(column[i % 4], 2) ^ product(column[(i + 1) % 4], 3) ^
                                  column[(i + 2) % 4] ^ column[(i + 3) % 4];
            const uint32_t key = keys[4 * round + i / 4] >> (24 - 8 * (i % 4));
            state[i] = static_cast<uint8_t>((round < kRounds ? mixed : shifted[i]) ^ key);
        }
    }
    uint32_t out[4] = {};
    for (int i = 0; i < 16; ++i) {
        out[i / 4] = out[i / 4] << 8 | state[i];
    }
    return make_uint4(out[0], out[1], out[2], out[3]);
}

bool same(uint4 a, uint4 b) {
    return a.x == b.x && a.y == b.y && a.z == b.z && a.w == b.w;
}

int main(int argc, char** argv) {
    const int n = argc > 1 ? atoi(argv[1]) : 1 << 20;
    const int grid = (n + kThreads - 1) / kThreads;

    const std::vector<uint8_t> box = substitutionBox();
    const std::vector<uint32_t> keys = expandedKey(box);
    std::vector<uint32_t> table(kTable);
    for (int x = 0; x < kTable; ++x) {
        const uint32_t s = box[x];
        table[x] = static_cast<uint32_t>(product(box[x], 2)) << 24 | s << 16 | s << 8 | product(box[x], 3);
    }
    std::vector<uint4> in(n);
    for (int i = 0; i < n; ++i) {
        const uint32_t hash = i * 2654435761u;
        in[i] = make_uint4(hash, ~hash, hash ^ hash >> 15, i);
    }
    in[0] = make_uint4(0x00112233u, 0x44556677u, 0x8899aabbu, 0xccddeeffu);  // FIPS 197's example
    CUDA_CHECK(cudaMemcpyToSymbol(mixTable, table.data(), sizeof(mixTable)));
    CUDA_CHECK(cudaMemcpyToSymbol(roundKeys, keys.data(), sizeof(roundKeys)));
    const uint4* dIn = toDevice(in);
    uint4* dConstant = deviceZeros<uint4>(n);
    uint4* dShared = deviceZeros<uint4>(n);

    encryptConstant<<<grid, kThreads>>>(dIn, dConstant, n);
    encryptShared<<<grid, kThreads>>>(dIn, dShared, n);

    const std::vector<uint4> constant = toHost(dConstant, n);
    const std::vector<uint4> shared = toHost(dShared, n);
    bool ok = same(constant[0], make_uint4(0x69c4e0d8u, 0x6a7b0430u, 0xd8cdb780u, 0x70b4c55au));
    for (int i = 0; i < n; ++i) {
        ok = ok && same(constant[i], shared[i]);
    }
    for (int i = 0; i < n; i += 1 + n / 65536) {  // a sample of many blocks
        ok = ok && same(shared[i], reference(in[i], box, keys));
    }
    return report(ok, "encrypted blocks");
}
