// Thrust: containers, iterators and algorithms as host code calls them; declared only. Kernels inside are unseen.
#pragma once
#include "../wattslice_std_cpp.h"
namespace thrust {
template <class T> struct device_reference { WS_HD operator T() const; WS_HD device_reference& operator=(const T&); };
template <class T> struct device_ptr { typedef T value_type; typedef T& reference; typedef long difference_type; WS_HD device_ptr(); WS_HD explicit device_ptr(T*); WS_HD T* get() const; WS_HD device_ptr operator+(long) const; WS_HD device_ptr operator-(long) const; WS_HD long operator-(device_ptr) const; WS_HD device_reference<T> operator*() const; WS_HD device_reference<T> operator[](long) const; };
template <class T> WS_HD device_ptr<T> device_pointer_cast(T*);
template <class T> WS_HD T* raw_pointer_cast(device_ptr<T>); template <class T> WS_HD T* raw_pointer_cast(T*);
template <class T> WS_HD T& raw_reference_cast(device_reference<T>);
template <class T> device_ptr<T> device_malloc(size_t); template <class P> void device_free(P);
#define WS_THRUST_VECTOR(N) template <class T, class A = int> struct N : std::vector<T> { typedef device_ptr<T> pointer; N(); explicit N(size_t); N(size_t, T); template <class V> N(const V&); template <class I> N(I, I); template <class V> N& operator=(const V&); };
WS_THRUST_VECTOR(device_vector) WS_THRUST_VECTOR(host_vector)
using std::pair; using std::make_pair; using std::plus; using std::minus; using std::multiplies; using std::less; using std::greater; using std::equal_to; using std::less_equal; using std::greater_equal;
using std::tuple; using std::make_tuple; using std::get; using std::tie; using std::swap;
template <class T = void> struct maximum { WS_HD T operator()(const T&, const T&) const; }; template <class T = void> struct minimum { WS_HD T operator()(const T&, const T&) const; };
template <class T = void> struct identity { WS_HD const T& operator()(const T&) const; }; template <class T = void> struct negate { WS_HD T operator()(const T&) const; };
template <class T = void> struct square { WS_HD T operator()(const T&) const; };
template <class A, class R = A> struct unary_function { typedef A argument_type; typedef R result_type; }; template <class A, class B = A, class R = A> struct binary_function { typedef R result_type; };
#define WS_ITERATOR(N) template <class T, class... R> struct N { typedef T value_type; typedef T& reference; typedef long difference_type; WS_HD N(); template <class... A> WS_HD N(A...); WS_HD N operator+(long) const; WS_HD T operator*() const; WS_HD T operator[](long) const; };
WS_ITERATOR(counting_iterator) WS_ITERATOR(constant_iterator) WS_ITERATOR(zip_iterator) WS_ITERATOR(transform_iterator) WS_ITERATOR(permutation_iterator)
struct discard_iterator {}; inline WS_HD discard_iterator make_discard_iterator() { return {}; }
template <class T> WS_HD counting_iterator<T> make_counting_iterator(T); template <class T> WS_HD constant_iterator<T> make_constant_iterator(T);
template <class T> WS_HD zip_iterator<T> make_zip_iterator(T); template <class I, class F> WS_HD transform_iterator<F, I> make_transform_iterator(I, F);
namespace cuda { struct ws_policy { template <class T> ws_policy on(T) const; }; extern const ws_policy par; } struct ws_policy {}; extern const ws_policy device, host, seq;
#define WS_THRUST(R, F) template <class... A> R F(A&&...);
WS_THRUST(void, sort) WS_THRUST(void, stable_sort) WS_THRUST(void, sort_by_key) WS_THRUST(void, stable_sort_by_key) WS_THRUST(void, copy) WS_THRUST(void, copy_if) WS_THRUST(void, fill) WS_THRUST(void, fill_n)
WS_THRUST(void, sequence) WS_THRUST(void, transform) WS_THRUST(void, for_each) WS_THRUST(void, for_each_n) WS_THRUST(void, generate) WS_THRUST(void, inclusive_scan) WS_THRUST(void, exclusive_scan) WS_THRUST(void, gather) WS_THRUST(void, scatter)
WS_THRUST(void, inclusive_scan_by_key) WS_THRUST(void, exclusive_scan_by_key) WS_THRUST(void, adjacent_difference) WS_THRUST(void, replace) WS_THRUST(void, replace_if) WS_THRUST(void, tabulate) WS_THRUST(int, count) WS_THRUST(int, count_if) WS_THRUST(bool, equal) WS_THRUST(bool, is_sorted)
template <class I, class... A> I unique(I, I, A...); template <class I, class... A> I remove_if(I, I, A...); template <class I, class... A> I find(I, I, A...); template <class I, class... A> I max_element(I, I, A...); template <class I, class... A> I min_element(I, I, A...); template <class I, class... A> I lower_bound(I, I, A...);
template <class I> double reduce(I, I); template <class I, class T> T reduce(I, I, T); template <class I, class T, class F> T reduce(I, I, T, F); template <class I, class U, class T, class F> T transform_reduce(I, I, U, T, F); template <class I, class J, class T> T inner_product(I, I, J, T);
template <class I> long distance(I, I); template <class... A> std::pair<int*, int*> reduce_by_key(A...); template <class... A> std::pair<int*, int*> unique_by_key(A...);
struct default_random_engine { WS_HD default_random_engine(unsigned = 0); WS_HD void discard(unsigned long long); WS_HD unsigned operator()(); }; typedef default_random_engine minstd_rand;
template <class T> struct uniform_real_distribution { WS_HD uniform_real_distribution(T, T); template <class G> WS_HD T operator()(G&); }; template <class T> struct uniform_int_distribution { WS_HD uniform_int_distribution(T, T); template <class G> WS_HD T operator()(G&); };
template <class T> struct normal_distribution { WS_HD normal_distribution(T, T); template <class G> WS_HD T operator()(G&); };
template <class T> using complex = std::complex<T>; namespace random { using thrust::default_random_engine; } using std::true_type; using std::false_type;
}
