// Used when a repository does not bring the samples' helper headers: their macros and functions, declared only.
#pragma once
#include "wattslice_posix.h"
#define checkCudaErrors(call) (call)
#define getLastCudaError(message) ((void)(message))
#define printLastCudaError(message) ((void)(message))
#define checkCudaErrorsDRV(call) (call)
#define gpuGetMaxGflopsDevice gpuGetMaxGflopsDeviceId
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define EXIT_WAIVED 2
int findCudaDevice(int, const char**); int gpuGetMaxGflopsDeviceId(); int gpuDeviceInit(int); int _ConvertSMVer2Cores(int, int);
bool checkCudaCapabilities(int, int); bool checkCmdLineFlag(int, const char**, const char*); int ftoi(float); int findIntegratedGPU();
int getCmdLineArgumentInt(int, const char**, const char*); float getCmdLineArgumentFloat(int, const char**, const char*);
bool getCmdLineArgumentString(int, const char**, const char*, char**); char* sdkFindFilePath(const char*, const char*);
template <class... A> bool sdkLoadPGM(A...); template <class... A> bool sdkSavePGM(A...); template <class... A> bool sdkCompareL2fe(A...); template <class... A> bool sdkLoadPPM4(A...);
struct StopWatchInterface; bool sdkCreateTimer(StopWatchInterface**); bool sdkStartTimer(StopWatchInterface**); bool sdkStopTimer(StopWatchInterface**);
bool sdkResetTimer(StopWatchInterface**); bool sdkDeleteTimer(StopWatchInterface**); float sdkGetTimerValue(StopWatchInterface**); float sdkGetAverageTimerValue(StopWatchInterface**);
template <class T> void check(T, const char*, const char*, int);
