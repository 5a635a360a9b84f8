// Difficulty: the same reduction written with cooperative groups.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

__global__ void tileSums(const int* x, int* sums) {
    __shared__ int cache[128];
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<16> tile = cg::tiled_partition<16>(block);
    int rank = block.thread_rank();
    cache[rank] = x[rank];
    block.sync();
    int v = cache[rank];
    for (int offset = 8; offset > 0; offset /= 2) {
        v += tile.shfl_down(v, offset);
    }
    tile.sync();
    if (tile.thread_rank() == 0) {
        sums[rank / 16] = v;
    }
}

void run(const int* x, int* sums) { tileSums<<<1, 128>>>(x, sums); }
