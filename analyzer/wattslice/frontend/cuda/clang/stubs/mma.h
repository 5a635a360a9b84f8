// Warp matrix functions (CUDA C++ Programming Guide, "Warp Matrix Functions"), declared only.
#pragma once
#include "wattslice_fp16.cuh"

namespace nvcuda { namespace wmma {
struct matrix_a; struct matrix_b; struct accumulator; struct row_major; struct col_major;
enum layout_t { mem_row_major, mem_col_major };
namespace precision { struct tf32; struct u4; struct s4; struct b1; }
namespace experimental { namespace precision { struct u4; struct s4; struct b1; }
enum bmmaBitOp { bmmaBitOpXOR = 1, bmmaBitOpAND = 2 }; enum bmmaAccumulateOp { bmmaAccumulateOpPOPC = 1 }; }
template <class T> struct ws_stored { typedef T type; static constexpr bool is_packed = false; };
template <> struct ws_stored<precision::tf32> { typedef float type; static constexpr bool is_packed = false; };
// Of less than a byte: one register of each thread holds its share of a tile.
struct ws_word { typedef unsigned type; static constexpr bool is_packed = true; };
template <> struct ws_stored<precision::b1> : ws_word {};
template <> struct ws_stored<precision::u4> : ws_word {};
template <> struct ws_stored<precision::s4> : ws_word {};
template <> struct ws_stored<experimental::precision::b1> : ws_word {};
template <> struct ws_stored<experimental::precision::u4> : ws_word {};
template <> struct ws_stored<experimental::precision::s4> : ws_word {};
// Elements of one thread: the tile's elements over 32 lanes (A and B are held twice on sm_70 and later).
template <class Use, int M, int N, int K> struct ws_elements { static constexpr int value = M * N / 32; };
template <int M, int N, int K> struct ws_elements<matrix_a, M, N, K> { static constexpr int value = M * K / 16; };
template <int M, int N, int K> struct ws_elements<matrix_b, M, N, K> { static constexpr int value = N * K / 16; };
template <class Use, int M, int N, int K, class T, class Layout = void> struct fragment {
  typedef typename ws_stored<T>::type element_type; typedef element_type storage_element_type;
  static constexpr int num_elements = ws_stored<T>::is_packed ? 1 : ws_elements<Use, M, N, K>::value;
  element_type x[num_elements];
};
template <class U, int M, int N, int K, class T, class L, class V> WS_D void fill_fragment(fragment<U, M, N, K, T, L>&, const V&);
template <class U, int M, int N, int K, class T, class L, class V> WS_D void load_matrix_sync(fragment<U, M, N, K, T, L>&, const V*, unsigned);
template <int M, int N, int K, class T, class V> WS_D void load_matrix_sync(fragment<accumulator, M, N, K, T>&, const V*, unsigned, layout_t);
template <int M, int N, int K, class T, class V> WS_D void store_matrix_sync(V*, const fragment<accumulator, M, N, K, T>&, unsigned, layout_t);
template <int M, int N, int K, class A, class B, class LA, class LB, class C, class D>
WS_D void mma_sync(fragment<accumulator, M, N, K, D>&, const fragment<matrix_a, M, N, K, A, LA>&,
                   const fragment<matrix_b, M, N, K, B, LB>&, const fragment<accumulator, M, N, K, C>&, bool = false);
template <int M, int N, int K, class A, class B, class LA, class LB, class C, class D, class... O>
WS_D void bmma_sync(fragment<accumulator, M, N, K, D>&, const fragment<matrix_a, M, N, K, A, LA>&,
                    const fragment<matrix_b, M, N, K, B, LB>&, const fragment<accumulator, M, N, K, C>&, O...);
WS_D float __float_to_tf32(float);
} }
WS_D float __float_to_tf32(float);
