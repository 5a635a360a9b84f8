// Cooperative groups (CUDA C++ Programming Guide), declared only.
#pragma once
#define _CG_ASM_PTR_CONSTRAINT(ptr) "l"(ptr)

namespace cooperative_groups {
namespace details { WS_D inline bool bar_has_flipped(unsigned a, unsigned b) { return ((a ^ b) & 0x80000000u) != 0; } }
#define WS_GROUP(Rank)                                                                                       \
  WS_D void sync() const; WS_D Rank size() const; WS_D Rank num_threads() const;                             \
  WS_D Rank thread_rank() const; WS_D bool is_valid() const; WS_D void barrier_wait() const;
#define WS_WARP                                                                                              \
  WS_D unsigned meta_group_size() const; WS_D unsigned meta_group_rank() const;                              \
  template <class T> WS_D T shfl(T, int) const; template <class T> WS_D T shfl_up(T, int) const;             \
  template <class T> WS_D T shfl_down(T, int) const; template <class T> WS_D T shfl_xor(T, int) const;       \
  WS_D int any(int) const; WS_D int all(int) const; WS_D unsigned ballot(int) const;                         \
  template <class T> WS_D unsigned match_any(T) const; template <class T> WS_D unsigned match_all(T, int&) const;
struct thread_group { WS_GROUP(unsigned long long) };
struct thread_block : thread_group {
  WS_GROUP(unsigned) WS_D dim3 group_index() const; WS_D dim3 thread_index() const; WS_D dim3 group_dim() const;
  WS_D dim3 dim_threads() const; struct arrival_token {}; WS_D arrival_token barrier_arrive() const; WS_D void barrier_wait(arrival_token&&) const;
};
struct grid_group : thread_group {
  WS_GROUP(unsigned long long) WS_D dim3 group_dim() const; WS_D dim3 dim_blocks() const; WS_D dim3 block_index() const;
  WS_D unsigned long long block_rank() const; WS_D unsigned long long num_blocks() const;
  typedef unsigned arrival_token; WS_D arrival_token barrier_arrive() const; WS_D void barrier_wait(arrival_token&&) const;
};
struct multi_grid_group : thread_group { WS_GROUP(unsigned long long) WS_D unsigned grid_rank() const; WS_D unsigned num_grids() const; };
struct cluster_group : thread_group {
  WS_GROUP(unsigned) WS_D unsigned block_rank() const; WS_D dim3 block_index() const; WS_D dim3 dim_blocks() const;
  WS_D unsigned num_blocks() const; WS_D unsigned cluster_size() const; WS_D dim3 dim_threads() const;
  struct arrival_token {}; WS_D arrival_token barrier_arrive() const; WS_D void barrier_wait(arrival_token&&) const; using thread_group::barrier_wait;
  template <class T> WS_D T* map_shared_rank(T* p, int) const { return p; }
};
struct coalesced_group : thread_group { WS_GROUP(unsigned) WS_WARP };
template <unsigned N, class P = void> struct thread_block_tile : thread_group { WS_GROUP(unsigned) WS_WARP
  template <unsigned M, class Q> WS_D thread_block_tile(const thread_block_tile<M, Q>&); thread_block_tile() = default; };
template <int N = 1024, int M = 1> struct block_tile_memory { char storage[N]; };
template <class T> struct plus { WS_HD T operator()(T, T) const; };
template <class T> struct less { WS_HD T operator()(T, T) const; };
template <class T> struct greater { WS_HD T operator()(T, T) const; };
template <class T> struct bit_and { WS_HD T operator()(T, T) const; };
template <class T> struct bit_or { WS_HD T operator()(T, T) const; };
template <class T> struct bit_xor { WS_HD T operator()(T, T) const; };
WS_D thread_block this_thread_block();
template <int N, int M> WS_D thread_block this_thread_block(block_tile_memory<N, M>&);
WS_D thread_group this_thread();
WS_D grid_group this_grid();
WS_D multi_grid_group this_multi_grid();
WS_D cluster_group this_cluster();
WS_D coalesced_group coalesced_threads();
WS_D thread_group tiled_partition(const thread_group&, unsigned);
template <unsigned N, class G> WS_D thread_block_tile<N, G> tiled_partition(const G&);
template <class G> WS_D coalesced_group binary_partition(const G&, bool);
template <class G, class L> WS_D coalesced_group labeled_partition(const G&, L);
template <class G> WS_D void sync(const G&);
namespace experimental { using cooperative_groups::tiled_partition; using cooperative_groups::this_thread_block; using cooperative_groups::block_tile_memory; using cooperative_groups::thread_block_tile; }
template <class G, class T, class F> WS_D T reduce(const G&, T, F);
template <class G, class T, class F> WS_D void reduce_update_async(const G&, T&, T, F);
template <class G, class T> WS_D T inclusive_scan(const G&, T);
template <class G, class T, class F> WS_D T inclusive_scan(const G&, T, F);
template <class G, class T> WS_D T exclusive_scan(const G&, T);
template <class G, class T, class F> WS_D T exclusive_scan(const G&, T, F);
template <class G, class T, class S> WS_D void memcpy_async(const G&, T*, const T*, S);
template <class G, class T, class L, class S> WS_D void memcpy_async(const G&, T*, L, const T*, S);
template <class G> WS_D void wait(const G&);
template <unsigned N, class G> WS_D void wait_prior(const G&);
template <class G, class F> WS_D void invoke_one(const G&, F);
template <class G, class F> WS_D auto invoke_one_broadcast(const G&, F f) -> decltype(f());
}
