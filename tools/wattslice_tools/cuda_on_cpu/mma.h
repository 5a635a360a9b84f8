// Stands in for CUDA's header of this name: a warp keeps a matrix in its lanes, element after element, and
// exchanges whole fragments when it multiplies. Programs may not rely on which lane holds which element,
// here as on a GPU.
#pragma once

#include "cuda_fp16.h"

namespace nvcuda::wmma {

struct matrix_a {};
struct matrix_b {};
struct accumulator {};
struct row_major {};
struct col_major {};
enum layout_t { mem_row_major, mem_col_major };

template <class Use, int M, int N, int K, class T, class Layout = void>
struct fragment {
    static constexpr int rows = std::is_same_v<Use, matrix_b> ? K : M;
    static constexpr int columns = std::is_same_v<Use, matrix_a> ? K : N;
    static constexpr int num_elements = rows * columns / warpSize;
    T x[num_elements];
};

template <class Use, int M, int N, int K, class T, class Layout>
void fill_fragment(fragment<Use, M, N, K, T, Layout>& f, T value) {
    std::fill(std::begin(f.x), std::end(f.x), value);
}

namespace detail {
// `visit(x, offset)` for all elements of a lane: the value, and its place in memory.
template <class Fragment, class Visit>
void elements(Fragment& f, bool rowMajor, unsigned stride, Visit visit) {
    for (int i = 0; i < Fragment::num_elements; ++i) {
        const unsigned at = cuda_on_cpu::lane() * Fragment::num_elements + i;
        const unsigned row = at / Fragment::columns, column = at % Fragment::columns;
        visit(f.x[i], rowMajor ? row * stride + column : column * stride + row);
    }
}
}  // namespace detail

template <class Use, int M, int N, int K, class T, class Layout>
void load_matrix_sync(fragment<Use, M, N, K, T, Layout>& f, const T* memory, unsigned stride) {
    __syncwarp();
    detail::elements(f, std::is_same_v<Layout, row_major>, stride,
                     [memory](T& x, unsigned offset) { x = memory[offset]; });
}
template <int M, int N, int K, class T>
void load_matrix_sync(fragment<accumulator, M, N, K, T>& f, const T* memory, unsigned stride, layout_t layout) {
    __syncwarp();
    detail::elements(f, layout == mem_row_major, stride, [memory](T& x, unsigned offset) { x = memory[offset]; });
}
template <int M, int N, int K, class T>
void store_matrix_sync(T* memory, const fragment<accumulator, M, N, K, T>& f, unsigned stride, layout_t layout) {
    detail::elements(f, layout == mem_row_major, stride, [memory](T x, unsigned offset) { memory[offset] = x; });
    __syncwarp();
}

template <int M, int N, int K, class A, class B, class C, class LayoutA, class LayoutB>
void mma_sync(fragment<accumulator, M, N, K, C>& d, const fragment<matrix_a, M, N, K, A, LayoutA>& a,
              const fragment<matrix_b, M, N, K, B, LayoutB>& b, const fragment<accumulator, M, N, K, C>& c) {
    const auto left = cuda_on_cpu::exchange("mma_sync", 0xffffffffu, a);
    const auto right = cuda_on_cpu::exchange("mma_sync", 0xffffffffu, b);
    for (int i = 0; i < d.num_elements; ++i) {
        const int at = cuda_on_cpu::lane() * d.num_elements + i;
        const int row = at / N, column = at % N;
        float sum = c.x[i];
        for (int k = 0; k < K; ++k) {
            const int inA = row * K + k, inB = k * N + column;
            sum += float(left.values[inA / a.num_elements].x[inA % a.num_elements]) *
                   float(right.values[inB / b.num_elements].x[inB % b.num_elements]);
        }
        d.x[i] = sum;
    }
}

}  // namespace nvcuda::wmma
