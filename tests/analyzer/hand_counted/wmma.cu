// Difficulty: tensor-core fragments, one mma per step.
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;

__global__ void tensorProduct(const half* a, const half* b, float* c, int k) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fragmentA;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fragmentB;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    for (int i = 0; i < k; i += 16) {
        wmma::load_matrix_sync(fragmentA, a + i, k);
        wmma::load_matrix_sync(fragmentB, b + i, k);
        wmma::mma_sync(sum, fragmentA, fragmentB, sum);
    }
    wmma::store_matrix_sync(c, sum, 16, wmma::mem_row_major);
}

void run(const half* a, const half* b, float* c) { tensorProduct<<<1, 32>>>(a, b, c, 64); }
