// A stand-in for the CUDA runtime on a machine without a GPU: kernels compute nothing and take FAKE_KERNEL_US.
// What the "GPU" is doing stands in the file FAKE_GPU_STATE, where the stand-in for NVML (nvml.cpp) reads it.
// FAKE_WATTS=program: watts and microseconds follow from the program's name; FAKE_WATTS=launch: as many microseconds as
// blocks, 100 W and a quarter of a watt for each thread of a block above idle; else 300 W.
// A kernel of a library takes FAKE_US_PER_KB microseconds for every KiB of its file instead.
// FAKE_CRASH=launch: the fifth launch ends the program by a signal. FAKE_HANG=1: synchronising never returns.
#include <cuda_runtime_api.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <sys/stat.h>
#include <unistd.h>

#include "state.h"

namespace {

State* gpu() {
    static State* mapped = mapState();
    return mapped;
}

long long libraryNs = 0;

// The same for every build of a program: the key of the build is left out.
unsigned nameHash() {
    static const unsigned hash = [] {
        unsigned value = 2166136261u;
        const char* end = strrchr(program_invocation_short_name, '-');
        for (const char* c = program_invocation_short_name; *c && c != end; ++c) {
            value = (value ^ static_cast<unsigned char>(*c)) * 16777619u;
        }
        return value >> 8;
    }();
    return hash;
}

dim3 lastGrid, lastBlock;

bool wattsAreOf(const char* what) {
    const char* text = getenv("FAKE_WATTS");
    return text && strcmp(text, what) == 0;
}

double aboveIdleW() {
    return wattsAreOf("program")  ? 60.0 + nameHash() % 400
           : wattsAreOf("launch") ? 100.0 + 0.25 * lastBlock.x * lastBlock.y * lastBlock.z
                                  : 230.0;
}

long long kernelNs() {
    if (libraryNs > 0) {
        return libraryNs;
    }
    if (wattsAreOf("program")) {
        return (60 + nameHash() % 1009) * 1000LL;
    }
    if (wattsAreOf("launch")) {
        return 1000LL * lastGrid.x * lastGrid.y * lastGrid.z;
    }
    const char* text = getenv("FAKE_KERNEL_US");
    return (text ? atoll(text) : 100) * 1000LL;
}

void sleepUntil(long long ns) {
    if (getenv("FAKE_HANG")) {
        pause();
    }
    while (monotonicNs() < ns) {
        const long long left = ns - monotonicNs();
        const timespec wait = {left / 1000000000LL, left % 1000000000LL};
        nanosleep(&wait, nullptr);
    }
}

void work(long long launches) {
    const long long now = monotonicNs();
    State* state = gpu();
    const long long until = state->busyUntilNs + kGraceNs;
    if (now > until || state->aboveIdleW != aboveIdleW()) {
        if (state->busyUntilNs > 0) {
            state->doneJ += ((now < until ? now : until) - state->busyFromNs) * 1e-9 * state->aboveIdleW;
        }
        state->busyFromNs = state->busyUntilNs = now;
        state->aboveIdleW = aboveIdleW();
    }
    state->busyUntilNs += launches * kernelNs();
}

int launchesSeen = 0;
int capturedLaunches = -1;  // not capturing
dim3 pendingGrid, pendingBlock;
size_t pendingShared;
cudaStream_t pendingStream;

}  // namespace

struct CUevent_st {
    long long ns;
};
struct CUgraphExec_st {
    int launches;
};

extern "C" {

void** __cudaRegisterFatBinary(void*) { return nullptr; }
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
char __cudaInitModule(void**) { return 0; }
void __cudaRegisterFunction(void**, const char*, char*, const char*, int, uint3*, uint3*, dim3*, dim3*, int*) {}
void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int) {}
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, CUstream_st* stream) {
    pendingGrid = grid, pendingBlock = block, pendingShared = shared, pendingStream = stream;
    return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream) {
    *grid = pendingGrid, *block = pendingBlock, *shared = pendingShared;
    memcpy(stream, &pendingStream, sizeof pendingStream);
    return cudaSuccess;
}

cudaError_t cudaLaunchKernel(const void*, dim3 grid, dim3 block, void**, size_t, cudaStream_t) {
    lastGrid = grid, lastBlock = block;
    if (getenv("FAKE_CRASH") && ++launchesSeen == 5) {
        raise(SIGSEGV);
    }
    if (capturedLaunches >= 0) {
        ++capturedLaunches;
    } else {
        work(1);
    }
    return cudaSuccess;
}
cudaError_t cudaLaunchKernel_ptsz(const void* f, dim3 g, dim3 b, void** a, size_t s, cudaStream_t stream) {
    return cudaLaunchKernel(f, g, b, a, s, stream);
}
cudaError_t cudaLaunchCooperativeKernel(const void* f, dim3 g, dim3 b, void** a, size_t s, cudaStream_t stream) {
    return cudaLaunchKernel(f, g, b, a, s, stream);
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* c, const void* f, void** a) {
    return cudaLaunchKernel(f, c->gridDim, c->blockDim, a, c->dynamicSmemBytes, c->stream);
}
cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t* library, const char* path, cudaJitOption*, void**, unsigned,
                                    cudaLibraryOption*, void**, unsigned) {
    struct stat file;
    if (stat(path, &file) != 0) {
        return cudaErrorFileNotFound;
    }
    const char* text = getenv("FAKE_US_PER_KB");
    libraryNs = file.st_size * (text ? atoll(text) : 1) * 1000 / 1024;
    *library = nullptr;
    return cudaSuccess;
}
cudaError_t cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t, const char*) {
    *kernel = reinterpret_cast<cudaKernel_t>(&libraryNs);
    return cudaSuccess;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode) {
    if (getenv("FAKE_NO_CAPTURE")) {
        return cudaErrorStreamCaptureUnsupported;
    }
    capturedLaunches = 0;
    return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t* graph) {
    *graph = reinterpret_cast<cudaGraph_t>(static_cast<long>(capturedLaunches));
    capturedLaunches = -1;
    return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
    *status = cudaStreamCaptureStatusNone;
    return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) {
    *exec = new CUgraphExec_st{static_cast<int>(reinterpret_cast<long>(graph))};
    return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t) { return cudaSuccess; }
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t) {
    work(exec->launches);
    return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* event) {
    *event = new CUevent_st{0};
    return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
    event->ns = gpu()->busyUntilNs;
    return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    sleepUntil(event->ns);
    return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t before, cudaEvent_t after) {
    *ms = static_cast<float>((after->ns - before->ns) * 1e-6);
    return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
    *stream = nullptr;
    return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t) {
    sleepUntil(gpu()->busyUntilNs);
    return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() { return cudaStreamSynchronize(nullptr); }
cudaError_t cudaGetDevice(int* device) {
    *device = 0;
    return cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int) {
    const char* bus = getenv("FAKE_BUS");
    strncpy(text, bus ? bus : "0000:1B:00.0", length);
    return cudaSuccess;
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
    attributes->numRegs = 16;
    return cudaSuccess;
}
const char* cudaGetErrorString(cudaError_t) { return "an error of the stand-in"; }
cudaError_t cudaGetLastError() { return cudaSuccess; }
cudaError_t cudaMalloc(void** pointer, size_t bytes) {
    *pointer = malloc(bytes);
    return cudaSuccess;
}
cudaError_t cudaFree(void* pointer) {
    free(pointer);
    return cudaSuccess;
}
// Nothing computes on device memory: it is reserved, never touched, and reads as zeros.
cudaError_t cudaMemcpy(void* to, const void*, size_t bytes, cudaMemcpyKind kind) {
    if (kind == cudaMemcpyDeviceToHost) {
        memset(to, 0, bytes);
    }
    return cudaSuccess;
}
cudaError_t cudaMemcpyToSymbol(const void*, const void*, size_t, size_t, cudaMemcpyKind) { return cudaSuccess; }
cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind kind) {
    return {x, y, z, w, kind};
}
cudaError_t cudaMallocArray(cudaArray_t* array, const cudaChannelFormatDesc*, size_t, size_t, unsigned) {
    *array = nullptr;
    return cudaSuccess;
}
cudaError_t cudaFreeArray(cudaArray_t) { return cudaSuccess; }
cudaError_t cudaMemcpy2DToArray(cudaArray_t, size_t, size_t, const void*, size_t, size_t, size_t, cudaMemcpyKind) {
    return cudaSuccess;
}
cudaError_t cudaCreateTextureObject(cudaTextureObject_t* texture, const cudaResourceDesc*, const cudaTextureDesc*,
                                    const cudaResourceViewDesc*) {
    *texture = 0;
    return cudaSuccess;
}
cudaError_t cudaDestroyTextureObject(cudaTextureObject_t) { return cudaSuccess; }
cudaError_t cudaMemset(void*, int, size_t) { return cudaSuccess; }

}  // extern "C"
