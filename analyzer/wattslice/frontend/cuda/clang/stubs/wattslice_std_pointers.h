// Smart pointers of <memory>, written down as what they do: host code that uses them is followed through these
// functions as through those of the program. cppreference.com is the source.
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
  ~shared_ptr() { ws_leave(); }
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
  long use_count() const { return ws_n ? *ws_n : 0; }
};
template <class T> struct weak_ptr {
  weak_ptr(); template <class U> weak_ptr(const shared_ptr<U>&); shared_ptr<T> lock() const; bool expired() const; void reset();
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
