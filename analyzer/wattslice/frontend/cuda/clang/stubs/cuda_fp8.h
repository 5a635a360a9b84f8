// 8-bit floating point types (CUDA Math API), declared only.
#pragma once
#include "wattslice_fp16.cuh"
#define WS_FP8(N) struct N { unsigned char __x; N() = default; WS_HD explicit N(float); WS_HD explicit N(__half); WS_HD explicit operator float() const; };
WS_FP8(__nv_fp8_e4m3) WS_FP8(__nv_fp8_e5m2)
