// What every C file sees before its first line, and all that the headers of the standard library declare to C.
#pragma once

typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;
typedef __INT8_TYPE__ int8_t;
typedef __INT16_TYPE__ int16_t;
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;
typedef __UINT8_TYPE__ uint8_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __UINT64_TYPE__ uint64_t;
typedef __INTPTR_TYPE__ intptr_t;
typedef __UINTPTR_TYPE__ uintptr_t;
typedef int wchar_t;
typedef unsigned int uint;
typedef unsigned short ushort;
typedef unsigned long ulong;
typedef long ssize_t;
typedef long off_t;
typedef long time_t;
typedef long clock_t;
typedef struct FILE FILE;
typedef struct tm tm;
typedef struct timeval timeval;
typedef struct timespec timespec;
typedef struct div_t div_t;
#define NULL ((void*)0)
#define RAND_MAX 2147483647
#define EXIT_SUCCESS 0
#define EXIT_FAILURE 1
#define offsetof(t, m) __builtin_offsetof(t, m)
#define bool _Bool
#define true 1
#define false 0
#define assert(...) ((void)(__VA_ARGS__))

int printf(const char*, ...);
int fprintf(FILE*, const char*, ...);
int sprintf(char*, const char*, ...);
int snprintf(char*, size_t, const char*, ...);
int scanf(const char*, ...);
int fscanf(FILE*, const char*, ...);
int sscanf(const char*, const char*, ...);
void* malloc(size_t);
void free(void*);
void* memcpy(void*, const void*, size_t);
void* memset(void*, int, size_t);
void* memmove(void*, const void*, size_t);
int memcmp(const void*, const void*, size_t);
void* calloc(size_t, size_t);
void* realloc(void*, size_t);
int abs(int);
long labs(long);
int rand(void);
void srand(unsigned);
void exit(int);
void abort(void);
int atoi(const char*);
long atol(const char*);
double atof(const char*);
char* getenv(const char*);
clock_t clock(void);
time_t time(time_t*);

#define WS_C_1(F) double F(double); float F##f(float);
#define WS_C_2(F) double F(double, double); float F##f(float, float);
WS_C_1(sqrt) WS_C_1(exp) WS_C_1(log) WS_C_1(log2) WS_C_1(ceil) WS_C_1(floor) WS_C_1(fabs) WS_C_1(sin) WS_C_1(cos)
WS_C_1(tan) WS_C_1(asin) WS_C_1(acos) WS_C_1(atan) WS_C_1(sinh) WS_C_1(cosh) WS_C_1(tanh) WS_C_1(exp2) WS_C_1(expm1)
WS_C_1(log10) WS_C_1(log1p) WS_C_1(cbrt) WS_C_1(erf) WS_C_1(erfc) WS_C_1(tgamma) WS_C_1(lgamma) WS_C_1(round)
WS_C_1(rint) WS_C_1(trunc) WS_C_1(nearbyint)
WS_C_2(pow) WS_C_2(fmin) WS_C_2(fmax) WS_C_2(atan2) WS_C_2(hypot) WS_C_2(copysign) WS_C_2(fmod)
double fma(double, double, double);
float fmaf(float, float, float);

#include "wattslice_std_c.h"
