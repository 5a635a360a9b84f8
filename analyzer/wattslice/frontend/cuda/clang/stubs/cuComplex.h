// Complex numbers of the CUDA toolkit, declared only.
#pragma once
typedef float2 cuFloatComplex; typedef double2 cuDoubleComplex; typedef cuFloatComplex cuComplex;
#define WS_CU_COMPLEX(C, R, S)                                                                               \
  WS_HD C cuCadd##S(C, C); WS_HD C cuCsub##S(C, C); WS_HD C cuCmul##S(C, C); WS_HD C cuCdiv##S(C, C);        \
  WS_HD R cuCabs##S(C); WS_HD R cuCreal##S(C); WS_HD R cuCimag##S(C); WS_HD C cuConj##S(C); WS_HD C cuCfma##S(C, C, C);
WS_CU_COMPLEX(cuDoubleComplex, double, ) WS_CU_COMPLEX(cuFloatComplex, float, f)
WS_HD cuFloatComplex make_cuFloatComplex(float, float); WS_HD cuComplex make_cuComplex(float, float);
WS_HD cuDoubleComplex make_cuDoubleComplex(double, double);
