// CUB: block and warp collectives (declared only, so that a kernel's calls are seen) and device-wide entry points.
#pragma once
#include "../wattslice_std_cpp.h"
namespace cub {
struct Sum { template <class T> WS_HD T operator()(const T&, const T&) const; }; struct Max { template <class T> WS_HD T operator()(const T&, const T&) const; }; struct Min { template <class T> WS_HD T operator()(const T&, const T&) const; };
enum BlockReduceAlgorithm { BLOCK_REDUCE_RAKING, BLOCK_REDUCE_WARP_REDUCTIONS }; enum BlockLoadAlgorithm { BLOCK_LOAD_DIRECT, BLOCK_LOAD_VECTORIZE, BLOCK_LOAD_TRANSPOSE, BLOCK_LOAD_WARP_TRANSPOSE }; enum BlockStoreAlgorithm { BLOCK_STORE_DIRECT, BLOCK_STORE_VECTORIZE, BLOCK_STORE_TRANSPOSE, BLOCK_STORE_WARP_TRANSPOSE }; enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_WARP_SCANS };
#define WS_COLLECTIVE struct TempStorage { char bytes[128]; };
template <class T, int N, auto... P> struct BlockReduce { WS_COLLECTIVE WS_D BlockReduce(); WS_D BlockReduce(TempStorage&); template <class... A> WS_D T Sum(A...); template <class... A> WS_D T Reduce(A...); };
template <class T, int N = 32> struct WarpReduce { WS_COLLECTIVE WS_D WarpReduce(TempStorage&); template <class... A> WS_D T Sum(A...); template <class... A> WS_D T Reduce(A...); };
template <class T, int N, auto... P> struct BlockScan { WS_COLLECTIVE WS_D BlockScan(TempStorage&); template <class... A> WS_D void InclusiveSum(A&&...); template <class... A> WS_D void ExclusiveSum(A&&...); template <class... A> WS_D void InclusiveScan(A&&...); template <class... A> WS_D void ExclusiveScan(A&&...); };
template <class T, int N, int I, auto... P> struct BlockLoad { WS_COLLECTIVE WS_D BlockLoad(TempStorage&); template <class... A> WS_D void Load(A&&...); };
template <class T, int N, int I, auto... P> struct BlockStore { WS_COLLECTIVE WS_D BlockStore(TempStorage&); template <class... A> WS_D void Store(A&&...); };
template <class T, int N, int I, class V = void, auto... P> struct BlockRadixSort { WS_COLLECTIVE WS_D BlockRadixSort(TempStorage&); template <class... A> WS_D void Sort(A&&...); };
#define WS_DEVICE(N) struct N { template <class... A> static cudaError_t Sum(A...); template <class... A> static cudaError_t Reduce(A...); template <class... A> static cudaError_t InclusiveSum(A...); template <class... A> static cudaError_t ExclusiveSum(A...); template <class... A> static cudaError_t SortPairs(A...); template <class... A> static cudaError_t SortKeys(A...); template <class... A> static cudaError_t Max(A...); template <class... A> static cudaError_t If(A...); template <class... A> static cudaError_t Flagged(A...); };
WS_DEVICE(DeviceReduce) WS_DEVICE(DeviceScan) WS_DEVICE(DeviceRadixSort) WS_DEVICE(DeviceSelect)
}
