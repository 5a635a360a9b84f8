// OpenCL types that headers shared by CUDA and OpenCL programs mention; functions are declared on the fly.
#pragma once
typedef signed char cl_char; typedef unsigned char cl_uchar; typedef short cl_short; typedef unsigned short cl_ushort;
typedef int cl_int; typedef unsigned cl_uint; typedef long cl_long; typedef unsigned long cl_ulong;
typedef float cl_float; typedef double cl_double; typedef cl_uint cl_bool; typedef cl_ulong cl_bitfield;
typedef struct _cl_platform_id* cl_platform_id; typedef struct _cl_device_id* cl_device_id;
typedef struct _cl_context* cl_context; typedef struct _cl_command_queue* cl_command_queue;
typedef struct _cl_mem* cl_mem; typedef struct _cl_program* cl_program; typedef struct _cl_kernel* cl_kernel;
typedef struct _cl_event* cl_event; typedef struct _cl_sampler* cl_sampler;
enum { CL_SUCCESS = 0, CL_FALSE = 0, CL_TRUE = 1 };
