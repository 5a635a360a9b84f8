// The CUDA runtime API (CUDA Runtime API reference), declared only: host code is parsed, never run.
#pragma once

struct CUstream_st;
struct CUevent_st;
struct CUgraph_st;
struct CUgraphExec_st;
struct CUgraphNode_st;
struct CUmemPoolHandle_st;
struct CUfunc_st;
struct cudaArray;
struct cudaMipmappedArray;
struct cudaGraphicsResource;
typedef CUstream_st* cudaStream_t;
typedef CUevent_st* cudaEvent_t;
typedef CUgraph_st* cudaGraph_t;
typedef CUgraphExec_st* cudaGraphExec_t;
typedef CUgraphNode_st* cudaGraphNode_t;
typedef CUmemPoolHandle_st* cudaMemPool_t;
typedef CUfunc_st* cudaFunction_t;
typedef cudaArray* cudaArray_t;
typedef const cudaArray* cudaArray_const_t;
typedef cudaMipmappedArray* cudaMipmappedArray_t;
typedef cudaGraphicsResource* cudaGraphicsResource_t;
typedef void* cudaExternalMemory_t;
typedef void* cudaExternalSemaphore_t;

// The enumerators' values are NVIDIA's where they are documented to matter, else only their order.
enum cudaError {
  cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorMemoryAllocation = 2, cudaErrorInitializationError = 3,
  cudaErrorCudartUnloading = 4, cudaErrorProfilerDisabled = 5, cudaErrorProfilerNotInitialized = 6,
  cudaErrorProfilerAlreadyStarted = 7, cudaErrorProfilerAlreadyStopped = 8, cudaErrorInvalidConfiguration = 9,
  cudaErrorInvalidPitchValue = 12, cudaErrorInvalidSymbol = 13, cudaErrorInvalidHostPointer = 16,
  cudaErrorInvalidDevicePointer = 17, cudaErrorInvalidTexture = 18, cudaErrorInvalidTextureBinding = 19,
  cudaErrorInvalidChannelDescriptor = 20, cudaErrorInvalidMemcpyDirection = 21, cudaErrorAddressOfConstant = 22,
  cudaErrorTextureFetchFailed = 23, cudaErrorTextureNotBound = 24, cudaErrorSynchronizationError = 25,
  cudaErrorInvalidFilterSetting = 26, cudaErrorInvalidNormSetting = 27, cudaErrorMixedDeviceExecution = 28,
  cudaErrorNotYetImplemented = 31, cudaErrorMemoryValueTooLarge = 32, cudaErrorInsufficientDriver = 35,
  cudaErrorInvalidSurface = 37, cudaErrorDuplicateVariableName = 43, cudaErrorDuplicateTextureName = 44,
  cudaErrorDuplicateSurfaceName = 45, cudaErrorDevicesUnavailable = 46, cudaErrorIncompatibleDriverContext = 49,
  cudaErrorMissingConfiguration = 52, cudaErrorPriorLaunchFailure = 53, cudaErrorInvalidDeviceFunction = 98,
  cudaErrorNoDevice = 100, cudaErrorInvalidDevice = 101, cudaErrorStartupFailure = 127,
  cudaErrorInvalidKernelImage = 200,
  cudaErrorMapBufferObjectFailed = 205, cudaErrorUnmapBufferObjectFailed = 206,
  cudaErrorNoKernelImageForDevice = 209, cudaErrorECCUncorrectable = 214, cudaErrorUnsupportedLimit = 215,
  cudaErrorDeviceAlreadyInUse = 216, cudaErrorSharedObjectSymbolNotFound = 302,
  cudaErrorSharedObjectInitFailed = 303, cudaErrorInvalidResourceHandle = 400, cudaErrorNotReady = 600,
  cudaErrorIllegalAddress = 700, cudaErrorLaunchOutOfResources = 701, cudaErrorLaunchTimeout = 702,
  cudaErrorPeerAccessAlreadyEnabled = 704, cudaErrorPeerAccessNotEnabled = 705,
  cudaErrorSetOnActiveProcess = 708, cudaErrorAssert = 710, cudaErrorTooManyPeers = 711,
  cudaErrorHostMemoryAlreadyRegistered = 712, cudaErrorHostMemoryNotRegistered = 713,
  cudaErrorLaunchFailure = 719, cudaErrorNotSupported = 801, cudaErrorExternalDevice = 911,
  cudaErrorUnknown = 999, cudaErrorApiFailureBase = 10000
};
typedef cudaError cudaError_t;
enum cudaMemcpyKind {
  cudaMemcpyHostToHost = 0, cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2, cudaMemcpyDeviceToDevice = 3,
  cudaMemcpyDefault = 4
};
enum cudaFuncCache {
  cudaFuncCachePreferNone = 0, cudaFuncCachePreferShared = 1, cudaFuncCachePreferL1 = 2, cudaFuncCachePreferEqual = 3
};
enum cudaSharedMemConfig {
  cudaSharedMemBankSizeDefault = 0, cudaSharedMemBankSizeFourByte = 1, cudaSharedMemBankSizeEightByte = 2
};
enum cudaFuncAttribute {
  cudaFuncAttributeMaxDynamicSharedMemorySize = 8, cudaFuncAttributePreferredSharedMemoryCarveout = 9,
  cudaFuncAttributeNonPortableClusterSizeAllowed = 15
};
enum cudaSharedCarveout {
  cudaSharedmemCarveoutDefault = -1, cudaSharedmemCarveoutMaxShared = 100, cudaSharedmemCarveoutMaxL1 = 0
};
enum cudaDeviceAttr {
  cudaDevAttrMaxThreadsPerBlock = 1, cudaDevAttrMaxSharedMemoryPerBlock = 8, cudaDevAttrWarpSize = 10,
  cudaDevAttrClockRate = 13, cudaDevAttrMultiProcessorCount = 16, cudaDevAttrIntegrated = 18, cudaDevAttrComputeMode = 20,
  cudaDevAttrConcurrentKernels = 31, cudaDevAttrMemoryClockRate = 36, cudaDevAttrGlobalMemoryBusWidth = 37,
  cudaDevAttrL2CacheSize = 38, cudaDevAttrMaxThreadsPerMultiProcessor = 39, cudaDevAttrUnifiedAddressing = 41,
  cudaDevAttrComputeCapabilityMajor = 75, cudaDevAttrComputeCapabilityMinor = 76,
  cudaDevAttrMaxSharedMemoryPerMultiprocessor = 81, cudaDevAttrManagedMemory = 83,
  cudaDevAttrConcurrentManagedAccess = 89, cudaDevAttrComputePreemptionSupported = 90,
  cudaDevAttrCooperativeLaunch = 95, cudaDevAttrMaxSharedMemoryPerBlockOptin = 97,
  cudaDevAttrMemoryPoolsSupported = 115
};
enum cudaComputeMode {
  cudaComputeModeDefault = 0, cudaComputeModeExclusive = 1, cudaComputeModeProhibited = 2,
  cudaComputeModeExclusiveProcess = 3
};
enum cudaMemoryAdvise {
  cudaMemAdviseSetReadMostly = 1, cudaMemAdviseUnsetReadMostly, cudaMemAdviseSetPreferredLocation,
  cudaMemAdviseUnsetPreferredLocation, cudaMemAdviseSetAccessedBy, cudaMemAdviseUnsetAccessedBy
};
enum cudaLimit {
  cudaLimitStackSize = 0, cudaLimitPrintfFifoSize = 1, cudaLimitMallocHeapSize = 2,
  cudaLimitDevRuntimeSyncDepth = 3, cudaLimitDevRuntimePendingLaunchCount = 4, cudaLimitMaxL2FetchGranularity = 5,
  cudaLimitPersistingL2CacheSize = 6
};
enum cudaStreamCaptureMode {
  cudaStreamCaptureModeGlobal = 0, cudaStreamCaptureModeThreadLocal = 1, cudaStreamCaptureModeRelaxed = 2
};
enum cudaGraphicsRegisterFlags {
  cudaGraphicsRegisterFlagsNone = 0, cudaGraphicsRegisterFlagsReadOnly = 1,
  cudaGraphicsRegisterFlagsWriteDiscard = 2, cudaGraphicsRegisterFlagsSurfaceLoadStore = 4
};
enum cudaGraphicsMapFlags { cudaGraphicsMapFlagsNone = 0, cudaGraphicsMapFlagsReadOnly, cudaGraphicsMapFlagsWriteDiscard };
enum cudaResourceType {
  cudaResourceTypeArray = 0, cudaResourceTypeMipmappedArray, cudaResourceTypeLinear, cudaResourceTypePitch2D
};
enum cudaMemoryType {
  cudaMemoryTypeUnregistered = 0, cudaMemoryTypeHost = 1, cudaMemoryTypeDevice = 2, cudaMemoryTypeManaged = 3
};
#define cudaHostAllocDefault 0x00
#define cudaHostAllocPortable 0x01
#define cudaHostAllocMapped 0x02
#define cudaHostAllocWriteCombined 0x04
#define cudaHostRegisterDefault 0x00
#define cudaHostRegisterPortable 0x01
#define cudaHostRegisterMapped 0x02
#define cudaMemAttachGlobal 0x01
#define cudaMemAttachHost 0x02
#define cudaMemAttachSingle 0x04
#define cudaEventDefault 0x00
#define cudaEventBlockingSync 0x01
#define cudaEventDisableTiming 0x02
#define cudaEventInterprocess 0x04
#define cudaStreamDefault 0x00
#define cudaStreamNonBlocking 0x01
#define cudaStreamLegacy ((cudaStream_t)0x1)
#define cudaStreamPerThread ((cudaStream_t)0x2)
#define cudaDeviceScheduleAuto 0x00
#define cudaDeviceScheduleSpin 0x01
#define cudaDeviceScheduleYield 0x02
#define cudaDeviceScheduleBlockingSync 0x04
#define cudaDeviceBlockingSync 0x04
#define cudaDeviceMapHost 0x08
#define cudaDeviceLmemResizeToMax 0x10
#define cudaArrayDefault 0x00
#define cudaArrayLayered 0x01
#define cudaArraySurfaceLoadStore 0x02
#define cudaArrayCubemap 0x04
#define cudaArrayTextureGather 0x08
#define cudaOccupancyDefault 0x00
#define cudaInvalidDeviceId (-2)
#define cudaCpuDeviceId (-1)
#define cudaIpcMemLazyEnablePeerAccess 0x01

struct cudaUUID_t { char bytes[16]; };
struct cudaDeviceProp {
  char name[256];
  cudaUUID_t uuid;
  size_t totalGlobalMem, sharedMemPerBlock, memPitch, totalConstMem, textureAlignment, surfaceAlignment;
  size_t texturePitchAlignment, sharedMemPerMultiprocessor, sharedMemPerBlockOptin, reservedSharedMemPerBlock;
  int regsPerBlock, warpSize, maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3], clockRate, major, minor;
  int deviceOverlap, multiProcessorCount, kernelExecTimeoutEnabled, integrated, canMapHostMemory, computeMode;
  int maxTexture1D, maxTexture2D[2], maxTexture3D[3], maxTexture1DLayered[2], maxTexture2DLayered[3];
  int maxTexture1DLinear, maxTexture2DLinear[3], maxTextureCubemap, concurrentKernels, ECCEnabled, pciBusID;
  int pciDeviceID, pciDomainID, tccDriver, asyncEngineCount, unifiedAddressing, memoryClockRate, memoryBusWidth;
  int l2CacheSize, persistingL2CacheMaxSize, maxThreadsPerMultiProcessor, streamPrioritiesSupported;
  int globalL1CacheSupported, localL1CacheSupported, regsPerMultiprocessor, managedMemory, isMultiGpuBoard;
  int multiGpuBoardGroupID, hostNativeAtomicSupported, singleToDoublePrecisionPerfRatio, pageableMemoryAccess;
  int concurrentManagedAccess, computePreemptionSupported, canUseHostPointerForRegisteredMem, cooperativeLaunch;
  int cooperativeMultiDeviceLaunch, directManagedMemAccessFromHost, maxBlocksPerMultiProcessor;
  int accessPolicyMaxWindowSize, memoryPoolsSupported, pageableMemoryAccessUsesHostPageTables;
};
struct cudaFuncAttributes {
  size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
  int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion, cacheModeCA, maxDynamicSharedSizeBytes;
};
struct cudaPointerAttributes {
  cudaMemoryType memoryType, type; int device; void *devicePointer, *hostPointer; int isManaged;
};
struct cudaExtent { size_t width, height, depth; };
struct cudaPos { size_t x, y, z; };
struct cudaPitchedPtr { void* ptr; size_t pitch, xsize, ysize; };
struct cudaMemcpy3DParms {
  cudaArray_t srcArray; cudaPos srcPos; cudaPitchedPtr srcPtr; cudaArray_t dstArray; cudaPos dstPos;
  cudaPitchedPtr dstPtr; cudaExtent extent; cudaMemcpyKind kind;
};
struct cudaResourceDesc {
  cudaResourceType resType;
  union {
    struct { cudaArray_t array; } array;
    struct { cudaMipmappedArray_t mipmap; } mipmap;
    struct { void* devPtr; cudaChannelFormatDesc desc; size_t sizeInBytes; } linear;
    struct { void* devPtr; cudaChannelFormatDesc desc; size_t width, height, pitchInBytes; } pitch2D;
  } res;
};
struct cudaTextureDesc {
  cudaTextureAddressMode addressMode[3]; cudaTextureFilterMode filterMode; cudaTextureReadMode readMode; int sRGB;
  float borderColor[4]; int normalizedCoords; unsigned maxAnisotropy; cudaTextureFilterMode mipmapFilterMode;
  float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp; int disableTrilinearOptimization;
};
struct cudaResourceViewDesc { int format; size_t width, height, depth; };
struct cudaLaunchAttribute { int id; struct { struct { unsigned x, y, z; } clusterDim; int cooperative; } val; };
struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim; size_t dynamicSmemBytes; cudaStream_t stream; cudaLaunchAttribute* attrs; unsigned numAttrs;
};
struct cudaKernelNodeParams {
  void* func; dim3 gridDim, blockDim; unsigned sharedMemBytes; void **kernelParams, **extra;
};
typedef cudaKernelNodeParams cudaKernelNodeParamsV2;
struct cudaMemcpyNodeParams { int flags, reserved[3]; cudaMemcpy3DParms copyParams; };
struct cudaMemsetParams { void* dst; size_t pitch; unsigned value, elementSize; size_t width, height; };
struct cudaHostNodeParams { void (*fn)(void*); void* userData; };
enum cudaGraphNodeType {
  cudaGraphNodeTypeKernel, cudaGraphNodeTypeMemcpy, cudaGraphNodeTypeMemset, cudaGraphNodeTypeHost,
  cudaGraphNodeTypeGraph, cudaGraphNodeTypeEmpty, cudaGraphNodeTypeWaitEvent, cudaGraphNodeTypeEventRecord,
  cudaGraphNodeTypeExtSemaphoreSignal, cudaGraphNodeTypeExtSemaphoreWait, cudaGraphNodeTypeMemAlloc,
  cudaGraphNodeTypeMemFree, cudaGraphNodeTypeConditional = 13
};
typedef unsigned long long cudaGraphConditionalHandle;
enum { cudaGraphCondAssignDefault = 1 };
enum cudaGraphConditionalNodeType { cudaGraphCondTypeIf, cudaGraphCondTypeWhile, cudaGraphCondTypeSwitch };
struct cudaConditionalNodeParams {
  cudaGraphConditionalHandle handle; cudaGraphConditionalNodeType type; unsigned size; cudaGraph_t* phGraph_out;
};
struct cudaGraphNodeParams {
  cudaGraphNodeType type; int reserved0[3];
  struct { cudaGraph_t graph; } graph;
  cudaKernelNodeParamsV2 kernel; cudaMemcpyNodeParams memcpy; cudaMemsetParams memset; cudaHostNodeParams host;
  cudaConditionalNodeParams conditional;
};
struct cudaIpcMemHandle_t { char reserved[64]; };
struct cudaIpcEventHandle_t { char reserved[64]; };
enum { cudaLaunchAttributeCooperative = 2, cudaLaunchAttributeClusterDimension = 4 };
typedef void (*cudaStreamCallback_t)(cudaStream_t, cudaError_t, void*);
typedef void (*cudaHostFn_t)(void*);

// Functions whose parameters the analyzer does not read share one shape. Callable on the device as well
// (dynamic parallelism) where the real ones are.
#define WS_API(F) template <class... A> WS_HD cudaError_t F(A...);
extern "C++" {
template <class T> WS_HD cudaError_t cudaMalloc(T**, size_t);
template <class T> WS_HD cudaError_t cudaMallocManaged(T**, size_t, unsigned = cudaMemAttachGlobal);
template <class T> WS_H cudaError_t cudaMallocHost(T**, size_t, unsigned = 0);
template <class T> WS_H cudaError_t cudaHostAlloc(T**, size_t, unsigned);
WS_HD cudaError_t cudaFree(void*);
WS_HD cudaError_t cudaMemcpy(void*, const void*, size_t, cudaMemcpyKind);
WS_HD cudaError_t cudaMemcpyAsync(void*, const void*, size_t, cudaMemcpyKind, cudaStream_t = 0);
WS_HD cudaError_t cudaMemset(void*, int, size_t);
template <class T> WS_H cudaError_t cudaMemcpyToSymbol(const T&, const void*, size_t, size_t = 0,
                                                       cudaMemcpyKind = cudaMemcpyHostToDevice);
template <class T> WS_H cudaError_t cudaMemcpyFromSymbol(void*, const T&, size_t, size_t = 0,
                                                         cudaMemcpyKind = cudaMemcpyDeviceToHost);
template <class T> WS_H cudaError_t cudaMemcpyToSymbolAsync(const T&, const void*, size_t, size_t,
                                                            cudaMemcpyKind, cudaStream_t = 0);
template <class T> WS_H cudaError_t cudaMemcpyFromSymbolAsync(void*, const T&, size_t, size_t, cudaMemcpyKind,
                                                              cudaStream_t = 0);
template <class T> WS_H cudaError_t cudaGetSymbolAddress(void**, const T&);
template <class T> WS_H cudaError_t cudaGetSymbolSize(size_t*, const T&);
template <class F> WS_H cudaError_t cudaLaunchKernel(F*, dim3, dim3, void**, size_t = 0, cudaStream_t = 0);
template <class F> WS_H cudaError_t cudaLaunchCooperativeKernel(F*, dim3, dim3, void**, size_t = 0,
                                                                cudaStream_t = 0);
template <class... P, class... A> WS_H cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t*, void (*)(P...), A...);
template <class F> WS_H cudaError_t cudaFuncSetAttribute(F*, cudaFuncAttribute, int);
template <class F> WS_H cudaError_t cudaFuncSetCacheConfig(F*, cudaFuncCache);
template <class F> WS_H cudaError_t cudaFuncSetSharedMemConfig(F*, cudaSharedMemConfig);
template <class F> WS_H cudaError_t cudaFuncGetAttributes(cudaFuncAttributes*, F*);
template <class F> WS_HD cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int*, F*, int, size_t);
template <class F> WS_H cudaError_t cudaOccupancyMaxPotentialBlockSize(int*, int*, F*, size_t = 0, int = 0);
template <class F, class U>
WS_H cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMem(int*, int*, F*, U, int = 0);
WS_H cudaError_t cudaFuncSetCacheConfig(const char*, cudaFuncCache);
WS_HD cudaError_t cudaDeviceSynchronize();
WS_H cudaError_t cudaThreadSynchronize();
WS_HD cudaError_t cudaGetLastError();
WS_HD cudaError_t cudaPeekAtLastError();
WS_HD const char* cudaGetErrorString(cudaError_t);
WS_HD const char* cudaGetErrorName(cudaError_t);
WS_HD cudaError_t cudaGetDevice(int*);
WS_HD cudaError_t cudaGetDeviceCount(int*);
WS_H cudaError_t cudaGetDeviceProperties(cudaDeviceProp*, int);
WS_HD cudaError_t cudaDeviceGetAttribute(int*, cudaDeviceAttr, int);
WS_H cudaError_t cudaEventElapsedTime(float*, cudaEvent_t, cudaEvent_t);
WS_H cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t = 0);
WS_H cudaError_t cudaEventCreate(cudaEvent_t*, unsigned = 0);
WS_H cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned = 0);
enum cudaMemLocationType {
  cudaMemLocationTypeInvalid, cudaMemLocationTypeDevice, cudaMemLocationTypeHost, cudaMemLocationTypeHostNuma
};
struct cudaMemLocation { cudaMemLocationType type; int id; };
WS_H cudaError_t cudaMemPrefetchAsync(const void*, size_t, int, cudaStream_t = 0);
WS_H cudaError_t cudaMemPrefetchAsync(const void*, size_t, cudaMemLocation, unsigned, cudaStream_t = 0);
WS_HD cudaExtent make_cudaExtent(size_t, size_t, size_t);
WS_HD cudaPos make_cudaPos(size_t, size_t, size_t);
WS_HD cudaPitchedPtr make_cudaPitchedPtr(void*, size_t, size_t, size_t);
extern "C" WS_HD int cudaConfigureCall(dim3, dim3, size_t = 0, cudaStream_t = 0);
extern "C" WS_HD unsigned __cudaPushCallConfiguration(dim3, dim3, size_t = 0, cudaStream_t = 0);

WS_API(cudaFreeHost) WS_API(cudaFreeArray) WS_API(cudaFreeMipmappedArray) WS_API(cudaMallocPitch)
WS_API(cudaMallocArray) WS_API(cudaMalloc3D) WS_API(cudaMalloc3DArray) WS_API(cudaMallocMipmappedArray)
WS_API(cudaMallocAsync) WS_API(cudaFreeAsync) WS_API(cudaMallocFromPoolAsync) WS_API(cudaGetMipmappedArrayLevel)
WS_API(cudaMemcpy2D) WS_API(cudaMemcpy2DAsync) WS_API(cudaMemcpy3D) WS_API(cudaMemcpy3DAsync)
WS_API(cudaMemcpyToArray) WS_API(cudaMemcpyFromArray) WS_API(cudaMemcpy2DToArray) WS_API(cudaMemcpy2DFromArray)
WS_API(cudaMemcpyToArrayAsync) WS_API(cudaMemcpyPeer) WS_API(cudaMemcpyPeerAsync) WS_API(cudaMemcpy2DToArrayAsync)
WS_API(cudaMemsetAsync) WS_API(cudaMemset2D) WS_API(cudaMemset2DAsync) WS_API(cudaMemset3D) WS_API(cudaMemAdvise)
WS_API(cudaMemGetInfo) WS_API(cudaHostRegister) WS_API(cudaHostUnregister) WS_API(cudaHostGetDevicePointer)
WS_API(cudaHostGetFlags) WS_API(cudaPointerGetAttributes) WS_API(cudaSetDevice) WS_API(cudaSetDeviceFlags)
WS_API(cudaGetDeviceFlags) WS_API(cudaSetValidDevices) WS_API(cudaChooseDevice) WS_API(cudaDeviceReset)
WS_API(cudaThreadExit) WS_API(cudaDeviceSetCacheConfig) WS_API(cudaThreadSetCacheConfig)
WS_API(cudaDeviceSetSharedMemConfig) WS_API(cudaDeviceGetSharedMemConfig) WS_API(cudaDeviceSetLimit)
WS_API(cudaThreadSetLimit) WS_API(cudaDeviceGetLimit) WS_API(cudaDeviceCanAccessPeer)
WS_API(cudaDeviceEnablePeerAccess) WS_API(cudaDeviceDisablePeerAccess) WS_API(cudaDeviceGetPCIBusId)
WS_API(cudaDeviceGetByPCIBusId) WS_API(cudaDeviceGetStreamPriorityRange) WS_API(cudaDriverGetVersion)
WS_API(cudaRuntimeGetVersion) WS_API(cudaProfilerStart) WS_API(cudaProfilerStop) WS_API(cudaStreamCreate)
WS_API(cudaStreamCreateWithFlags) WS_API(cudaStreamCreateWithPriority) WS_API(cudaStreamDestroy)
WS_API(cudaStreamSynchronize) WS_API(cudaStreamQuery) WS_API(cudaStreamAddCallback) WS_API(cudaStreamAttachMemAsync)
WS_API(cudaStreamBeginCapture) WS_API(cudaStreamEndCapture) WS_API(cudaStreamIsCapturing) WS_API(cudaLaunchHostFunc)
WS_API(cudaStreamSetAttribute) WS_API(cudaStreamGetAttribute) WS_API(cudaEventCreateWithFlags)
WS_API(cudaEventDestroy) WS_API(cudaEventSynchronize) WS_API(cudaEventQuery) WS_API(cudaEventRecordWithFlags)
WS_API(cudaBindTexture) WS_API(cudaBindTexture2D) WS_API(cudaBindTextureToArray) WS_API(cudaUnbindTexture)
WS_API(cudaBindTextureToMipmappedArray) WS_API(cudaBindSurfaceToArray) WS_API(cudaGetTextureReference)
WS_API(cudaGetChannelDesc) WS_API(cudaCreateTextureObject) WS_API(cudaDestroyTextureObject)
WS_API(cudaCreateSurfaceObject) WS_API(cudaDestroySurfaceObject) WS_API(cudaGetTextureObjectResourceDesc)
WS_API(cudaGraphAddNode) WS_API(cudaGraphNodeSetParams) WS_API(cudaGraphExecNodeSetParams)
WS_API(cudaGraphKernelNodeSetParams) WS_API(cudaGraphExecKernelNodeSetParams) WS_API(cudaGraphAddChildGraphNode)
WS_API(cudaGraphInstantiateWithFlags)
WS_API(cudaGraphCreate) WS_API(cudaGraphDestroy) WS_API(cudaGraphInstantiate) WS_API(cudaGraphLaunch)
WS_API(cudaGraphExecDestroy) WS_API(cudaGraphAddKernelNode) WS_API(cudaGraphAddMemcpyNode)
WS_API(cudaGraphAddMemsetNode) WS_API(cudaGraphAddHostNode) WS_API(cudaGraphGetNodes) WS_API(cudaGraphClone)
WS_API(cudaGraphExecUpdate) WS_API(cudaGraphicsMapResources) WS_API(cudaGraphicsUnmapResources)
WS_API(cudaGraphicsUnregisterResource) WS_API(cudaGraphicsResourceGetMappedPointer)
WS_API(cudaGraphicsSubResourceGetMappedArray) WS_API(cudaGraphicsResourceSetMapFlags)
WS_API(cudaGraphicsGLRegisterBuffer) WS_API(cudaGraphicsGLRegisterImage) WS_API(cudaGLSetGLDevice)
WS_API(cudaGLMapBufferObject) WS_API(cudaGLUnmapBufferObject) WS_API(cudaGLRegisterBufferObject)
WS_API(cudaGLUnregisterBufferObject) WS_API(cudaGLGetDevices) WS_API(cudaIpcGetMemHandle) WS_API(cudaIpcOpenMemHandle)
WS_API(cudaIpcCloseMemHandle) WS_API(cudaIpcGetEventHandle) WS_API(cudaIpcOpenEventHandle)
WS_API(cudaMemPoolCreate) WS_API(cudaMemPoolSetAttribute) WS_API(cudaMemPoolGetAttribute) WS_API(cudaMemPoolDestroy)
WS_API(cudaDeviceGetDefaultMemPool) WS_API(cudaDeviceGetMemPool) WS_API(cudaDeviceSetMemPool)
WS_API(cudaMemRangeGetAttribute) WS_API(cudaArrayGetInfo) WS_API(cudaSetupArgument)
WS_API(cudaLaunch) WS_API(cudaOccupancyMaxActiveClusters)
WS_API(cudaGetDriverEntryPoint) WS_API(cudaCtxResetPersistingL2Cache)
WS_API(cudaLaunchCooperativeKernelMultiDevice) WS_API(cudaImportExternalMemory) WS_API(cudaDestroyExternalMemory)
WS_API(cudaExternalMemoryGetMappedBuffer) WS_API(cudaExternalMemoryGetMappedMipmappedArray)
WS_API(cudaImportExternalSemaphore) WS_API(cudaSignalExternalSemaphoresAsync)
WS_API(cudaWaitExternalSemaphoresAsync) WS_API(cudaDestroyExternalSemaphore)
}
