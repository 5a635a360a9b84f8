// Texture objects over pitched arrays and linear memory: point sampling, unnormalised coordinates.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "api.h"
#include "snapshot.h"

enum cudaTextureAddressMode { cudaAddressModeWrap, cudaAddressModeClamp, cudaAddressModeMirror, cudaAddressModeBorder };
enum cudaTextureFilterMode { cudaFilterModePoint, cudaFilterModeLinear };
enum cudaTextureReadMode { cudaReadModeElementType, cudaReadModeNormalizedFloat };
enum cudaResourceType { cudaResourceTypeArray, cudaResourceTypeMipmappedArray, cudaResourceTypeLinear };

struct cudaChannelFormatDesc {
    size_t bytes;  // of one element
};
struct CudaOnCpuArray {
    size_t width, height, elementBytes;
    std::vector<char> data;
};
using cudaArray_t = CudaOnCpuArray*;

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
    } res;
};
struct cudaTextureDesc {
    cudaTextureAddressMode addressMode[3];
    cudaTextureFilterMode filterMode;
    cudaTextureReadMode readMode;
    int normalizedCoords;
};
struct CudaOnCpuTexture {
    cudaResourceDesc resource;
    cudaTextureDesc sampling;
};
using cudaTextureObject_t = unsigned long long;

template <class T>
cudaChannelFormatDesc cudaCreateChannelDesc() {
    return {sizeof(T)};
}
inline cudaError_t cudaMallocArray(cudaArray_t* array, const cudaChannelFormatDesc* format, size_t width,
                                   size_t height = 1) {
    *array = new CudaOnCpuArray{width, height, format->bytes, std::vector<char>(width * height * format->bytes)};
    return cudaSuccess;
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
inline cudaError_t cudaCreateTextureObject(cudaTextureObject_t* texture, const cudaResourceDesc* resource,
                                           const cudaTextureDesc* sampling, const void*) {
    if (sampling->filterMode != cudaFilterModePoint || sampling->readMode != cudaReadModeElementType ||
        sampling->normalizedCoords != 0) {
        return cudaErrorInvalidValue;
    }
    *texture = reinterpret_cast<cudaTextureObject_t>(new CudaOnCpuTexture{*resource, *sampling});
    cuda_on_cpu::TextureMemory memory = {*texture, nullptr, 0, 0, 0, 0, {sampling->addressMode[0], sampling->addressMode[1]}};
    if (resource->resType == cudaResourceTypeArray) {
        const CudaOnCpuArray& array = *resource->res.array.array;
        memory.address = array.data.data();
        memory.bytes = array.data.size();
        memory.width = array.width;
        memory.height = array.height;
        memory.elementBytes = array.elementBytes;
    } else {  // one row, in device memory: height 0
        const auto& linear = resource->res.linear;
        memory.address = linear.devPtr;
        memory.bytes = linear.sizeInBytes;
        memory.elementBytes = linear.desc.bytes;
        memory.width = linear.sizeInBytes / linear.desc.bytes;
    }
    cuda_on_cpu::textureCreated(memory);
    return cudaSuccess;
}
inline cudaError_t cudaDestroyTextureObject(cudaTextureObject_t texture) {
    cuda_on_cpu::textureDestroyed(texture);
    delete reinterpret_cast<CudaOnCpuTexture*>(texture);
    return cudaSuccess;
}

namespace cuda_on_cpu {
// The index along one axis; -1 outside when the border is zero.
inline long texel(float coordinate, size_t extent, cudaTextureAddressMode mode) {
    const long last = static_cast<long>(extent) - 1;
    const long at = static_cast<long>(std::floor(coordinate));
    if (mode == cudaAddressModeClamp) {
        return std::clamp(at, 0l, last);
    }
    return at >= 0 && at <= last ? at : -1;
}
}  // namespace cuda_on_cpu

template <class T>
T tex2D(cudaTextureObject_t object, float x, float y) {
    const auto& texture = *reinterpret_cast<const CudaOnCpuTexture*>(object);
    const CudaOnCpuArray& array = *texture.resource.res.array.array;
    const long column = cuda_on_cpu::texel(x, array.width, texture.sampling.addressMode[0]);
    const long row = cuda_on_cpu::texel(y, array.height, texture.sampling.addressMode[1]);
    T value = {};
    if (column >= 0 && row >= 0) {
        memcpy(&value, array.data.data() + (row * array.width + column) * sizeof(T), sizeof(T));
    }
    return value;
}
template <class T>
T tex1Dfetch(cudaTextureObject_t object, int index) {
    const auto& linear = reinterpret_cast<const CudaOnCpuTexture*>(object)->resource.res.linear;
    T value = {};
    if (index >= 0 && (index + 1) * sizeof(T) <= linear.sizeInBytes) {
        memcpy(&value, static_cast<const char*>(linear.devPtr) + index * sizeof(T), sizeof(T));
    }
    return value;
}
