// Device-only built-ins of many types: atomics, shuffles, cached accesses (CUDA C++ Programming Guide).
#pragma once

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

// matches
template <class T> WS_D unsigned __match_any_sync(unsigned, T);
template <class T> WS_D unsigned __match_all_sync(unsigned, T, int*);

// shuffles and cached accesses over every fundamental type
#define WS_SHUFFLES(T)                                                                                       \
  WS_D T __shfl_sync(unsigned, T, int, int = 32); WS_D T __shfl_up_sync(unsigned, T, unsigned, int = 32);    \
  WS_D T __shfl_down_sync(unsigned, T, unsigned, int = 32); WS_D T __shfl_xor_sync(unsigned, T, int, int = 32); \
  WS_D T __shfl(T, int, int = 32); WS_D T __shfl_up(T, unsigned, int = 32);                                  \
  WS_D T __shfl_down(T, unsigned, int = 32); WS_D T __shfl_xor(T, int, int = 32);
WS_SHUFFLES(int) WS_SHUFFLES(unsigned) WS_SHUFFLES(long) WS_SHUFFLES(unsigned long) WS_SHUFFLES(long long)
WS_SHUFFLES(unsigned long long) WS_SHUFFLES(float) WS_SHUFFLES(double)

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

WS_HD void* alloca(size_t);
