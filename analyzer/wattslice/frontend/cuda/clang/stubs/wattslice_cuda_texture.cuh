// Textures and surfaces: references (until CUDA 11) and objects; fetches are declared only.
#pragma once

typedef unsigned long long cudaTextureObject_t;
typedef unsigned long long cudaSurfaceObject_t;
#define cudaTextureType1D 0x01
#define cudaTextureType2D 0x02
#define cudaTextureType3D 0x03
#define cudaTextureTypeCubemap 0x0C
#define cudaTextureType1DLayered 0xF1
#define cudaTextureType2DLayered 0xF2
#define cudaTextureTypeCubemapLayered 0xFC
#define cudaSurfaceType1D 0x01
#define cudaSurfaceType2D 0x02
#define cudaSurfaceType3D 0x03
enum cudaTextureReadMode { cudaReadModeElementType = 0, cudaReadModeNormalizedFloat = 1 };
enum cudaTextureFilterMode { cudaFilterModePoint = 0, cudaFilterModeLinear = 1 };
enum cudaTextureAddressMode {
  cudaAddressModeWrap = 0, cudaAddressModeClamp = 1, cudaAddressModeMirror = 2, cudaAddressModeBorder = 3
};
enum cudaSurfaceBoundaryMode {
  cudaBoundaryModeZero = 0, cudaBoundaryModeClamp = 1, cudaBoundaryModeTrap = 2
};
enum cudaChannelFormatKind {
  cudaChannelFormatKindSigned = 0, cudaChannelFormatKindUnsigned = 1, cudaChannelFormatKindFloat = 2,
  cudaChannelFormatKindNone = 3
};
struct cudaChannelFormatDesc { int x, y, z, w; cudaChannelFormatKind f; };
struct textureReference {
  int normalized;
  cudaTextureFilterMode filterMode;
  cudaTextureAddressMode addressMode[3];
  cudaChannelFormatDesc channelDesc;
  int sRGB;
  unsigned maxAnisotropy;
  cudaTextureFilterMode mipmapFilterMode;
  float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
};
struct surfaceReference { cudaChannelFormatDesc channelDesc; };
WS_H cudaChannelFormatDesc cudaCreateChannelDesc(int, int, int, int, cudaChannelFormatKind);
template <class T> WS_H cudaChannelFormatDesc cudaCreateChannelDesc();

template <class T, int Dimension = cudaTextureType1D, cudaTextureReadMode Mode = cudaReadModeElementType>
struct __attribute__((device_builtin_texture_type)) texture : textureReference {
  texture(int normalized = 0, cudaTextureFilterMode filter = cudaFilterModePoint,
          cudaTextureAddressMode address = cudaAddressModeClamp);
  texture(int normalized, cudaTextureFilterMode, cudaTextureAddressMode, cudaChannelFormatDesc);
};
template <class T, int Dimension = cudaSurfaceType1D>
struct __attribute__((device_builtin_surface_type)) surface : surfaceReference { surface(); };
template <int Dimension>
struct __attribute__((device_builtin_surface_type)) surface<void, Dimension> : surfaceReference { surface(); };

// What a fetch returns: the element, or floats of the same width in the normalised mode.
template <class T, cudaTextureReadMode Mode> struct ws_fetched { typedef T type; };
#define WS_NORMALISED(N, F) \
  template <> struct ws_fetched<N, cudaReadModeNormalizedFloat> { typedef F type; };
WS_NORMALISED(char, float) WS_NORMALISED(signed char, float) WS_NORMALISED(unsigned char, float)
WS_NORMALISED(short, float) WS_NORMALISED(unsigned short, float)
#define WS_NORMALISED_N(N) WS_NORMALISED(N##1, float1) WS_NORMALISED(N##2, float2) WS_NORMALISED(N##4, float4)
WS_NORMALISED_N(char) WS_NORMALISED_N(uchar) WS_NORMALISED_N(short) WS_NORMALISED_N(ushort)

// one fetch: by reference (the element comes from the type) and by object (the element is a template argument)
#define WS_FETCH(F, ...)                                                                                     \
  template <class T, int D, cudaTextureReadMode M>                                                           \
  WS_D typename ws_fetched<T, M>::type F(texture<T, D, M>, __VA_ARGS__);                                     \
  template <class T> WS_D T F(cudaTextureObject_t, __VA_ARGS__);                                             \
  template <class T> WS_D void F(T*, cudaTextureObject_t, __VA_ARGS__);
WS_FETCH(tex1Dfetch, int)
WS_FETCH(tex1D, float)
WS_FETCH(tex2D, float, float)
WS_FETCH(tex3D, float, float, float)
WS_FETCH(texCubemap, float, float, float)
WS_FETCH(tex1DLayered, float, int)
WS_FETCH(tex2DLayered, float, float, int)
WS_FETCH(texCubemapLayered, float, float, float, int)
WS_FETCH(tex1DLod, float, float)
WS_FETCH(tex2DLod, float, float, float)
WS_FETCH(tex3DLod, float, float, float, float)
WS_FETCH(tex1DGrad, float, float, float)
WS_FETCH(tex2DGrad, float, float, float2, float2)
WS_FETCH(tex3DGrad, float, float, float, float4, float4)
WS_FETCH(tex2Dgather, float, float, int = 0)

#define WS_SURFACE(N, ...)                                                                                   \
  template <class T> WS_D T surf##N##read(cudaSurfaceObject_t, __VA_ARGS__,                                  \
                                          cudaSurfaceBoundaryMode = cudaBoundaryModeTrap);                   \
  template <class T> WS_D void surf##N##read(T*, cudaSurfaceObject_t, __VA_ARGS__,                           \
                                             cudaSurfaceBoundaryMode = cudaBoundaryModeTrap);                \
  template <class T> WS_D void surf##N##write(T, cudaSurfaceObject_t, __VA_ARGS__,                           \
                                              cudaSurfaceBoundaryMode = cudaBoundaryModeTrap);               \
  template <class T, int D> WS_D T surf##N##read(surface<void, D>, __VA_ARGS__,                              \
                                                 cudaSurfaceBoundaryMode = cudaBoundaryModeTrap);            \
  template <class T, int D> WS_D void surf##N##read(T*, surface<void, D>, __VA_ARGS__,                       \
                                                    cudaSurfaceBoundaryMode = cudaBoundaryModeTrap);         \
  template <class T, int D> WS_D void surf##N##write(T, surface<void, D>, __VA_ARGS__,                       \
                                                     cudaSurfaceBoundaryMode = cudaBoundaryModeTrap);
WS_SURFACE(1D, int)
WS_SURFACE(2D, int, int)
WS_SURFACE(3D, int, int, int)
WS_SURFACE(1DLayered, int, int)
WS_SURFACE(2DLayered, int, int, int)
WS_SURFACE(Cubemap, int, int, int)
WS_SURFACE(CubemapLayered, int, int, int)
