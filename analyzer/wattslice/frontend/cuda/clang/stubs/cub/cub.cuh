// CUB: block and warp collectives as their documented algorithms (shuffles, shared memory, barriers), written
// here so that kernels which call them are counted; device-wide entry points are declared only.
#pragma once
#include "../wattslice_std_cpp.h"
namespace cub {
struct Sum { template <class T> WS_HD T operator()(const T& a, const T& b) const { return a + b; } };
struct Max { template <class T> WS_HD T operator()(const T& a, const T& b) const { return a > b ? a : b; } };
struct Min { template <class T> WS_HD T operator()(const T& a, const T& b) const { return a < b ? a : b; } };
template <class K, class V> struct KeyValuePair { K key; V value; };
struct ArgMax { template <class K, class V> WS_HD KeyValuePair<K, V> operator()(const KeyValuePair<K, V>& a, const KeyValuePair<K, V>& b) const { return b.value > a.value ? b : a; } };
struct ArgMin { template <class K, class V> WS_HD KeyValuePair<K, V> operator()(const KeyValuePair<K, V>& a, const KeyValuePair<K, V>& b) const { return b.value < a.value ? b : a; } };
enum BlockReduceAlgorithm { BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY, BLOCK_REDUCE_RAKING, BLOCK_REDUCE_WARP_REDUCTIONS };
enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };
enum BlockLoadAlgorithm { BLOCK_LOAD_DIRECT, BLOCK_LOAD_STRIPED, BLOCK_LOAD_VECTORIZE, BLOCK_LOAD_TRANSPOSE, BLOCK_LOAD_WARP_TRANSPOSE, BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED };
enum BlockStoreAlgorithm { BLOCK_STORE_DIRECT, BLOCK_STORE_STRIPED, BLOCK_STORE_VECTORIZE, BLOCK_STORE_TRANSPOSE, BLOCK_STORE_WARP_TRANSPOSE, BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED };
template <int N> struct Int2Type { static const int VALUE = N; };
template <int N, int C = N, int B = 0> struct Log2 { static const int VALUE = Log2<N, (C >> 1), B + 1>::VALUE; };
template <int N, int B> struct Log2<N, 0, B> { static const int VALUE = (1 << (B - 1)) < N ? B : B - 1; };
template <class T> struct Uninitialized { T value; WS_D T& Alias() { return value; } };
#define CUB_WARP_THREADS(V) 32
#define CUB_LOG_WARP_THREADS(V) 5
#define CUB_PTX_WARP_THREADS 32
#define CUB_MIN(A, B) ((A) < (B) ? (A) : (B))
#define CUB_MAX(A, B) ((A) > (B) ? (A) : (B))
WS_D inline unsigned LaneId() { return threadIdx.x & 31; }
WS_D inline int RowMajorTid(int x, int y, int) { return threadIdx.x + x * (threadIdx.y + y * threadIdx.z); }
template <int W> WS_D unsigned WarpMask(unsigned warp) { return W == 32 ? 0xffffffffu : ((1u << (W & 31)) - 1) << warp * W; }

// What is not one register goes register by register.
#define WS_BY_PART(N, F)                                                                                     \
  template <class T> WS_D T N(unsigned m, T v, int at, int w = 32) { return F(m, v, at, w); }                \
  WS_D inline int2 N(unsigned m, int2 v, int at, int w = 32) { v.x = F(m, v.x, at, w); v.y = F(m, v.y, at, w); return v; } \
  WS_D inline float2 N(unsigned m, float2 v, int at, int w = 32) { v.x = F(m, v.x, at, w); v.y = F(m, v.y, at, w); return v; } \
  WS_D inline double2 N(unsigned m, double2 v, int at, int w = 32) { v.x = F(m, v.x, at, w); v.y = F(m, v.y, at, w); return v; } \
  WS_D inline float4 N(unsigned m, float4 v, int at, int w = 32) { v.x = F(m, v.x, at, w); v.y = F(m, v.y, at, w); v.z = F(m, v.z, at, w); v.w = F(m, v.w, at, w); return v; } \
  template <class K, class V> WS_D KeyValuePair<K, V> N(unsigned m, KeyValuePair<K, V> v, int at, int w = 32) { v.key = F(m, v.key, at, w); v.value = F(m, v.value, at, w); return v; }
WS_BY_PART(Shuffled, __shfl_sync) WS_BY_PART(ShuffledUp, __shfl_up_sync) WS_BY_PART(ShuffledDown, __shfl_down_sync)
template <int W, class T> WS_D T ShuffleIndex(T input, int lane, unsigned mask) { return Shuffled(mask, input, lane, W); }
template <int W, class T> WS_D T ShuffleUp(T input, int offset, int, unsigned mask) { return ShuffledUp(mask, input, offset, W); }
template <int W, class T> WS_D T ShuffleDown(T input, int offset, int, unsigned mask) { return ShuffledDown(mask, input, offset, W); }

// One step of each of the log2(W) steps: a shuffle, and the operator where a partner is in the warp.
template <class T, int W = 32, int P = 0> struct WarpReduce {
  struct TempStorage { char unused; };
  WS_D WarpReduce(TempStorage&) {}
  template <class F> WS_D T Reduce(T value, F op) {
    int lane = (threadIdx.x) & (W - 1);
    for (int offset = 1; offset < W; offset *= 2) {
      T other = ShuffledDown(0xffffffffu, value, offset, W);
      if (lane + offset < W) value = op(value, other);
    }
    return value;
  }
  template <class F> WS_D T Reduce(T value, F op, int valid) {
    int lane = (threadIdx.x) & (W - 1);
    for (int offset = 1; offset < W; offset *= 2) {
      T other = ShuffledDown(0xffffffffu, value, offset, W);
      if (lane + offset < valid) value = op(value, other);
    }
    return value;
  }
  WS_D T Sum(T value) { return Reduce(value, cub::Sum()); }
  WS_D T Sum(T value, int valid) { return Reduce(value, cub::Sum(), valid); }
};
template <class T, int W = 32, int P = 0> struct WarpScan {
  struct TempStorage { char unused; };
  WS_D WarpScan(TempStorage&) {}
  template <class F> WS_D void InclusiveScan(T input, T& output, F op) {
    int lane = (threadIdx.x) & (W - 1);
    T value = input;
    for (int offset = 1; offset < W; offset *= 2) {
      T other = ShuffledUp(0xffffffffu, value, offset, W);
      if (lane >= offset) value = op(other, value);
    }
    output = value;
  }
  WS_D void InclusiveSum(T input, T& output) { InclusiveScan(input, output, cub::Sum()); }
  WS_D void InclusiveSum(T input, T& output, T& total) { InclusiveScan(input, output, cub::Sum()); total = Shuffled(0xffffffffu, output, W - 1, W); }
  WS_D void ExclusiveSum(T input, T& output) { T sum; InclusiveScan(input, sum, cub::Sum()); output = sum - input; }
  WS_D void ExclusiveSum(T input, T& output, T& total) { T sum; InclusiveScan(input, sum, cub::Sum()); total = Shuffled(0xffffffffu, sum, W - 1, W); output = sum - input; }
};

#define WS_THREAD(X, Y) (int)(threadIdx.x + X * (threadIdx.y + Y * threadIdx.z))
// Warps reduce by shuffles, their results pass through shared memory, thread 0 combines them.
template <class T, int X, BlockReduceAlgorithm A = BLOCK_REDUCE_WARP_REDUCTIONS, int Y = 1, int Z = 1, int P = 0> struct BlockReduce {
  static const int WARPS = (X * Y * Z + 31) / 32;
  struct TempStorage { T warps[WARPS]; T prefix; };
  TempStorage* shared;
  WS_D BlockReduce() { __shared__ TempStorage own; shared = &own; }
  WS_D BlockReduce(TempStorage& storage) : shared(&storage) {}
  template <class F> WS_D T Reduce(T value, F op) {
    int thread = WS_THREAD(X, Y);
    int lane = thread & 31;
    for (int offset = 1; offset < 32; offset *= 2) {
      T other = ShuffledDown(0xffffffffu, value, offset);
      if (lane + offset < 32) value = op(value, other);
    }
    if (WARPS > 1) {
      if (lane == 0) shared->warps[thread >> 5] = value;
      __syncthreads();
      if (thread == 0) for (int warp = 1; warp < WARPS; ++warp) value = op(value, shared->warps[warp]);
    }
    return value;
  }
  template <class F> WS_D T Reduce(T value, F op, int) { return Reduce(value, op); }
  template <class F, int I> WS_D T Reduce(T (&values)[I], F op) {
    T value = values[0];
    for (int i = 1; i < I; ++i) value = op(value, values[i]);
    return Reduce(value, op);
  }
  WS_D T Sum(T value) { return Reduce(value, cub::Sum()); }
  WS_D T Sum(T value, int) { return Reduce(value, cub::Sum()); }
  template <int I> WS_D T Sum(T (&values)[I]) { return Reduce(values, cub::Sum()); }
};
// Every thread leaves its value in shared memory; one warp adds up X / 32 of them a lane, scans the lanes'
// sums and writes the prefixes back.
template <class T, int X, BlockScanAlgorithm A = BLOCK_SCAN_RAKING, int Y = 1, int Z = 1, int P = 0> struct BlockScan {
  static const int EACH = (X * Y * Z + 31) / 32;
  struct TempStorage { T values[EACH * 32 + 32]; T total; };
  TempStorage* shared;
  WS_D BlockScan() { __shared__ TempStorage own; shared = &own; }
  WS_D BlockScan(TempStorage& storage) : shared(&storage) {}
  template <class F> WS_D T Scanned(T input, F op, bool exclusive) {
    int thread = WS_THREAD(X, Y);
    shared->values[thread] = input;
    __syncthreads();
    if (thread < 32) {
      T sum = shared->values[thread * EACH];
      for (int i = 1; i < EACH; ++i) sum = op(sum, shared->values[thread * EACH + i]);
      for (int offset = 1; offset < 32; offset *= 2) {
        T other = ShuffledUp(0xffffffffu, sum, offset);
        if (thread >= offset) sum = op(other, sum);
      }
      T before = ShuffledUp(0xffffffffu, sum, 1);
      for (int i = 0; i < EACH; ++i) {
        T own = shared->values[thread * EACH + i];
        T after = op(before, own);
        shared->values[thread * EACH + i] = exclusive ? before : after;
        before = after;
      }
      if (thread == 31) shared->total = sum;
    }
    __syncthreads();
    return shared->values[thread];
  }
  WS_D void InclusiveSum(T input, T& output) { output = Scanned(input, cub::Sum(), false); }
  WS_D void ExclusiveSum(T input, T& output) { output = Scanned(input, cub::Sum(), true); }
  WS_D void InclusiveSum(T input, T& output, T& total) { output = Scanned(input, cub::Sum(), false); total = shared->total; }
  WS_D void ExclusiveSum(T input, T& output, T& total) { output = Scanned(input, cub::Sum(), true); total = shared->total; }
  template <class F> WS_D void InclusiveScan(T input, T& output, F op) { output = Scanned(input, op, false); }
  template <class F> WS_D void ExclusiveScan(T input, T& output, T, F op) { output = Scanned(input, op, true); }
  template <class F> WS_D void ExclusiveScan(T input, T& output, F op) { output = Scanned(input, op, true); }
  template <class F> WS_D void InclusiveScan(T input, T& output, F op, T& total) { output = Scanned(input, op, false); total = shared->total; }
  template <class F> WS_D void ExclusiveScan(T input, T& output, T, F op, T& total) { output = Scanned(input, op, true); total = shared->total; }
  template <int I, class F> WS_D void Several(T (&input)[I], T (&output)[I], F op, bool exclusive) {
    T sum = input[0];
    for (int i = 1; i < I; ++i) sum = op(sum, input[i]);
    T before = Scanned(sum, op, true);
    for (int i = 0; i < I; ++i) {
      T after = op(before, input[i]);
      output[i] = exclusive ? before : after;
      before = after;
    }
  }
  // What came before the block is asked once its total is known, by the first warp.
  template <class Q> WS_D T Asked(Q& prefix) {
    if (WS_THREAD(X, Y) < 32) {
      T first = prefix(shared->total);
      if (WS_THREAD(X, Y) == 0) shared->total = first;
    }
    __syncthreads();
    return shared->total;
  }
  template <int I, class F, class Q> WS_D void Continued(T (&input)[I], T (&output)[I], F op, Q& prefix, bool exclusive) {
    T sum = input[0];
    for (int i = 1; i < I; ++i) sum = op(sum, input[i]);
    T before = Scanned(sum, op, true);
    T first = Asked(prefix);
    before = WS_THREAD(X, Y) == 0 ? first : op(first, before);
    for (int i = 0; i < I; ++i) {
      T after = op(before, input[i]);
      output[i] = exclusive ? before : after;
      before = after;
    }
  }
  template <int I, class F> WS_D void InclusiveScan(T (&input)[I], T (&output)[I], F op) { Several(input, output, op, false); }
  template <int I, class F> WS_D void InclusiveScan(T (&input)[I], T (&output)[I], F op, T& total) { Several(input, output, op, false); total = shared->total; }
  template <int I, class F, class Q> WS_D void InclusiveScan(T (&input)[I], T (&output)[I], F op, Q& prefix) { Continued(input, output, op, prefix, false); }
  template <int I, class F> WS_D void ExclusiveScan(T (&input)[I], T (&output)[I], T, F op) { Several(input, output, op, true); }
  template <int I, class F> WS_D void ExclusiveScan(T (&input)[I], T (&output)[I], T, F op, T& total) { Several(input, output, op, true); total = shared->total; }
  template <int I, class F, class Q> WS_D void ExclusiveScan(T (&input)[I], T (&output)[I], F op, Q& prefix) { Continued(input, output, op, prefix, true); }
  template <int I> WS_D void InclusiveSum(T (&input)[I], T (&output)[I]) { Several(input, output, cub::Sum(), false); }
  template <int I> WS_D void ExclusiveSum(T (&input)[I], T (&output)[I]) { Several(input, output, cub::Sum(), true); }
  template <int I> WS_D void InclusiveSum(T (&input)[I], T (&output)[I], T& total) { Several(input, output, cub::Sum(), false); total = shared->total; }
  template <int I> WS_D void ExclusiveSum(T (&input)[I], T (&output)[I], T& total) { Several(input, output, cub::Sum(), true); total = shared->total; }
};
// Blocked: thread t holds items t*I ... t*I+I-1. Transposed: neighbours in memory first, then an exchange.
template <class T, int X, int I, BlockLoadAlgorithm A = BLOCK_LOAD_DIRECT, int Y = 1, int Z = 1, int P = 0> struct BlockLoad {
  struct TempStorage { T items[A >= BLOCK_LOAD_TRANSPOSE ? X * Y * Z * I : 1]; };
  TempStorage* shared;
  WS_D BlockLoad() { __shared__ TempStorage own; shared = &own; }
  WS_D BlockLoad(TempStorage& storage) : shared(&storage) {}
  template <class F> WS_D void Load(F from, T (&items)[I]) {
    int thread = WS_THREAD(X, Y);
    if (A == BLOCK_LOAD_STRIPED) {
      for (int i = 0; i < I; ++i) items[i] = from[i * (X * Y * Z) + thread];
    } else if (A >= BLOCK_LOAD_TRANSPOSE) {
      for (int i = 0; i < I; ++i) shared->items[i * (X * Y * Z) + thread] = from[i * (X * Y * Z) + thread];
      __syncthreads();
      for (int i = 0; i < I; ++i) items[i] = shared->items[thread * I + i];
    } else {
      for (int i = 0; i < I; ++i) items[i] = from[thread * I + i];
    }
  }
  template <class F> WS_D void Load(F from, T (&items)[I], int valid) {
    int thread = WS_THREAD(X, Y);
    if (A == BLOCK_LOAD_STRIPED) {
      for (int i = 0; i < I; ++i) if (i * (X * Y * Z) + thread < valid) items[i] = from[i * (X * Y * Z) + thread];
    } else if (A >= BLOCK_LOAD_TRANSPOSE) {
      for (int i = 0; i < I; ++i) if (i * (X * Y * Z) + thread < valid) shared->items[i * (X * Y * Z) + thread] = from[i * (X * Y * Z) + thread];
      __syncthreads();
      for (int i = 0; i < I; ++i) items[i] = shared->items[thread * I + i];
    } else {
      for (int i = 0; i < I; ++i) if (thread * I + i < valid) items[i] = from[thread * I + i];
    }
  }
  template <class F> WS_D void Load(F from, T (&items)[I], int valid, T rest) {
    for (int i = 0; i < I; ++i) items[i] = rest;
    Load(from, items, valid);
  }
};
template <class T, int X, int I, BlockStoreAlgorithm A = BLOCK_STORE_DIRECT, int Y = 1, int Z = 1, int P = 0> struct BlockStore {
  struct TempStorage { T items[A >= BLOCK_STORE_TRANSPOSE ? X * Y * Z * I : 1]; };
  TempStorage* shared;
  WS_D BlockStore() { __shared__ TempStorage own; shared = &own; }
  WS_D BlockStore(TempStorage& storage) : shared(&storage) {}
  template <class F> WS_D void Store(F to, T (&items)[I], int valid = X * Y * Z * I) {
    int thread = WS_THREAD(X, Y);
    if (A == BLOCK_STORE_STRIPED) {
      for (int i = 0; i < I; ++i) if (i * (X * Y * Z) + thread < valid) to[i * (X * Y * Z) + thread] = items[i];
    } else if (A >= BLOCK_STORE_TRANSPOSE) {
      for (int i = 0; i < I; ++i) shared->items[thread * I + i] = items[i];
      __syncthreads();
      for (int i = 0; i < I; ++i) if (i * (X * Y * Z) + thread < valid) to[i * (X * Y * Z) + thread] = shared->items[i * (X * Y * Z) + thread];
    } else {
      for (int i = 0; i < I; ++i) if (thread * I + i < valid) to[thread * I + i] = items[i];
    }
  }
};
// Items change threads by way of shared memory; a place in 32 is left free where threads hold 8, 16, ... items.
template <class T, int X, int I, bool S = false, int Y = 1, int Z = 1, int P = 0> struct BlockExchange {
  static const bool PADDED = I > 4 && (I & (I - 1)) == 0;
  struct TempStorage { T items[X * Y * Z * I + (PADDED ? X * Y * Z * I / 32 : 0)]; };
  TempStorage* shared;
  WS_D BlockExchange() { __shared__ TempStorage own; shared = &own; }
  WS_D BlockExchange(TempStorage& storage) : shared(&storage) {}
  WS_D static int At(int item) { return PADDED ? item + (item >> 5) : item; }
  template <class U> WS_D void StripedToBlocked(const T (&input)[I], U (&output)[I]) {
    int thread = WS_THREAD(X, Y);
    for (int i = 0; i < I; ++i) shared->items[At(i * (X * Y * Z) + thread)] = input[i];
    __syncthreads();
    for (int i = 0; i < I; ++i) output[i] = shared->items[At(thread * I + i)];
  }
  template <class U> WS_D void BlockedToStriped(const T (&input)[I], U (&output)[I]) {
    int thread = WS_THREAD(X, Y);
    for (int i = 0; i < I; ++i) shared->items[At(thread * I + i)] = input[i];
    __syncthreads();
    for (int i = 0; i < I; ++i) output[i] = shared->items[At(i * (X * Y * Z) + thread)];
  }
  template <class U> WS_D void WarpStripedToBlocked(const T (&input)[I], U (&output)[I]) {
    int thread = WS_THREAD(X, Y);
    for (int i = 0; i < I; ++i) shared->items[At((thread >> 5) * 32 * I + i * 32 + (thread & 31))] = input[i];
    __syncwarp();
    for (int i = 0; i < I; ++i) output[i] = shared->items[At(thread * I + i)];
  }
  template <class U> WS_D void BlockedToWarpStriped(const T (&input)[I], U (&output)[I]) {
    int thread = WS_THREAD(X, Y);
    for (int i = 0; i < I; ++i) shared->items[At(thread * I + i)] = input[i];
    __syncwarp();
    for (int i = 0; i < I; ++i) output[i] = shared->items[At((thread >> 5) * 32 * I + i * 32 + (thread & 31))];
  }
};
// Where each thread of a block leaves an item, and where one of the threads that rake finds its own.
template <class T, int N> struct BlockRakingLayout {
  static const int SHARED_ELEMENTS = N, MAX_RAKING_THREADS = N < 32 ? N : 32, SEGMENT_LENGTH = (N + MAX_RAKING_THREADS - 1) / MAX_RAKING_THREADS;
  static const int RAKING_THREADS = (N + SEGMENT_LENGTH - 1) / SEGMENT_LENGTH, USE_SEGMENT_PADDING = (SEGMENT_LENGTH & 1) == 0 && SEGMENT_LENGTH > 2;
  static const int GRID_ELEMENTS = RAKING_THREADS * (SEGMENT_LENGTH + USE_SEGMENT_PADDING), UNGUARDED = N % RAKING_THREADS == 0;
  struct _TempStorage { T buff[GRID_ELEMENTS]; }; struct TempStorage : Uninitialized<_TempStorage> {};
  WS_D static T* PlacementPtr(TempStorage& storage, unsigned thread) { return storage.Alias().buff + thread + (USE_SEGMENT_PADDING ? thread / SEGMENT_LENGTH : 0); }
  WS_D static T* RakingPtr(TempStorage& storage, unsigned thread) { return storage.Alias().buff + thread * (SEGMENT_LENGTH + USE_SEGMENT_PADDING); }
};
#define WS_COLLECTIVE struct TempStorage { char bytes[128]; };
template <class T, int X, int I, class V = void, int... P> struct BlockRadixSort { WS_COLLECTIVE WS_D BlockRadixSort(TempStorage&); template <class... A> WS_D void Sort(A&&...); template <class... A> WS_D void SortDescending(A&&...); };
#define WS_DEVICE(N) struct N { template <class... A> static cudaError_t Sum(void*, unsigned long&, A...); template <class... A> static cudaError_t Reduce(void*, unsigned long&, A...); template <class... A> static cudaError_t InclusiveSum(void*, unsigned long&, A...); template <class... A> static cudaError_t ExclusiveSum(void*, unsigned long&, A...); template <class... A> static cudaError_t SortPairs(void*, unsigned long&, A...); template <class... A> static cudaError_t SortKeys(void*, unsigned long&, A...); template <class... A> static cudaError_t Max(void*, unsigned long&, A...); template <class... A> static cudaError_t If(void*, unsigned long&, A...); template <class... A> static cudaError_t Flagged(void*, unsigned long&, A...); };
WS_DEVICE(DeviceReduce) WS_DEVICE(DeviceScan) WS_DEVICE(DeviceRadixSort) WS_DEVICE(DeviceSelect)
}
