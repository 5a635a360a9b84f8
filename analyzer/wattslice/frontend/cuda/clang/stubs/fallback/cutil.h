// The cutil helpers of CUDA 4 and older, harmless here.
#pragma once
#include "helper_cuda.h"
#define CUT_DEVICE_INIT(argc, argv)
#define CUT_EXIT(argc, argv)
#define CUT_CHECK_ERROR(message)
#define CUDA_SAFE_CALL(call) call
#define CUDA_SAFE_CALL_NO_SYNC(call) call
#define CUT_SAFE_CALL(call) call
#define CUFFT_SAFE_CALL(call) call
#define cutilSafeCall(call) call
#define cutilCheckError(call) call
#define cutilCheckMsg(message)
#define CUT_BANK_CHECKER(array, index) array[index]
template <class... A> int cutCreateTimer(A...); template <class... A> int cutStartTimer(A...); template <class... A> int cutStopTimer(A...); template <class... A> int cutDeleteTimer(A...); template <class... A> float cutGetTimerValue(A...); template <class... A> int cutGetCmdLineArgumenti(A...); template <class... A> int cutCheckCmdLineFlag(A...);
