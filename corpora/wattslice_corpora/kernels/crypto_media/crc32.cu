// CRC-32 of many messages of equal length, one per thread, twice: bit by bit, eight shifts and selections a
// byte, and by a table in shared memory, one look-up a byte whose index depends on the data. The messages
// are interleaved, so both stream them; one spends integer operations, the other bank conflicts.
// Usage: crc32 [messages] [words]
#include <cstdint>

#include "../common.cuh"

constexpr int kThreads = 256;
constexpr uint32_t kPolynomial = 0xedb88320u;  // of IEEE 802.3, lowest bit first

__host__ __device__ inline uint32_t shiftedByte(uint32_t crc) {
    for (int bit = 0; bit < 8; ++bit) {
        crc = crc >> 1 ^ (crc & 1 ? kPolynomial : 0);
    }
    return crc;
}

// Word w of message m is messages[w * count + m], its lowest byte first.
__global__ void crcBitwise(const uint32_t* messages, uint32_t* crcs, int count, int words) {
    const int m = blockIdx.x * blockDim.x + threadIdx.x;
    if (m >= count) {
        return;
    }
    uint32_t crc = 0xffffffffu;
    for (int w = 0; w < words; ++w) {
        crc ^= messages[w * count + m];
        for (int byte = 0; byte < 4; ++byte) {
            crc = shiftedByte(crc);
        }
    }
    crcs[m] = ~crc;
}

__global__ void crcTable(const uint32_t* messages, uint32_t* crcs, int count, int words) {
    __shared__ uint32_t table[kThreads];
    table[threadIdx.x] = shiftedByte(threadIdx.x);
    __syncthreads();
    const int m = blockIdx.x * blockDim.x + threadIdx.x;
    if (m >= count) {
        return;
    }
    uint32_t crc = 0xffffffffu;
    for (int w = 0; w < words; ++w) {
        crc ^= messages[w * count + m];
        for (int byte = 0; byte < 4; ++byte) {
            crc = crc >> 8 ^ table[crc & 255];
        }
    }
    crcs[m] = ~crc;
}

uint32_t reference(const std::vector<uint8_t>& bytes) {
    uint32_t crc = 0xffffffffu;
    for (const uint8_t byte : bytes) {
        crc = shiftedByte(crc ^ byte);
    }
    return ~crc;
}

int main(int argc, char** argv) {
    const int count = argc > 1 ? atoi(argv[1]) : 1 << 16;
    const int words = argc > 2 ? atoi(argv[2]) : 64;
    const int blocks = (count + kThreads - 1) / kThreads;

    std::vector<uint32_t> messages(static_cast<size_t>(count) * words);
    for (size_t i = 0; i < messages.size(); ++i) {
        messages[i] = static_cast<uint32_t>(i) * 2654435761u;
    }
    const uint32_t* dMessages = toDevice(messages);
    uint32_t* dBitwise = deviceZeros<uint32_t>(count);
    uint32_t* dTable = deviceZeros<uint32_t>(count);

    crcBitwise<<<blocks, kThreads>>>(dMessages, dBitwise, count, words);
    crcTable<<<blocks, kThreads>>>(dMessages, dTable, count, words);

    const std::vector<uint32_t> bitwise = toHost(dBitwise, count);
    const std::vector<uint32_t> byTable = toHost(dTable, count);
    bool ok = reference({'1', '2', '3', '4', '5', '6', '7', '8', '9'}) == 0xcbf43926u && bitwise == byTable;
    for (int m = 0; m < count; m += 1 + count / 65536) {  // a sample of many messages
        std::vector<uint8_t> bytes;
        for (int w = 0; w < words; ++w) {
            for (int shift = 0; shift < 32; shift += 8) {
                bytes.push_back(static_cast<uint8_t>(messages[static_cast<size_t>(w) * count + m] >> shift));
            }
        }
        ok = ok && bitwise[m] == reference(bytes);
    }
    return report(ok, "checksums");
}
