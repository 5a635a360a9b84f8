// cuRAND's device API (cuRAND documentation), declared only.
#pragma once
#include "curand.h"

#define WS_CURAND_STATE(N) struct N { unsigned v[12]; };
WS_CURAND_STATE(curandStateXORWOW) WS_CURAND_STATE(curandStateMRG32k3a) WS_CURAND_STATE(curandStateMtgp32)
WS_CURAND_STATE(curandStatePhilox4_32_10) WS_CURAND_STATE(curandStateSobol32) WS_CURAND_STATE(curandStateScrambledSobol32)
WS_CURAND_STATE(curandStateSobol64) WS_CURAND_STATE(curandStateScrambledSobol64)
typedef curandStateXORWOW curandState; typedef curandStateXORWOW curandState_t; typedef curandStateXORWOW curandStateXORWOW_t;
typedef curandStateMRG32k3a curandStateMRG32k3a_t; typedef curandStatePhilox4_32_10 curandStatePhilox4_32_10_t;
typedef curandStateSobol32 curandStateSobol32_t; typedef curandStateMtgp32 curandStateMtgp32_t; typedef curandStateSobol64 curandStateSobol64_t;
typedef curandStateScrambledSobol32 curandStateScrambledSobol32_t; typedef curandStateScrambledSobol64 curandStateScrambledSobol64_t;
template <class S> WS_D void curand_init(unsigned long long, unsigned long long, unsigned long long, S*);
template <class S> WS_D void curand_init(curandDirectionVectors32_t, unsigned, S*);
template <class S> WS_D void curand_init(unsigned*, unsigned, S*);
template <class S> WS_D unsigned curand(S*);
template <class S> WS_D uint4 curand4(S*);
template <class S> WS_D float curand_uniform(S*);
template <class S> WS_D double curand_uniform_double(S*);
template <class S> WS_D float4 curand_uniform4(S*);
template <class S> WS_D double2 curand_uniform2_double(S*);
template <class S> WS_D float curand_normal(S*);
template <class S> WS_D float2 curand_normal2(S*);
template <class S> WS_D float4 curand_normal4(S*);
template <class S> WS_D double curand_normal_double(S*);
template <class S> WS_D double2 curand_normal2_double(S*);
template <class S> WS_D float curand_log_normal(S*, float, float);
template <class S> WS_D unsigned curand_poisson(S*, double);
template <class S> WS_D void skipahead(unsigned long long, S*);
template <class S> WS_D void skipahead_sequence(unsigned long long, S*);
