// Time runs FAKE_SPEED times as fast since FAKE_EPOCH_NS (CLOCK_MONOTONIC): clocks, sleeps and time limits of a process
// that preloads this. What it computes takes as long as ever, and so seems to take longer.
#include <dlfcn.h>
#include <poll.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/select.h>

#include <cstdlib>
#include <ctime>

namespace {

constexpr long long kSecond = 1000000000LL;

double speed() {
    static const double value = getenv("FAKE_SPEED") ? atof(getenv("FAKE_SPEED")) : 1.0;
    return value;
}

long long epochNs() {
    static const long long value = getenv("FAKE_EPOCH_NS") ? atoll(getenv("FAKE_EPOCH_NS")) : 0;
    return value;
}

template <class Function>
Function real(Function, const char* name) {
    return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

long long ns(const timespec& time) { return time.tv_sec * kSecond + time.tv_nsec; }
timespec time_(long long ns) { return {static_cast<time_t>(ns / kSecond), static_cast<long>(ns % kSecond)}; }
timespec shorter(const timespec& span) { return time_(static_cast<long long>(ns(span) / speed())); }
timespec unwarped(const timespec& time) {
    return time_(epochNs() + static_cast<long long>((ns(time) - epochNs()) / speed()));
}
int shorterMs(int ms) { return ms <= 0 ? ms : static_cast<int>(ms / speed()) + 1; }

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* now) noexcept {
    static const auto call = real(&clock_gettime, "clock_gettime");
    const int status = call(clock, now);
    if (status == 0 && clock == CLOCK_MONOTONIC) {
        *now = time_(epochNs() + static_cast<long long>((ns(*now) - epochNs()) * speed()));
    }
    return status;
}
int nanosleep(const timespec* span, timespec* left) {
    static const auto call = real(&nanosleep, "nanosleep");
    const timespec wait = shorter(*span);
    return call(&wait, left);
}
int clock_nanosleep(clockid_t clock, int flags, const timespec* time, timespec* left) {
    static const auto call = real(&clock_nanosleep, "clock_nanosleep");
    const timespec wait = flags & TIMER_ABSTIME ? clock == CLOCK_MONOTONIC ? unwarped(*time) : *time : shorter(*time);
    return call(clock, flags, &wait, left);
}
int sem_clockwait(sem_t* semaphore, clockid_t clock, const timespec* time) {
    static const auto call = real(&sem_clockwait, "sem_clockwait");
    const timespec until = clock == CLOCK_MONOTONIC ? unwarped(*time) : *time;
    return call(semaphore, clock, &until);
}
int sem_timedwait(sem_t* semaphore, const timespec* time) {
    static const auto call = real(&sem_timedwait, "sem_timedwait");
    timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    const timespec until = time_(ns(now) + static_cast<long long>((ns(*time) - ns(now)) / speed()));
    return call(semaphore, &until);
}
int poll(pollfd* files, nfds_t count, int ms) {
    static const auto call = real(&poll, "poll");
    return call(files, count, shorterMs(ms));
}
int epoll_wait(int file, epoll_event* events, int most, int ms) {
    static const auto call = real(&epoll_wait, "epoll_wait");
    return call(file, events, most, shorterMs(ms));
}

}  // extern "C"
