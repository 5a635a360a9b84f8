// Smart pointers of <memory>, optional, tuple, call_once, gcd and lcm, stack and queue, written down as what they do: code that uses them is followed through
// these functions as through those of the program. cppreference.com is the source.
#pragma once

template <class T> struct ws_lvalue { typedef T& type; };
template <> struct ws_lvalue<void> { typedef void type; };
template <> struct ws_lvalue<const void> { typedef void type; };
template <class T> struct ws_pointed { typedef T type; };
template <class T> struct ws_pointed<T[]> { typedef T type; };
template <class T> void ws_destroy(T* p) { delete p; }
inline void ws_destroy(void*) {}
inline void ws_destroy(const void*) {}

template <class T> struct default_delete {
  default_delete() {} template <class U> default_delete(const default_delete<U>&) {} void operator()(T* p) const { delete p; }
};
template <class T> struct default_delete<T[]> { default_delete() {} void operator()(T* p) const { delete[] p; } };

template <class T, class D = default_delete<T>> struct unique_ptr {
  typedef typename ws_pointed<T>::type element_type; typedef element_type* pointer;
  pointer ws_p; D ws_d;
  unique_ptr() : ws_p(nullptr) {}
  unique_ptr(decltype(nullptr)) : ws_p(nullptr) {}
  explicit unique_ptr(pointer ws_new) : ws_p(ws_new) {}
  template <class E> unique_ptr(pointer ws_new, const E& d) : ws_p(ws_new), ws_d(d) {}
  unique_ptr(unique_ptr&& o) : ws_p(o.ws_p), ws_d(o.ws_d) { o.ws_p = nullptr; }
  template <class U, class E> unique_ptr(unique_ptr<U, E>&& o) : ws_p(o.ws_p) { o.ws_p = nullptr; }
  ~unique_ptr() { if (ws_p) ws_d(ws_p); }
  unique_ptr& operator=(unique_ptr&& o) { reset(o.release()); return *this; }
  template <class U, class E> unique_ptr& operator=(unique_ptr<U, E>&& o) { reset(o.release()); return *this; }
  unique_ptr& operator=(decltype(nullptr)) { reset(); return *this; }
  pointer get() const { return ws_p; }
  typename ws_lvalue<element_type>::type operator*() const { return *ws_p; }
  pointer operator->() const { return ws_p; }
  typename ws_lvalue<element_type>::type operator[](unsigned long i) const { return ws_p[i]; }
  explicit operator bool() const { return ws_p != nullptr; }
  void reset(pointer ws_new = nullptr) { pointer ws_old = ws_p; ws_p = ws_new; if (ws_old) ws_d(ws_old); }
  pointer release() { pointer ws_new = ws_p; ws_p = nullptr; return ws_new; }
  void swap(unique_ptr& o) { pointer ws_new = ws_p; ws_p = o.ws_p; o.ws_p = ws_new; }
  D& get_deleter() { return ws_d; }
};

template <class T> struct weak_ptr;
template <class T> struct shared_ptr {
  typedef typename ws_pointed<T>::type element_type;
  element_type* ws_p; long* ws_n;
  shared_ptr() : ws_p(nullptr), ws_n(nullptr) {}
  shared_ptr(decltype(nullptr)) : ws_p(nullptr), ws_n(nullptr) {}
  template <class U> explicit shared_ptr(U* ws_new) : ws_p(ws_new), ws_n(new long(1)) {}
  template <class U, class E> shared_ptr(U*, E);
  template <class U> shared_ptr(const weak_ptr<U>&);
  shared_ptr(const shared_ptr& o) : ws_p(o.ws_p), ws_n(o.ws_n) { if (ws_n) ++*ws_n; }
  shared_ptr(shared_ptr&& o) : ws_p(o.ws_p), ws_n(o.ws_n) { o.ws_p = nullptr; o.ws_n = nullptr; }
  template <class U> shared_ptr(const shared_ptr<U>& o) : ws_p(o.ws_p), ws_n(o.ws_n) { if (ws_n) ++*ws_n; }
  template <class U, class E> shared_ptr(unique_ptr<U, E>&& o) : ws_p(o.release()), ws_n(new long(1)) {}
  ~shared_ptr() { ws_leave(); if (false) shared_ptr ws_o(*this); }  // so that there is what containers copy with
  void ws_leave() { if (ws_n && --*ws_n == 0 && ws_p) ws_destroy(ws_p); }
  shared_ptr& operator=(const shared_ptr& o) {
    if (o.ws_n) ++*o.ws_n;
    ws_leave(); ws_p = o.ws_p; ws_n = o.ws_n; return *this;
  }
  template <class U> shared_ptr& operator=(const shared_ptr<U>& o) {
    if (o.ws_n) ++*o.ws_n;
    ws_leave(); ws_p = o.ws_p; ws_n = o.ws_n; return *this;
  }
  template <class U, class E> shared_ptr& operator=(unique_ptr<U, E>&& o) { ws_leave(); ws_p = o.release(); ws_n = new long(1); return *this; }
  element_type* get() const { return ws_p; }
  typename ws_lvalue<element_type>::type operator*() const { return *ws_p; }
  element_type* operator->() const { return ws_p; }
  typename ws_lvalue<element_type>::type operator[](unsigned long i) const { return ws_p[i]; }
  explicit operator bool() const { return ws_p != nullptr; }
  void reset() { ws_leave(); ws_p = nullptr; ws_n = nullptr; }
  template <class U> void reset(U* ws_new) { ws_leave(); ws_p = ws_new; ws_n = new long(1); }
  template <class U, class E> void reset(U*, E);
  long use_count() const;  // containers that drop their copies are not followed
};
template <class T> struct weak_ptr {  // containers that drop their copies are not followed: nobody knows what lives
  T* ws_p; long* ws_n;
  weak_ptr() : ws_p(nullptr), ws_n(nullptr) {}
  template <class U> weak_ptr(const shared_ptr<U>& o) : ws_p(o.ws_p), ws_n(o.ws_n) {}
  template <class U> weak_ptr& operator=(const shared_ptr<U>& o) { ws_p = o.ws_p; ws_n = o.ws_n; return *this; }
  shared_ptr<T> lock() const { shared_ptr<T> r; if (!expired()) { r.ws_p = ws_p; r.ws_n = ws_n; if (ws_n) ++*ws_n; } return r; }
  bool expired() const; void reset() { ws_p = nullptr; ws_n = nullptr; }
};

template <class T> struct ws_made { typedef unique_ptr<T> single; };
template <class T> struct ws_made<T[]> { typedef unique_ptr<T[]> array; };
template <class T, class... A> typename ws_made<T>::single make_unique(A&&... a) { return unique_ptr<T>(new T(forward<A>(a)...)); }
template <class T> typename ws_made<T>::array make_unique(unsigned long n) { return unique_ptr<T>(new typename ws_pointed<T>::type[n]()); }
template <class T, class... A> shared_ptr<T> make_shared(A&&... a) { return shared_ptr<T>(new T(forward<A>(a)...)); }
#define WS_NULL(P, ...)                                                                                      \
  template <__VA_ARGS__> bool operator==(const P& a, decltype(nullptr)) { return !a.ws_p; }                  \
  template <__VA_ARGS__> bool operator!=(const P& a, decltype(nullptr)) { return a.ws_p; }                   \
  template <__VA_ARGS__> bool operator==(const P& a, const P& b) { return a.ws_p == b.ws_p; }
#define WS_UNIQUE unique_ptr<T, D>
WS_NULL(WS_UNIQUE, class T, class D) WS_NULL(shared_ptr<T>, class T)
#undef WS_NULL

struct nullopt_t { explicit constexpr nullopt_t(int) {} }; inline constexpr nullopt_t nullopt{0};
template <class T> struct optional {
  typedef T value_type; T* ws_p;
  optional() : ws_p(nullptr) {}
  optional(nullopt_t) : ws_p(nullptr) {}
  optional(const T& v) : ws_p(new T(v)) {}
  template <class U, class = enable_if_t<is_convertible<U, T>::value>> optional(const U& v) : ws_p(new T(v)) {}
  optional(const optional& o) : ws_p(nullptr) { if (o.ws_p) ws_p = new T(*o.ws_p); }
  ~optional() { reset(); }
  optional& operator=(const optional& o) { T* ws_new = nullptr; if (o.ws_p) ws_new = new T(*o.ws_p); reset(); ws_p = ws_new; return *this; }
  T& operator*() const { return *ws_p; }
  T* operator->() const { return ws_p; }
  T& value() const { if (!ws_p) throw bad_optional_access(); return *ws_p; }
  template <class U> T value_or(const U& v) const { if (ws_p) return *ws_p; return v; }
  bool has_value() const { return ws_p != nullptr; }
  explicit operator bool() const { return ws_p != nullptr; }
  void reset() { T* ws_old = ws_p; ws_p = nullptr; if (ws_old) delete ws_old; }
  template <class... A> T& emplace(A&&... a) { reset(); ws_p = new T(forward<A>(a)...); return *ws_p; }
  bool operator==(nullopt_t) const { return ws_p == nullptr; }
  bool operator!=(nullopt_t) const { return ws_p != nullptr; }
};
template <class T> optional<T> make_optional(const T& v) { return optional<T>(v); }

struct once_flag { bool ws_done = false; };
template <class F, class... A> void call_once(once_flag& o, F&& f, A&&... a) { if (!o.ws_done) { o.ws_done = true; f(forward<A>(a)...); } }
template <> struct tuple<> {
  template <class T> WS_HD constexpr bool operator==(const T&) const { return true; }
  template <class T> WS_HD constexpr bool operator<(const T&) const { return false; }
};
template <class H, class... R> struct tuple<H, R...> {
  H ws_h; tuple<R...> ws_t;
  WS_HD constexpr tuple() : ws_h(), ws_t() {}
  template <class A, class... B, class = enable_if_t<sizeof...(B) == sizeof...(R)>> WS_HD constexpr tuple(A&& a, B&&... b) : ws_h(forward<A>(a)), ws_t(forward<B>(b)...) {}
  template <class A, class... B> WS_HD constexpr tuple(const tuple<A, B...>& o) : ws_h(o.ws_h), ws_t(o.ws_t) {}
  template <class A, class... B> WS_HD constexpr tuple& operator=(const tuple<A, B...>& o) { ws_h = o.ws_h; ws_t = o.ws_t; return *this; }
  template <class A, class B> WS_HD constexpr tuple& operator=(const pair<A, B>& o) { ws_h = o.first; ws_t.ws_h = o.second; return *this; }
};
template <unsigned long I> struct ws_at {
  template <class H, class... R> static WS_HD constexpr typename ws_nth<I, H, R...>::type& of(tuple<H, R...>& t) { return ws_at<I - 1>::of(t.ws_t); }
};
template <> struct ws_at<0> { template <class H, class... R> static WS_HD constexpr H& of(tuple<H, R...>& t) { return t.ws_h; } };
template <class... T> WS_HD constexpr tuple<decay_t<T>...> make_tuple(const T&... t) { return tuple<decay_t<T>...>(t...); }
template <class... T> WS_HD constexpr tuple<T&...> tie(T&... t) { return tuple<T&...>(t...); }
template <unsigned long I, class... T> WS_HD constexpr typename ws_nth<I, T...>::type& get(tuple<T...>& t) { return ws_at<I>::of(t); }
template <unsigned long I, class... T> WS_HD constexpr const typename ws_nth<I, T...>::type& get(const tuple<T...>& t) { return ws_at<I>::of(const_cast<tuple<T...>&>(t)); }
template <unsigned long I, class... T> WS_HD constexpr typename ws_nth<I, T...>::type&& get(tuple<T...>&& t) { return static_cast<typename ws_nth<I, T...>::type&&>(ws_at<I>::of(t)); }
template <class A, class... R, class B, class... S> WS_HD constexpr bool operator==(const tuple<A, R...>& a, const tuple<B, S...>& b) { return a.ws_h == b.ws_h && a.ws_t == b.ws_t; }
template <class A, class... R, class B, class... S> WS_HD constexpr bool operator<(const tuple<A, R...>& a, const tuple<B, S...>& b) { return a.ws_h < b.ws_h || (!(b.ws_h < a.ws_h) && a.ws_t < b.ws_t); }
template <class... A, class... B> WS_HD constexpr bool operator!=(const tuple<A...>& a, const tuple<B...>& b) { return !(a == b); }
template <class... A, class... B> WS_HD constexpr bool operator>(const tuple<A...>& a, const tuple<B...>& b) { return b < a; }
template <class... A, class... B> WS_HD constexpr bool operator<=(const tuple<A...>& a, const tuple<B...>& b) { return !(b < a); }
template <class... A, class... B> WS_HD constexpr bool operator>=(const tuple<A...>& a, const tuple<B...>& b) { return !(a < b); }
template <class P> struct reverse_iterator {
  P ws_base; WS_HD constexpr explicit reverse_iterator(P p) : ws_base(p) {} WS_HD constexpr P base() const { return ws_base; }
  WS_HD constexpr auto operator*() const -> decltype(*ws_base) { return *(ws_base - 1); } WS_HD constexpr reverse_iterator& operator++() { --ws_base; return *this; }
  WS_HD constexpr bool operator!=(const reverse_iterator& o) const { return ws_base != o.ws_base; } WS_HD constexpr bool operator==(const reverse_iterator& o) const { return ws_base == o.ws_base; }
};
template <class T, unsigned long N> struct array;
template <unsigned long I, class T, unsigned long N> WS_HD constexpr T& get(array<T, N>& a) { return a[I]; }
template <unsigned long I, class T, unsigned long N> WS_HD constexpr const T& get(const array<T, N>& a) { return a[I]; }
template <unsigned long I, class T, unsigned long N> WS_HD constexpr T&& get(array<T, N>&& a) { return static_cast<T&&>(a[I]); }
template <unsigned long I> struct ws_side { template <class A, class B> static WS_HD B& of(pair<A, B>& p) { return p.second; } };
template <> struct ws_side<0> { template <class A, class B> static WS_HD A& of(pair<A, B>& p) { return p.first; } };
template <unsigned long I, class A, class B> WS_HD typename ws_nth<I, A, B>::type& get(pair<A, B>& p) { return ws_side<I>::of(p); }
template <unsigned long I, class A, class B> WS_HD const typename ws_nth<I, A, B>::type& get(const pair<A, B>& p) { return ws_side<I>::of(const_cast<pair<A, B>&>(p)); }
template <unsigned long I, class A, class B> WS_HD typename ws_nth<I, A, B>::type&& get(pair<A, B>&& p) { return static_cast<typename ws_nth<I, A, B>::type&&>(ws_side<I>::of(p)); }
template <class T> WS_HD constexpr pair<T, T> minmax(const T& a, const T& b) { return b < a ? pair<T, T>(b, a) : pair<T, T>(a, b); }
template <class C> WS_HD constexpr auto size(const C& c) -> decltype(c.size()) { return c.size(); }
template <class C> WS_HD constexpr auto ssize(const C& c) -> decltype(long(c.size())) { return c.size(); }
template <class T, unsigned long N> WS_HD constexpr unsigned long size(const T (&)[N]) { return N; }

namespace ws_numeric {  // named by <numeric> and <bit> alone: many programs have a gcd of their own
template <class T, class U, class R = decltype(true ? T() : U())> WS_HD constexpr R gcd(T of, U with) {
  R a = of < 0 ? -R(of) : R(of), b = with < 0 ? -R(with) : R(with);
  while (b) { R rest = a % b; a = b; b = rest; }
  return a;
}
template <class T, class U, class R = decltype(true ? T() : U())> WS_HD constexpr R lcm(T of, U with) {
  return !of || !with ? R(0) : (of < 0 ? -R(of) : R(of)) / gcd(of, with) * (with < 0 ? -R(with) : R(with));
}
template <class T> WS_HD constexpr T midpoint(T a, T b) { return a > b ? a - (a - b) / 2 : a + (b - a) / 2; }
template <class T> WS_HD constexpr int bit_width(T x) { int n = 0; while (x) { x >>= 1; n++; } return n; }
template <class T> WS_HD constexpr T bit_ceil(T x) { T power = 1; while (power < x) power <<= 1; return power; }
template <class T> WS_HD constexpr T bit_floor(T x) { return x ? T(1) << (bit_width(x) - 1) : T(0); }
template <class T> WS_HD constexpr bool has_single_bit(T x) { return x && !(x & (x - 1)); }
template <class T> WS_HD constexpr int popcount(T x) { int n = 0; while (x) { n += x & 1; x >>= 1; } return n; }
template <class T> WS_HD constexpr int countl_zero(T x) { return int(sizeof(T) * 8) - bit_width(x); }
template <class T> WS_HD constexpr int countr_zero(T x) { return x ? bit_width(x & (~x + 1)) - 1 : int(sizeof(T) * 8); }
}

template <class T, class A = allocator<T>> struct deque;
#define WS_ADAPTER(N, POP)                                                                                   \
  typedef T value_type; C c; N() {} void push(const T& ws_x) { c.push_back(ws_x); } void POP;                \
  bool empty() const { return c.empty(); } unsigned long size() const { return c.size(); }                    \
  template <class... X> void emplace(const X&... ws_x) { c.emplace_back(ws_x...); }
template <class T, class C = deque<T>> struct stack { WS_ADAPTER(stack, pop() { c.pop_back(); }) T& top() { return c.back(); } };
template <class T, class C = deque<T>> struct queue { WS_ADAPTER(queue, pop() { c.erase(c.begin()); }) T& front() { return c.front(); } T& back() { return c.back(); } };
