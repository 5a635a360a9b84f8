// Device-only built-ins: barriers, fences, atomics, shuffles, votes, cached loads (CUDA C++ Programming Guide).
#pragma once

WS_D void __syncthreads(void) __attribute__((convergent));
WS_D int __syncthreads_count(int) __attribute__((convergent));
WS_D int __syncthreads_and(int) __attribute__((convergent));
WS_D int __syncthreads_or(int) __attribute__((convergent));
WS_D void __syncwarp(unsigned = 0xffffffffu);
WS_D void __threadfence(void);
WS_D void __threadfence_block(void);
WS_D void __threadfence_system(void);
WS_D void __trap(void);
WS_D void __brkpt(int = 0);
WS_D void __prof_trigger(int);
WS_D void __nanosleep(unsigned);
WS_D long long clock64(void);
WS_D unsigned long long globaltimer(void);
WS_D unsigned __isGlobal(const void*);
WS_D unsigned __isShared(const void*);
WS_D unsigned __isConstant(const void*);
WS_D unsigned __isLocal(const void*);
WS_D size_t __cvta_generic_to_shared(const void*);
WS_D size_t __cvta_generic_to_global(const void*);
WS_D void* __cvta_shared_to_generic(size_t);
WS_D void __assertfail(const char*, const char*, unsigned, const char*, size_t);

// atomics: plain, _block and _system scope
#define WS_ATOMIC_SCOPE(T, F, S) WS_D T F##S(T*, T);
#define WS_ATOMIC(T, F) WS_ATOMIC_SCOPE(T, F, ) WS_ATOMIC_SCOPE(T, F, _block) WS_ATOMIC_SCOPE(T, F, _system)
#define WS_ATOMIC_INT(F) WS_ATOMIC(int, F) WS_ATOMIC(unsigned, F) WS_ATOMIC(unsigned long long, F)
WS_ATOMIC_INT(atomicAdd) WS_ATOMIC(float, atomicAdd) WS_ATOMIC(double, atomicAdd)
WS_ATOMIC(float2, atomicAdd) WS_ATOMIC(float4, atomicAdd)
WS_ATOMIC(int, atomicSub) WS_ATOMIC(unsigned, atomicSub)
WS_ATOMIC_INT(atomicExch) WS_ATOMIC(float, atomicExch)
WS_ATOMIC_INT(atomicMin) WS_ATOMIC(long long, atomicMin) WS_ATOMIC_INT(atomicMax) WS_ATOMIC(long long, atomicMax)
WS_ATOMIC(unsigned, atomicInc) WS_ATOMIC(unsigned, atomicDec)
WS_ATOMIC_INT(atomicAnd) WS_ATOMIC_INT(atomicOr) WS_ATOMIC_INT(atomicXor)
#define WS_CAS(T) WS_D T atomicCAS(T*, T, T); WS_D T atomicCAS_block(T*, T, T); WS_D T atomicCAS_system(T*, T, T);
WS_CAS(int) WS_CAS(unsigned) WS_CAS(unsigned long long) WS_CAS(unsigned short)

// votes and matches
WS_D unsigned __activemask(void);
WS_D int __all_sync(unsigned, int);
WS_D int __any_sync(unsigned, int);
WS_D int __uni_sync(unsigned, int);
WS_D unsigned __ballot_sync(unsigned, int);
WS_D int __all(int);
WS_D int __any(int);
WS_D unsigned __ballot(int);
template <class T> WS_D unsigned __match_any_sync(unsigned, T);
template <class T> WS_D unsigned __match_all_sync(unsigned, T, int*);

// shuffles, reductions and cached accesses over every fundamental type
#define WS_SHUFFLES(T)                                                                                       \
  WS_D T __shfl_sync(unsigned, T, int, int = 32); WS_D T __shfl_up_sync(unsigned, T, unsigned, int = 32);    \
  WS_D T __shfl_down_sync(unsigned, T, unsigned, int = 32); WS_D T __shfl_xor_sync(unsigned, T, int, int = 32); \
  WS_D T __shfl(T, int, int = 32); WS_D T __shfl_up(T, unsigned, int = 32);                                  \
  WS_D T __shfl_down(T, unsigned, int = 32); WS_D T __shfl_xor(T, int, int = 32);
WS_SHUFFLES(int) WS_SHUFFLES(unsigned) WS_SHUFFLES(long) WS_SHUFFLES(unsigned long) WS_SHUFFLES(long long)
WS_SHUFFLES(unsigned long long) WS_SHUFFLES(float) WS_SHUFFLES(double)

#define WS_REDUCE(T) WS_D T __reduce_add_sync(unsigned, T); WS_D T __reduce_min_sync(unsigned, T);           \
                     WS_D T __reduce_max_sync(unsigned, T);
WS_REDUCE(int) WS_REDUCE(unsigned)
WS_D unsigned __reduce_and_sync(unsigned, unsigned);
WS_D unsigned __reduce_or_sync(unsigned, unsigned);
WS_D unsigned __reduce_xor_sync(unsigned, unsigned);

#define WS_CACHED(T)                                                                                         \
  WS_D T __ldg(const T*); WS_D T __ldcg(const T*); WS_D T __ldca(const T*); WS_D T __ldcs(const T*);         \
  WS_D T __ldlu(const T*); WS_D T __ldcv(const T*); WS_D void __stwb(T*, T); WS_D void __stcg(T*, T);        \
  WS_D void __stcs(T*, T); WS_D void __stwt(T*, T);
#define WS_CACHED_4(T, N) WS_CACHED(T) WS_CACHED(N##2) WS_CACHED(N##4)
WS_CACHED_4(signed char, char) WS_CACHED_4(unsigned char, uchar) WS_CACHED_4(short, short)
WS_CACHED_4(unsigned short, ushort) WS_CACHED_4(int, int) WS_CACHED_4(unsigned, uint)
WS_CACHED_4(float, float) WS_CACHED(double) WS_CACHED(double2) WS_CACHED(char) WS_CACHED(long)
WS_CACHED(unsigned long) WS_CACHED(long long) WS_CACHED(unsigned long long) WS_CACHED(longlong2)
WS_CACHED(ulonglong2)

// asynchronous copies to shared memory
WS_D void __pipeline_memcpy_async(void*, const void*, size_t, size_t = 0);
WS_D void __pipeline_commit(void);
WS_D void __pipeline_wait_prior(size_t);

WS_HD void* alloca(size_t);
