// SHA-256 of many messages of 64 bytes, one per thread: two compressions in registers, of the message and of
// its padding. The round constants come from constant memory, the same one for the whole warp. Additions,
// rotations and logic on 32-bit integers without a branch: the integer pipes do all the work.
// Usage: sha256 [messages]
#include <cstdint>

#include "../common.cuh"

constexpr int kThreads = 128;
constexpr int kRounds = 64;
constexpr int kWords = 16;   // of a message
constexpr int kDigest = 8;   // words of a digest
constexpr uint32_t kMessageBits = 32 * kWords;

__constant__ uint32_t roundConstants[kRounds];
__constant__ uint32_t initialState[kDigest];

__host__ __device__ inline uint32_t rotated(uint32_t x, int bits) {
    return x >> bits | x << (32 - bits);
}

__device__ void compress(uint32_t* state, uint32_t* w) {
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
#pragma unroll
    for (int i = 0; i < kRounds; ++i) {
        if (i >= kWords) {  // the schedule, as a ring of the last 16 words
            const uint32_t w15 = w[(i - 15) % kWords], w2 = w[(i - 2) % kWords];
            const uint32_t s0 = rotated(w15, 7) ^ rotated(w15, 18) ^ w15 >> 3;
            const uint32_t s1 = rotated(w2, 17) ^ rotated(w2, 19) ^ w2 >> 10;
            w[i % kWords] += s0 + w[(i - 7) % kWords] + s1;
        }
        const uint32_t sum1 = rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25);
        const uint32_t t1 = h + sum1 + ((e & f) ^ (~e & g)) + roundConstants[i] + w[i % kWords];
        const uint32_t sum0 = rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22);
        const uint32_t t2 = sum0 + ((a & b) ^ (a & c) ^ (b & c));
        h = g;
        g = f;
        f = e;
        e = d + t1;
        d = c;
        c = b;
        b = a;
        a = t1 + t2;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
    state[5] += f;
    state[6] += g;
    state[7] += h;
}

// Word w of message m is messages[w * count + m], big-endian; digests alike.
__global__ void hashMessages(const uint32_t* messages, uint32_t* digests, int count) {
    const int m = blockIdx.x * blockDim.x + threadIdx.x;
    if (m >= count) {
        return;
    }
    uint32_t state[kDigest], w[kWords];
#pragma unroll
    for (int i = 0; i < kDigest; ++i) {
        state[i] = initialState[i];
    }
#pragma unroll
    for (int i = 0; i < kWords; ++i) {
        w[i] = messages[i * count + m];
    }
    compress(state, w);
#pragma unroll
    for (int i = 0; i < kWords; ++i) {  // the padding
        w[i] = i == 0 ? 0x80000000u : i == kWords - 1 ? kMessageBits : 0u;
    }
    compress(state, w);
#pragma unroll
    for (int i = 0; i < kDigest; ++i) {
        digests[i * count + m] = state[i];
    }
}

// The first 32 bits of the fractional part.
uint32_t fraction(double x) {
    return static_cast<uint32_t>((x - floor(x)) * 4294967296.0);
}

struct Constants {
    std::vector<uint32_t> rounds, state;
};

// Of the cube roots of the first 64 primes, and of the square roots of the first eight.
Constants derivedConstants() {
    Constants constants;
    for (int candidate = 2; constants.rounds.size() < kRounds; ++candidate) {
        bool prime = true;
        for (int divisor = 2; divisor * divisor <= candidate; ++divisor) {
            prime = prime && candidate % divisor != 0;
        }
        if (prime) {
            constants.rounds.push_back(fraction(cbrt(candidate)));
            if (constants.state.size() < kDigest) {
                constants.state.push_back(fraction(sqrt(candidate)));
            }
        }
    }
    return constants;
}

std::vector<uint32_t> reference(std::vector<uint8_t> bytes, const Constants& constants) {
    const uint64_t bits = 8 * bytes.size();
    bytes.push_back(0x80);
    while (bytes.size() % 64 != 56) {
        bytes.push_back(0);
    }
    for (int shift = 56; shift >= 0; shift -= 8) {
        bytes.push_back(static_cast<uint8_t>(bits >> shift));
    }
    std::vector<uint32_t> state = constants.state;
    for (size_t block = 0; block < bytes.size(); block += 64) {
        uint32_t w[kRounds];
        for (int i = 0; i < kRounds; ++i) {
            if (i < kWords) {
                const uint8_t* b = &bytes[block + 4 * i];
                w[i] = static_cast<uint32_t>(b[0]) << 24 | b[1] << 16 | b[2] << 8 | b[3];
            } else {
                w[i] = w[i - 16] + (rotated(w[i - 15], 7) ^ rotated(w[i - 15], 18) ^ w[i - 15] >> 3) +
                       w[i - 7] + (rotated(w[i - 2], 17) ^ rotated(w[i - 2], 19) ^ w[i - 2] >> 10);
            }
        }
        std::vector<uint32_t> s = state;
        for (int i = 0; i < kRounds; ++i) {
            const uint32_t choice = (s[4] & s[5]) ^ (~s[4] & s[6]);
            const uint32_t majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
            const uint32_t t1 = s[7] + (rotated(s[4], 6) ^ rotated(s[4], 11) ^ rotated(s[4], 25)) + choice +
                                constants.rounds[i] + w[i];
            const uint32_t t2 = (rotated(s[0], 2) ^ rotated(s[0], 13) ^ rotated(s[0], 22)) + majority;
            s = {t1 + t2, s[0], s[1], s[2], s[3] + t1, s[4], s[5], s[6]};
        }
        for (int i = 0; i < kDigest; ++i) {
            state[i] += s[i];
        }
    }
    return state;
}

int main(int argc, char** argv) {
    const int count = argc > 1 ? atoi(argv[1]) : 1 << 18;

    std::vector<uint32_t> messages(static_cast<size_t>(count) * kWords);
    for (size_t i = 0; i < messages.size(); ++i) {
        messages[i] = static_cast<uint32_t>(i) * 2654435761u;
    }
    const Constants constants = derivedConstants();
    CUDA_CHECK(cudaMemcpyToSymbol(roundConstants, constants.rounds.data(), sizeof(roundConstants)));
    CUDA_CHECK(cudaMemcpyToSymbol(initialState, constants.state.data(), sizeof(initialState)));
    const uint32_t* dMessages = toDevice(messages);
    uint32_t* dDigests = deviceZeros<uint32_t>(static_cast<size_t>(count) * kDigest);

    hashMessages<<<(count + kThreads - 1) / kThreads, kThreads>>>(dMessages, dDigests, count);

    const std::vector<uint32_t> digests = toHost(dDigests, static_cast<size_t>(count) * kDigest);
    bool ok = reference({'a', 'b', 'c'}, constants)[0] == 0xba7816bfu;  // FIPS 180-4's example
    for (int m = 0; m < count; m += 1 + count / 65536) {                // a sample of many messages
        std::vector<uint8_t> bytes;
        for (int i = 0; i < kWords; ++i) {
            for (int shift = 24; shift >= 0; shift -= 8) {
                bytes.push_back(static_cast<uint8_t>(messages[static_cast<size_t>(i) * count + m] >> shift));
            }
        }
        const std::vector<uint32_t> expected = reference(bytes, constants);
        for (int i = 0; i < kDigest; ++i) {
            ok = ok && digests[static_cast<size_t>(i) * count + m] == expected[i];
        }
    }
    return report(ok, "digests");
}
