// No guard: NDEBUG decides anew at each inclusion. The condition is evaluated; what fails is never run.
#undef assert
#ifdef NDEBUG
#define assert(...) ((void)0)
#elif !defined(__cplusplus)
#define assert(...) ((void)(__VA_ARGS__))
#else
#define assert(...) assert(static_cast<bool>(__VA_ARGS__))
#endif
