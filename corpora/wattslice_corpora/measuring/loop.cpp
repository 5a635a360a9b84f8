// Repeats one kernel launch of a program for some seconds, so that its power can be read meanwhile.
//
// Linked into a program with `-Xlinker --wrap=cudaLaunchKernel` (and the others below) and compiled with
// -D__NV_LEGACY_LAUNCH, which makes <<<...>>> call cudaLaunchKernel: every launch then comes by here, whatever
// the program looks like. What happened is written to the file descriptor WATTSLICE_LOOP_FD, one event a line,
// fields separated by tabs, times in nanoseconds of CLOCK_MONOTONIC:
//   launch  index  kernel  grid  block  dynamic_shared_bytes  static_shared_bytes  registers  pci_bus_id
//   repeat                                              the launch just told is the chosen one
//   begin   time_ns                                     the warm-up is over
//   end     time_ns  launches  elapsed_ms               launches since `begin`, by the GPU's own clock
//   error   message
// WATTSLICE_LOOP_OCCURRENCE chooses the launch to repeat, counted from 0 over the launches of the kernel
// WATTSLICE_LOOP_KERNEL (any spelling that `isCalled` knows), or over all launches when that is empty; -1: they are
// only listed. WATTSLICE_LOOP_WARMUP_S, WATTSLICE_LOOP_WINDOW_S: for how long. After the window the program ends: its
// results were overwritten by the repetitions. WATTSLICE_LOOP_PARENT: the process that measures; when it dies, the
// program dies too.
#include <cuda_runtime_api.h>

#include <cxxabi.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <sys/prctl.h>
#include <unistd.h>
#include <utility>
#include <vector>

extern "C" {
void __real___cudaRegisterFunction(void**, const char*, char*, const char*, int, uint3*, uint3*, dim3*, dim3*, int*);
cudaError_t __real_cudaLaunchKernel(const void*, dim3, dim3, void**, size_t, cudaStream_t);
cudaError_t __real_cudaLaunchKernel_ptsz(const void*, dim3, dim3, void**, size_t, cudaStream_t);
cudaError_t __real_cudaLaunchCooperativeKernel(const void*, dim3, dim3, void**, size_t, cudaStream_t);
cudaError_t __real_cudaLaunchKernelExC(const cudaLaunchConfig_t*, const void*, void**);
}

namespace {

// A batch is long enough that queueing it never starves the GPU, and short enough to end a window in time.
constexpr float kBatchMs = 20.0f;
constexpr int kMostLaunchesInBatch = 4000;

double number(const char* variable, double otherwise) {
    const char* text = getenv(variable);
    return text ? atof(text) : otherwise;
}

FILE* events() {
    static FILE* stream = [] {
        const int descriptor = static_cast<int>(number("WATTSLICE_LOOP_FD", -1));
        return descriptor < 0 ? nullptr : fdopen(descriptor, "w");
    }();
    return stream;
}

// Never heat a GPU that nobody measures any more: from the very start of the program on.
__attribute__((constructor)) void dieWithParent() {
    const pid_t parent = static_cast<pid_t>(number("WATTSLICE_LOOP_PARENT", 0));
    if (parent != 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) {
            _exit(3);
        }
    }
}

long long monotonicNs() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

void tellError(const char* doing, cudaError_t status) {
    fprintf(events(), "error\t%s: %s\n", doing, cudaGetErrorString(status));
    fflush(events());
}

#define TRY(call)                                            \
    do {                                                     \
        const cudaError_t status = (call);                   \
        if (status != cudaSuccess) {                         \
            tellError(#call, status);                        \
            return false;                                    \
        }                                                    \
    } while (0)

struct Launch {
    const void* function;
    dim3 grid, block;
    void** arguments;
    size_t sharedBytes;
    const cudaLaunchConfig_t* configuration;  // of cudaLaunchKernelExC, else null
    bool cooperative;
    bool perThreadStream;  // stream 0 is the thread's own (nvcc -default-stream per-thread)

    cudaError_t on(cudaStream_t stream) const {
        if (configuration) {
            cudaLaunchConfig_t moved = *configuration;
            moved.stream = stream;
            return __real_cudaLaunchKernelExC(&moved, function, arguments);
        }
        const auto call = cooperative       ? __real_cudaLaunchCooperativeKernel
                          : perThreadStream ? __real_cudaLaunchKernel_ptsz
                                            : __real_cudaLaunchKernel;
        return call(function, grid, block, arguments, sharedBytes, stream);
    }
};

// The compiler's start-up code registers every kernel: the host's address of it and its mangled name.
std::vector<std::pair<const void*, const char*>>& registered() {
    static std::vector<std::pair<const void*, const char*>> kernels;
    return kernels;
}

// As C++ writes it: `ns::scale<float>(float*, float)`, of a template with its return type before.
std::string nameOf(const void* function) {
    for (const auto& kernel : registered()) {
        if (kernel.first == function) {
            int status = 0;
            const bool mangled = strncmp(kernel.second, "_Z", 2) == 0;  // extern "C": `f` would be read as float
            char* readable = mangled ? abi::__cxa_demangle(kernel.second, nullptr, nullptr, &status) : nullptr;
            const std::string name = readable ? readable : kernel.second;
            free(readable);
            return name;
        }
    }
    return "?";
}

// `ns::scale<float>(float*, float)` without parameters and return type, `ns::scale<float>`, or, without template
// arguments too, `ns::scale`. Spaces and parentheses within brackets or `(anonymous namespace)` belong to the name.
std::string shortened(const std::string& full, bool templates) {
    static const std::string anonymous = "(anonymous namespace)";
    std::string name;
    int depth = 0;        // of template brackets
    int parentheses = 0;  // within them, or before the name: `decltype (...)`
    for (size_t i = 0; i < full.size(); ++i) {
        if (full.compare(i, anonymous.size(), anonymous) == 0) {
            name += depth == 0 || templates ? anonymous : "";
            i += anonymous.size() - 1;
            continue;
        }
        parentheses += full[i] == '(' && (depth > 0 || name.empty() || parentheses > 0);
        if (parentheses == 0) {
            depth += full[i] == '<';
            if (depth == 0 && full[i] == '(') {
                break;
            }
        } else if (depth == 0) {
            parentheses -= full[i] == ')';
            continue;
        }
        if (depth == 0 && full[i] == ' ') {
            name.clear();  // what stood before was the return type
        } else if (depth == 0 || templates) {
            name += full[i];
        }
        if (parentheses == 0) {
            depth -= full[i] == '>';
        } else {
            parentheses -= full[i] == ')';
        }
    }
    return name;
}

// A kernel may be asked for as `ns::scale<float>`, `ns::scale` or `scale`.
bool isCalled(const std::string& full, const std::string& wanted) {
    const std::string plain = shortened(full, false);
    const size_t colons = plain.rfind("::");
    return wanted == shortened(full, true) || wanted == plain ||
           (colons != std::string::npos && wanted == plain.substr(colons + 2));
}

bool isChosen(const Launch& launch) {
    static int occurrence = -1;
    const char* wanted = getenv("WATTSLICE_LOOP_KERNEL");
    if (wanted && *wanted && !isCalled(nameOf(launch.function), wanted)) {
        return false;
    }
    return ++occurrence == static_cast<int>(number("WATTSLICE_LOOP_OCCURRENCE", -1));
}

void tellLaunch(int index, const Launch& launch) {
    cudaFuncAttributes attributes = {};
    char bus[32] = "";
    int device = 0;
    cudaFuncGetAttributes(&attributes, launch.function);
    cudaGetDevice(&device);
    cudaDeviceGetPCIBusId(bus, sizeof bus, device);
    fprintf(events(), "launch\t%d\t%s\t%u,%u,%u\t%u,%u,%u\t%zu\t%zu\t%d\t%s\n", index,
            shortened(nameOf(launch.function), true).c_str(), launch.grid.x, launch.grid.y, launch.grid.z, launch.block.x, launch.block.y, launch.block.z, launch.sharedBytes,
            attributes.sharedSizeBytes, attributes.numRegs, bus);
    fflush(events());
}

// Many launches as one graph: between two nodes the GPU idles for about a microsecond, between two launches
// from the host for several.
class Batch {
public:
    bool record(const Launch& launch, int launches, cudaStream_t stream) {
        launch_ = launch;
        launches_ = launches;
        stream_ = stream;
        cudaGraph_t graph = nullptr;
        cudaError_t failed = cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
        for (int i = 0; i < launches && failed == cudaSuccess; ++i) {
            failed = launch.on(stream);
        }
        const cudaError_t ended = cudaStreamEndCapture(stream, &graph);
        if (failed != cudaSuccess || ended != cudaSuccess) {
            cudaGetLastError();  // some launches cannot be captured: they are queued one by one instead
            return true;
        }
        TRY(cudaGraphInstantiate(&graph_, graph, 0));
        TRY(cudaGraphDestroy(graph));
        return true;
    }

    bool queue() const {
        if (graph_) {
            TRY(cudaGraphLaunch(graph_, stream_));
            return true;
        }
        for (int i = 0; i < launches_; ++i) {
            TRY(launch_.on(stream_));
        }
        return true;
    }

    int launches() const { return launches_; }

private:
    Launch launch_ = {};
    int launches_ = 0;
    cudaStream_t stream_ = nullptr;
    cudaGraphExec_t graph_ = nullptr;
};

bool timeOneLaunch(const Launch& launch, cudaStream_t stream, float* milliseconds) {
    cudaEvent_t before, after;
    TRY(cudaEventCreate(&before));
    TRY(cudaEventCreate(&after));
    for (int i = 0; i < 2; ++i) {  // the first launch also loads the code
        TRY(cudaEventRecord(before, stream));
        TRY(launch.on(stream));
        TRY(cudaEventRecord(after, stream));
        TRY(cudaEventSynchronize(after));
    }
    TRY(cudaEventElapsedTime(milliseconds, before, after));
    return true;
}

// Two batches are always queued, so that the GPU never waits for the host; `ends` mark where each of them ends.
bool repeat(const Launch& launch, double warmupS, double windowS) {
    cudaStream_t stream;
    float onceMs = 0.0f;
    TRY(cudaDeviceSynchronize());
    TRY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    if (!timeOneLaunch(launch, stream, &onceMs)) {
        return false;
    }
    const float wanted = kBatchMs / (onceMs > 1e-3f ? onceMs : 1e-3f);
    const int launches = wanted < 1.0f ? 1 : wanted > kMostLaunchesInBatch ? kMostLaunchesInBatch : static_cast<int>(wanted);
    Batch batch;
    if (!batch.record(launch, launches, stream)) {
        return false;
    }
    cudaEvent_t ends[2], begin;
    TRY(cudaEventCreate(&ends[0]));
    TRY(cudaEventCreate(&ends[1]));
    TRY(cudaEventCreate(&begin));
    const long long startNs = monotonicNs();
    long long beginNs = 0;
    long long done = 0;  // launches since `begin`
    for (int i = 0;; ++i) {
        if (!batch.queue()) {
            return false;
        }
        TRY(cudaEventRecord(ends[i % 2], stream));
        if (i == 0) {
            continue;
        }
        const cudaEvent_t finished = ends[(i - 1) % 2];
        TRY(cudaEventSynchronize(finished));
        const long long nowNs = monotonicNs();
        if (beginNs != 0) {
            done += batch.launches();
            if (nowNs - beginNs >= windowS * 1e9) {
                float elapsedMs = 0.0f;
                TRY(cudaEventElapsedTime(&elapsedMs, begin, finished));
                fprintf(events(), "end\t%lld\t%lld\t%.6f\n", nowNs, done, elapsedMs);
                break;
            }
        } else if (nowNs - startNs >= warmupS * 1e9) {
            // The event that ended this batch begins the window; it must not be recorded anew.
            const cudaEvent_t kept = ends[(i - 1) % 2];
            ends[(i - 1) % 2] = begin;
            begin = kept;
            beginNs = nowNs;
            fprintf(events(), "begin\t%lld\n", nowNs);
        }
        fflush(events());
    }
    fflush(events());
    TRY(cudaStreamSynchronize(stream));
    return true;
}

// The launch itself, after it was listed and, when it is the chosen one, repeated.
cudaError_t seen(const Launch& launch, cudaStream_t stream) {
    static int index = -1;
    cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
    if (!events()) {
        return launch.on(stream);
    }
    ++index;
    tellLaunch(index, launch);
    if (isChosen(launch)) {
        fprintf(events(), "repeat\n");
        cudaStreamIsCapturing(stream, &capturing);
        if (capturing != cudaStreamCaptureStatusNone) {
            fprintf(events(), "error\tthe program records this launch into a graph of its own\n");
            fflush(events());
            _exit(3);
        }
        _exit(repeat(launch, number("WATTSLICE_LOOP_WARMUP_S", 1.0), number("WATTSLICE_LOOP_WINDOW_S", 5.0)) ? 0 : 3);
    }
    return launch.on(stream);
}

}  // namespace

extern "C" {

void __wrap___cudaRegisterFunction(void** handle, const char* host, char* device, const char* name, int threads,
                                   uint3* thread, uint3* block, dim3* blockSize, dim3* gridSize, int* warpSize) {
    registered().emplace_back(host, name);
    __real___cudaRegisterFunction(handle, host, device, name, threads, thread, block, blockSize, gridSize, warpSize);
}

cudaError_t __wrap_cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t sharedBytes,
                                    cudaStream_t stream) {
    return seen({function, grid, block, arguments, sharedBytes, nullptr, false, false}, stream);
}

cudaError_t __wrap_cudaLaunchKernel_ptsz(const void* function, dim3 grid, dim3 block, void** arguments,
                                         size_t sharedBytes, cudaStream_t stream) {
    return seen({function, grid, block, arguments, sharedBytes, nullptr, false, true}, stream);
}

cudaError_t __wrap_cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                                               size_t sharedBytes, cudaStream_t stream) {
    return seen({function, grid, block, arguments, sharedBytes, nullptr, true, false}, stream);
}

cudaError_t __wrap_cudaLaunchKernelExC(const cudaLaunchConfig_t* configuration, const void* function,
                                       void** arguments) {
    return seen({function, configuration->gridDim, configuration->blockDim, arguments,
                 configuration->dynamicSmemBytes, configuration, false, false},
                configuration->stream);
}

}  // extern "C"
