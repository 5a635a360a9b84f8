// Used when a repository does not bring the samples' helper_math.h: vector arithmetic, declared only.
#pragma once
#define WS_ARITHMETIC(V, S, OP) WS_HD V operator OP(V, V); WS_HD V operator OP(V, S); WS_HD V operator OP(S, V); WS_HD void operator OP##=(V&, V); WS_HD void operator OP##=(V&, S);
#define WS_VECTOR(V, S) WS_ARITHMETIC(V, S, +) WS_ARITHMETIC(V, S, -) WS_ARITHMETIC(V, S, *) WS_ARITHMETIC(V, S, /) WS_HD V operator-(V&); WS_HD S dot(V, V); WS_HD V min(V, V); WS_HD V max(V, V); WS_HD V clamp(V, S, S); WS_HD V clamp(V, V, V); WS_HD V make_##V(S);
#define WS_VECTORS(S) WS_VECTOR(S##2, S) WS_VECTOR(S##3, S) WS_VECTOR(S##4, S)
WS_VECTORS(float) WS_VECTORS(int) WS_VECTORS(uint)
#define WS_GEOMETRY(V) WS_HD float length(V); WS_HD V normalize(V); WS_HD V lerp(V, V, float); WS_HD V fabs(V); WS_HD V floorf(V); WS_HD V fracf(V); WS_HD V fmodf(V, V); WS_HD V fminf(V, V); WS_HD V fmaxf(V, V); WS_HD V reflect(V, V); WS_HD V smoothstep(V, V, V);
WS_GEOMETRY(float2) WS_GEOMETRY(float3) WS_GEOMETRY(float4)
WS_HD float lerp(float, float, float); WS_HD float clamp(float, float, float); WS_HD int clamp(int, int, int); WS_HD float3 cross(float3, float3);
WS_HD float2 make_float2(float3); WS_HD float3 make_float3(float4); WS_HD float3 make_float3(float2, float); WS_HD float4 make_float4(float3, float = 0); WS_HD float3 make_float3(int3); WS_HD float3 make_float3(uint3); WS_HD float4 make_float4(int4); WS_HD float2 make_float2(int2); WS_HD int3 make_int3(float3); WS_HD int2 make_int2(float2);
