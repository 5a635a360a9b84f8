// CUDA's short vectors, with the sizes and alignments that device code relies on.
#pragma once
#define CUDA_ON_CPU_VECTORS(NAME, T)                                                              \
    struct alignas(2 * sizeof(T)) NAME##2 { T x, y; };                                             \
    struct NAME##3 { T x, y, z; };                                                                 \
    struct alignas(sizeof(T) == 8 ? 16 : 4 * sizeof(T)) NAME##4 { T x, y, z, w; };                 \
    struct NAME##1 { T x; };                                                                       \
    inline NAME##1 make_##NAME##1(T x) { return {x}; }                                             \
    inline NAME##2 make_##NAME##2(T x, T y) { return {x, y}; }                                     \
    inline NAME##3 make_##NAME##3(T x, T y, T z) { return {x, y, z}; }                             \
    inline NAME##4 make_##NAME##4(T x, T y, T z, T w) { return {x, y, z, w}; }

CUDA_ON_CPU_VECTORS(char, signed char)
CUDA_ON_CPU_VECTORS(uchar, unsigned char)
CUDA_ON_CPU_VECTORS(short, short)
CUDA_ON_CPU_VECTORS(ushort, unsigned short)
CUDA_ON_CPU_VECTORS(int, int)
CUDA_ON_CPU_VECTORS(uint, unsigned int)
CUDA_ON_CPU_VECTORS(long, long)
CUDA_ON_CPU_VECTORS(ulong, unsigned long)
CUDA_ON_CPU_VECTORS(longlong, long long)
CUDA_ON_CPU_VECTORS(ulonglong, unsigned long long)
CUDA_ON_CPU_VECTORS(float, float)
CUDA_ON_CPU_VECTORS(double, double)

struct dim3 {
    unsigned int x, y, z;
    constexpr dim3(unsigned int vx = 1, unsigned int vy = 1, unsigned int vz = 1) : x(vx), y(vy), z(vz) {}
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    constexpr operator uint3() const { return {x, y, z}; }
};
