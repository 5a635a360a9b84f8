// Needleman-Wunsch global alignment of pairs of sequences: the score matrix is filled in tiles of 32 x 32,
// a launch per anti-diagonal of tiles, and within a tile by a warp that sweeps its anti-diagonals in shared
// memory. Integer maxima along a dependence chain: latency and barriers, and few warps at the corners.
// Usage: needleman_wunsch [pairs] [length]    (length a multiple of 32)
#include "../common.cuh"

constexpr int kTile = 32;
constexpr int kMatch = 3;
constexpr int kMismatch = -2;
constexpr int kGap = -4;

// scores: (length + 1)^2 per pair, first row and column given. Block (x, y): tile column x of pair y.
__global__ void alignDiagonal(const char* first, const char* second, int* scores, int length, int diagonal) {
    __shared__ int tile[kTile + 1][kTile + 1];
    const int tileRow = diagonal - blockIdx.x;
    if (tileRow < 0 || tileRow >= length / kTile) {
        return;
    }
    const int lane = threadIdx.x;
    const int pitch = length + 1;
    int* corner = scores + static_cast<size_t>(blockIdx.y) * pitch * pitch +
                  static_cast<size_t>(tileRow) * kTile * pitch + blockIdx.x * kTile;
    const char rowSymbol = first[blockIdx.y * length + tileRow * kTile + lane];
    const char* columnSymbols = second + blockIdx.y * length + blockIdx.x * kTile;

    if (lane == 0) {
        tile[0][0] = corner[0];
    }
    tile[0][lane + 1] = corner[lane + 1];
    tile[lane + 1][0] = corner[static_cast<size_t>(lane + 1) * pitch];
    __syncthreads();
    for (int step = 0; step < 2 * kTile - 1; ++step) {
        const int column = step - lane;
        if (column >= 0 && column < kTile) {
            const int substitution = rowSymbol == columnSymbols[column] ? kMatch : kMismatch;
            const int gap = max(tile[lane][column + 1], tile[lane + 1][column]) + kGap;
            tile[lane + 1][column + 1] = max(tile[lane][column] + substitution, gap);
        }
        __syncthreads();
    }
    for (int row = 1; row <= kTile; ++row) {
        corner[static_cast<size_t>(row) * pitch + lane + 1] = tile[row][lane + 1];
    }
}

int main(int argc, char** argv) {
    const int pairs = argc > 1 ? atoi(argv[1]) : 16;
    const int length = argc > 2 ? atoi(argv[2]) : 1024;
    const int tiles = length / kTile;
    const int pitch = length + 1;
    if (tiles < 1 || length % kTile != 0) {
        fprintf(stderr, "length must be a multiple of %d\n", kTile);
        return 1;
    }

    std::vector<char> first(pairs * length), second(pairs * length);
    for (int i = 0; i < pairs * length; ++i) {
        first[i] = "ACGT"[i * 2654435761u >> 30];
        second[i] = i % 5 == 0 ? 'A' : first[i];
    }
    const size_t cells = static_cast<size_t>(pairs) * pitch * pitch;
    std::vector<int> scores(cells);
    for (int pair = 0; pair < pairs; ++pair) {
        int* matrix = &scores[static_cast<size_t>(pair) * pitch * pitch];
        for (int i = 0; i <= length; ++i) {
            matrix[i] = matrix[static_cast<size_t>(i) * pitch] = i * kGap;
        }
    }
    const char* dFirst = toDevice(first);
    const char* dSecond = toDevice(second);
    int* dScores = toDevice(scores);

    for (int diagonal = 0; diagonal < 2 * tiles - 1; ++diagonal) {
        alignDiagonal<<<dim3(tiles, pairs), kTile>>>(dFirst, dSecond, dScores, length, diagonal);
    }

    for (int pair = 0; pair < pairs; ++pair) {
        int* matrix = &scores[static_cast<size_t>(pair) * pitch * pitch];
        for (int row = 1; row <= length; ++row) {
            int* here = matrix + static_cast<size_t>(row) * pitch;
            const int* above = here - pitch;
            for (int column = 1; column <= length; ++column) {
                const bool same = first[pair * length + row - 1] == second[pair * length + column - 1];
                here[column] = std::max(above[column - 1] + (same ? kMatch : kMismatch),
                                        std::max(above[column], here[column - 1]) + kGap);
            }
        }
    }
    return report(toHost(dScores, cells) == scores, "score matrices");
}
