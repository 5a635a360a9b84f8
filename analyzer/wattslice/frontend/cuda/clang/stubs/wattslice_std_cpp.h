// The C++ standard library as far as CUDA programs use it around their kernels: declarations only, one file for
// all headers. Callable on both sides, as nvcc's --expt-relaxed-constexpr allows. cppreference.com is the source.
#pragma once

extern "C++" {
namespace std {
// <type_traits>
template <class T> WS_HD T&& declval() noexcept;
template <class T, T V> struct integral_constant {
  static constexpr T value = V; typedef T value_type; typedef integral_constant type;
  WS_HD constexpr operator T() const { return V; }
  WS_HD constexpr T operator()() const { return V; }
};
typedef integral_constant<bool, true> true_type;
typedef integral_constant<bool, false> false_type;
template <bool B> using bool_constant = integral_constant<bool, B>;
template <bool B, class T = void> struct enable_if {};
template <class T> struct enable_if<true, T> { typedef T type; };
template <bool B, class T = void> using enable_if_t = typename enable_if<B, T>::type;
template <bool B, class T, class F> struct conditional { typedef T type; };
template <class T, class F> struct conditional<false, T, F> { typedef F type; };
template <bool B, class T, class F> using conditional_t = typename conditional<B, T, F>::type;
template <class...> using void_t = void;
#define WS_TRAIT(N, B) template <class T> struct N : integral_constant<bool, B> {};                          \
                       template <class T> constexpr bool N##_v = B;
#define WS_TRAIT_2(N, B) template <class T, class U> struct N : integral_constant<bool, B> {};               \
                         template <class T, class U> constexpr bool N##_v = B;
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wc++14-extensions"
WS_TRAIT(is_integral, __is_integral(T)) WS_TRAIT(is_floating_point, __is_floating_point(T))
WS_TRAIT(is_arithmetic, __is_arithmetic(T)) WS_TRAIT(is_pointer, __is_pointer(T))
WS_TRAIT(is_void, __is_void(T)) WS_TRAIT(is_array, __is_array(T)) WS_TRAIT(is_class, __is_class(T))
WS_TRAIT(is_enum, __is_enum(T)) WS_TRAIT(is_signed, __is_signed(T)) WS_TRAIT(is_unsigned, __is_unsigned(T))
WS_TRAIT(is_const, __is_const(T)) WS_TRAIT(is_reference, __is_reference(T)) WS_TRAIT(is_pod, __is_pod(T))
WS_TRAIT(is_trivially_copyable, __is_trivially_copyable(T)) WS_TRAIT(is_empty, __is_empty(T))
WS_TRAIT(is_trivially_destructible, __is_trivially_destructible(T)) WS_TRAIT(is_function, __is_function(T))
WS_TRAIT(is_scalar, __is_scalar(T)) WS_TRAIT(is_standard_layout, __is_standard_layout(T)) WS_TRAIT(is_trivial, __is_trivial(T))
WS_TRAIT_2(is_same, __is_same(T, U)) WS_TRAIT_2(is_base_of, __is_base_of(T, U))
WS_TRAIT_2(is_convertible, __is_convertible_to(T, U)) WS_TRAIT_2(is_assignable, __is_assignable(T, U))
WS_TRAIT(is_trivially_default_constructible, __is_trivially_constructible(T)) WS_TRAIT(is_default_constructible, __is_constructible(T))
WS_TRAIT(is_trivially_copy_constructible, __is_trivially_constructible(T, const T&)) WS_TRAIT(is_copy_constructible, __is_constructible(T, const T&))
WS_TRAIT(is_move_constructible, __is_constructible(T, T&&)) WS_TRAIT(is_nothrow_move_constructible, __is_nothrow_constructible(T, T&&))
WS_TRAIT(is_trivially_copy_assignable, __is_trivially_assignable(T&, const T&)) WS_TRAIT(is_copy_assignable, __is_assignable(T&, const T&))
WS_TRAIT(is_move_assignable, __is_assignable(T&, T&&)) WS_TRAIT(is_nothrow_move_assignable, __is_nothrow_assignable(T&, T&&))
template <class T, class... A> struct is_constructible : integral_constant<bool, __is_constructible(T, A...)> {};
template <class T, class... A> constexpr bool is_constructible_v = __is_constructible(T, A...);
#pragma clang diagnostic pop
#define WS_TRANSFORM(N, FROM) template <class T> struct N { typedef T type; };                               \
                              template <class T> struct N<FROM> { typedef T type; };                         \
                              template <class T> using N##_t = typename N<T>::type;
WS_TRANSFORM(remove_const, const T) WS_TRANSFORM(remove_volatile, volatile T)
WS_TRANSFORM(remove_pointer, T*)
template <class T> struct remove_reference { typedef T type; };
template <class T> struct remove_reference<T&> { typedef T type; };
template <class T> struct remove_reference<T&&> { typedef T type; };
template <class T> using remove_reference_t = typename remove_reference<T>::type;
template <class T> struct remove_cv { typedef typename remove_const<typename remove_volatile<T>::type>::type type; };
template <class T> using remove_cv_t = typename remove_cv<T>::type;
template <class T> struct decay { typedef remove_cv_t<remove_reference_t<T>> type; };
template <class T> using decay_t = typename decay<T>::type;
template <class T> struct underlying_type { typedef __underlying_type(T) type; };
template <class T> struct add_const { typedef const T type; };
template <class T> struct make_unsigned { typedef __make_unsigned(T) type; };
template <class T> struct make_signed { typedef __make_signed(T) type; };
template <class T> using make_unsigned_t = typename make_unsigned<T>::type;
template <class T> using make_signed_t = typename make_signed<T>::type;
template <class T> struct add_pointer { typedef remove_reference_t<T>* type; };
template <class T> using add_pointer_t = typename add_pointer<T>::type;
template <class T> struct type_identity { typedef T type; };
template <class...> struct conjunction : true_type {};
template <class T, class... R> struct conjunction<T, R...> : conditional_t<bool(T::value), conjunction<R...>, false_type> {};
template <class...> struct disjunction : false_type {};
template <class T, class... R> struct disjunction<T, R...> : conditional_t<bool(T::value), true_type, disjunction<R...>> {};
template <class T> struct negation : bool_constant<!bool(T::value)> {};
template <class F, class... A> struct invoke_result { typedef decltype(declval<F>()(declval<A>()...)) type; };
template <unsigned long N, unsigned long A = 16> struct aligned_storage { struct alignas(A) type { unsigned char data[N]; }; };

// <utility>, <functional>, <tuple>
template <class T> WS_HD constexpr remove_reference_t<T>&& move(T&&) noexcept;
template <class T> WS_HD constexpr T&& forward(remove_reference_t<T>&) noexcept;
template <class T> WS_HD void swap(T& a, T& b) { T t(move(a)); a = move(b); b = move(t); }
template <class T, unsigned long N> WS_HD void swap(T (&)[N], T (&)[N]);
template <class T, class U = T> WS_HD T exchange(T&, U&&);
template <class A, class B> struct pair {
  typedef A first_type; typedef B second_type; A first; B second;
  WS_HD pair(); WS_HD pair(const A&, const B&); template <class C, class D> WS_HD pair(const pair<C, D>&);
  template <class C, class D> WS_HD pair(const C&, const D&);
};
template <class A, class B> WS_HD pair<decay_t<A>, decay_t<B>> make_pair(const A&, const B&);
#define WS_COMPARE(OP) template <class A, class B> WS_HD bool operator OP(const pair<A, B>&, const pair<A, B>&);
WS_COMPARE(<) WS_COMPARE(==) WS_COMPARE(!=) WS_COMPARE(>)
#undef WS_COMPARE
template <class... T> struct tuple;
template <unsigned long I, class... T> struct ws_nth;
template <class T, class... R> struct ws_nth<0, T, R...> { typedef T type; };
template <unsigned long I, class T, class... R> struct ws_nth<I, T, R...> { typedef typename ws_nth<I - 1, R...>::type type; };
template <class... T> WS_HD tuple<T&&...> forward_as_tuple(T&&...);
template <class... T, class... U> WS_HD tuple<T..., U...> tuple_cat(const tuple<T...>&, const tuple<U...>&);
template <class F, class... T> WS_HD auto apply(F&& f, const tuple<T...>&) -> decltype(f(declval<T>()...));
template <class T> struct tuple_size;
template <class... T> struct tuple_size<tuple<T...>> : integral_constant<unsigned long, sizeof...(T)> {};
template <unsigned long I, class T> struct tuple_element;
template <unsigned long I, class... T> struct tuple_element<I, tuple<T...>> : ws_nth<I, T...> {};
template <class A, class B> struct tuple_size<pair<A, B>> : integral_constant<unsigned long, 2> {};
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wc++14-extensions"
template <class T> constexpr unsigned long tuple_size_v = tuple_size<T>::value;
#pragma clang diagnostic pop
template <unsigned long I, class A, class B> struct tuple_element<I, pair<A, B>> : ws_nth<I, A, B> {};
template <class T> struct tuple_size<const T> : tuple_size<T> {};
template <unsigned long I, class T> struct tuple_element<I, const T> {
  using type = const typename tuple_element<I, T>::type;
};
template <unsigned long I, class T> using tuple_element_t = typename tuple_element<I, T>::type;
template <class T, T... I> struct integer_sequence {
  using value_type = T;
  static constexpr unsigned long size() { return sizeof...(I); }
};
template <unsigned long... I> using index_sequence = integer_sequence<unsigned long, I...>;
template <class T, T N> using make_integer_sequence = __make_integer_seq<integer_sequence, T, N>;
template <unsigned long N> using make_index_sequence = make_integer_sequence<unsigned long, N>;
template <class... T> using index_sequence_for = make_index_sequence<sizeof...(T)>;
template <class F> struct function;
template <class R, class... A> struct function<R(A...)> {
  function(); template <class F> function(F); R operator()(A...) const; explicit operator bool() const;
};
#define WS_FUNCTOR(N, R) template <class T = void> struct N { WS_HD R operator()(const T&, const T&) const; };
WS_FUNCTOR(plus, T) WS_FUNCTOR(minus, T) WS_FUNCTOR(multiplies, T) WS_FUNCTOR(divides, T) WS_FUNCTOR(modulus, T) WS_FUNCTOR(less, bool)
WS_FUNCTOR(greater, bool) WS_FUNCTOR(equal_to, bool) WS_FUNCTOR(less_equal, bool) WS_FUNCTOR(greater_equal, bool)
template <class T = void> struct hash { unsigned long operator()(const T&) const; };
template <class T> struct reference_wrapper { reference_wrapper(T&); operator T&() const; T& get() const; };
template <class T> reference_wrapper<T> ref(T&);
template <class F, class... A> F bind(F&&, A&&...);

// <limits>
enum float_round_style { round_to_nearest = 1 };
template <class T> struct numeric_limits {
  static constexpr bool is_specialized = true, is_signed = T(-1) < T(0), is_integer = __is_integral(T);
  static constexpr bool is_iec559 = __is_floating_point(T), has_infinity = is_iec559, has_quiet_NaN = has_infinity, is_exact = is_integer;
  static constexpr int digits = sizeof(T) * 8 - is_signed, digits10 = digits * 3 / 10, radix = 2;
  static constexpr int max_exponent = 0, min_exponent = 0, max_digits10 = 17;
  WS_HD static constexpr T max() noexcept {
    return is_integer ? T(((T(1) << ((sizeof(T) * 8 - 2) % (sizeof(T) * 8))) - 1) * 2 + 1) + (is_signed ? T(0) : T(T(1) << (sizeof(T) * 8 - 1))) : T(0);
  }
  WS_HD static constexpr T min() noexcept { return is_signed ? T(-max() - 1) : T(0); }
  WS_HD static constexpr T lowest() noexcept { return min(); }
  WS_HD static constexpr T epsilon() noexcept { return T(0); }
  WS_HD static constexpr T infinity() noexcept { return T(0); }
  WS_HD static constexpr T quiet_NaN() noexcept { return T(0); }
};
#define WS_FLOAT_LIMITS(T, P)                                                                                \
  template <> struct numeric_limits<T> {                                                                     \
    static constexpr bool is_specialized = true, is_signed = true, is_integer = false, has_infinity = true;  \
    static constexpr bool has_quiet_NaN = true, is_exact = false, is_iec559 = true;                          \
    static constexpr int digits = __##P##_MANT_DIG__, digits10 = __##P##_DIG__, radix = 2;                   \
    static constexpr int max_exponent = __##P##_MAX_EXP__, min_exponent = __##P##_MIN_EXP__, max_digits10 = 17; \
    WS_HD static constexpr T max() noexcept { return __##P##_MAX__; }                                        \
    WS_HD static constexpr T min() noexcept { return __##P##_MIN__; }                                        \
    WS_HD static constexpr T lowest() noexcept { return -__##P##_MAX__; }                                    \
    WS_HD static constexpr T epsilon() noexcept { return __##P##_EPSILON__; }                                \
    WS_HD static constexpr T infinity() noexcept { return __builtin_huge_val(); }                            \
    WS_HD static constexpr T quiet_NaN() noexcept { return __builtin_nan(""); }                              \
  };
WS_FLOAT_LIMITS(float, FLT) WS_FLOAT_LIMITS(double, DBL)

// <cmath>, <cstdlib>: one generic shape per arity beside the overloads of the prelude
#define WS_STD_USING(F) using ::F;
#define WS_STD_MATH(M) M(sqrt) M(cbrt) M(sin) M(cos) M(tan) M(asin) M(acos) M(atan) M(sinh) M(cosh) M(tanh)  \
  M(exp) M(exp2) M(expm1) M(log) M(log2) M(log10) M(log1p) M(floor) M(ceil) M(round) M(trunc) M(rint) M(fabs) \
  M(erf) M(erfc) M(tgamma) M(lgamma) M(pow) M(atan2) M(fmod) M(fmin) M(fmax) M(hypot) M(copysign) M(fma)     \
  M(abs) M(isnan) M(isinf) M(isfinite) M(signbit) M(frexp) M(ldexp) M(modf) M(nearbyint) M(lround) M(lrint)  \
  M(acosh) M(asinh) M(atanh) M(remainder) M(nextafter) M(fdim) M(llround) M(scalbn) M(isnormal)
WS_STD_MATH(WS_STD_USING)
#define WS_STD_C(M) M(malloc) M(free) M(calloc) M(realloc) M(rand) M(srand) M(exit) M(quick_exit) M(abort) M(atoi) M(atof)  \
  M(memcpy) M(memset) M(memmove) M(memcmp) M(printf) M(clock) M(time) M(getenv) M(time_t) M(clock_t)         \
  M(int8_t) M(int16_t) M(int32_t) M(int64_t) M(uint8_t) M(uint16_t) M(uint32_t) M(uint64_t) M(uintptr_t)     \
  M(intptr_t) M(labs) M(ssize_t)
WS_STD_C(WS_STD_USING)
using ::sqrtf; using ::expf; using ::logf; using ::powf; using ::sinf; using ::cosf; using ::fabsf; using ::fmaxf; using ::fminf;
using ::floorf; using ::ceilf; using ::tanhf; using ::fmodf; using ::atan2f; using ::exp2f; using ::log2f; using ::roundf;

// <iterator>, <memory>, <initializer_list>, <string>, containers
template <class T> class initializer_list {
  const T* b; unsigned long n;
 public:
  WS_HD constexpr unsigned long size() const { return n; }
  WS_HD constexpr const T* begin() const { return b; } WS_HD constexpr const T* end() const { return b + n; }
};
struct random_access_iterator_tag {};
struct input_iterator_tag {};
struct output_iterator_tag {};
struct forward_iterator_tag {};
struct bidirectional_iterator_tag {};
template <class I> struct iterator_traits { typedef typename I::value_type value_type; typedef long difference_type; };
template <class T> struct iterator_traits<T*> { typedef T value_type; typedef long difference_type; };
template <class T> struct iterator_traits<const T*> { typedef T value_type; typedef long difference_type; };
template <class C> WS_HD auto begin(C& c) -> decltype(c.begin());
template <class C> WS_HD auto end(C& c) -> decltype(c.end());
template <class T, unsigned long N> WS_HD T* begin(T (&)[N]);
template <class T, unsigned long N> WS_HD T* end(T (&)[N]);
template <class I> WS_HD long distance(I, I);
template <class I> WS_HD void advance(I&, long);
template <class I> WS_HD I next(I, long = 1);
template <class I> WS_HD I prev(I, long = 1);
template <class C> struct ws_inserter { template <class T> ws_inserter& operator=(const T&); ws_inserter& operator*(); ws_inserter& operator++(); };
template <class C> ws_inserter<C> back_inserter(C&);
template <class T> struct allocator { T* allocate(unsigned long); void deallocate(T*, unsigned long); };
template <class T> struct char_traits;
void terminate() noexcept;
struct exception { exception(); virtual ~exception(); virtual const char* what() const noexcept; };
struct bad_optional_access : exception {};
#include "wattslice_std_pointers.h"

template <class T> struct ws_iterator {
  typedef T value_type; typedef long difference_type; typedef T& reference; typedef T* pointer;
  typedef random_access_iterator_tag iterator_category;
  ws_iterator(); template <class U> ws_iterator(ws_iterator<U>); T& operator*() const; T* operator->() const;
  ws_iterator& operator++(); ws_iterator operator++(int); ws_iterator& operator--(); ws_iterator operator--(int);
  ws_iterator operator+(long) const; ws_iterator operator-(long) const; long operator-(ws_iterator) const;
  ws_iterator& operator+=(long); T& operator[](long) const;
  bool operator==(ws_iterator) const; bool operator!=(ws_iterator) const; bool operator<(ws_iterator) const;
};
// members that all sequences share
#define WS_SEQUENCE(N, T)                                                                                    \
  typedef T value_type; typedef unsigned long size_type; typedef T* iterator;                                \
  typedef const T* const_iterator; typedef T& reference; typedef const T& const_reference;                   \
  typedef long difference_type;                                                                              \
  N(); explicit N(unsigned long); N(unsigned long, const T&); N(initializer_list<T>);                        \
  template <class I, class = decltype(*declval<I>())> N(I, I);                                               \
  T& operator[](unsigned long); const T& operator[](unsigned long) const; T& at(unsigned long);              \
  const T& at(unsigned long) const; T& front(); T& back(); const T& front() const; const T& back() const;    \
  T* data(); const T* data() const; unsigned long size() const; bool empty() const; void clear();            \
  unsigned long capacity() const; unsigned long max_size() const;                                            \
  void push_back(const T&); void pop_back(); void push_front(const T&); void pop_front();                    \
  template <class... X> T& emplace_back(const X&...); void resize(unsigned long); void resize(unsigned long, const T&); \
  void reserve(unsigned long); iterator begin(); iterator end(); const_iterator begin() const;               \
  const_iterator end() const; const_iterator cbegin() const; const_iterator cend() const;                   \
  ws_iterator<T> rbegin(); ws_iterator<T> rend(); template <class... X> iterator insert(const_iterator, const X&...); iterator erase(const_iterator); \
  iterator erase(const_iterator, const_iterator); template <class... X> void assign(const X&...); void swap(N&);  \
  void shrink_to_fit(); template <class F> void sort(F); void sort(); void remove(const T&);
template <class T, class A = allocator<T>> struct vector { WS_SEQUENCE(vector, T) };
template <class T, class A> struct deque { WS_SEQUENCE(deque, T) };
template <class T, class A = allocator<T>> struct list { WS_SEQUENCE(list, T) };
template <class T, unsigned long N> struct array {
  T elements[N ? N : 1]; typedef T value_type;
  WS_HD constexpr T& operator[](unsigned long i) { return elements[i]; }
  WS_HD constexpr const T& operator[](unsigned long i) const { return elements[i]; }
  WS_HD T* data() { return elements; } WS_HD const T* data() const { return elements; } WS_HD T* begin() { return elements; }
  WS_HD T* end() { return elements + N; } WS_HD const T* begin() const { return elements; } WS_HD const T* end() const { return elements + N; }
  WS_HD constexpr unsigned long size() const { return N; } WS_HD constexpr bool empty() const { return N == 0; }
  WS_HD void fill(const T& v) { for (unsigned long i = 0; i < N; ++i) elements[i] = v; } WS_HD T& at(unsigned long i) { return elements[i]; }
  WS_HD constexpr const T& at(unsigned long i) const { return elements[i]; } WS_HD constexpr reverse_iterator<T*> rbegin() { return reverse_iterator<T*>(elements + N); } WS_HD constexpr reverse_iterator<T*> rend() { return reverse_iterator<T*>(elements); }
  WS_HD constexpr reverse_iterator<const T*> rbegin() const { return reverse_iterator<const T*>(elements + N); } WS_HD constexpr reverse_iterator<const T*> rend() const { return reverse_iterator<const T*>(elements); }
  WS_HD constexpr const T& front() const { return elements[0]; } WS_HD constexpr const T& back() const { return elements[N - 1]; }
  WS_HD T& front() { return elements[0]; } WS_HD T& back() { return elements[N - 1]; }
};
template <class T, unsigned long N> struct tuple_size<array<T, N>> : integral_constant<unsigned long, N> {};
template <unsigned long I, class T, unsigned long N> struct tuple_element<I, array<T, N>> { typedef T type; };
template <class T, class C = vector<T>, class P = less<T>> struct priority_queue { void push(const T&); void pop(); const T& top(); bool empty() const; unsigned long size() const; };
#define WS_ASSOCIATIVE(N, V)                                                                                 \
  typedef K key_type; typedef V value_type; typedef V* iterator; typedef const V* const_iterator;           \
  N(); N(initializer_list<V>); iterator begin(); iterator end(); const_iterator begin() const;               \
  const_iterator end() const; iterator find(const K&); const_iterator find(const K&) const;                  \
  unsigned long count(const K&) const; unsigned long size() const; bool empty() const; void clear();         \
  pair<iterator, bool> insert(const V&); template <class... X> pair<iterator, bool> insert(const X&...); template <class... X> pair<iterator, bool> emplace(const X&...); \
  unsigned long erase(const K&); iterator erase(iterator); iterator lower_bound(const K&); iterator upper_bound(const K&);
#define WS_MAP(N) template <class K, class T, class P = less<K>, class A = int, class B = int> struct N {    \
  typedef T mapped_type; WS_ASSOCIATIVE(N, WS_ARG(pair<const K, T>)) T& operator[](const K&); T& at(const K&); const T& at(const K&) const; };
#define WS_ARG(...) __VA_ARGS__
#define WS_SET(N) template <class K, class P = less<K>, class A = int, class B = int> struct N { WS_ASSOCIATIVE(N, K) };
WS_MAP(map) WS_MAP(unordered_map) WS_MAP(multimap) WS_SET(set) WS_SET(unordered_set) WS_SET(multiset)
template <unsigned long N> struct bitset { bitset(unsigned long = 0); template <class S, class = decltype(declval<S>()[0])> explicit bitset(const S&); bool operator[](unsigned long) const; bitset& set(unsigned long); unsigned long count() const; bool test(unsigned long) const; };

template <class C, class R = char_traits<C>, class A = allocator<C>> struct basic_string {
  WS_SEQUENCE(basic_string, C)
  static constexpr unsigned long npos = ~0ul;
  basic_string(const C*); basic_string(const C*, unsigned long);
  const C* c_str() const; unsigned long length() const; basic_string substr(unsigned long = 0, unsigned long = npos) const;
  basic_string& operator=(const C*); basic_string& operator+=(const basic_string&); basic_string& operator+=(const C*);
  basic_string& operator+=(C); basic_string& append(const basic_string&); basic_string& append(const C*, unsigned long);
  int compare(const basic_string&) const; template <class... X> int compare(unsigned long, unsigned long, X...) const;
#define WS_FIND(F, S) unsigned long F(const basic_string&, unsigned long = S) const; unsigned long F(C, unsigned long = S) const; \
                      unsigned long F(const C*, unsigned long = S) const;
  WS_FIND(find, 0) WS_FIND(rfind, npos) WS_FIND(find_first_of, 0) WS_FIND(find_last_of, npos)
  WS_FIND(find_first_not_of, 0) WS_FIND(find_last_not_of, npos)
  template <class... X> basic_string& replace(const X&...); template <class... X> basic_string& erase(const X&...);
#define WS_INSERT(N) template <class... X> basic_string& insert(N, const X&...);
  WS_INSERT(int) WS_INSERT(unsigned) WS_INSERT(long) WS_INSERT(unsigned long)
};
typedef basic_string<char> string;
typedef basic_string<wchar_t> wstring;
struct string_view { string_view(const char*); string_view(const string&); const char* data() const; unsigned long size() const; };
#define WS_STRING_COMPARE(OP) bool operator OP(const string&, const string&); bool operator OP(const string&, const char*); \
                              bool operator OP(const char*, const string&);
WS_STRING_COMPARE(==) WS_STRING_COMPARE(!=) WS_STRING_COMPARE(<) WS_STRING_COMPARE(>)
string operator+(const string&, const string&); string operator+(const string&, const char*);
string operator+(const char*, const string&); string operator+(const string&, char);
template <class T> string to_string(T);
int stoi(const string&, unsigned long* = nullptr, int = 10); long stol(const string&, unsigned long* = nullptr, int = 10);
float stof(const string&, unsigned long* = nullptr); double stod(const string&, unsigned long* = nullptr);
unsigned long stoul(const string&, unsigned long* = nullptr, int = 10); unsigned long long stoull(const string&, unsigned long* = nullptr, int = 10);

// <algorithm>, <numeric>
template <class T> WS_HD constexpr const T& min(const T& a, const T& b) { return b < a ? b : a; }
template <class T> WS_HD constexpr const T& max(const T& a, const T& b) { return a < b ? b : a; }
template <class T, class F> WS_HD constexpr const T& min(const T& a, const T& b, F f) { return f(b, a) ? b : a; }
template <class T, class F> WS_HD constexpr const T& max(const T& a, const T& b, F f) { return f(a, b) ? b : a; }
template <class T> WS_HD constexpr T min(initializer_list<T> of) { T least = *of.begin(); for (const T& one : of) least = min(least, one); return least; }
template <class T> WS_HD constexpr T max(initializer_list<T> of) { T most = *of.begin(); for (const T& one : of) most = max(most, one); return most; }
template <class T> WS_HD constexpr const T& clamp(const T& v, const T& low, const T& high) { return v < low ? low : high < v ? high : v; }
#define WS_RANGE(R, F) template <class I, class... A> WS_HD R F(I, I, A&&...);
WS_RANGE(void, sort) WS_RANGE(void, stable_sort) WS_RANGE(void, fill) WS_RANGE(void, generate)
WS_RANGE(void, iota) WS_RANGE(void, reverse) WS_RANGE(void, shuffle) WS_RANGE(void, random_shuffle)
WS_RANGE(I, find) WS_RANGE(I, find_if) WS_RANGE(I, max_element) WS_RANGE(I, min_element) WS_RANGE(I, unique)
WS_RANGE(I, remove) WS_RANGE(I, remove_if) WS_RANGE(I, lower_bound) WS_RANGE(I, upper_bound) WS_RANGE(long, count)
WS_RANGE(long, count_if) WS_RANGE(bool, all_of) WS_RANGE(bool, any_of) WS_RANGE(bool, none_of) WS_RANGE(bool, equal)
WS_RANGE(bool, is_sorted) WS_RANGE(bool, binary_search) WS_RANGE(void, for_each) WS_RANGE(void, nth_element)
WS_RANGE(void, partial_sort) WS_RANGE(void, make_heap) WS_RANGE(void, push_heap) WS_RANGE(void, pop_heap)
WS_RANGE(I, rotate) WS_RANGE(I, partition) WS_RANGE(bool, next_permutation) WS_RANGE(void, replace)
template <class I, class O> WS_HD O copy(I, I, O);
template <class I, class N, class O> WS_HD O copy_n(I, N, O);
template <class I, class O, class F> WS_HD O transform(I, I, O, F);
template <class I, class J, class O, class F> WS_HD O transform(I, I, J, O, F);
template <class I, class T> WS_HD T accumulate(I, I, T);
template <class I, class T, class F> WS_HD T accumulate(I, I, T, F);
template <class I, class J, class T> WS_HD T inner_product(I, I, J, T);
template <class I, class O> WS_HD O partial_sum(I, I, O);
template <class I, class O> WS_HD O inclusive_scan(I, I, O);
template <class I, class O, class T> WS_HD O exclusive_scan(I, I, O, T);
template <class I, class N, class T> WS_HD I fill_n(I, N, const T&);
template <class I, class T = typename iterator_traits<I>::value_type> WS_HD T reduce(I, I, T = T());

// <complex>
template <class T> struct complex {
  typedef T value_type;
  WS_HD complex(const T& = T(), const T& = T()); WS_HD T real() const; WS_HD T imag() const;
  WS_HD complex& operator+=(const complex&); WS_HD complex& operator*=(const complex&); WS_HD complex& operator-=(const complex&);
};
#define WS_COMPLEX(OP) template <class T> WS_HD complex<T> operator OP(const complex<T>&, const complex<T>&); \
  template <class T> WS_HD complex<T> operator OP(const complex<T>&, const T&); template <class T> WS_HD complex<T> operator OP(const T&, const complex<T>&);
WS_COMPLEX(+) WS_COMPLEX(-) WS_COMPLEX(*) WS_COMPLEX(/)
template <class T> WS_HD T real(const complex<T>&); template <class T> WS_HD T imag(const complex<T>&);
template <class T> WS_HD T norm(const complex<T>&); template <class T> WS_HD complex<T> conj(const complex<T>&);

// streams, exceptions, threads, time
struct ios_base {
  enum openmode { in = 1, out = 2, binary = 4, app = 8, trunc = 16, ate = 32 }; enum fmtflags { fixed_, hex_ }; enum seekdir { beg, cur, end };
  static ios_base& ws_manipulator(ios_base&);
  static bool sync_with_stdio(bool = true); struct failure;
};
inline constexpr ios_base::openmode operator|(ios_base::openmode a, ios_base::openmode b) { return ios_base::openmode(int(a) | int(b)); }
struct ios : ios_base { bool good() const; bool eof() const; bool fail() const; bool bad() const; void clear(); explicit operator bool() const; bool operator!() const;
  long precision(long); long precision() const; long width(long); template <class T> T fill(T); template <class... A> int setf(A...); template <class... A> void unsetf(A...); void* rdbuf() const; template <class T> void rdbuf(T*); };
struct ostream : ios {
  template <class T> ostream& operator<<(const T&); ostream& operator<<(ostream& (*)(ostream&)); ostream& operator<<(ios_base& (*)(ios_base&));
  ostream& write(const char*, long); ostream& flush(); ostream& put(char); ostream& seekp(long);
};
struct istream : ios {
  template <class T> istream& operator>>(T&); istream& read(char*, long); istream& getline(char*, long); istream& getline(char*, long, char); int get(); istream& get(char&);
  istream& seekg(long); istream& seekg(long, ios_base::seekdir); long tellg(); istream& ignore(long = 1, int = -1); int peek(); long gcount() const;
};
struct iostream : ostream {};
template <class S> S& getline(S&, string&); template <class S> S& getline(S&, string&, char);
istream& getline(istream&, string&); istream& getline(istream&, string&, char);
#define WS_FILE(N, B) struct N : B { N(); N(const char*, int = 0); N(const string&, int = 0); void open(const char*, int = 0); void open(const string&, int = 0); bool is_open() const; void close(); };
WS_FILE(ifstream, istream) WS_FILE(ofstream, ostream) WS_FILE(fstream, istream)
#define WS_STRING_STREAM(N, B) struct N : B { N(); N(const string&, int = 0); string str() const; void str(const string&); };
WS_STRING_STREAM(ostringstream, ostream) WS_STRING_STREAM(istringstream, istream)
struct stringstream : ostream { stringstream(); stringstream(const string&); string str() const; void str(const string&); template <class T> stringstream& operator>>(T&); };
extern ostream cout, cerr, clog; extern istream cin;
ostream& endl(ostream&); ostream& flush(ostream&); ostream& ends(ostream&);
ios_base& fixed(ios_base&); ios_base& scientific(ios_base&); ios_base& hex(ios_base&); ios_base& dec(ios_base&);
ios_base& left(ios_base&); ios_base& right(ios_base&); ios_base& boolalpha(ios_base&); ios_base& oct(ios_base&);
struct ws_manipulated {}; ws_manipulated setw(int); ws_manipulated setprecision(int); template <class T> ws_manipulated setfill(T);
#define WS_EXCEPTION(N, B) struct N : B { explicit N(const string&); explicit N(const char*); };
WS_EXCEPTION(runtime_error, exception) WS_EXCEPTION(logic_error, exception) WS_EXCEPTION(invalid_argument, logic_error)
WS_EXCEPTION(out_of_range, logic_error) WS_EXCEPTION(length_error, logic_error) WS_EXCEPTION(domain_error, logic_error)
WS_EXCEPTION(overflow_error, runtime_error) WS_EXCEPTION(range_error, runtime_error)
WS_EXCEPTION(underflow_error, runtime_error) WS_EXCEPTION(system_error, runtime_error) WS_EXCEPTION(regex_error, runtime_error)
struct ios_base::failure : system_error { explicit failure(const char*); }; WS_EXCEPTION(future_error, logic_error)
struct bad_alloc : exception {}; struct bad_array_new_length : bad_alloc {}; struct bad_cast : exception {}; struct bad_any_cast : bad_cast {};
struct bad_typeid : exception {}; struct bad_weak_ptr : exception {}; struct bad_function_call : exception {};
struct bad_variant_access : exception {}; struct bad_exception : exception {};
struct exception_ptr { explicit operator bool() const; bool operator==(const exception_ptr&) const; }; exception_ptr current_exception() noexcept;
void rethrow_exception(exception_ptr); template <class T> void throw_with_nested(T&&); template <class T> void rethrow_if_nested(const T&);
struct nothrow_t {}; extern const nothrow_t nothrow;
struct type_info { const char* name() const; bool operator==(const type_info&) const; bool operator!=(const type_info&) const; };
struct thread { thread(); template <class F, class... A> thread(F&&, A&&...); void join(); void detach(); bool joinable() const; static unsigned hardware_concurrency(); };
struct jthread { jthread(); template <class F, class... A> jthread(F&&, A&&...); void join(); void detach(); bool joinable() const; };
template <class T> struct future { T get(); void wait(); bool valid() const; };
enum class launch { async = 1, deferred = 2 };
template <class F, class... A> future<void> async(launch, F&&, A&&...);
template <class F, class... A> future<void> async(F&&, A&&...);
struct mutex { void lock(); void unlock(); bool try_lock(); };
template <class M> struct lock_guard { lock_guard(M&); };
template <class M> struct unique_lock { unique_lock(M&); void lock(); void unlock(); };
struct condition_variable { void notify_one(); void notify_all(); template <class... A> void wait(A&&...); };
template <class T> struct atomic { atomic(); atomic(T); operator T() const; T operator=(T); T load(int = 0) const; void store(T, int = 0); T operator++(); T operator++(int); T fetch_add(T, int = 0); };
namespace chrono {
template <class R, class P = int> struct duration { template <class T> duration(T); duration(); R count() const; };
typedef duration<long> nanoseconds; typedef duration<long> microseconds; typedef duration<long> milliseconds; typedef duration<long> seconds;
struct time_point { duration<double> operator-(time_point) const; duration<long> time_since_epoch() const; };
struct steady_clock { typedef chrono::time_point time_point; typedef chrono::duration<long> duration; static time_point now(); };
typedef steady_clock high_resolution_clock; typedef steady_clock system_clock;
template <class D, class T> D duration_cast(T);
}
namespace this_thread { template <class T> void sleep_for(T); int get_id(); void yield(); }
// <variant>: of none is known which alternative it holds
struct monostate {};
template <class H, class... R> struct variant {
  variant(); template <class U> variant(const U&); template <class U> variant& operator=(const U&); unsigned long index() const;
  bool valueless_by_exception() const; template <class U, class... A> U& emplace(A&&...);
};
template <class U, class... T> bool holds_alternative(const variant<T...>&);
template <class U, class... T> U& get(variant<T...>&); template <class U, class... T> const U& get(const variant<T...>&);
template <class U, class... T> U* get_if(variant<T...>*); template <class U, class... T> const U* get_if(const variant<T...>*);
template <class F, class H, class... R> auto visit(F&& f, variant<H, R...>& v) -> decltype(f(declval<H&>()));
template <class F, class H, class... R> auto visit(F&& f, const variant<H, R...>& v) -> decltype(f(declval<const H&>()));

// <random>
struct random_device { unsigned operator()(); };
struct mt19937 { typedef unsigned result_type; mt19937(); template <class T> explicit mt19937(T); unsigned operator()(); void seed(unsigned); void discard(unsigned long long); };
typedef mt19937 default_random_engine; typedef mt19937 mt19937_64; typedef mt19937 minstd_rand;
#define WS_DISTRIBUTION(N, D) template <class T = D> struct N { N(); N(T); N(T, T); template <class G> T operator()(G&); };
WS_DISTRIBUTION(uniform_real_distribution, double) WS_DISTRIBUTION(uniform_int_distribution, int)
WS_DISTRIBUTION(normal_distribution, double) WS_DISTRIBUTION(exponential_distribution, double)
struct bernoulli_distribution { bernoulli_distribution(double = 0.5); template <class G> bool operator()(G&); };
namespace filesystem { struct path { path(); template <class T> path(const T&); string string() const; const char* c_str() const; }; bool exists(const path&); WS_EXCEPTION(filesystem_error, system_error) }
}
}
