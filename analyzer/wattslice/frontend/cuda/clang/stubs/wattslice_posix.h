// POSIX and compiler extras for host code; declarations only.
#pragma once
#include "wattslice_std_c.h"

#define _POSIX_VERSION 200809L

#ifndef __cplusplus
int omp_get_num_threads(void); int omp_get_thread_num(void); int omp_get_max_threads(void); void omp_set_num_threads(int);
int omp_get_num_procs(void); double omp_get_wtime(void); int usleep(unsigned); unsigned sleep(unsigned);
#else
struct stat { long st_size, st_mtime; unsigned st_mode; };
struct rusage { timeval ru_utime, ru_stime; };
struct utsname { char sysname[65], nodename[65], release[65], version[65], machine[65]; };
struct option { const char* name; int has_arg; int* flag; int val; };
struct glob_t { size_t gl_pathc; char** gl_pathv; size_t gl_offs; };
int glob(const char*, int, int (*)(const char*, int), glob_t*); void globfree(glob_t*);
struct DIR;
struct dirent { char d_name[256]; };
struct sockaddr_un { int sun_family; char sun_path[108]; };
typedef int pid_t; typedef int key_t; typedef unsigned mode_t; typedef long suseconds_t;
typedef unsigned long pthread_t; struct pthread_mutex_t {}; struct pthread_cond_t {}; struct pthread_attr_t {}; struct pthread_barrier_t {};
#define PTHREAD_MUTEX_INITIALIZER {}
#define O_RDONLY 0
#define O_WRONLY 1
#define O_RDWR 2
#define O_CREAT 64
#define O_TRUNC 512
#define S_IRUSR 256
#define S_IWUSR 128
#define S_IRWXU 448
#define PROT_READ 1
#define PROT_WRITE 2
#define MAP_SHARED 1
#define MAP_PRIVATE 2
#define MAP_ANONYMOUS 32
#define MAP_ANON 32
#define MAP_FAILED ((void*)-1)
#define RUSAGE_SELF 0
#define _SC_PAGESIZE 30
#define no_argument 0
#define required_argument 1
#define optional_argument 2
#define F_OK 0
#define F_SETFL 4
extern "C" {
extern char* optarg; extern int optind;
int open(const char*, int, ...); int close(int); long read(int, void*, size_t); long write(int, const void*, size_t);
long lseek(int, long, int); int usleep(unsigned); unsigned sleep(unsigned); pid_t getpid(void); pid_t fork(void);
int access(const char*, int); int unlink(const char*); int mkdir(const char*, mode_t); char* getcwd(char*, size_t);
int gethostname(char*, size_t); int isatty(int); long sysconf(int); int fstat(int, struct stat*); int ftruncate(int, long);
int stat(const char*, struct stat*); int getopt(int, char* const*, const char*); void* mmap(void*, size_t, int, int, int, long);
int getopt_long(int, char* const*, const char*, const option*, int*); int munmap(void*, size_t); int chdir(const char*);
int getrusage(int, rusage*); int uname(utsname*); DIR* opendir(const char*); dirent* readdir(DIR*); int closedir(DIR*);
int pthread_create(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*); int pthread_join(pthread_t, void**);
int pthread_mutex_lock(pthread_mutex_t*); int pthread_mutex_unlock(pthread_mutex_t*); int pthread_mutex_init(pthread_mutex_t*, const void*);
int pthread_mutex_destroy(pthread_mutex_t*); pthread_t pthread_self(void); void pthread_exit(void*); int fcntl(int, int, ...);
int omp_get_num_threads(void); int omp_get_thread_num(void); int omp_get_max_threads(void); void omp_set_num_threads(int);
int omp_get_num_procs(void); double omp_get_wtime(void); int kill(pid_t, int); pid_t wait(int*); pid_t waitpid(pid_t, int*, int);
int feenableexcept(int); int mlock(const void*, size_t); int getpagesize(void);
void (*signal(int, void (*)(int)))(int);
}
#endif
