// What a launch reads and leaves behind, written to files: see snapshot.cpp.
#pragma once

#include <cstddef>
#include <type_traits>
#include <vector>

namespace cuda_on_cpu {

struct Configuration;

// Device memory that is alive; programs get and give it back through the functions of api.h.
void allocated(const void* address, size_t bytes);
bool freed(const void* address);  // whether it was

// An argument as the launch wrote it; the kernel's parameter may have another type.
struct Argument {
    enum class Kind { kInteger, kUnsigned, kFloat, kPointer, kRecord } kind;
    const void* value;
    size_t bytes;
};

template <class T>
Argument argument(const T& value) {
    auto kind = Argument::Kind::kRecord;
    if constexpr (std::is_pointer_v<T> || std::is_null_pointer_v<T>) {
        kind = Argument::Kind::kPointer;
    } else if constexpr (std::is_floating_point_v<T>) {
        kind = Argument::Kind::kFloat;
    } else if constexpr (std::is_enum_v<T>) {
        kind = Argument::Kind::kInteger;
    } else if constexpr (std::is_integral_v<T>) {
        kind = std::is_signed_v<T> ? Argument::Kind::kInteger : Argument::Kind::kUnsigned;
    }
    return {kind, &value, sizeof(T)};
}

// A `__constant__` or `__device__` variable of the program; the rewritten source declares one for each.
struct Global {
    const char* name;
    const void* address;
    size_t bytes;
    Global(const char* name, const void* address, size_t bytes);
};

// Texture memory: a pitched array, or linear device memory behind a texture object.
struct TextureMemory {
    unsigned long long object;
    const void* address;
    size_t bytes, width, height, elementBytes;
    int addressModes[2];
};
void textureCreated(const TextureMemory& texture);
void textureDestroyed(unsigned long long object);

// The kernel that runs, with its template arguments; the rewritten source calls this in every kernel.
inline const char* signature = nullptr;
inline void runs(const char* kernel) { signature = kernel; }

// Around a launch that shall be recorded; `beforeLaunch` says whether it shall.
bool beforeLaunch(const Configuration& configuration, const char* kernel, const std::vector<Argument>& arguments);
void afterLaunch();

}  // namespace cuda_on_cpu
