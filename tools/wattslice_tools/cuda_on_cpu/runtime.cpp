// The fibers behind launch.h: one stack per thread of a block, kept from block to block. A warp runs until all
// of its threads wait for others, then the next one, in ascending order, or in descending order when
// CUDA_ON_CPU_ORDER=descending: a program whose result depends on that order lacks a barrier. The launches of
// the kernel that CUDA_ON_CPU_WITHOUT names do nothing: a program that does not notice checks too little.
#include "launch.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "api.h"

#if !defined(__x86_64__) || defined(CUDA_ON_CPU_UCONTEXT)
#include <ucontext.h>
#endif
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace cuda_on_cpu {
namespace {

constexpr size_t kStackBytes = 512 * 1024, kGuardBytes = 4096;
constexpr size_t kMaxThreads = 1024;
constexpr size_t kMaxSharedBytes = 227 * 1024;

alignas(128) unsigned char sharedMemory[kMaxSharedBytes + 4096];

enum class State { kReady, kYielding, kAtBarrier, kInWarp, kGathering, kDone };

// What a thread brings to a warp-wide function, and where it wants the values of the others.
struct Meeting {
    const char* function;
    unsigned mask;
    const void* value;
    void* seen;
    size_t bytes;
    unsigned here;
};

#if defined(__x86_64__) && !defined(CUDA_ON_CPU_UCONTEXT)

// Saves the registers that a call must preserve on the stack, and goes on with another stack.
extern "C" void cudaOnCpuSwitch(void** from, void* to);
asm(R"(
    .text
    .type cudaOnCpuSwitch, @function
cudaOnCpuSwitch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size cudaOnCpuSwitch, .-cudaOnCpuSwitch
)");

struct Context {
    void* top = nullptr;

    void start(void* stack, size_t bytes, void (*entry)()) {
        auto** words = reinterpret_cast<void**>(static_cast<char*>(stack) + bytes);
        *--words = nullptr;  // a return address that is never used: keeps the stack aligned as after a call
        *--words = reinterpret_cast<void*>(entry);
        for (int saved = 0; saved < 6; ++saved) {
            *--words = nullptr;
        }
        top = words;
    }
    static void change(Context& from, Context& to) { cudaOnCpuSwitch(&from.top, to.top); }
};

#else

struct Context {
    ucontext_t context;

    void start(void* stack, size_t bytes, void (*entry)()) {
        getcontext(&context);
        context.uc_stack.ss_sp = stack;
        context.uc_stack.ss_size = bytes;
        context.uc_link = nullptr;
        makecontext(&context, entry, 0);
    }
    static void change(Context& from, Context& to) { swapcontext(&from.context, &to.context); }
};

#endif

struct Fiber {
    Context context;
    void* stack = nullptr;
    State state = State::kDone;
    bool predicate = false;
    uint3 index = {0, 0, 0};
    Meeting meeting = {};
    const void* site = nullptr;  // where a gathering thread is
    unsigned here = 0;           // the lanes that gathered there
};

std::vector<std::unique_ptr<Fiber>> fibers;
Context scheduler;
const std::function<void()>* body = nullptr;
size_t threads = 0;
size_t running = 0;
const char* kernelName = "none";
Votes votes = {0, 0};
std::vector<const void*> declared;  // the shared variables that the running block has met

#ifdef __SANITIZE_ADDRESS__
const void* mainStack = nullptr;
size_t mainStackBytes = 0;

void enter(Fiber& fiber) {
    void* fake = nullptr;
    __sanitizer_start_switch_fiber(&fake, fiber.stack, kStackBytes);
    Context::change(scheduler, fiber.context);
    __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
}
void leave() {
    void* fake = nullptr;
    __sanitizer_start_switch_fiber(&fake, mainStack, mainStackBytes);
    Context::change(fibers[running]->context, scheduler);
    __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
}
void arrive() { __sanitizer_finish_switch_fiber(nullptr, &mainStack, &mainStackBytes); }
void limitShared(size_t bytes) {
    ASAN_UNPOISON_MEMORY_REGION(sharedMemory, sizeof sharedMemory);
    ASAN_POISON_MEMORY_REGION(sharedMemory + bytes, sizeof sharedMemory - bytes);
}
#else
void enter(Fiber& fiber) { Context::change(scheduler, fiber.context); }
void leave() { Context::change(fibers[running]->context, scheduler); }
void arrive() {}
void limitShared(size_t) {}
#endif

[[noreturn]] void fail(const char* what, const char* function) {
    fflush(stdout);
    fprintf(stderr, "kernel %s, block (%u, %u, %u), thread (%u, %u, %u): %s: %s\n", kernelName, blockIdx.x,
            blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z, function, what);
    _Exit(3);
}

// Says which thread it was that the system ends the program for, and lets it.
#ifndef __SANITIZE_ADDRESS__
void crash(int number) {
    char text[256];
    const int length = snprintf(
        text, sizeof text, "%s%s, block (%u, %u, %u), thread (%u, %u, %u): %s\n",
        inKernel ? "kernel " : "host code, after kernel ", kernelName, blockIdx.x, blockIdx.y, blockIdx.z,
        threadIdx.x, threadIdx.y, threadIdx.z,
        number == SIGFPE ? "divides a whole number by zero" : "accesses memory that is not its own");
    [[maybe_unused]] const auto written = write(STDERR_FILENO, text, length);
    signal(number, SIG_DFL);
    raise(number);
}
const bool watched = [] {
    static char stack[64 * 1024];
    stack_t alternative = {};
    alternative.ss_sp = stack;
    alternative.ss_size = sizeof stack;
    sigaltstack(&alternative, nullptr);
    struct sigaction action = {};
    action.sa_handler = crash;
    action.sa_flags = SA_ONSTACK | SA_NODEFER;
    for (const int number : {SIGSEGV, SIGBUS, SIGFPE}) {
        sigaction(number, &action, nullptr);
    }
    return true;
}();
#endif

// Ends the meeting of the lanes of `mask` once all of them that have not returned are there.
void settle(size_t warp, unsigned mask) {
    std::array<Meeting*, warpSize> present = {};
    const char* function = nullptr;
    for (int lane = 0; lane < warpSize; ++lane) {
        const size_t thread = warp * warpSize + lane;
        if ((mask >> lane & 1) == 0 || thread >= threads || fibers[thread]->state == State::kDone) {
            continue;
        }
        Fiber& fiber = *fibers[thread];
        if (fiber.state != State::kInWarp || fiber.meeting.mask != mask) {
            return;
        }
        if (function != nullptr && strcmp(function, fiber.meeting.function) != 0) {
            fail("lanes of the same mask call different functions", function);
        }
        function = fiber.meeting.function;
        present[lane] = &fiber.meeting;
    }
    for (int reader = 0; reader < warpSize; ++reader) {
        if (present[reader] == nullptr) {
            continue;
        }
        for (int lane = 0; lane < warpSize; ++lane) {
            auto* cell = static_cast<unsigned char*>(present[reader]->seen) + lane * present[reader]->bytes;
            if (present[lane] == nullptr) {
                memset(cell, 0xff, present[reader]->bytes);
            } else {
                memcpy(cell, present[lane]->value, present[reader]->bytes);
            }
        }
    }
    unsigned here = 0;
    for (int lane = 0; lane < warpSize; ++lane) {
        here |= present[lane] != nullptr ? 1u << lane : 0u;
    }
    for (int lane = 0; lane < warpSize; ++lane) {
        if (present[lane] != nullptr) {
            present[lane]->here = here;
            fibers[warp * warpSize + lane]->state = State::kReady;
        }
    }
}

void threadMain() {
    arrive();
    for (;;) {
        (*body)();
        fibers[running]->state = State::kDone;
        const size_t warp = running / warpSize;  // others may have been waiting only for this one
        for (size_t other = warp * warpSize; other < std::min(threads, (warp + 1) * warpSize); ++other) {
            if (fibers[other]->state == State::kInWarp) {
                settle(warp, fibers[other]->meeting.mask);
            }
        }
        leave();
    }
}

void releaseBarrier() {
    votes = {0, 0};
    for (size_t thread = 0; thread < threads; ++thread) {
        Fiber& fiber = *fibers[thread];
        threadIdx = fiber.index;
        if (fiber.state == State::kInWarp) {
            fail("waits for lanes that never come", fiber.meeting.function);
        }
        if (fiber.state == State::kAtBarrier) {
            votes.yes += fiber.predicate ? 1 : 0;
            ++votes.threads;
            fiber.state = State::kReady;
        }
    }
}

// No thread of the warp from `first` to `last` can go on: those gathering at one place are all that come there.
bool gathered(size_t first, size_t last) {
    const void* site = nullptr;
    unsigned here = 0;
    for (size_t thread = first; thread <= last; ++thread) {
        if (fibers[thread]->state == State::kGathering && (site == nullptr || site == fibers[thread]->site)) {
            site = fibers[thread]->site;
            here |= 1u << (thread - first);
        }
    }
    for (size_t thread = first; thread <= last; ++thread) {
        if ((here >> (thread - first) & 1u) != 0) {
            fibers[thread]->here = here;
            fibers[thread]->state = State::kReady;
        }
    }
    return here != 0;
}

// Runs the threads from `first` on that are ready, in turn, until none is; says whether any was.
bool runWarp(size_t first, bool descending) {
    const size_t last = std::min(threads, first + warpSize) - 1;
    bool progress = false;
    for (bool again = true; again;) {
        again = false;
        for (size_t turn = 0; turn <= last - first; ++turn) {
            running = descending ? last - turn : first + turn;
            if (fibers[running]->state == State::kReady) {
                again = progress = true;
                threadIdx = fibers[running]->index;
                enter(*fibers[running]);
            }
        }
        again = again || gathered(first, last);
    }
    return progress;
}

void runBlock(bool descending) {
    for (size_t thread = 0; thread < threads; ++thread) {
        fibers[thread]->state = State::kReady;
    }
    const size_t warps = (threads + warpSize - 1) / warpSize;
    size_t left = threads;
    while (left > 0) {
        bool progress = false;
        for (size_t turn = 0; turn < warps; ++turn) {
            progress |= runWarp((descending ? warps - 1 - turn : turn) * warpSize, descending);
        }
        left = 0;
        for (size_t thread = 0; thread < threads; ++thread) {
            left += fibers[thread]->state == State::kDone ? 0 : 1;
            if (fibers[thread]->state == State::kYielding) {
                fibers[thread]->state = State::kReady;
            }
        }
        if (!progress) {
            releaseBarrier();
        }
    }
}

bool isSet(const char* variable, const char* value) {
    const char* found = getenv(variable);
    return found != nullptr && strcmp(found, value) == 0;
}

bool possible(const Configuration& c) {
    const auto within = [](const dim3& size, unsigned x, unsigned y, unsigned z) {
        return size.x >= 1 && size.x <= x && size.y >= 1 && size.y <= y && size.z >= 1 && size.z <= z;
    };
    return within(c.grid, 0x7fffffff, 65535, 65535) && within(c.block, 1024, 1024, 64) &&
           size_t{c.block.x} * c.block.y * c.block.z <= kMaxThreads && c.sharedBytes <= kMaxSharedBytes;
}

}  // namespace

unsigned char* const dynamicShared = sharedMemory;

void run(const Configuration& configuration, const char* name, const std::function<void()>& thread) {
    if (!possible(configuration)) {
        setLastError(cudaErrorInvalidConfiguration);
        return;
    }
    if (isSet("CUDA_ON_CPU_WITHOUT", name)) {
        return;
    }
    const bool descending = isSet("CUDA_ON_CPU_ORDER", "descending");
    kernelName = name;
    gridDim = configuration.grid;
    blockDim = configuration.block;
    threads = size_t{blockDim.x} * blockDim.y * blockDim.z;
    while (fibers.size() < threads) {
        auto fiber = std::make_unique<Fiber>();
        fiber->stack = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (fiber->stack == MAP_FAILED) {
            fail("no memory for its stack", "launch");
        }
        mprotect(fiber->stack, kGuardBytes, PROT_NONE);  // a stack that is too deep ends the program
        fiber->context.start(fiber->stack, kStackBytes, threadMain);
        fibers.push_back(std::move(fiber));
    }
    for (unsigned i = 0; i < threads; ++i) {
        fibers[i]->index = {i % blockDim.x, i / blockDim.x % blockDim.y, i / (blockDim.x * blockDim.y)};
    }
    body = &thread;
    inKernel = true;
    limitShared(configuration.sharedBytes);
    for (unsigned z = 0; z < gridDim.z; ++z) {
        for (unsigned y = 0; y < gridDim.y; ++y) {
            for (unsigned x = 0; x < gridDim.x; ++x) {
                blockIdx = {x, y, z};
                declared.clear();
                memset(sharedMemory, 0xff, configuration.sharedBytes);
                runBlock(descending);
            }
        }
    }
    inKernel = false;
}

void undefine(void* variable, size_t bytes) {
    if (std::find(declared.begin(), declared.end(), variable) == declared.end()) {
        declared.push_back(variable);
        memset(variable, 0xff, bytes);
    }
}

Votes blockBarrier(bool predicate) {
    Fiber& self = *fibers[running];
    self.predicate = predicate;
    self.state = State::kAtBarrier;
    leave();
    return votes;
}

unsigned meet(const char* function, unsigned mask, const void* value, void* seen, size_t bytes) {
    if ((mask >> lane() & 1) == 0) {
        fail("the calling lane is not in its mask", function);
    }
    Fiber& self = *fibers[running];
    self.meeting = {function, mask, value, seen, bytes, 0};
    self.state = State::kInWarp;
    settle(running / warpSize, mask);
    if (self.state == State::kInWarp) {
        leave();
    }
    return self.meeting.here;
}

void yield() {
    fibers[running]->state = State::kYielding;
    leave();
}

int lane() { return static_cast<int>(running % warpSize); }

[[gnu::noinline]] unsigned lanesHere() {
    Fiber& self = *fibers[running];
    self.site = __builtin_return_address(0);
    self.state = State::kGathering;
    leave();
    return self.here;
}

void gridBarrier() {
    if (size_t{gridDim.x} * gridDim.y * gridDim.z > 1) {
        fail("blocks run one after another here and cannot wait for each other; use a GPU, or --data",
             "a barrier of the whole grid");
    }
    blockBarrier(false);
}

}  // namespace cuda_on_cpu
