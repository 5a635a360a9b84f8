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
  unsigned long long native; struct arrival_token {}; barrier() = default; WS_HD explicit barrier(long); WS_D arrival_token arrive(long = 1) const;
  WS_D void wait(arrival_token&&) const; WS_D void arrive_and_wait() const; WS_D void arrive_and_drop() const;
};
template <class B> WS_D void init(B*, long);
template <class B> WS_D auto device_barrier_native_handle(B&) -> unsigned long long*;
template <thread_scope S, int N> struct pipeline_shared_state { unsigned long long native[2 * N + 1]; pipeline_shared_state() = default; };
template <thread_scope S> struct pipeline {
  WS_D void producer_acquire(); WS_D void producer_commit(); WS_D void consumer_wait(); WS_D void consumer_release(); WS_D bool quit();
};
WS_D pipeline<thread_scope_thread> make_pipeline();
template <class G, thread_scope S, int N, class... A> WS_D pipeline<S> make_pipeline(const G&, pipeline_shared_state<S, N>*, A...);
template <unsigned N, thread_scope S> WS_D void pipeline_consumer_wait_prior(pipeline<S>&);
template <class T, class N, class P> WS_D void memcpy_async(T*, const T*, N, P&);
template <class G, class T, class N, class P> WS_D void memcpy_async(const G&, T*, const T*, N, P&);
template <class T, thread_scope S = thread_scope_system> struct atomic_ref {
  T* where; WS_HD explicit atomic_ref(T& object) : where(&object) {}
  WS_HD T load(int = 4) const { return *where; } WS_HD void store(T value, int = 4) const { *where = value; } WS_HD operator T() const { return *where; }
  WS_HD T fetch_add(T value, int = 4) const { return atomicAdd(where, value); } WS_HD T fetch_sub(T value, int = 4) const { return atomicSub(where, value); }
  WS_HD T fetch_min(T value, int = 4) const { return atomicMin(where, value); } WS_HD T fetch_max(T value, int = 4) const { return atomicMax(where, value); }
  WS_HD T fetch_and(T value, int = 4) const { return atomicAnd(where, value); } WS_HD T fetch_or(T value, int = 4) const { return atomicOr(where, value); }
  WS_HD T fetch_xor(T value, int = 4) const { return atomicXor(where, value); } WS_HD T exchange(T value, int = 4) const { return atomicExch(where, value); }
  WS_HD T operator++() const { return atomicAdd(where, T(1)) + 1; } WS_HD T operator++(int) const { return atomicAdd(where, T(1)); } WS_HD T operator+=(T value) const { return atomicAdd(where, value) + value; }
  WS_HD bool compare_exchange_strong(T& expected, T value, int = 4, int = 4) const { T wanted = expected; T found = atomicCAS(where, wanted, value); expected = found; return found == wanted; }
  WS_HD bool compare_exchange_weak(T& expected, T value, int = 4, int = 4) const { T wanted = expected; T found = atomicCAS(where, wanted, value); expected = found; return found == wanted; }
};
template <class T, thread_scope S = thread_scope_system> struct atomic {
  T held; atomic() = default; WS_HD atomic(T value) : held(value) {}
  WS_HD T load(int = 4) const { return held; } WS_HD void store(T value, int = 4) { held = value; } WS_HD operator T() const { return held; }
  WS_HD T fetch_add(T value, int = 4) { return atomicAdd(&held, value); } WS_HD T fetch_sub(T value, int = 4) { return atomicSub(&held, value); }
  WS_HD T fetch_min(T value, int = 4) { return atomicMin(&held, value); } WS_HD T fetch_max(T value, int = 4) { return atomicMax(&held, value); }
  WS_HD T exchange(T value, int = 4) { return atomicExch(&held, value); } WS_HD T operator++(int) { return atomicAdd(&held, T(1)); } WS_HD T operator++() { return atomicAdd(&held, T(1)) + 1; }
  WS_HD bool compare_exchange_strong(T& expected, T value, int = 4, int = 4) { T wanted = expected; T found = atomicCAS(&held, wanted, value); expected = found; return found == wanted; }
  WS_HD bool compare_exchange_weak(T& expected, T value, int = 4, int = 4) { T wanted = expected; T found = atomicCAS(&held, wanted, value); expected = found; return found == wanted; }
};
namespace std {
template <class T, unsigned long N = 0xffffffffffffffffull> struct span {
  typedef T value_type; typedef unsigned long size_type; T* start; unsigned long count; WS_HD span() : start(nullptr), count(0) {} WS_HD span(T* p, unsigned long n) : start(p), count(n) {}
  WS_HD T& operator[](unsigned long i) const { return start[i]; } WS_HD unsigned long size() const { return count; } WS_HD T* data() const { return start; } WS_HD bool empty() const { return count == 0; }
  WS_HD unsigned long size_bytes() const { return count * sizeof(T); } WS_HD T* begin() const { return start; } WS_HD T* end() const { return start + count; } WS_HD T& front() const { return start[0]; } WS_HD T& back() const { return start[count - 1]; }
  WS_HD span subspan(unsigned long from, unsigned long n) const { return span(start + from, n); } WS_HD span first(unsigned long n) const { return span(start, n); } WS_HD span last(unsigned long n) const { return span(start + (count - n), n); }
};
struct nullopt_t { explicit constexpr nullopt_t(int) {} }; inline constexpr nullopt_t nullopt{0};
template <class T> struct optional {
  typedef T value_type; T ws_value; bool ws_has;
  WS_HD constexpr optional() : ws_value(), ws_has(false) {} WS_HD constexpr optional(nullopt_t) : ws_value(), ws_has(false) {} WS_HD constexpr optional(const T& v) : ws_value(v), ws_has(true) {}
  WS_HD optional& operator=(nullopt_t) { ws_has = false; return *this; } WS_HD optional& operator=(const T& v) { ws_value = v; ws_has = true; return *this; }
  WS_HD constexpr T& operator*() { return ws_value; } WS_HD constexpr const T& operator*() const { return ws_value; } WS_HD constexpr T* operator->() { return &ws_value; } WS_HD constexpr const T* operator->() const { return &ws_value; }
  WS_HD constexpr T& value() { return ws_value; } WS_HD constexpr const T& value() const { return ws_value; } WS_HD constexpr T value_or(const T& v) const { return ws_has ? ws_value : v; }
  WS_HD constexpr bool has_value() const { return ws_has; } WS_HD constexpr explicit operator bool() const { return ws_has; } WS_HD void reset() { ws_has = false; }
};
template <class T> WS_HD constexpr optional<T> make_optional(const T& v) { return optional<T>(v); }
using namespace ::std; using cuda::memory_order; using cuda::memory_order_relaxed; using cuda::memory_order_acquire; using cuda::memory_order_release; }
}
