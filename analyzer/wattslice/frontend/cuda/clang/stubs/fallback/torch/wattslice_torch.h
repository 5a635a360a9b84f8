// PyTorch's C++ interface as extensions use it, when a machine has none. Host code is declared only: sizes of
// tensors are known to wattslice by name (launches/tensors.py). Accessors in kernels do what they do, for
// contiguous tensors.
#pragma once
#include "../../wattslice_std_cpp.h"
#include "../../wattslice_fp16.cuh"
#include <cuda_bf16.h>
#define C10_HOST_DEVICE WS_HD
#define C10_DEVICE WS_D
#define C10_HOST
#define C10_ALWAYS_INLINE inline
#define C10_LAUNCH_BOUNDS_1(A) __launch_bounds__(A)
#define C10_LAUNCH_BOUNDS_2(A, B) __launch_bounds__(A, B)
#define C10_RESTRICT __restrict__
#define C10_WARP_SIZE 32
// ATen/cuda/DeviceUtils.cuh
WS_D inline unsigned WARP_BALLOT(int predicate, unsigned mask = 0xffffffff) { return __ballot_sync(mask, predicate); }
template <class T> WS_D T WARP_SHFL(T value, int lane, int width = 32, unsigned mask = 0xffffffff) { return __shfl_sync(mask, value, lane, width); }
template <class T> WS_D T WARP_SHFL_XOR(T value, int lanes, int width = 32, unsigned mask = 0xffffffff) { return __shfl_xor_sync(mask, value, lanes, width); }
template <class T> WS_D T WARP_SHFL_UP(T value, unsigned lanes, int width = 32, unsigned mask = 0xffffffff) { return __shfl_up_sync(mask, value, lanes, width); }
template <class T> WS_D T WARP_SHFL_DOWN(T value, unsigned lanes, int width = 32, unsigned mask = 0xffffffff) { return __shfl_down_sync(mask, value, lanes, width); }
#define AT_CUDA_CHECK(X) (X)
#define C10_CUDA_CHECK(X) (X)
#define C10_CUDA_KERNEL_LAUNCH_CHECK() ((void)0)
#define CUDA_KERNEL_LOOP(I, N) for (int I = blockIdx.x * blockDim.x + threadIdx.x; I < (N); I += blockDim.x * gridDim.x)
// A check is a statement, also without its semicolon. What it says of the sizes of tensors is used.
void wattslice_check(bool);
#define TORCH_CHECK(C, ...) { wattslice_check(C); }
#define TORCH_CHECK_ARG(C, ...) { wattslice_check(C); }
#define TORCH_CHECK_VALUE(C, ...) { wattslice_check(C); }
#define TORCH_CHECK_INDEX(C, ...) { wattslice_check(C); }
#define TORCH_CHECK_TYPE(...) {}
#define TORCH_INTERNAL_ASSERT_DEBUG_ONLY(...) {}
#define TORCH_WARN_ONCE(...) {}
#define TORCH_CUDABLAS_CHECK(X) (X)
#define CUDA_KERNEL_ASSERT(...) ((void)0)
#define TORCH_CHECK_EQ(A, B, ...) { wattslice_check((A) == (B)); }
#define CHECK_EQ(A, B) wattslice_check((A) == (B))
#define TORCH_INTERNAL_ASSERT(C, ...) { wattslice_check(C); }
#define TORCH_CHECK_NOT_IMPLEMENTED(...) {}
#define TORCH_WARN(...) {}
#define AT_ASSERT(C, ...) { wattslice_check(C); }
#define AT_ASSERTM(C, ...) { wattslice_check(C); }
#define AT_CHECK(C, ...) { wattslice_check(C); }
#define AT_ERROR(...) {}
#define CUDA_CHECK_CONTIGUOUS(...) ((void)0)
#define TORCH_EXTENSION_NAME wattslice_extension
#define WS_JOIN(A, B) A##B
#define PYBIND11_MODULE(NAME, M) void WS_JOIN(pybind_, NAME)(pybind11::module_& M)
#define TORCH_LIBRARY(NAME, M) void WS_JOIN(library_, NAME)(torch::Library& M)
#define TORCH_LIBRARY_FRAGMENT(NAME, M) void WS_JOIN(fragment_, NAME)(torch::Library& M)
#define TORCH_LIBRARY_IMPL(NAME, KEY, M) void WS_JOIN(library_##NAME##_, KEY)(torch::Library& M)
// Of all types that a dispatch goes through, one: float, or long where there are integers only; -D says another.
#ifndef WATTSLICE_DISPATCHED
#define WATTSLICE_DISPATCHED float
#endif
#define WS_DISPATCH(T, ...) ({ using scalar_t = T; (__VA_ARGS__)(); })
#define WS_DISPATCH_NAMED(T, N, ...) ({ using N = T; (__VA_ARGS__)(); })
#define AT_DISPATCH_FLOATING_TYPES(TYPE, NAME, ...) WS_DISPATCH(WATTSLICE_DISPATCHED, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES_AND_HALF(TYPE, NAME, ...) WS_DISPATCH(WATTSLICE_DISPATCHED, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES_AND(A, TYPE, NAME, ...) WS_DISPATCH(WATTSLICE_DISPATCHED, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES_AND2(A, B, TYPE, NAME, ...) WS_DISPATCH(WATTSLICE_DISPATCHED, __VA_ARGS__)
#define AT_DISPATCH_REDUCED_FLOATING_TYPES(TYPE, NAME, ...) WS_DISPATCH(c10::Half, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES(TYPE, NAME, ...) WS_DISPATCH(WATTSLICE_DISPATCHED, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND1(A, TYPE, NAME, ...) WS_DISPATCH(WATTSLICE_DISPATCHED, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND2(A, B, TYPE, NAME, ...) WS_DISPATCH(WATTSLICE_DISPATCHED, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES(TYPE, NAME, ...) WS_DISPATCH(WATTSLICE_DISPATCHED, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND(A, TYPE, NAME, ...) WS_DISPATCH(WATTSLICE_DISPATCHED, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND2(A, B, TYPE, NAME, ...) WS_DISPATCH(WATTSLICE_DISPATCHED, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND3(A, B, C, TYPE, NAME, ...) WS_DISPATCH(WATTSLICE_DISPATCHED, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX(TYPE, NAME, ...) WS_DISPATCH(WATTSLICE_DISPATCHED, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND1(A, TYPE, NAME, ...) WS_DISPATCH(WATTSLICE_DISPATCHED, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND2(A, B, TYPE, NAME, ...) WS_DISPATCH(WATTSLICE_DISPATCHED, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND3(A, B, C, TYPE, NAME, ...) WS_DISPATCH(WATTSLICE_DISPATCHED, __VA_ARGS__)
#define AT_DISPATCH_INTEGRAL_TYPES(TYPE, NAME, ...) WS_DISPATCH(long, __VA_ARGS__)
#define AT_DISPATCH_INDEX_TYPES(TYPE, NAME, ...) WS_DISPATCH_NAMED(long, index_t, __VA_ARGS__)
#define AT_DISPATCH_SWITCH(TYPE, NAME, ...) ({ __VA_ARGS__ })
#define AT_DISPATCH_CASE(TYPE, ...) { using scalar_t = WATTSLICE_DISPATCHED; (__VA_ARGS__)(); }
#define AT_DISPATCH_CASE_FLOATING_TYPES(...) { using scalar_t = WATTSLICE_DISPATCHED; (__VA_ARGS__)(); }
#define AT_DISPATCH_CASE_ALL_TYPES(...) { using scalar_t = WATTSLICE_DISPATCHED; (__VA_ARGS__)(); }
// c10's numbers of 16 bits: with a float or double they are one, with an integer that is one of theirs.
#define WS_HALF_WITH(H, T, R, OP) WS_HD inline R operator OP(const H& a, T b) { return static_cast<R>(a) OP static_cast<R>(b); } WS_HD inline R operator OP(T a, const H& b) { return static_cast<R>(a) OP static_cast<R>(b); }
#define WS_HALF_TEST(H, T, R, OP) WS_HD inline bool operator OP(const H& a, T b) { return static_cast<R>(a) OP static_cast<R>(b); } WS_HD inline bool operator OP(T a, const H& b) { return static_cast<R>(a) OP static_cast<R>(b); }
#define WS_HALF_ALL_WITH(H, T, R) WS_HALF_WITH(H, T, R, +) WS_HALF_WITH(H, T, R, -) WS_HALF_WITH(H, T, R, *) WS_HALF_WITH(H, T, R, /) WS_HALF_TEST(H, T, R, <) WS_HALF_TEST(H, T, R, >) WS_HALF_TEST(H, T, R, <=) WS_HALF_TEST(H, T, R, >=) WS_HALF_TEST(H, T, R, ==) WS_HALF_TEST(H, T, R, !=)
#define WS_HALF_MIXED(H) WS_HALF_ALL_WITH(H, float, float) WS_HALF_ALL_WITH(H, double, double) WS_HALF_ALL_WITH(H, int, H) WS_HALF_ALL_WITH(H, long, H)
WS_HALF_MIXED(__half) WS_HALF_MIXED(__nv_bfloat16)
namespace c10 {
using Half = __half; using BFloat16 = __nv_bfloat16;
enum class ScalarType : signed char { Byte, Char, Short, Int, Long, Half, Float, Double, ComplexHalf, ComplexFloat, ComplexDouble, Bool, QInt8, QUInt8, QInt32, BFloat16, Float8_e5m2, Float8_e4m3fn };
enum class DeviceType : signed char { CPU, CUDA }; enum class MemoryFormat : signed char { Contiguous, Preserve, ChannelsLast, ChannelsLast3d }; enum class Layout : signed char { Strided, Sparse };
struct Device { DeviceType type() const; signed char index() const; bool is_cuda() const; Device(DeviceType, int = 0); Device(const char*); bool operator==(const Device&) const; };
template <class T> struct ArrayRef { ArrayRef(const T&); ArrayRef(const std::vector<T>&); ArrayRef(std::initializer_list<T>); long size() const; const T& operator[](long) const; const T* begin() const; const T* end() const; std::vector<T> vec() const; const T* data() const; const T& back() const; const T& front() const; bool operator==(const ArrayRef&) const; bool operator!=(const ArrayRef&) const; bool equals(const ArrayRef&) const; };
using IntArrayRef = ArrayRef<long>; template <class T> using optional = std::optional<T>; using std::nullopt; using std::nullopt_t; template <class T> using List = std::vector<T>;
struct Scalar { Scalar(double); template <class T> T to() const; double toDouble() const; float toFloat() const; int toInt() const; long toLong() const; };
template <class I> struct WsCount { I value; I operator*() const; WsCount& operator++(); bool operator!=(const WsCount&) const; };
template <class I> struct WsRange { WsCount<I> begin() const; WsCount<I> end() const; }; template <class I> WsRange<I> irange(I); template <class I, class J> WsRange<J> irange(I, J);
using DeviceIndex = signed char; struct DeviceGuard { explicit DeviceGuard(Device); }; struct OptionalDeviceGuard { OptionalDeviceGuard(); explicit OptionalDeviceGuard(Device); explicit OptionalDeviceGuard(optional<Device>); };
// Arithmetic of complex numbers, written out in real numbers.
template <class T> struct complex {
  typedef T value_type; T real_, imag_; complex() = default; WS_HD constexpr complex(T r, T i = T()) : real_(r), imag_(i) {} WS_HD constexpr T real() const { return real_; } WS_HD constexpr T imag() const { return imag_; }
  WS_HD complex& operator+=(const complex& o) { real_ += o.real_; imag_ += o.imag_; return *this; } WS_HD complex& operator-=(const complex& o) { real_ -= o.real_; imag_ -= o.imag_; return *this; }
  WS_HD complex& operator*=(const complex& o) { T r = real_ * o.real_ - imag_ * o.imag_; imag_ = real_ * o.imag_ + imag_ * o.real_; real_ = r; return *this; } WS_HD complex& operator*=(T o) { real_ *= o; imag_ *= o; return *this; } WS_HD complex& operator/=(T o) { real_ /= o; imag_ /= o; return *this; }
  WS_HD complex operator-() const { return complex(-real_, -imag_); } WS_HD complex& operator+=(T o) { real_ += o; return *this; } WS_HD complex& operator-=(T o) { real_ -= o; return *this; }
};
#define WS_COMPLEX_OF(OP) template <class T> WS_HD complex<T> operator OP(complex<T> a, const complex<T>& b) { return a OP##= b; }
WS_COMPLEX_OF(+) WS_COMPLEX_OF(-) WS_COMPLEX_OF(*)
#define WS_COMPLEX_BY(OP) template <class T> WS_HD complex<T> operator OP(complex<T> a, const T& b) { return a OP##= b; }
WS_COMPLEX_BY(+) WS_COMPLEX_BY(-) WS_COMPLEX_BY(*) WS_COMPLEX_BY(/)
template <class T> WS_HD complex<T> operator+(const T& a, complex<T> b) { return b += a; } template <class T> WS_HD complex<T> operator*(const T& a, complex<T> b) { return b *= a; } template <class T> WS_HD complex<T> operator-(const T& a, const complex<T>& b) { return complex<T>(a - b.real_, -b.imag_); }
struct TensorOptions { TensorOptions(); TensorOptions(ScalarType); TensorOptions dtype(ScalarType) const; TensorOptions device(Device) const; TensorOptions device(DeviceType, int = 0) const; TensorOptions requires_grad(bool) const; TensorOptions layout(Layout) const; };
namespace cuda { struct CUDAStream { cudaStream_t stream() const; operator cudaStream_t() const; void synchronize() const; bool query() const; Device device() const; signed char device_index() const; long id() const; int priority() const; }; CUDAStream getCurrentCUDAStream(int = -1); struct CUDAGuard { explicit CUDAGuard(int); explicit CUDAGuard(Device); }; struct OptionalCUDAGuard { OptionalCUDAGuard(); explicit OptionalCUDAGuard(Device); explicit OptionalCUDAGuard(optional<Device>); explicit OptionalCUDAGuard(int); }; struct CUDAStreamGuard { explicit CUDAStreamGuard(CUDAStream); };
int current_device(); int device_count(); void set_device(int); int MaybeSetDevice(int); void device_synchronize(); CUDAStream getDefaultCUDAStream(int = -1); CUDAStream getStreamFromPool(bool = false, int = -1); }
}
namespace detail { c10::ScalarType scalar_type(c10::ScalarType); }
namespace at {
template <class T> struct numeric_limits : std::numeric_limits<T> { static constexpr T lower_bound() { return std::numeric_limits<T>::lowest(); } static constexpr T upper_bound() { return std::numeric_limits<T>::max(); } };
using namespace c10; using c10::ScalarType; using c10::Half; using c10::BFloat16; using c10::IntArrayRef;
const ScalarType kByte = ScalarType::Byte, kChar = ScalarType::Char, kShort = ScalarType::Short, kInt = ScalarType::Int, kLong = ScalarType::Long, kHalf = ScalarType::Half, kFloat = ScalarType::Float, kDouble = ScalarType::Double, kBool = ScalarType::Bool, kBFloat16 = ScalarType::BFloat16;
const ScalarType kFloat16 = ScalarType::Half, kFloat32 = ScalarType::Float, kFloat64 = ScalarType::Double, kInt32 = ScalarType::Int, kInt64 = ScalarType::Long, kInt8 = ScalarType::Char, kUInt8 = ScalarType::Byte;
const DeviceType kCUDA = DeviceType::CUDA, kCPU = DeviceType::CPU;
template <class T> struct DefaultPtrTraits { typedef T* PtrType; };
template <class T> struct RestrictPtrTraits { typedef T* __restrict__ PtrType; };
// A row of a packed tensor: where it begins, and the strides of what is left of the dimensions.
template <class T, int N> struct WsRow;
template <class T> struct WsRow<T, 1> { T* data_; WS_HD T& operator[](long i) const { return data_[i]; } WS_HD T* data() const { return data_; } };
template <class T> struct WsRow<T, 2> { T* data_; long stride_1; WS_HD WsRow<T, 1> operator[](long i) const { return WsRow<T, 1>{data_ + i * stride_1}; } WS_HD T* data() const { return data_; } };
template <class T> struct WsRow<T, 3> { T* data_; long stride_1, stride_2; WS_HD WsRow<T, 2> operator[](long i) const { return WsRow<T, 2>{data_ + i * stride_1, stride_2}; } WS_HD T* data() const { return data_; } };
template <class T> struct WsRow<T, 4> { T* data_; long stride_1, stride_2, stride_3; WS_HD WsRow<T, 3> operator[](long i) const { return WsRow<T, 3>{data_ + i * stride_1, stride_2, stride_3}; } WS_HD T* data() const { return data_; } };
template <class T, int N, template <class> class P = DefaultPtrTraits, class I = long> struct GenericPackedTensorAccessor;
#define WS_SIZES WS_HD I size(int i) const { return i == 0 ? size_0 : i == 1 ? size_1 : i == 2 ? size_2 : i == 3 ? size_3 : size_4; } WS_HD T* data() const { return data_; }
template <class T, template <class> class P, class I> struct GenericPackedTensorAccessor<T, 1, P, I> { T* data_; I size_0; WS_HD I size(int) const { return size_0; } WS_HD I stride(int) const { return 1; } WS_HD T* data() const { return data_; } WS_HD T& operator[](I i) const { return data_[i]; } };
template <class T, template <class> class P, class I> struct GenericPackedTensorAccessor<T, 2, P, I> { T* data_; I size_0, size_1; WS_HD I size(int i) const { return i == 0 ? size_0 : size_1; } WS_HD I stride(int i) const { return i == 0 ? size_1 : 1; } WS_HD T* data() const { return data_; } WS_HD WsRow<T, 1> operator[](I i) const { return WsRow<T, 1>{data_ + i * size_1}; } };
template <class T, template <class> class P, class I> struct GenericPackedTensorAccessor<T, 3, P, I> { T* data_; I size_0, size_1, size_2; WS_HD I size(int i) const { return i == 0 ? size_0 : i == 1 ? size_1 : size_2; } WS_HD I stride(int i) const { return i == 0 ? size_1 * size_2 : i == 1 ? size_2 : 1; } WS_HD T* data() const { return data_; } WS_HD WsRow<T, 2> operator[](I i) const { return WsRow<T, 2>{data_ + i * size_1 * size_2, size_2}; } };
template <class T, template <class> class P, class I> struct GenericPackedTensorAccessor<T, 4, P, I> { T* data_; I size_0, size_1, size_2, size_3; WS_HD I size(int i) const { return i == 0 ? size_0 : i == 1 ? size_1 : i == 2 ? size_2 : size_3; } WS_HD I stride(int i) const { return i == 0 ? size_1 * size_2 * size_3 : i == 1 ? size_2 * size_3 : i == 2 ? size_3 : 1; } WS_HD T* data() const { return data_; } WS_HD WsRow<T, 3> operator[](I i) const { return WsRow<T, 3>{data_ + i * size_1 * size_2 * size_3, size_2 * size_3, size_3}; } };
template <class T, template <class> class P, class I> struct GenericPackedTensorAccessor<T, 5, P, I> { T* data_; I size_0, size_1, size_2, size_3, size_4; WS_SIZES WS_HD WsRow<T, 4> operator[](I i) const { return WsRow<T, 4>{data_ + i * size_1 * size_2 * size_3 * size_4, size_2 * size_3 * size_4, size_3 * size_4, size_4}; } };
template <class T, unsigned long N, template <class> class P = DefaultPtrTraits> using PackedTensorAccessor32 = GenericPackedTensorAccessor<T, (int)N, P, int>;
template <class T, unsigned long N, template <class> class P = DefaultPtrTraits> using PackedTensorAccessor64 = GenericPackedTensorAccessor<T, (int)N, P, long>;
template <class T, unsigned long N, template <class> class P = DefaultPtrTraits, class I = long> using PackedTensorAccessor = GenericPackedTensorAccessor<T, (int)N, P, I>;
template <class T, unsigned long N, template <class> class P = DefaultPtrTraits, class I = long> using TensorAccessor = GenericPackedTensorAccessor<T, (int)N, P, I>;
struct Tensor {
  Tensor(); long size(long) const; long numel() const; long dim() const; long ndimension() const; IntArrayRef sizes() const; long stride(long) const; IntArrayRef strides() const; long nbytes() const; long element_size() const;
  bool is_cuda() const; bool is_contiguous() const; bool defined() const; ScalarType scalar_type() const; ScalarType dtype() const; Device device() const; TensorOptions options() const; ScalarType type() const; int get_device() const; bool requires_grad() const; long storage_offset() const;
  template <class T> T* data_ptr() const; template <class T> T* mutable_data_ptr() const; template <class T> const T* const_data_ptr() const; template <class T> T* data() const; void* data_ptr() const; void* mutable_data_ptr() const; const void* const_data_ptr() const; template <class T> T item() const; Scalar item() const;
  template <class T, unsigned long N, template <class> class P = DefaultPtrTraits> PackedTensorAccessor32<T, N, P> packed_accessor32() const; template <class T, unsigned long N, template <class> class P = DefaultPtrTraits> PackedTensorAccessor64<T, N, P> packed_accessor64() const;
  template <class T, unsigned long N, template <class> class P = DefaultPtrTraits, class I = long> GenericPackedTensorAccessor<T, (int)N, P, I> packed_accessor() const; template <class T, unsigned long N> PackedTensorAccessor64<T, N> accessor() const;
  Tensor contiguous() const; Tensor clone() const; Tensor detach() const; Tensor cuda() const; Tensor cpu() const; template <class... A> Tensor to(A...) const; Tensor toType(ScalarType) const; Tensor zero_() const; template <class A> Tensor fill_(A) const; template <class... A> Tensor copy_(A...) const;
  template <class... A> Tensor view(A...) const; Tensor view(IntArrayRef) const; Tensor reshape(IntArrayRef) const; Tensor transpose(long, long) const; Tensor permute(IntArrayRef) const; Tensor unsqueeze(long) const; Tensor squeeze() const; Tensor squeeze(long) const; Tensor expand(IntArrayRef) const; Tensor flatten() const; Tensor flatten(long, long) const; Tensor t() const;
  template <class... A> Tensor sum(A...) const; template <class... A> Tensor mean(A...) const; template <class... A> Tensor matmul(A...) const; template <class... A> Tensor mul(A...) const; template <class... A> Tensor add(A...) const; template <class... A> Tensor add_(A...) const; template <class... A> Tensor select(A...) const; template <class... A> Tensor slice(A...) const; template <class... A> Tensor narrow(A...) const; template <class... A> Tensor index(A...) const;
  Tensor operator[](long) const; Tensor operator[](const Tensor&) const; Tensor operator-() const;
#define WS_METHOD(F) template <class... A> Tensor F(A...) const;
  WS_METHOD(max) WS_METHOD(min) WS_METHOD(ceil) WS_METHOD(floor) WS_METHOD(abs) WS_METHOD(exp) WS_METHOD(sqrt) WS_METHOD(pow) WS_METHOD(neg) WS_METHOD(sub) WS_METHOD(div) WS_METHOD(sub_) WS_METHOD(mul_) WS_METHOD(div_) WS_METHOD(masked_fill_) WS_METHOD(masked_fill) WS_METHOD(masked_select)
  WS_METHOD(index_select) WS_METHOD(gather) WS_METHOD(scatter_) WS_METHOD(scatter_add_) WS_METHOD(index_put_) WS_METHOD(cumsum) WS_METHOD(argmax) WS_METHOD(argsort) WS_METHOD(nonzero) WS_METHOD(clamp) WS_METHOD(clamp_min) WS_METHOD(eq) WS_METHOD(ne) WS_METHOD(lt) WS_METHOD(gt) WS_METHOD(le) WS_METHOD(ge) WS_METHOD(any) WS_METHOD(all) WS_METHOD(repeat)
  WS_METHOD(sigmoid) WS_METHOD(softmax) WS_METHOD(mm) WS_METHOD(new_zeros) WS_METHOD(new_empty) WS_METHOD(new_full) WS_METHOD(repeat_interleave) WS_METHOD(expand_as) WS_METHOD(view_as) WS_METHOD(flip) WS_METHOD(norm) WS_METHOD(prod) WS_METHOD(half) WS_METHOD(uniform_) WS_METHOD(normal_) WS_METHOD(index_add_) WS_METHOD(isnan) WS_METHOD(true_divide_) WS_METHOD(log) WS_METHOD(sort) WS_METHOD(bincount) WS_METHOD(bernoulli) WS_METHOD(pow_) WS_METHOD(true_divide)
  template <class... A> Tensor& resize_(A...); Tensor& resize_(IntArrayRef); template <class... A> Tensor& set_(A...); template <class... A> Tensor& squeeze_(A...); Tensor& unsqueeze_(long); Tensor& t_(); Tensor& transpose_(long, long);
  Tensor grad() const; bool is_floating_point() const; bool is_same(const Tensor&) const; bool is_sparse() const; bool is_contiguous(MemoryFormat) const; Tensor expand(IntArrayRef, bool) const; template <class... A> std::vector<Tensor> split(A...) const; template <class... A> std::vector<Tensor> chunk(A...) const; template <class... A> std::vector<Tensor> unbind(A...) const;
#define WS_CHANGE(OP) template <class A> Tensor& operator OP(const A&);
  WS_CHANGE(+=) WS_CHANGE(-=) WS_CHANGE(*=) WS_CHANGE(/=)
#undef WS_CHANGE
};
template <class A> using WsNumber = std::enable_if_t<std::is_arithmetic<A>::value, Tensor>;
#define WS_OPERATOR(OP) Tensor operator OP(const Tensor&, const Tensor&); template <class A> WsNumber<A> operator OP(const Tensor&, A); template <class A> WsNumber<A> operator OP(A, const Tensor&);
WS_OPERATOR(+) WS_OPERATOR(-) WS_OPERATOR(*) WS_OPERATOR(/) WS_OPERATOR(==) WS_OPERATOR(!=) WS_OPERATOR(<) WS_OPERATOR(>) WS_OPERATOR(<=) WS_OPERATOR(>=) WS_OPERATOR(&) WS_OPERATOR(|)
using TensorList = ArrayRef<Tensor>; std::optional<Device> device_of(const Tensor&); TensorOptions dtype(ScalarType); TensorOptions device(Device); TensorOptions requires_grad(bool); size_t elementSize(ScalarType);
using CheckedFrom = const char*; struct TensorArg { TensorArg(const Tensor&, const char*, int); Tensor tensor; const char* name; int pos; const Tensor* operator->() const; const Tensor& operator*() const; };
#define WS_CHECKS(F) void F(CheckedFrom, ArrayRef<TensorArg>); void F(CheckedFrom, const TensorArg&, const TensorArg&);
WS_CHECKS(checkAllSameGPU) WS_CHECKS(checkAllSameType) WS_CHECKS(checkAllContiguous) WS_CHECKS(checkAllSameNumel) WS_CHECKS(checkAllSameSize) WS_CHECKS(checkAllDefined) WS_CHECKS(checkSameGPU) WS_CHECKS(checkSameType) WS_CHECKS(checkSameSize) WS_CHECKS(checkSameDim) WS_CHECKS(checkSameNumel)
template <class... A> void checkContiguous(CheckedFrom, A...); template <class... A> void checkDim(CheckedFrom, A...); template <class... A> void checkSize(CheckedFrom, const TensorArg&, A...); template <class... A> void checkNumel(CheckedFrom, A...); template <class... A> void checkScalarType(CheckedFrom, A...);
struct Context { bool deterministicAlgorithms() const; void alertNotDeterministic(const char*); bool allowTF32CuBLAS() const; cudaDeviceProp* getCurrentDeviceProperties(); }; Context& globalContext();
struct Generator {}; int get_num_threads(); template <class F> void parallel_for(long, long, long, const F&);
#define WS_LIKE(F) template <class... A> Tensor F(const Tensor&, A...);
WS_LIKE(empty_like) WS_LIKE(zeros_like) WS_LIKE(ones_like) WS_LIKE(rand_like) WS_LIKE(randn_like) WS_LIKE(full_like)
#define WS_OF_SIZES(F) Tensor F(IntArrayRef, const TensorOptions& = {}); 
WS_OF_SIZES(empty) WS_OF_SIZES(zeros) WS_OF_SIZES(ones) WS_OF_SIZES(rand) WS_OF_SIZES(randn) template <class A> Tensor full(IntArrayRef, A, const TensorOptions& = {}); template <class... A> Tensor arange(A...); template <class... A> Tensor tensor(A...); template <class... A> Tensor from_blob(A...); Tensor from_blob(void*, IntArrayRef, const TensorOptions& = {}); template <class T> Tensor tensor(std::initializer_list<T>, const TensorOptions& = {}); Tensor randperm(long, const TensorOptions& = {}); template <class... A> Tensor linspace(A...);
Tensor cat(std::initializer_list<Tensor>, long = 0); Tensor cat(const std::vector<Tensor>&, long = 0); Tensor stack(const std::vector<Tensor>&, long = 0);
#define WS_LIBRARY(F) template <class... A> Tensor F(const Tensor&, A...);
WS_LIBRARY(mm) WS_LIBRARY(bmm) WS_LIBRARY(matmul) WS_LIBRARY(addmm) WS_LIBRARY(sum) WS_LIBRARY(mean) WS_LIBRARY(sigmoid) WS_LIBRARY(tanh) WS_LIBRARY(relu) WS_LIBRARY(softmax) WS_LIBRARY(elu) WS_LIBRARY(exp) WS_LIBRARY(sqrt) WS_LIBRARY(where) WS_LIBRARY(conv2d) WS_LIBRARY(add) WS_LIBRARY(mul) WS_LIBRARY(sub) WS_LIBRARY(div) WS_LIBRARY(linear) WS_LIBRARY(prod) WS_LIBRARY(cumsum) WS_LIBRARY(max) WS_LIBRARY(min) WS_LIBRARY(transpose) WS_LIBRARY(slice) WS_LIBRARY(gather) WS_LIBRARY(index_select) WS_LIBRARY(abs) WS_LIBRARY(sort) WS_LIBRARY(argsort) WS_LIBRARY(unsqueeze) WS_LIBRARY(mm_out) WS_LIBRARY(bmm_out) WS_LIBRARY(addmm_out) WS_LIBRARY(cumsum_out) WS_LIBRARY(true_divide)
namespace cuda { using namespace c10::cuda; struct CUDAProp { int multiProcessorCount, maxThreadsPerMultiProcessor, maxThreadsPerBlock, major, minor, warpSize; size_t sharedMemPerBlock; }; cudaDeviceProp* getCurrentDeviceProperties(); cudaDeviceProp* getDeviceProperties(int); void* getCurrentCUDABlasHandle(); int warp_size(); template <class A, class B> WS_HD auto ATenCeilDiv(A a, B b) -> decltype(a / b) { return (a + b - 1) / b; }
// A strided tensor in a kernel: the place of an element by its number, one division a dimension.
namespace detail {
template <class T, class I> struct TensorInfo { T* data; I sizes[25]; I strides[25]; int dims; };
template <class T, class I, int D> struct IndexToOffset {
  static WS_HD I get(I linear, const TensorInfo<T, I>& info) {
    I offset = 0;
    for (int i = (D < 0 ? info.dims : D) - 1; i > 0; --i) {
      offset += linear % info.sizes[i] * info.strides[i];
      linear /= info.sizes[i];
    }
    return offset + linear * info.strides[0];
  }
};
template <class T, class I> TensorInfo<T, I> getTensorInfo(const Tensor&); bool canUse32BitIndexMath(const Tensor&, long = 0);
} }
template <class A, class B> WS_HD auto ceil_div(A a, B b) -> decltype(a / b) { return (a + b - 1) / b; }
template <class T, bool B = true> using acc_type = float; template <class T> using opmath_type = float;
}
namespace c10 { struct IValue { template <class T> IValue& operator=(const T&); long toInt() const; bool toBool() const; double toDouble() const; at::Tensor toTensor() const; List<long> toIntList() const; std::string toStringRef() const; template <class T> T to() const; template <class T> std::optional<T> toOptional() const; }; }
namespace torch { using namespace at; using at::Tensor; using TensorList = c10::ArrayRef<at::Tensor>; namespace autograd { using variable_list = std::vector<Tensor>; using Variable = Tensor; struct AutogradContext { std::map<std::string, c10::IValue> saved_data; void save_for_backward(variable_list); variable_list get_saved_variables() const; void mark_dirty(variable_list); void mark_non_differentiable(variable_list); bool needs_input_grad(size_t) const; };
template <class T> struct Function { template <class X = T, class... A> static auto apply(A&&... a) -> decltype(X::forward((AutogradContext*)nullptr, a...)); }; template <class... A> void increment_version(A&&...); }
struct RegisterOperators { template <class... A> RegisterOperators op(A&&...); }; template <class T> struct class_ { template <class... A> class_(A&&...); template <class... A> class_& def(A&&...); }; struct NoGradGuard {}; struct Library { template <class... A> Library& def(A...); template <class... A> Library& impl(A...); }; namespace cuda { bool is_available(); void synchronize(); } namespace indexing { struct Slice { Slice(); }; } }
namespace pybind11 { struct arg { arg(const char*); template <class T> arg operator=(T&&); }; struct object { template <class T> object& operator=(const T&); template <class T> T cast() const; object attr(const char*) const; }; using handle = object; struct module_ { template <class... A> module_& def(A&&...); void doc(const char*); object attr(const char*) const; module_ def_submodule(const char*, const char* = nullptr); };
struct int_ { template <class T> int_(T); }; struct float_ { template <class T> float_(T); }; struct gil_scoped_release {}; struct gil_scoped_acquire {}; template <class...> struct call_guard {}; template <class...> struct WsInit {}; template <class... A> WsInit<A...> init(); template <class F> WsInit<F> init(F); struct is_operator {}; struct self_t {};
#define WS_DEFINES(F) template <class... A> class_& F(A&&...);
template <class T, class... O> struct class_ { template <class... A> class_(A&&...); WS_DEFINES(def) WS_DEFINES(def_readwrite) WS_DEFINES(def_readonly) WS_DEFINES(def_property) WS_DEFINES(def_property_readonly) WS_DEFINES(def_static) }; template <class T> struct enum_ { template <class... A> enum_(A&&...); template <class... A> enum_& value(A&&...); enum_& export_values(); }; } namespace py = pybind11;
namespace c10 { using at::Tensor; } using c10::Half; using at::cuda::ATenCeilDiv;
template <class A, class B> WS_HD auto THCCeilDiv(A a, B b) -> decltype(a / b) { return (a + b - 1) / b; }
namespace std { template <class T> WS_HD c10::complex<T> conj(const c10::complex<T>& v) { return c10::complex<T>(v.real_, -v.imag_); } }
template <class T, class I> WS_D void fastAtomicAdd(T* p, I i, I, T v, bool) { atomicAdd(p + i, v); } template <class T> WS_D void gpuAtomicAdd(T* p, T v) { atomicAdd(p, v); } template <class T> WS_D void gpuAtomicAddNoReturn(T* p, T v) { atomicAdd(p, v); }
