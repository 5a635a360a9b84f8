// The part of the C and C++ standard libraries that cuda_runtime.h brings along; declarations only.
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
typedef unsigned int uint;
typedef unsigned short ushort;
typedef unsigned long ulong;
typedef unsigned char u_char;
typedef long ssize_t;
typedef long off_t;
typedef long time_t;
typedef long clock_t;
#define NULL __null
#define RAND_MAX 2147483647
#define EXIT_SUCCESS 0
#define EXIT_FAILURE 1
#define offsetof(t, m) __builtin_offsetof(t, m)

WS_HD constexpr void assert(bool) {}
#include "wattslice_assert.h"

extern "C" {
WS_HD int printf(const char*, ...);
WS_HD void* malloc(size_t);
WS_HD void free(void*);
WS_HD void* memcpy(void*, const void*, size_t);
WS_HD void* memset(void*, int, size_t);
void* memmove(void*, const void*, size_t);
int memcmp(const void*, const void*, size_t);
void* calloc(size_t, size_t);
void* realloc(void*, size_t);
int rand(void);
void srand(unsigned);
void exit(int);
void quick_exit(int);
void abort(void);
int atoi(const char*);
long atol(const char*);
double atof(const char*);
char* getenv(const char*);
WS_HD clock_t clock(void);
time_t time(time_t*);
WS_D void __assert_fail(const char*, const char*, unsigned, const char*);
}
WS_HD void* operator new(size_t, void*) noexcept;

namespace std {
typedef ::size_t size_t;
typedef ::ptrdiff_t ptrdiff_t;
typedef decltype(nullptr) nullptr_t;
}
