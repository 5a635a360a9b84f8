// Arrays, texture objects and texture references over arrays of up to three dimensions and linear memory: point
// and linear sampling, all address modes, normalised coordinates and values.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "api.h"
#include "snapshot.h"

enum cudaTextureAddressMode { cudaAddressModeWrap, cudaAddressModeClamp, cudaAddressModeMirror, cudaAddressModeBorder };
enum cudaTextureFilterMode { cudaFilterModePoint, cudaFilterModeLinear };
enum cudaTextureReadMode { cudaReadModeElementType, cudaReadModeNormalizedFloat };
enum cudaResourceType { cudaResourceTypeArray, cudaResourceTypeMipmappedArray, cudaResourceTypeLinear, cudaResourceTypePitch2D };
enum cudaChannelFormatKind { cudaChannelFormatKindSigned, cudaChannelFormatKindUnsigned, cudaChannelFormatKindFloat, cudaChannelFormatKindNone };
enum { cudaArrayDefault, cudaArrayLayered, cudaArraySurfaceLoadStore, cudaArrayCubemap = 4, cudaArrayTextureGather = 8 };
enum { cudaTextureType1D = 1, cudaTextureType2D, cudaTextureType3D };

struct cudaChannelFormatDesc {
    int x, y, z, w;  // bits of the components
    cudaChannelFormatKind f;
};
struct cudaExtent {
    size_t width, height, depth;
};
struct cudaPos {
    size_t x, y, z;
};
struct cudaPitchedPtr {
    void* ptr;
    size_t pitch, xsize, ysize;
};
struct cudaArray {
    size_t width, height, depth, elementBytes;
    cudaChannelFormatDesc format;
    std::vector<char> data;
};
using cudaArray_t = cudaArray*;
using cudaArray_const_t = const cudaArray*;

struct cudaResourceDesc {
    cudaResourceType resType;
    struct {
        struct {
            cudaArray_t array;
        } array;
        struct {
            void* devPtr;
            cudaChannelFormatDesc desc;
            size_t sizeInBytes;
        } linear;
        struct {
            void* devPtr;
            cudaChannelFormatDesc desc;
            size_t width, height, pitchInBytes;
        } pitch2D;
    } res;
};
struct cudaTextureDesc {
    cudaTextureAddressMode addressMode[3];
    cudaTextureFilterMode filterMode;
    cudaTextureReadMode readMode;
    int sRGB;
    float borderColor[4];
    int normalizedCoords;
    unsigned maxAnisotropy;
    cudaTextureFilterMode mipmapFilterMode;
    float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
    int disableTrilinearOptimization;
};
using cudaTextureObject_t = unsigned long long;

namespace cuda_on_cpu {

inline size_t bytesOf(const cudaChannelFormatDesc& format) { return (format.x + format.y + format.z + format.w) / 8; }

// What is sampled: texels lie in rows of `pitch` bytes. The address modes and filter are those of the sampling.
struct Image {
    const char* data;
    size_t width, height, depth, pitch;
    cudaChannelFormatDesc format;
    cudaTextureDesc sampling;

    const char* texel(long x, long y, long z) const {
        return data + (z * height + y) * pitch + x * bytesOf(format);
    }
};

inline long wrapped(long at, size_t extent, cudaTextureAddressMode mode) {
    const long size = static_cast<long>(extent);
    switch (mode) {
        case cudaAddressModeClamp: return std::clamp(at, 0l, size - 1);
        case cudaAddressModeWrap: return (at % size + size) % size;
        case cudaAddressModeMirror: {
            const long twice = (at % (2 * size) + 2 * size) % (2 * size);
            return twice < size ? twice : 2 * size - 1 - twice;
        }
        default: return at >= 0 && at < size ? at : -1;  // outside: zero
    }
}

// A component of a texel as the texture unit filters it: normalised if the read mode says so.
inline float component(const Image& image, const char* texel, int number) {
    const int bits = image.format.x;
    const char* at = texel + number * bits / 8;
    const auto read = [at](auto zero) {
        memcpy(&zero, at, sizeof zero);
        return zero;
    };
    if (image.format.f == cudaChannelFormatKindFloat) {
        return bits == 16 ? static_cast<float>(read(_Float16())) : read(0.0f);
    }
    const bool isSigned = image.format.f == cudaChannelFormatKindSigned;
    const double value = bits == 8    ? (isSigned ? double(read(int8_t())) : double(read(uint8_t())))
                         : bits == 16 ? (isSigned ? double(read(int16_t())) : double(read(uint16_t())))
                                      : (isSigned ? double(read(int32_t())) : double(read(uint32_t())));
    if (image.sampling.readMode == cudaReadModeElementType) {
        return static_cast<float>(value);
    }
    return static_cast<float>(std::max(-1.0, value / (std::ldexp(1.0, bits - (isSigned ? 1 : 0)) - 1)));
}

template <class T>
T sampled(const Image& image, float x, float y = 0.5f, float z = 0.5f) {
    const cudaTextureDesc& how = image.sampling;
    const size_t extents[3] = {image.width, image.height, image.depth};
    float at[3] = {x, y, z};
    for (int axis = 0; axis < 3 && how.normalizedCoords != 0; ++axis) {
        at[axis] *= extents[axis] > 1 ? extents[axis] : 1;
    }
    const auto texel = [&](const long (&index)[3]) -> const char* {
        long inside[3];
        for (int axis = 0; axis < 3; ++axis) {
            auto mode = how.addressMode[axis];
            if (how.normalizedCoords == 0 && mode != cudaAddressModeBorder) {
                mode = cudaAddressModeClamp;  // the others are for normalised coordinates only
            }
            inside[axis] = extents[axis] == 1 ? 0 : wrapped(index[axis], extents[axis], mode);
            if (inside[axis] < 0) {
                return nullptr;
            }
        }
        return image.texel(inside[0], inside[1], inside[2]);
    };
    T value = {};
    if (how.filterMode == cudaFilterModePoint) {
        const long index[3] = {long(std::floor(at[0])), long(std::floor(at[1])), long(std::floor(at[2]))};
        const char* found = texel(index);
        if (found != nullptr && (how.readMode == cudaReadModeElementType || image.format.f == cudaChannelFormatKindFloat)) {
            memcpy(&value, found, std::min(sizeof(T), bytesOf(image.format)));
            return value;
        }
        float components[4] = {};
        for (int number = 0; found != nullptr && number < 4 && number * 4u < sizeof(T); ++number) {
            components[number] = component(image, found, number);
        }
        memcpy(&value, components, std::min(sizeof(T), sizeof components));
        return value;
    }
    float components[4] = {};
    for (int corner = 0; corner < 8; ++corner) {
        float weight = 1.0f;
        long index[3];
        for (int axis = 0; axis < 3; ++axis) {
            const float shifted = extents[axis] > 1 ? at[axis] - 0.5f : 0.0f;
            const float low = std::floor(shifted);
            index[axis] = static_cast<long>(low) + (corner >> axis & 1);
            weight *= (corner >> axis & 1) != 0 ? shifted - low : 1.0f - (shifted - low);
        }
        const char* found = weight > 0.0f ? texel(index) : nullptr;
        for (int number = 0; found != nullptr && number < 4 && number * 4u < sizeof(T); ++number) {
            components[number] += weight * component(image, found, number);
        }
    }
    memcpy(&value, components, std::min(sizeof(T), sizeof components));
    return value;
}

// Linear memory has more texels than a float can number.
template <class T>
T fetchedLinear(const Image& image, long index) {
    T value = {};
    if (index >= 0 && index < static_cast<long>(image.width)) {
        const char* texel = image.texel(index, 0, 0);
        if (image.sampling.readMode == cudaReadModeElementType || image.format.f == cudaChannelFormatKindFloat) {
            memcpy(&value, texel, std::min(sizeof(T), bytesOf(image.format)));
        } else {
            float components[4] = {};
            for (int number = 0; number < 4 && number * 4u < sizeof(T); ++number) {
                components[number] = component(image, texel, number);
            }
            memcpy(&value, components, std::min(sizeof(T), sizeof components));
        }
    }
    return value;
}

template <class T>
struct Channels {
    using Component = T;
    static constexpr int count = 1;
};
#define CUDA_ON_CPU_CHANNELS(NAME, T)                                                                   \
    template <> struct Channels<NAME##1> { using Component = T; static constexpr int count = 1; };      \
    template <> struct Channels<NAME##2> { using Component = T; static constexpr int count = 2; };      \
    template <> struct Channels<NAME##3> { using Component = T; static constexpr int count = 3; };      \
    template <> struct Channels<NAME##4> { using Component = T; static constexpr int count = 4; };
CUDA_ON_CPU_CHANNELS(char, signed char)
CUDA_ON_CPU_CHANNELS(uchar, unsigned char)
CUDA_ON_CPU_CHANNELS(short, short)
CUDA_ON_CPU_CHANNELS(ushort, unsigned short)
CUDA_ON_CPU_CHANNELS(int, int)
CUDA_ON_CPU_CHANNELS(uint, unsigned int)
CUDA_ON_CPU_CHANNELS(float, float)

inline Image imageOf(const cudaArray& array, const cudaTextureDesc& sampling) {
    return {array.data.data(), array.width, std::max<size_t>(1, array.height), std::max<size_t>(1, array.depth),
            array.width * array.elementBytes, array.format, sampling};
}

}  // namespace cuda_on_cpu

// ---- formats and arrays ----
inline cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind kind) {
    return {x, y, z, w, kind};
}
template <class T>
cudaChannelFormatDesc cudaCreateChannelDesc() {
    using Component = typename cuda_on_cpu::Channels<T>::Component;
    constexpr int bits = 8 * sizeof(Component), count = cuda_on_cpu::Channels<T>::count;
    constexpr auto kind = !std::numeric_limits<Component>::is_integer && std::numeric_limits<Component>::is_specialized
                              ? cudaChannelFormatKindFloat
                          : std::numeric_limits<Component>::is_signed ? cudaChannelFormatKindSigned
                                                                      : cudaChannelFormatKindUnsigned;
    return {bits, count > 1 ? bits : 0, count > 2 ? bits : 0, count > 3 ? bits : 0, kind};
}
inline cudaExtent make_cudaExtent(size_t width, size_t height, size_t depth) { return {width, height, depth}; }
inline cudaPos make_cudaPos(size_t x, size_t y, size_t z) { return {x, y, z}; }
inline cudaPitchedPtr make_cudaPitchedPtr(void* pointer, size_t pitch, size_t width, size_t height) {
    return {pointer, pitch, width, height};
}
inline cudaError_t cudaMalloc3DArray(cudaArray_t* array, const cudaChannelFormatDesc* format, cudaExtent extent,
                                     unsigned flags = 0) {
    if ((flags & ~static_cast<unsigned>(cudaArraySurfaceLoadStore)) != 0) {
        cuda_on_cpu::setLastError(cudaErrorNotSupported);  // layers and cubes
        return cudaErrorNotSupported;
    }
    const size_t bytes = cuda_on_cpu::bytesOf(*format);
    const size_t texels = extent.width * std::max<size_t>(1, extent.height) * std::max<size_t>(1, extent.depth);
    *array = new cudaArray{extent.width, extent.height, extent.depth, bytes, *format, std::vector<char>(texels * bytes)};
    return cudaSuccess;
}
inline cudaError_t cudaMallocArray(cudaArray_t* array, const cudaChannelFormatDesc* format, size_t width,
                                   size_t height = 0, unsigned flags = 0) {
    return cudaMalloc3DArray(array, format, {width, std::max<size_t>(1, height), 1}, flags);
}
inline cudaError_t cudaFreeArray(cudaArray_t array) {
    delete array;
    return cudaSuccess;
}
inline cudaError_t cudaMemcpy2DToArray(cudaArray_t to, size_t x, size_t y, const void* from, size_t pitch,
                                       size_t widthBytes, size_t height, cudaMemcpyKind) {
    const size_t rowBytes = to->width * to->elementBytes;
    if (x + widthBytes > rowBytes || y + height > to->height) {
        return cudaErrorInvalidValue;
    }
    for (size_t row = 0; row < height; ++row) {
        memcpy(to->data.data() + (y + row) * rowBytes + x, static_cast<const char*>(from) + row * pitch, widthBytes);
    }
    return cudaSuccess;
}
inline cudaError_t cudaMemcpyToArray(cudaArray_t to, size_t x, size_t y, const void* from, size_t bytes,
                                     cudaMemcpyKind) {
    const size_t start = y * to->width * to->elementBytes + x;
    if (start + bytes > to->data.size()) {
        return cudaErrorInvalidValue;
    }
    memcpy(to->data.data() + start, from, bytes);
    return cudaSuccess;
}
struct cudaMemcpy3DParms {
    cudaArray_t srcArray;
    cudaPos srcPos;
    cudaPitchedPtr srcPtr;
    cudaArray_t dstArray;
    cudaPos dstPos;
    cudaPitchedPtr dstPtr;
    cudaExtent extent;
    cudaMemcpyKind kind;
};
// The width of the extent is in texels where an array takes part, else in bytes.
inline cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* copy) {
    const cudaArray* array = copy->dstArray != nullptr ? copy->dstArray : copy->srcArray;
    const size_t unit = array == nullptr ? 1 : array->elementBytes, bytes = copy->extent.width * unit;
    const auto row = [unit](cudaArray_t in, const cudaPitchedPtr& memory, const cudaPos& at, size_t y, size_t z) {
        if (in != nullptr) {
            return in->data.data() + (((at.z + z) * in->height + at.y + y) * in->width + at.x) * unit;
        }
        return static_cast<char*>(memory.ptr) + ((at.z + z) * memory.ysize + at.y + y) * memory.pitch + at.x;
    };
    for (size_t z = 0; z < copy->extent.depth; ++z) {
        for (size_t y = 0; y < copy->extent.height; ++y) {
            memcpy(row(copy->dstArray, copy->dstPtr, copy->dstPos, y, z),
                   row(copy->srcArray, copy->srcPtr, copy->srcPos, y, z), bytes);
        }
    }
    return cudaSuccess;
}
inline cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* copy, cudaStream_t = nullptr) { return cudaMemcpy3D(copy); }
inline cudaError_t cudaMalloc3D(cudaPitchedPtr* memory, cudaExtent extent) {
    memory->xsize = extent.width;
    memory->ysize = extent.height;
    return cudaMallocPitch(&memory->ptr, &memory->pitch, extent.width, extent.height * extent.depth);
}

// ---- texture objects ----
struct CudaOnCpuTexture {
    cudaResourceDesc resource;
    cudaTextureDesc sampling;

    cuda_on_cpu::Image image() const {
        const auto& linear = resource.res.linear;
        const auto& pitched = resource.res.pitch2D;
        switch (resource.resType) {
            case cudaResourceTypeArray: return cuda_on_cpu::imageOf(*resource.res.array.array, sampling);
            case cudaResourceTypePitch2D:
                return {static_cast<const char*>(pitched.devPtr), pitched.width, pitched.height, 1,
                        pitched.pitchInBytes, pitched.desc, sampling};
            default:
                return {static_cast<const char*>(linear.devPtr), linear.sizeInBytes / cuda_on_cpu::bytesOf(linear.desc),
                        1, 1, linear.sizeInBytes, linear.desc, sampling};
        }
    }
};
inline cudaError_t cudaCreateTextureObject(cudaTextureObject_t* texture, const cudaResourceDesc* resource,
                                           const cudaTextureDesc* sampling, const void*) {
    if (resource->resType == cudaResourceTypeMipmappedArray) {
        cuda_on_cpu::setLastError(cudaErrorNotSupported);
        return cudaErrorNotSupported;
    }
    *texture = reinterpret_cast<cudaTextureObject_t>(new CudaOnCpuTexture{*resource, *sampling});
    const cuda_on_cpu::Image image = reinterpret_cast<const CudaOnCpuTexture*>(*texture)->image();
    cuda_on_cpu::textureCreated({*texture, image.data, image.pitch * image.height * image.depth, image.width,
                                 resource->resType == cudaResourceTypeLinear ? 0 : image.height,
                                 cuda_on_cpu::bytesOf(image.format),
                                 {sampling->addressMode[0], sampling->addressMode[1]}});
    return cudaSuccess;
}
inline cudaError_t cudaDestroyTextureObject(cudaTextureObject_t texture) {
    cuda_on_cpu::textureDestroyed(texture);
    delete reinterpret_cast<CudaOnCpuTexture*>(texture);
    return cudaSuccess;
}

namespace cuda_on_cpu {
inline Image imageOf(cudaTextureObject_t object) { return reinterpret_cast<const CudaOnCpuTexture*>(object)->image(); }
}  // namespace cuda_on_cpu

template <class T>
T tex1Dfetch(cudaTextureObject_t object, int index) {
    return cuda_on_cpu::fetchedLinear<T>(cuda_on_cpu::imageOf(object), index);
}
template <class T>
T tex1D(cudaTextureObject_t object, float x) {
    return cuda_on_cpu::sampled<T>(cuda_on_cpu::imageOf(object), x);
}
template <class T>
T tex2D(cudaTextureObject_t object, float x, float y) {
    return cuda_on_cpu::sampled<T>(cuda_on_cpu::imageOf(object), x, y);
}
template <class T>
T tex3D(cudaTextureObject_t object, float x, float y, float z) {
    return cuda_on_cpu::sampled<T>(cuda_on_cpu::imageOf(object), x, y, z);
}

// ---- texture references, which CUDA had until version 11 ----
struct textureReference {
    int normalized = 0;
    cudaTextureFilterMode filterMode = cudaFilterModePoint;
    cudaTextureAddressMode addressMode[3] = {cudaAddressModeClamp, cudaAddressModeClamp, cudaAddressModeClamp};
    cudaChannelFormatDesc channelDesc = {};
    cuda_on_cpu::Image bound = {};

    cuda_on_cpu::Image image(cudaTextureReadMode mode) const {
        cuda_on_cpu::Image result = bound;
        result.sampling = {};
        std::copy(addressMode, addressMode + 3, result.sampling.addressMode);
        result.sampling.filterMode = filterMode;
        result.sampling.readMode = mode;
        result.sampling.normalizedCoords = normalized;
        return result;
    }
};
template <class T, int Dimensions = cudaTextureType1D, cudaTextureReadMode Mode = cudaReadModeElementType>
struct texture : textureReference {
    texture() { channelDesc = cudaCreateChannelDesc<T>(); }
    texture(int isNormalized, cudaTextureFilterMode filter, cudaTextureAddressMode address) : texture() {
        normalized = isNormalized;
        filterMode = filter;
        std::fill(addressMode, addressMode + 3, address);
    }
};

namespace cuda_on_cpu {
template <class T, cudaTextureReadMode Mode, int Count = Channels<T>::count>
struct Texel {
    using type = T;
};
template <class T> struct Texel<T, cudaReadModeNormalizedFloat, 1> { using type = float; };
template <class T> struct Texel<T, cudaReadModeNormalizedFloat, 2> { using type = float2; };
template <class T> struct Texel<T, cudaReadModeNormalizedFloat, 4> { using type = float4; };
}  // namespace cuda_on_cpu

inline cudaError_t cudaBindTexture(size_t* offset, const textureReference& reference, const void* memory,
                                   const cudaChannelFormatDesc& format, size_t bytes = 0xffffffff) {
    if (offset != nullptr) {
        *offset = 0;
    }
    auto& changed = const_cast<textureReference&>(reference);
    changed.bound = {static_cast<const char*>(memory), bytes / cuda_on_cpu::bytesOf(format), 1, 1, bytes, format, {}};
    return cudaSuccess;
}
inline cudaError_t cudaBindTexture(size_t* offset, const textureReference& reference, const void* memory,
                                   size_t bytes = 0xffffffff) {
    return cudaBindTexture(offset, reference, memory, reference.channelDesc, bytes);
}
inline cudaError_t cudaBindTexture(size_t* offset, const textureReference* reference, const void* memory,
                                   const cudaChannelFormatDesc* format, size_t bytes = 0xffffffff) {
    return cudaBindTexture(offset, *reference, memory, *format, bytes);
}
inline cudaError_t cudaBindTexture2D(size_t* offset, const textureReference& reference, const void* memory,
                                     const cudaChannelFormatDesc& format, size_t width, size_t height, size_t pitch) {
    if (offset != nullptr) {
        *offset = 0;
    }
    const_cast<textureReference&>(reference).bound = {static_cast<const char*>(memory), width, height, 1, pitch, format, {}};
    return cudaSuccess;
}
inline cudaError_t cudaBindTextureToArray(const textureReference& reference, cudaArray_const_t array,
                                          const cudaChannelFormatDesc&) {
    const_cast<textureReference&>(reference).bound = cuda_on_cpu::imageOf(*array, {});
    return cudaSuccess;
}
inline cudaError_t cudaBindTextureToArray(const textureReference& reference, cudaArray_const_t array) {
    return cudaBindTextureToArray(reference, array, array->format);
}
inline cudaError_t cudaUnbindTexture(const textureReference&) { return cudaSuccess; }
inline cudaError_t cudaUnbindTexture(const textureReference*) { return cudaSuccess; }

template <class T, int D, cudaTextureReadMode M>
typename cuda_on_cpu::Texel<T, M>::type tex1Dfetch(const texture<T, D, M>& reference, int index) {
    return cuda_on_cpu::fetchedLinear<typename cuda_on_cpu::Texel<T, M>::type>(reference.image(M), index);
}
template <class T, int D, cudaTextureReadMode M>
typename cuda_on_cpu::Texel<T, M>::type tex1D(const texture<T, D, M>& reference, float x) {
    return cuda_on_cpu::sampled<typename cuda_on_cpu::Texel<T, M>::type>(reference.image(M), x);
}
template <class T, int D, cudaTextureReadMode M>
typename cuda_on_cpu::Texel<T, M>::type tex2D(const texture<T, D, M>& reference, float x, float y) {
    return cuda_on_cpu::sampled<typename cuda_on_cpu::Texel<T, M>::type>(reference.image(M), x, y);
}
template <class T, int D, cudaTextureReadMode M>
typename cuda_on_cpu::Texel<T, M>::type tex3D(const texture<T, D, M>& reference, float x, float y, float z) {
    return cuda_on_cpu::sampled<typename cuda_on_cpu::Texel<T, M>::type>(reference.image(M), x, y, z);
}
