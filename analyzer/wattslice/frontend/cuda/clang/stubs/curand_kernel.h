// cuRAND's device API (cuRAND documentation). What XORWOW, the default (Marsaglia 2003), and Philox4x32-10 (Salmon et
// al. 2011) do is written down at the end; the others are declared only.
#pragma once
#include "curand.h"

struct curandStateXORWOW { unsigned d, v[5]; int half, half_double; float extra; double extra_double; };
struct curandStatePhilox4_32_10 { uint4 count, output; uint2 key; unsigned next; int half, half_double; float extra; double extra_double; };
#define WS_CURAND_STATE(N) struct N { unsigned v[12]; };
WS_CURAND_STATE(curandStateMRG32k3a) WS_CURAND_STATE(curandStateMtgp32) WS_CURAND_STATE(curandStateSobol32) WS_CURAND_STATE(curandStateScrambledSobol32)
WS_CURAND_STATE(curandStateSobol64) WS_CURAND_STATE(curandStateScrambledSobol64)
typedef curandStateXORWOW curandState; typedef curandStateXORWOW curandState_t; typedef curandStateXORWOW curandStateXORWOW_t;
typedef curandStateMRG32k3a curandStateMRG32k3a_t; typedef curandStatePhilox4_32_10 curandStatePhilox4_32_10_t;
typedef curandStateSobol32 curandStateSobol32_t; typedef curandStateMtgp32 curandStateMtgp32_t; typedef curandStateSobol64 curandStateSobol64_t;
typedef curandStateScrambledSobol32 curandStateScrambledSobol32_t; typedef curandStateScrambledSobol64 curandStateScrambledSobol64_t;
template <class S> WS_D void curand_init(unsigned long long, unsigned long long, unsigned long long, S*);
template <class S> WS_D void curand_init(curandDirectionVectors32_t, unsigned, S*);
template <class S> WS_D void curand_init(unsigned*, unsigned, S*);
template <class S> WS_D unsigned curand(S*);
template <class S> WS_D float curand_uniform(S*);
template <class S> WS_D double curand_uniform_double(S*);
template <class S> WS_D float curand_normal(S*);
template <class S> WS_D float2 curand_normal2(S*);
template <class S> WS_D double curand_normal_double(S*);
template <class S> WS_D double2 curand_normal2_double(S*);
template <class S> WS_D float curand_log_normal(S*, float, float);
template <class S> WS_D unsigned curand_poisson(S*, double);
template <class S> WS_D void skipahead(unsigned long long, S*);
template <class S> WS_D void skipahead_sequence(unsigned long long, S*);

WS_D unsigned ws_xorwow_jumps[32][800];
// A jump by `p` sequences of 2^67 numbers, or by `p` numbers: for each two bits of it so many products of the state
// with a matrix of 160 x 160 bits.
WS_D inline void ws_xorwow_jump(unsigned long long p, unsigned* v) {
  for (int digit = 0; p != 0; ++digit, p >>= 2)
    for (unsigned t = 0; t < (p & 3); ++t) {
      unsigned r[5] = {0, 0, 0, 0, 0};
      for (int i = 0; i < 5; ++i)
        for (int j = 0; j < 32; ++j)
          if (v[i] & (1u << j))
            for (int k = 0; k < 5; ++k) r[k] ^= ws_xorwow_jumps[digit][5 * (32 * i + j) + k];
      for (int i = 0; i < 5; ++i) v[i] = r[i];
    }
}
template <class S> WS_D inline void ws_nothing_kept(S* s) { s->half = 0; s->half_double = 0; s->extra = 0; s->extra_double = 0; }
WS_D inline void curand_init(unsigned long long seed, unsigned long long subsequence, unsigned long long offset, curandStateXORWOW* s) {
  unsigned low = 1099087573u * (unsigned)seed, high = 2591861531u * (unsigned)(seed >> 32);
  s->d = low + high;
  for (int i = 0; i < 5; ++i) s->v[i] = i & 1 ? high ^ i : low + i;
  ws_xorwow_jump(subsequence, s->v);
  ws_xorwow_jump(offset, s->v);
  ws_nothing_kept(s);
}
WS_D inline unsigned curand(curandStateXORWOW* s) {
  unsigned t = s->v[0] ^ (s->v[0] >> 2);
  s->v[0] = s->v[1]; s->v[1] = s->v[2]; s->v[2] = s->v[3]; s->v[3] = s->v[4];
  s->v[4] = (s->v[4] ^ (s->v[4] << 4)) ^ (t ^ (t << 1));
  s->d += 362437;
  return s->v[4] + s->d;
}
WS_D inline uint4 ws_philox(uint4 c, uint2 k) {
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    unsigned long long a = 0xD2511F53ull * c.x, b = 0xCD9E8D57ull * c.z;
    c = uint4{(unsigned)(b >> 32) ^ c.y ^ k.x, (unsigned)b, (unsigned)(a >> 32) ^ c.w ^ k.y, (unsigned)a};
    k.x += 0x9E3779B9; k.y += 0xBB67AE85;
  }
  return c;
}
WS_D inline void ws_count(curandStatePhilox4_32_10* s, unsigned long long n) {
  unsigned low = s->count.x + (unsigned)n, high = s->count.y + (unsigned)(n >> 32) + (low < (unsigned)n);
  s->count.x = low; s->count.y = high;
}
WS_D inline void curand_init(unsigned long long seed, unsigned long long subsequence, unsigned long long offset, curandStatePhilox4_32_10* s) {
  s->count = uint4{0, 0, (unsigned)subsequence, (unsigned)(subsequence >> 32)}; s->key = uint2{(unsigned)seed, (unsigned)(seed >> 32)};
  s->next = offset & 3; ws_count(s, offset >> 2);
  s->output = ws_philox(s->count, s->key);
  ws_nothing_kept(s);
}
WS_D inline uint4 curand4(curandStatePhilox4_32_10* s) { uint4 before = s->output; ws_count(s, 1); s->output = ws_philox(s->count, s->key); return before; }
WS_D inline unsigned curand(curandStatePhilox4_32_10* s) {
  unsigned next = s->next, word = next & 2 ? (next & 1 ? s->output.w : s->output.z) : (next & 1 ? s->output.y : s->output.x);
  if (next & 1) if (next & 2) curand4(s);  // every fourth time
  s->next = next + 1 & 3;
  return word;
}
WS_D inline float ws_uniform(unsigned x) { return x * 2.3283064e-10f + 1.1641532e-10f; }
WS_D inline double ws_uniform_double(unsigned x, unsigned y) { return ((unsigned long long)x ^ (unsigned long long)y << 21) * 1.1102230246251565e-16 + 5.5511151231257827e-17; }
// Box and Muller: two normal numbers of two uniform ones.
WS_D inline float2 ws_normal2(unsigned x, unsigned y) {
  float sine, cosine, length = sqrtf(-2.0f * logf(ws_uniform(x)));
  __sincosf(y * 1.4629180e-09f + 7.3145902e-10f, &sine, &cosine);
  return float2{sine * length, cosine * length};
}
WS_D inline double2 ws_normal2_double(double u, double v) {
  double sine, cosine, length = sqrt(-2.0 * log(u));
  sincospi(v * 2, &sine, &cosine);
  return double2{sine * length, cosine * length};
}
#define WS_CURAND_OF(S)                                                                                               \
  WS_D inline float curand_uniform(S* s) { return ws_uniform(curand(s)); }                                            \
  WS_D inline double curand_uniform_double(S* s) { unsigned x = curand(s), y = curand(s); return ws_uniform_double(x, y); } \
  WS_D inline float2 curand_normal2(S* s) { unsigned x = curand(s), y = curand(s); return ws_normal2(x, y); }         \
  WS_D inline double2 curand_normal2_double(S* s) { double u = curand_uniform_double(s), v = curand_uniform_double(s); return ws_normal2_double(u, v); } \
  WS_D inline float curand_normal(S* s) {                                                                             \
    if (s->half) { s->half = 0; return s->extra; }                                                                    \
    float2 both = curand_normal2(s); s->extra = both.y; s->half = 1; return both.x;                                   \
  }                                                                                                                   \
  WS_D inline double curand_normal_double(S* s) {                                                                     \
    if (s->half_double) { s->half_double = 0; return s->extra_double; }                                               \
    double2 both = curand_normal2_double(s); s->extra_double = both.y; s->half_double = 1; return both.x;             \
  }                                                                                                                   \
  WS_D inline float curand_log_normal(S* s, float mean, float deviation) { return expf(mean + deviation * curand_normal(s)); } \
  WS_D inline double curand_log_normal_double(S* s, double mean, double deviation) { return exp(mean + deviation * curand_normal_double(s)); }
WS_CURAND_OF(curandStateXORWOW) WS_CURAND_OF(curandStatePhilox4_32_10)
WS_D inline float4 curand_uniform4(curandStatePhilox4_32_10* s) { uint4 x = curand4(s); return float4{ws_uniform(x.x), ws_uniform(x.y), ws_uniform(x.z), ws_uniform(x.w)}; }
WS_D inline double2 curand_uniform2_double(curandStatePhilox4_32_10* s) { uint4 x = curand4(s); return double2{ws_uniform_double(x.x, x.y), ws_uniform_double(x.z, x.w)}; }
WS_D inline float4 curand_normal4(curandStatePhilox4_32_10* s) { uint4 x = curand4(s); float2 a = ws_normal2(x.x, x.y), b = ws_normal2(x.z, x.w); return float4{a.x, a.y, b.x, b.y}; }
