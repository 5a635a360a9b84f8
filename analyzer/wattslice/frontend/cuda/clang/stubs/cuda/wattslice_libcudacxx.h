// libcu++ (barriers, pipelines, atomics, std parts), declared only.
#pragma once
#include "../wattslice_std_cpp.h"
#include "../wattslice_cooperative_groups.cuh"
namespace cuda {
enum thread_scope { thread_scope_system, thread_scope_device, thread_scope_block, thread_scope_thread };
enum memory_order { memory_order_relaxed, memory_order_acquire, memory_order_release, memory_order_acq_rel, memory_order_seq_cst };
enum pipeline_role { producer, consumer }; namespace pipeline_role_ {}
template <unsigned long N> struct aligned_size_t { WS_HD explicit aligned_size_t(unsigned long); WS_HD operator unsigned long() const; };
template <thread_scope S, class C = void> struct barrier {
  struct arrival_token {}; barrier() = default; WS_HD explicit barrier(long); WS_D arrival_token arrive(long = 1) const;
  WS_D void wait(arrival_token&&) const; WS_D void arrive_and_wait() const; WS_D void arrive_and_drop() const;
};
template <class B> WS_D void init(B*, long);
template <class B> WS_D auto device_barrier_native_handle(B&) -> unsigned long long*;
template <thread_scope S, int N> struct pipeline_shared_state { pipeline_shared_state() = default; };
template <thread_scope S> struct pipeline {
  WS_D void producer_acquire(); WS_D void producer_commit(); WS_D void consumer_wait(); WS_D void consumer_release(); WS_D bool quit();
};
WS_D pipeline<thread_scope_thread> make_pipeline();
template <class G, thread_scope S, int N, class... A> WS_D pipeline<S> make_pipeline(const G&, pipeline_shared_state<S, N>*, A...);
template <unsigned N, thread_scope S> WS_D void pipeline_consumer_wait_prior(pipeline<S>&);
template <class T, class N, class P> WS_D void memcpy_async(T*, const T*, N, P&);
template <class G, class T, class N, class P> WS_D void memcpy_async(const G&, T*, const T*, N, P&);
template <class T, thread_scope S = thread_scope_system> struct atomic_ref {
  WS_HD explicit atomic_ref(T&); WS_HD T load(int = 4) const; WS_HD void store(T, int = 4) const; WS_HD T fetch_add(T, int = 4) const;
  WS_HD T fetch_sub(T, int = 4) const; WS_HD T fetch_min(T, int = 4) const; WS_HD T fetch_max(T, int = 4) const; WS_HD T exchange(T, int = 4) const;
  WS_HD bool compare_exchange_strong(T&, T, int = 4) const; WS_HD bool compare_exchange_weak(T&, T, int = 4) const;
};
template <class T, thread_scope S = thread_scope_system> struct atomic {
  WS_HD atomic(); WS_HD atomic(T); WS_HD T load(int = 4) const; WS_HD void store(T, int = 4); WS_HD T fetch_add(T, int = 4); WS_HD T operator++(int);
  WS_HD T fetch_sub(T, int = 4); WS_HD T exchange(T, int = 4); WS_HD bool compare_exchange_strong(T&, T, int = 4); WS_HD operator T() const; WS_HD T operator++();
};
namespace std { using namespace ::std; using cuda::memory_order; using cuda::memory_order_relaxed; using cuda::memory_order_acquire; using cuda::memory_order_release; }
}
