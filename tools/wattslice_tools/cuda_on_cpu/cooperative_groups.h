// Stands in for CUDA's header of this name: thread blocks, tiles, coalesced groups, and what they do together.
#pragma once

#include "cuda_runtime.h"

namespace cooperative_groups {

// Lanes of one warp; `mask` has their bits. A member's rank counts the lanes below it.
class CudaOnCpuLanes {
public:
    unsigned mask;

    explicit CudaOnCpuLanes(unsigned lanes) : mask(lanes) {}
    unsigned size() const { return __builtin_popcount(mask); }
    unsigned num_threads() const { return size(); }
    unsigned thread_rank() const { return __builtin_popcount(mask & ((1u << cuda_on_cpu::lane()) - 1)); }
    void sync() const { __syncwarp(mask); }
    template <class T>
    T shfl(T value, int source) const {
        return __shfl_sync(mask, value, lane(source % size()));
    }
    template <class T>
    T shfl_up(T value, unsigned delta) const {
        const unsigned rank = thread_rank();
        return __shfl_sync(mask, value, lane(rank >= delta ? rank - delta : rank));
    }
    template <class T>
    T shfl_down(T value, unsigned delta) const {
        const unsigned rank = thread_rank();
        return __shfl_sync(mask, value, lane(rank + delta < size() ? rank + delta : rank));
    }
    template <class T>
    T shfl_xor(T value, unsigned bits) const {
        const unsigned other = thread_rank() ^ bits;
        return __shfl_sync(mask, value, lane(other < size() ? other : thread_rank()));
    }
    int any(int predicate) const { return __any_sync(mask, predicate); }
    int all(int predicate) const { return __all_sync(mask, predicate); }
    unsigned ballot(int predicate) const { return ranks(__ballot_sync(mask, predicate)); }
    template <class T>
    unsigned match_any(T value) const {
        return ranks(__match_any_sync(mask, value));
    }
    unsigned lane(unsigned rank) const {
        unsigned left = mask;
        for (; rank > 0; --rank) {
            left &= left - 1;
        }
        return __builtin_ctz(left);
    }

private:
    unsigned ranks(unsigned lanes) const {
        unsigned result = 0;
        for (unsigned rank = 0; rank < size(); ++rank) {
            result |= (lanes >> lane(rank) & 1u) << rank;
        }
        return result;
    }
};

class thread_block {
public:
    static void sync() { __syncthreads(); }
    static unsigned size() { return blockDim.x * blockDim.y * blockDim.z; }
    static unsigned num_threads() { return size(); }
    static unsigned thread_rank() { return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x; }
    static dim3 group_index() { return blockIdx; }
    static dim3 thread_index() { return threadIdx; }
    static dim3 group_dim() { return blockDim; }
    static dim3 dim_threads() { return blockDim; }
};
inline thread_block this_thread_block() { return {}; }

// Blocks run one after another: they cannot wait for each other.
class grid_group {
public:
    static bool is_valid() { return true; }
    static void sync() { cuda_on_cpu::gridBarrier(); }
    static unsigned long long size() { return num_blocks() * thread_block::size(); }
    static unsigned long long num_threads() { return size(); }
    static unsigned long long num_blocks() { return 1ull * gridDim.x * gridDim.y * gridDim.z; }
    static unsigned long long block_rank() { return (1ull * blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x; }
    static unsigned long long thread_rank() { return block_rank() * thread_block::size() + thread_block::thread_rank(); }
    static dim3 group_dim() { return gridDim; }
    static dim3 dim_blocks() { return gridDim; }
    static dim3 block_index() { return blockIdx; }
};
inline grid_group this_grid() { return {}; }

class coalesced_group : public CudaOnCpuLanes {
public:
    explicit coalesced_group(unsigned lanes) : CudaOnCpuLanes(lanes) {}
    unsigned meta_group_rank() const { return 0; }
    unsigned meta_group_size() const { return 1; }
};
inline coalesced_group coalesced_threads() { return coalesced_group(__activemask()); }

namespace detail {
inline unsigned laneInBlock() { return thread_block::thread_rank(); }
inline unsigned tileMask(unsigned size) {
    const unsigned bits = size >= 32 ? 0xffffffffu : (1u << size) - 1;
    return bits << (cuda_on_cpu::lane() / size * size);
}
}  // namespace detail

template <unsigned Size, class Parent = void>
class thread_block_tile : public CudaOnCpuLanes {
    static_assert(Size <= 32, "tiles of several warps: use a GPU, or --data");

public:
    thread_block_tile() : CudaOnCpuLanes(detail::tileMask(Size)) {}
    template <class Other>
    thread_block_tile(const thread_block_tile<Size, Other>&) : thread_block_tile() {}
    static constexpr unsigned size() { return Size; }
    static constexpr unsigned num_threads() { return Size; }
    static unsigned thread_rank() { return cuda_on_cpu::lane() % Size; }
    static unsigned meta_group_rank() { return thread_block::thread_rank() / Size; }
    static unsigned meta_group_size() { return (thread_block::size() + Size - 1) / Size; }
    template <class T>
    T shfl(T value, int source) const {
        return __shfl_sync(mask, value, source, Size);
    }
    template <class T>
    T shfl_up(T value, unsigned delta) const {
        return __shfl_up_sync(mask, value, delta, Size);
    }
    template <class T>
    T shfl_down(T value, unsigned delta) const {
        return __shfl_down_sync(mask, value, delta, Size);
    }
    template <class T>
    T shfl_xor(T value, unsigned bits) const {
        return __shfl_xor_sync(mask, value, bits, Size);
    }
};

// What any group may be: a block, or lanes of a warp.
class thread_group {
public:
    thread_group(const thread_block&) : lanes_(0), whole_(true) {}
    thread_group(const CudaOnCpuLanes& lanes) : lanes_(lanes.mask), whole_(false) {}
    void sync() const { whole_ ? thread_block::sync() : lanes_.sync(); }
    unsigned size() const { return whole_ ? thread_block::size() : lanes_.size(); }
    unsigned num_threads() const { return size(); }
    unsigned thread_rank() const { return whole_ ? thread_block::thread_rank() : lanes_.thread_rank(); }

private:
    CudaOnCpuLanes lanes_;
    bool whole_;
};

template <unsigned Size, class Parent>
thread_block_tile<Size, Parent> tiled_partition(const Parent&) {
    return {};
}
inline thread_group tiled_partition(const thread_group&, unsigned size) {
    return CudaOnCpuLanes(detail::tileMask(size));
}
template <class Parent>
coalesced_group binary_partition(const Parent& parent, bool predicate) {
    const unsigned yes = __ballot_sync(parent.mask, predicate);
    return coalesced_group(predicate ? yes : parent.mask & ~yes);
}
template <class Parent, class Label>
coalesced_group labeled_partition(const Parent& parent, Label label) {
    return coalesced_group(__match_any_sync(parent.mask, label));
}

template <class Group>
void sync(const Group& group) {
    group.sync();
}
template <class Group>
unsigned thread_rank(const Group& group) {
    return group.thread_rank();
}
template <class Group>
unsigned group_size(const Group& group) {
    return group.size();
}

template <class T> struct plus { T operator()(T a, T b) const { return a + b; } };
template <class T> struct less { T operator()(T a, T b) const { return b < a ? b : a; } };
template <class T> struct greater { T operator()(T a, T b) const { return a < b ? b : a; } };
template <class T> struct bit_and { T operator()(T a, T b) const { return a & b; } };
template <class T> struct bit_or { T operator()(T a, T b) const { return a | b; } };
template <class T> struct bit_xor { T operator()(T a, T b) const { return a ^ b; } };

namespace detail {
// The values of the lanes of `mask` up to `last`, combined from the lowest on.
template <class T, class Combine>
T combined(unsigned mask, T value, int last, const Combine& combine) {
    const auto seen = cuda_on_cpu::exchange("cooperative_groups", mask, value);
    bool first = true;
    T result = value;
    for (int lane = 0; lane <= last; ++lane) {
        if (seen.has(lane)) {
            result = first ? seen.values[lane] : combine(result, seen.values[lane]);
            first = false;
        }
    }
    return result;
}
}  // namespace detail
template <class Group, class T, class Combine>
T reduce(const Group& group, T value, Combine combine) {
    return detail::combined(group.mask, value, 31, combine);
}
template <class Group, class T, class Combine = plus<T>>
T inclusive_scan(const Group& group, T value, Combine combine = {}) {
    return detail::combined(group.mask, value, cuda_on_cpu::lane(), combine);
}
template <class Group, class T, class Combine = plus<T>>
T exclusive_scan(const Group& group, T value, Combine combine = {}) {
    const T before = group.shfl_up(inclusive_scan(group, value, combine), 1);
    return group.thread_rank() == 0 ? T() : before;
}

template <class Group, class T>
void memcpy_async(const Group& group, T* to, const T* from, size_t bytes) {
    auto* target = reinterpret_cast<char*>(to);
    for (size_t at = group.thread_rank(); at < bytes; at += group.size()) {
        target[at] = reinterpret_cast<const char*>(from)[at];
    }
}
template <class Group>
void wait(const Group& group) {
    group.sync();
}

}  // namespace cooperative_groups
