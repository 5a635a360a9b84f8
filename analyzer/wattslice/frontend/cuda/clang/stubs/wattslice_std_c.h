// The C standard library and the corners of POSIX that CUDA programs' host code touches; declarations only.
#pragma once

#ifdef __cplusplus
struct FILE;
extern FILE *stdin, *stdout, *stderr;
#define stdin stdin
#define stdout stdout
#define stderr stderr
#else
#include "prelude_c.h"
#define stdin ((FILE*)0)
#define stdout ((FILE*)0)
#define stderr ((FILE*)0)
#endif
#define EOF (-1)
#define SEEK_SET 0
#define SEEK_CUR 1
#define SEEK_END 2
#define BUFSIZ 8192
#define CLOCKS_PER_SEC 1000000L
#define CHAR_BIT 8
#define SCHAR_MIN (-128)
#define SCHAR_MAX 127
#define UCHAR_MAX 255
#define CHAR_MIN SCHAR_MIN
#define CHAR_MAX SCHAR_MAX
#define SHRT_MIN (-32768)
#define SHRT_MAX 32767
#define USHRT_MAX 65535
#define INT_MIN (-__INT_MAX__ - 1)
#define INT_MAX __INT_MAX__
#define UINT_MAX (__INT_MAX__ * 2U + 1U)
#define LONG_MIN (-__LONG_MAX__ - 1L)
#define LONG_MAX __LONG_MAX__
#define ULONG_MAX (__LONG_MAX__ * 2UL + 1UL)
#define LLONG_MIN (-__LONG_LONG_MAX__ - 1LL)
#define LLONG_MAX __LONG_LONG_MAX__
#define ULLONG_MAX (__LONG_LONG_MAX__ * 2ULL + 1ULL)
#define INT8_MIN (-128)
#define INT8_MAX 127
#define UINT8_MAX 255
#define INT16_MIN SHRT_MIN
#define INT16_MAX SHRT_MAX
#define UINT16_MAX 65535
#define INT32_MIN INT_MIN
#define INT32_MAX INT_MAX
#define UINT32_MAX UINT_MAX
#define INT64_MIN LONG_MIN
#define INT64_MAX LONG_MAX
#define UINT64_MAX ULONG_MAX
#define SIZE_MAX ULONG_MAX
#define PATH_MAX 4096
#define FLT_MAX __FLT_MAX__
#define FLT_MIN __FLT_MIN__
#define FLT_EPSILON __FLT_EPSILON__
#define FLT_DIG __FLT_DIG__
#define FLT_MANT_DIG __FLT_MANT_DIG__
#define DBL_MAX __DBL_MAX__
#define DBL_MIN __DBL_MIN__
#define DBL_EPSILON __DBL_EPSILON__
#define DBL_DIG __DBL_DIG__
#define DBL_MANT_DIG __DBL_MANT_DIG__
#define UINT64_C(x) x##UL
#define INT64_C(x) x##L
#define PRIu64 "lu"
#define PRId64 "ld"
#define PRIx64 "lx"
#define PRIu32 "u"
#define PRId32 "d"
#define errno ws_errno
extern int ws_errno;
typedef __builtin_va_list va_list;
#define va_start(a, b) __builtin_va_start(a, b)
#define va_end(a) __builtin_va_end(a)
#define va_arg(a, t) __builtin_va_arg(a, t)
#define va_copy(a, b) __builtin_va_copy(a, b)
typedef int errno_t;
struct tm { int tm_sec, tm_min, tm_hour, tm_mday, tm_mon, tm_year, tm_wday, tm_yday, tm_isdst; };
struct timeval { long tv_sec, tv_usec; };
struct timespec { long tv_sec, tv_nsec; };
struct timezone { int tz_minuteswest, tz_dsttime; };
struct div_t { int quot, rem; };
#define CLOCK_REALTIME 0
#define CLOCK_MONOTONIC 1

#ifdef __cplusplus
extern "C" {
#define WS_ANY(R, F) R F(...);
WS_ANY(int, fprintf) WS_ANY(int, sprintf) WS_ANY(int, snprintf) WS_ANY(int, scanf) WS_ANY(int, fscanf)
WS_ANY(int, sscanf)
#endif
int vprintf(const char*, va_list); int vfprintf(FILE*, const char*, va_list);
int vsprintf(char*, const char*, va_list); int vsnprintf(char*, size_t, const char*, va_list);
FILE* fopen(const char*, const char*); int fclose(FILE*); size_t fread(void*, size_t, size_t, FILE*);
size_t fwrite(const void*, size_t, size_t, FILE*); int fseek(FILE*, long, int); long ftell(FILE*); void rewind(FILE*);
int feof(FILE*); int ferror(FILE*); int fflush(FILE*); char* fgets(char*, int, FILE*); int fputs(const char*, FILE*);
int fgetc(FILE*); int fputc(int, FILE*); int getc(FILE*); int putc(int, FILE*); int getchar(void); int putchar(int);
int puts(const char*); void perror(const char*); int remove(const char*); int rename(const char*, const char*);
FILE* popen(const char*, const char*); int pclose(FILE*); int fileno(FILE*); int ungetc(int, FILE*);
int setvbuf(FILE*, char*, int, size_t); FILE* freopen(const char*, const char*, FILE*); char* gets(char*); void setbuf(FILE*, char*);
size_t strlen(const char*); char* strcpy(char*, const char*); char* strncpy(char*, const char*, size_t);
char* strcat(char*, const char*); char* strncat(char*, const char*, size_t); int strcmp(const char*, const char*);
int strncmp(const char*, const char*, size_t); int strcasecmp(const char*, const char*);
int strncasecmp(const char*, const char*, size_t); char* strdup(const char*); char* strtok(char*, const char*);
char* strtok_r(char*, const char*, char**); char* strerror(int); size_t strspn(const char*, const char*);
size_t strcspn(const char*, const char*); void bzero(void*, size_t); char* strndup(const char*, size_t);
long strtol(const char*, char**, int); unsigned long strtoul(const char*, char**, int); double strtod(const char*, char**);
float strtof(const char*, char**); long long strtoll(const char*, char**, int); unsigned long long strtoull(const char*, char**, int);
long long atoll(const char*); int system(const char*); void qsort(void*, size_t, size_t, int (*)(const void*, const void*));
void* bsearch(const void*, const void*, size_t, size_t, int (*)(const void*, const void*)); int atexit(void (*)(void));
long random(void); void srandom(unsigned); double drand48(void); void srand48(long); long lrand48(void); int rand_r(unsigned*);
int setenv(const char*, const char*, int); char* realpath(const char*, char*); int posix_memalign(void**, size_t, size_t);
void* aligned_alloc(size_t, size_t); void* memalign(size_t, size_t); div_t div(int, int);
int isalpha(int); int isdigit(int); int isspace(int); int isalnum(int); int isupper(int); int islower(int);
int toupper(int); int tolower(int); int isxdigit(int); int ispunct(int); int isprint(int);
tm* localtime(const time_t*); tm* gmtime(const time_t*); size_t strftime(char*, size_t, const char*, const tm*);
char* ctime(const time_t*); char* asctime(const tm*); double difftime(time_t, time_t); time_t mktime(tm*);
int gettimeofday(timeval*, void*); int clock_gettime(int, timespec*); int nanosleep(const timespec*, timespec*);
#ifdef __cplusplus
}
// const-correct overloads, as C++ has them
const char* strchr(const char*, int); char* strchr(char*, int); const char* strrchr(const char*, int);
char* strrchr(char*, int); const char* strstr(const char*, const char*); char* strstr(char*, const char*);
const char* strpbrk(const char*, const char*); const void* memchr(const void*, int, size_t);
#else
char* strchr(const char*, int); char* strrchr(const char*, int); char* strstr(const char*, const char*);
#endif

#define M_E 2.7182818284590452354
#define M_LOG2E 1.4426950408889634074
#define M_LOG10E 0.43429448190325182765
#define M_LN2 0.69314718055994530942
#define M_LN10 2.30258509299404568402
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_1_PI 0.31830988618379067154
#define M_2_PI 0.63661977236758134308
#define M_2_SQRTPI 1.12837916709551257390
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440
#define INFINITY (__builtin_inff())
#define NAN (__builtin_nanf(""))
#define HUGE_VAL (__builtin_huge_val())
#define HUGE_VALF (__builtin_huge_valf())
#define MAXFLOAT __FLT_MAX__

#ifdef __cplusplus
namespace std {
#define WS_STD_C_MORE(M) M(FILE) M(fopen) M(fclose) M(fread) M(fwrite) M(fprintf) M(sprintf) M(snprintf) M(strlen) \
  M(strcmp) M(strcpy) M(strncpy) M(strtol) M(strtod) M(strtof) M(toupper) M(tolower) M(strstr) M(qsort) M(tm)  \
  M(localtime) M(strcat) M(isdigit) M(isspace) M(fseek) M(ftell) M(strncmp) M(sscanf) M(system) M(remove) M(puts) \
  M(perror) M(fflush) M(gmtime) M(strftime) M(va_list) M(strtoul) M(strchr) M(atoll) M(atexit) M(strtoull) M(atol)
#define WS_STD_C_USING(F) using ::F;
WS_STD_C_MORE(WS_STD_C_USING)
}
#endif
