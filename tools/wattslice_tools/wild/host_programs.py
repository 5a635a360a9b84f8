"""Launches of random host programs in C++, against what g++ makes of them and runs.

    python -m wattslice_tools.wild.host_programs --first 0 --programs 2000
    python -m wattslice_tools.wild.host_programs --folder texts

Every launch has a kernel of its own. What is called host code, with a number of times, must be what the run
does: grid, block, integer arguments, times. Prints what is not, and how many launches are known.
"""

# ruff: noqa: E501

from __future__ import annotations

import argparse
import random
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct, field

from wattslice.frontend.cuda.read import read_cuda
from wattslice.launches.launch import NO_OVERRIDES, KernelLaunch, LaunchSource
from wattslice.launches.resolver import resolve_launches
from wattslice_models.gpu import load_gpu

TOGETHER = 24
"""Programs that g++ compiles as one file, each in a namespace."""
MOST_NESTED = 3

_HEADERS = """
#include <algorithm>
#include <array>
#include <cassert>
#include <cstdio>
#include <compare>
#include <climits>
#include <cstdarg>
#include <typeinfo>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <sys/time.h>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>
"""
_RUN_HEAD = """
struct dim3 { unsigned x, y, z; dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {} };
static int program;
static void note(const char *name, dim3 g, dim3 b, long long m, long long n) {
    std::cout << std::flush;
    printf("\\n@ %d %s %u %u %u %u %u %u %lld %lld\\n", program, name, g.x, g.y, g.z, b.x, b.y, b.z, m, n);
}
"""
_OUTSIDE = """static unsigned asked; int outside(int x) { return (x ^ 5 * ++asked) % 5u; }
enum cudaError_t { cudaSuccess, cudaErrorNotReady }; typedef void *cudaEvent_t, *cudaStream_t;
struct cudaExtent { size_t width, height, depth; }; struct cudaPitchedPtr { void *ptr; size_t pitch, xsize, ysize; };
cudaError_t cudaEventCreate(cudaEvent_t *e) { *e = new int; return cudaSuccess; }
cudaError_t cudaStreamCreate(cudaStream_t *s) { *s = new int; return cudaSuccess; }
cudaError_t cudaEventQuery(cudaEvent_t) { return cudaError_t(outside(3) % 2); }
cudaError_t cudaStreamQuery(cudaStream_t) { return cudaError_t(outside(2) % 2); }
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t, cudaEvent_t) { *ms = outside(1) * 0.7f; return cudaSuccess; }
cudaError_t cudaMalloc3D(cudaPitchedPtr *p, cudaExtent e) { *p = {new int, 448 + 64 * (size_t)outside(1), e.width, e.height}; return cudaSuccess; }
"""
"""Nobody who reads a program alone knows what these return, or write."""
_LAUNCH = re.compile(r"LAUNCH\((\w+); (.*?); (.*?); (.*?); (.*?)\)")

_CLASSES = """
int made = 0, gone = 0, {g0} = {n0};
int scaled(int x) {{ return x * {n1} + {n2}; }}
int {g1} = scaled({n3});
const int table[5] = {{{n1}, {n2}, {n3}, {n4}, {n5}}};
enum Kind {{ FIRST = {n2}, SECOND, THIRD = 2{n5} }};
enum class Mode : unsigned char {{ off, on = {n1} }};
struct Box {{
    int v, w = {n4};
    static int count;
    Box() : v({n1}) {{ {ctor} }}
    explicit Box(int a) : v(a) {{ made++; }}
    Box(int a, int b) : v(a), w(b) {{ count += {n1}; }}
    Box(const Box &o) {copy}
    Box &operator=(const Box &o) {assign}
    ~Box() {{ {dtor} }}
    int sum() const {{ return v + w; }}
    Box &add(int a) {{ v += a; return *this; }}
    Box operator+(const Box &o) const {{ return Box(v + o.v, w); }}
    bool operator<(const Box &o) const {{ return v < o.v; }}
    Box &operator+=(int a) {{ v += a; w -= 1; return *this; }}
    Box &operator++() {{ ++v; return *this; }}
    int &operator[](int i) {{ return i % 2 ? w : v; }}
    operator int() const {{ return v; }}
    int operator()(int a) {{ return v += a; }}
}};
int Box::count = {n5};
struct Base {{
    int b;
    Base(int a = {n2}) : b(a) {{ {base} }}
    virtual int size() const {{ return b; }}
    virtual void grow(int a) {{ b += a; }}
    int twice() {{ return 2 * size(); }}
    virtual ~Base() {{ gone += 1; }}
}};
struct Left : Base {{
    int extra = {n3};
    Left(int a) : Base(a + 1) {{}}
    Left() {{ extra = {n4}; }}
    int size() const override {{ return b * 2 + extra; }}
}};
struct Right : Left {{
    Box inner;
    Right(int a) : Left(a), inner(a, {n1}) {{}}
    int size() const override {{ return Left::size() + inner.v; }}
    void grow(int a) override {{ extra += a; Base::grow(1); }}
}};
struct Keep {{
    int &place, old;
    Keep(int &x) : place(x), old(x) {{}}
    ~Keep() {{ place = old; }}
}};
struct Bump {{ int by; ~Bump() {{ {g0} = ({g0} + by) % 61; }} }};
struct Adds {{ int &to; int by; Adds(int &x, int b = {n3}) : to(x), by(b) {{}} ~Adds() {{ to = (to + by) % 73; }} int twice() const {{ return 2 * by; }} Adds &more(int a) {{ by += a; return *this; }} }};
struct Reads {{ int &n; operator int() const {{ n = (n + {n2}) % 79; return n; }} explicit operator bool() const {{ n = n * 2 % 67; return n > 9; }} }};
struct Slot {{ std::unique_ptr<Box> held; int n = {n1}; Slot(int a) : held(new Box(a)) {{}} }};
struct Moved {{ int n; Moved(int a) : n(a) {{}} Moved(Moved &&o) : n(o.n) {{ o.n = {n3}; }} Moved &operator=(Moved &&o) {{ n = o.n; o.n = 0; return *this; }} ~Moved() {{ gone += n % 3; }} }};
struct Pod {{ int a; short s; unsigned char c; long long l; }};
struct Nest {{ Pod p; int arr[3]; Pod q[2]; }};
struct Bits {{ unsigned lo : 4; unsigned hi : 6; int rest; }};
struct Holder {{ Box x; Box y{{{n1}, {n2}}}; int n = {n3}; }};
struct Bad : std::runtime_error {{ int code; Bad(int c) : std::runtime_error("bad"), code(c) {{}} }};
template <class T, int N> struct Fixed {{
    T v[N];
    Fixed() {{ for (int i = 0; i < N; i++) v[i] = T(i + {n1}); }}
    T &operator[](int i) {{ return v[i]; }}
    T total() const {{ T t = 0; for (auto x : v) t += x; return t; }}
    static constexpr int size = N;
}};
template <class T> T most(T a, T b) {{ return a > b ? a : b; }}
template <int N> int times(int x) {{ return x * N; }}
template <class F> int applied(F f, int x) {{ return f(x) + f(x + 1); }}
Adds adding(int &x) {{ return Adds(x, {n5}); }}
std::unique_ptr<Base> based(int a) {{ if (a > {n4}) return std::make_unique<Left>(a); return std::unique_ptr<Base>(new Right(a)); }}
int left_at(int &x) {{ return Adds(x).twice() + x; }}
int by_value(Box b) {{ b.v += 1; return b.v + b.w; }}
int by_const(const Box &b, int k = {n2}) {{ return b.v * 2 + k; }}
void by_reference(Box &b) {{ b = Box(b.v + {n1}); }}
Box given(int a) {{ Box b(a); b.w = a + 1; return b; }}
void raise(int &x, int by = {n3}) {{ x += by; }}
void raise(int *x) {{ *x = *x * 2 + 1; }}
void swap_them(int &a, int &b) {{ int t = a; a = b; b = t; }}
int fib(int n) {{ return n < 2 ? n : fib(n - 1) + fib(n - 2); }}
int next_id() {{ static int id = {n4}; id += {n1}; return id; }}
int checked(int x) {{ if (x % {m} == 0) throw Bad(x + 1); return x + 2; }}
int deep(int x) {{ Keep k({g0}); {g0} = x; return checked(x) + 1; }}
int guarded(int x) {{ try {{ return deep(x); }} catch (const std::exception &e) {{ {g1} += 1; return 5; }} }}
int kinds(int x) {{ switch (x % 5) {{ case 0: x += 1; case 1: x += 2; break; case 3: return x; default: x -= 1; }} return x + 1; }}
struct Setup {{ Setup(int a) {{ {g0} += a; }} }};
struct Name {{ int &to; int by; void add(int a) {{ to += a * by; }} }};
template <class T> struct Counted {{ static int n; Counted() {{ n += {n1}; }} }};
template <class T> int Counted<T>::n = {n2};
namespace left {{ int same = {n3}; static int own = {n4}; }}
namespace right {{ int same = {n5}; static int own; }}
int &pick(int &a, int &b) {{ return a % 3 > b % 3 ? a : b; }}
int &stored() {{ static int here = {n4}; return here; }}
int &of(Pod (&p)[2], int i) {{ return p[i % 2].a; }}
template <class T> void set(T &&x) {{ x = {n2}; }}
template <class T> void pass(T &&x) {{ set(std::forward<T>(x)); x += {n1}; }}
template <class F, class... A> decltype(auto) call(F &&f, A &&...a) {{ return f(std::forward<A>(a)...); }}
template <class F> int twice(F f, int x) {{ f(x); f(x); return x; }}
template <int N> void shift(int (&a)[N]) {{ for (int i = N - 1; i > 0; i--) a[i] = a[i - 1]; }}
const int &gmost = std::max({g0}, {g1});
int &gpicked = pick({g0}, left::same), &gstored = stored(), &gelse = {n1} > 4 ? {g0} : {g1};
{globals}
"""


class Program(Struct):
    """A program while it is written: names in scope, what stands at file scope, the number of launches."""

    draw: random.Random
    names: list[str] = field(default_factory=list[str])
    launches: int = 0
    fresh: int = 0
    loops: int = 0
    has_outside: bool = False  # asks functions that only the run has
    has_long_loops: bool = False  # most statements are loops of many iterations

    def name(self, stem: str = "t") -> str:
        """A new name."""
        self.fresh += 1
        return f"{stem}{self.fresh}"

    def number(self, most: int = 20) -> str:
        """A small literal."""
        return str(self.draw.randint(1, most))

    def variable(self) -> str:
        """An int that may be written."""
        return self.draw.choice(self.names)


def expression(p: Program, depth: int = 0) -> str:
    """A small value of type int, without effects."""
    pick = p.draw.random()
    if depth > 1 or pick < 0.35:
        return p.variable()
    if pick < 0.5:
        return p.number()
    one, two = expression(p, depth + 1), expression(p, depth + 1)
    return p.draw.choice(
        [
            f"({one} + {two}) % 97", f"({one} * {two}) % 89", f"({one} - {two})", f"({one} & {two})",
            f"({one} ^ {p.number()}) % 71", f"({one} << 2) % 83", f"std::max(int({one}), int({two}))",
            f"std::min<int>({one}, {two})", f"({one} > {two} ? {one} : {two})", f"most<int>({one}, {two})",
            f"(int)(unsigned char)({one} * 37)", f"(int)((unsigned)({one} - {two}) % 53u)",
            f"(int)(short)({one} * 5000 % 40000) % 43", f"scaled({one}) % 67", f"kinds(std::abs({one}))",
            f"times<3>({one}) % 91", f"table[(unsigned){one} % 5]", f"std::abs({one}) / {p.number(7)}",
            f"(({one}) % 7 + 7) % 7", f"(int)({one} * 0.5)", f"int({one} == {two})", f"!{one} + {two}",
            f"int({one} < {two} && {two} > 3)", f"~{one} % 31", f"int(sizeof(Pod)) + {one}",
            f"(int)(((long long){one} * 1000003) % 101)", f"(int)(({one} + 1u) * 2654435761u >> 26)",
        ]
    )  # fmt: skip


def launch(p: Program) -> str:
    """A launch of a kernel of its own."""
    kernel = f"k{p.launches}"
    p.launches += 1
    size = f"(unsigned)std::abs({expression(p)}) % 500 + 1"
    grid = p.draw.choice([size, size, f"dim3({size}, {p.number(4)})", f"dim3({p.number()}, {size}, 2)"])
    block = p.draw.choice(
        ["32", "64 * 2", f"dim3(8, {p.number(8)})", f"(unsigned)std::abs({expression(p)}) % 64 + 1"]
    )
    return f"LAUNCH({kernel}; {grid}; {block}; {expression(p)}; {expression(p)})"


def condition(p: Program) -> str:
    """A condition, now and then with an effect."""
    if p.has_outside and p.draw.random() < 0.4:
        return f"outside({p.variable()}) > {p.number(4)}"
    one, two, name = expression(p, 1), expression(p, 1), p.variable()
    return p.draw.choice(
        [
            f"{one} > {two}", f"{one} % 3 == 1", f"{one} != {two}", f"{one} < 20 && {two} > 2",
            f"{one} > 30 || {name}++ % 2", f"({name} = {one}) > 9", f"!({one} & 1)", f"(unsigned){one} < {p.number()}u",
            f"{name}-- > 4 && ++{name} > 5", f"int q = {one}; q > {p.number()}",
        ]
    )  # fmt: skip


def objects(p: Program) -> str:
    """A statement or more with objects of classes; gives a variable another value."""
    x, y, t = p.name("o"), p.name("o"), p.variable()
    a, b = expression(p), expression(p)
    n, m = p.number(), p.number(5)
    forms = [
        f"Box {x}; {t} = {x}.sum();",
        f"Box {x}({a}); Box {y} = {x}; {t} = ({y}.v + {x}.w) % 77;",
        f"Box {x}({a}), {y}({b}, {n}); {y} = {x}; {t} = {y}.v + {y}.w;",
        f"Box {x}{{{a}, {n}}}; {t} = by_value({x}) + {x}.v;",
        f"Box {x}({n}); by_reference({x}); {t} = {x}.v - {x}.w;",
        f"Box {x} = given({a}); {t} = {x}.w;",
        f"{t} = Box({a}).sum();", f"{t} = given({n}).add({m}).v;", f"Box {x}({n}); {x}.add({a}).add({m}); {t} = {x};",
        f"Box {x}({n}), {y}({m}); {t} = ({x} + {y}).v; {t} += {x} < {y};",
        f"Box {x}({n}); {x} += {a}; ++{x}; {x}[1] += 2; {x}[{a} % 2 == 0] = {m}; {t} = {x}.v * 3 + {x}.w;",
        f"Box {x}({n}); {t} = {x}({a}) + {x}({m});",
        f"{{ Box {x}({a}); {t} = made + gone; }} {t} += gone;", f"{t} = Box::count + made; Box::count = {n};",
        f"{{ Keep {x}({t}); {t} = {a}; {launch(p)}; }}", f"{{ Bump {x}{{{n}}}; {t} = {a}; }} {t} += g0;",
        f"Box *{x} = new Box({a}, {n}); {x}->v += 1; {t} = {x}->sum(); delete {x}; {t} += gone;",
        f"auto {x} = std::make_unique<Box>({n}, {m}); {x}->v = {a}; {t} = {x}->v + {x}->w;",
        f"Box {x}[3] = {{Box({a}), Box({n}), Box({m}, 2)}}; {t} = {x}[1].v + {x}[2].w; {x}[0] = {x}[1]; {t} += {x}[0].v;",
        f"Box {x}[2]; {t} = {x}[1].w + made;",
        f"Left {x}({a}); Base &{y} = {x}; {t} = {y}.size();", f"Right {x}({n}); Base *{y} = &{x}; {y}->grow({m}); {t} = {y}->twice() + {x}.b;",
        f"Base {x}; Left {y}; {t} = {x}.size() + {y}.size() * 2;", f"Base *{x} = new Right({n}); {t} = {x}->size(); delete {x}; {t} += gone;",
        f"std::unique_ptr<Base> {x}(new Left({a})); {t} = {x}->size();",
        f"Right {x}({n}); Right {y} = {x}; {y}.grow(2); {t} = {x}.size() + {y}.size();",
        f"Pod {x}{{{a}, {n}, {m}, 5}}, {y} = {x}; {y}.s += 3; {y}.c -= 9; {t} = {x}.s + {y}.s + {y}.c + (int){y}.l;",
        f"Pod {x}[3] = {{{{1, 2, 3, 4}}, {{{a}, 5}}}}; {x}[2] = {x}[1]; {x}[2].a++; {t} = {x}[2].a + {x}[1].a + {x}[0].s;",
        f"Nest {x}{{}}; {x}.p.a = {a}; {x}.arr[{m} % 3] = {n}; {x}.q[1] = {x}.p; Nest {y} = {x}; {t} = {y}.q[1].a + {y}.arr[1] + {y}.arr[2];",
        f"Pod {x}[4] = {{}}; for (Pod *q = {x}; q < {x} + 4; ++q) q->a = int(q - {x}) * {n}; {t} = {x}[3].a + (&{x}[1])->a;",
        f"Bits {x}{{}}; {x}.lo = {n}; {x}.hi = {a}; {t} = {x}.lo + {x}.hi;",
        f"Holder {x}; {x}.x.v = {a}; Holder {y} = {x}; {t} = {y}.x.v + {y}.y.w + {y}.n;", f"Holder {x}, {y}; {x}.x.v = {a}; {y} = {x}; {t} = {y}.x.v + {y}.x.w;",
        f"Fixed<int, 4> {x}; {x}[2] = {a}; {t} = {x}.total() % 93;", f"Fixed<unsigned char, 3> {x}; {x}[0] = {a}; {t} = {x}.total() + {x}.size;",
        f"Setup {x}({n}); {t} = g0;", f"Setup({m}); {t} = g0 % 50;", f"static Box {x}({n}); {x}.v += {m}; {t} = {x}.v;",
        f"std::vector<Box> {x}; {x}.push_back(Box({a})); {x}.emplace_back({n}, {m}); {t} = {x}[1].w + (int){x}.size();",
        f"Box {x}({a}); auto {y} = [=](int q) mutable {{ {x}.v += q; return {x}.v; }}; {t} = {y}({n}) + {y}(1); {t} += {x}.v;",
        f"Box {x}({a}); const Box &{y} = {x}; {x}.v = {n}; {t} = {y}.v + by_const({y}) % 60;",
        f"Box {x}({a}), {y}({n}); std::swap({x}.v, {y}.v); {t} = {x}.v;", f"Box {x}({a}), {y}({n}); std::swap({x}, {y}); {t} = {x}.v;",
        f"{t} = [&] {{ Keep {x}({t}); {t} = {a}; return {t} + 1; }}();", f"Box {x} = {a} > 5 ? Box({n}) : Box({m}, 3); {t} = {x}.sum();",
        f"auto {x} = std::make_pair({a}, Box({n})); {t} = {x}.first + {x}.second.v;", f"std::optional<Box> {x}; if ({a} > 6) {x} = Box({n}); {t} = {x} ? {x}->v : {m};",
    ]  # fmt: skip
    return p.draw.choice(forms)


def lifetimes(p: Program) -> str:
    """Statements in which objects without names, or those behind smart pointers, end."""
    x, y, t, u = p.name("t"), p.name("t"), p.variable(), p.variable()
    a, b, n, m = expression(p), expression(p, 1), p.number(), p.number(5)
    forms = [
        f"Adds({t}, {n}); {u} = {t} + 1;", f"{u} = Adds({t}, {n}).twice() + {m}; {launch(p)};", f"adding({t}); {u} += {m};", f"{u} = left_at({t}) % 91;", f"{u} = Adds({t}).more({m}).more(2).twice();",
        f"if (Adds({t}, {n}).twice() > {a}) {{ {u} = {m}; }} {launch(p)};", f"for (int {x} = 0; {x} < Adds({t}, {m}).by; {x}++) {{ {u} = ({u} + {x}) % 59; }}", f"switch (Adds({t}, {n}).twice() % 3) {{ case 0: {u} = {m}; break; case 1: {u} += 2; default: {launch(p)}; }}",
        f"{b} > {n} && Adds({t}, {m}).twice() > 2; {u}++;", f"{u} = {b} > {n} ? Adds({t}, {m}).twice() : {m};", f"{{ const Adds &{x} = Adds({t}, {n}); {t} = {a}; {launch(p)}; }}", f"{{ Adds {x} = {b} > 4 ? Adds({t}, {n}) : adding({t}); {t} = {m}; }}",
        f"if (Adds {x}({t}, {n}); {b} > {m}) {{ {t} = {m}; }} else {{ {launch(p)}; }}", f"for (Adds {x}({t}, {n}); {t} < 40; {t} += 9) {{ if ({t} > 30) break; }}", f"{{ Adds {x}[2] = {{{{{t}, {n}}}, Adds({u}, {m})}}; {t} = {x}[1].by; }}", f"int {x} = Adds({t}, {n}).by, {y} = {t}; {u} = {x} - {y};",
        f"int {x} = Reads{{{t}}}; {u} = {x} % 61;", f"{{ Reads {x}{{{t}}}; if ({x}) {u} = {n}; else {u} = {x} + {m}; }}", f"{{ Reads {x}{{{t}}}; {u} = by_const(Box({x}), {m}) % 83; }}", f"{{ Reads {x}{{{t}}}; while ({x} && {t} < 50) {u} = ({u} + 3) % 47; }}", f"printf(\"%d\", int(Reads{{{t}}})); {u} += 1;",
        f"auto {x} = std::make_unique<Box>({a}); {x}->v += {m}; {t} = {x}->sum(); {x}.reset(); {u} = gone + ({x} ? 1 : 2);", f"auto {x} = std::make_unique<Box>({a}); auto {y} = std::move({x}); {t} = {y}->v + ({x} == nullptr);", f"{{ std::unique_ptr<Box> {x}(new Box({n})); if ({b} > 3) {x}.reset(new Box({m}, 2)); {t} = (*{x}).w; }} {u} += gone;",
        f"auto {x} = based({a}); {t} = {x}->size(); {x}->grow({m}); {u} = {x}.get()->twice() % 87;", f"auto {x} = std::make_shared<Box>({a}); {{ auto {y} = {x}; {y}->v = {n}; {u} = (int){y}.use_count(); }} {t} = {x}->v + (int){x}.use_count() + gone;", f"{{ Slot {x}({n}); Slot {y} = std::move({x}); {t} = {y}.held->v + ({x}.held ? 1 : 2); }} {u} += gone;",
        f"{{ Slot {x}({n}), {y}({m}); std::swap({x}, {y}); {t} = {x}.held->v; }} {u} += gone;", f"{{ Moved {x}({a}), {y}({n}); std::swap({x}, {y}); Moved {x}m = std::move({y}); {t} = {x}.n + {y}.n * 2 + {x}m.n; }} {u} += gone;", f"Pod {x}{{{n}, 2, 3, 4}}, {y}{{{m}, 6, 7, 8}}; std::swap({x}, {y}); {t} = {x}.a + {y}.s;", f"Pod {x}{{.a = {n}, .c = {m}}}; {t} = {x}.a + {x}.s + {x}.c;",
        f"auto {x} = std::make_unique<int[]>({m} + 1); {x}[{m}] = {a}; {t} = {x}[{m}];", f"Base *{x} = new Right({n}); {t} = {x}->size(); delete {x}; {u} = gone;", f"int *{x} = new int({a}); *{x} += {m}; {t} = *{x}; delete {x};",
    ]  # fmt: skip
    return p.draw.choice(forms)


def exceptions(p: Program) -> str:
    """A statement or more that may throw."""
    t, u, a, n, m = p.variable(), p.variable(), expression(p), p.number(), p.number(6)
    c = condition(p)
    handler = p.draw.choice(["const Bad &e", "std::exception &e", "...", "std::runtime_error e"])
    caught = "e.code" if "Bad" in handler else n
    return p.draw.choice(
        [
            f"try {{ {t} = checked({a}); {u} = {m}; }} catch ({handler}) {{ {t} = {caught}; {launch(p)}; }}",
            f"try {{ {u} = {n}; if ({c}) throw {m}; {t} = {a}; {launch(p)}; }} catch (int e) {{ {t} = e + 1; }}",
            f"{t} = guarded(std::abs({a}));",
            f"try {{ try {{ {t} = deep(std::abs({a})); }} catch (int e) {{ {t} = 1; }} }} catch ({handler}) {{ {u} += {m}; }}",
            f"try {{ try {{ {t} = checked({a}); }} catch (...) {{ {u} = {m}; throw; }} }} catch ({handler}) {{ {t} = {n}; }}",
            f"try {{ for (int i = 0; i < 6; i++) {{ {t} = checked(i + {m}); {launch(p)}; }} }} catch ({handler}) {{ {u} += 1; }}",
            f"try {{ Bump bump{{{n}}}; Box inside({m}); {t} = checked({a}); }} catch ({handler}) {{ {t} = g0 + gone; }}",
            f"try {{ {t} = std::stoi(\"{n}x\") + std::stoi(std::string(\"{m}\")); }} catch ({handler.replace('Bad', 'std::invalid_argument')}) {{ {t} = 2; }}",
        ]
    )  # fmt: skip


def library(p: Program) -> str:
    """A statement or more with the language's and the library's small things."""
    x, y, t, u = p.name("l"), p.name("l"), p.variable(), p.variable()
    a, n, m = expression(p), p.number(), p.number(5)
    forms = [
        f"{t} = ({u}++, {u} + {m}) % 90;", f"{t} = {a} > {n} ? {u}++ : --{u};", f"{u} > 3 && ({t} = {a}); {u} > {n} || ({t} += {m});",
        f"{t} += {u} -= {m}; {t} %= 95;", f"{t} = {u} = {a};", f"int {x}[4] = {{1, {n}, {m}}}; int {y} = 0; {x}[{y}++] = {a}; {t} = {x}[{y}] + {x}[0] + {y};",
        f"int {x}[5] = {{{a}, {n}, 3, 4, 5}}; int *{y} = {x}; {t} = *{y}++ + *{y}; {y} += 2; {t} += {y}[1] + int({y} - {x}) + *({y} - 1);",
        f"unsigned {x} = {a}; {x} -= {n}; {t} = (int)({x} >> 28) + (int)({x} % 41u);", f"unsigned char {x} = {n} * 40; {x} += {a}; {t} = {x};",
        f"short {x} = 32767 - {n}; {x} += 20; {t} = {x} % 91;", f"char {x} = 'a' + {m}; {t} = {x} - 'A';", f"long long {x} = 1LL << 33; {t} = (int)({x} / 100000007) + (int)({x} >> 30);",
        f"float {x} = {a} / 3.0f; double {y} = {n} / 4; {t} = (int)({x} * 2) + (int){y};", f"unsigned long long {x} = -1; {t} = {x} > {n}u ? {m} : 2;", f"{t} = ({n}u - {m}u - 20u > 5u) + (-1 < (int){m}u);",
        f"std::vector<int> {x}({m}, {a}); {x}.push_back({n}); {t} = {x}.back() + (int){x}.size() + {x}[0];", f"std::vector<int> {x} = {{{a}, {n}, {m}}}; for (int &q : {x}) q += 1; {t} = {x}[0] + {x}[2]; {x}.pop_back(); {t} += (int){x}.size();",
        f"std::array<int, 3> {x} = {{{a}, {n}, 1}}; {x}[2] = {m}; auto {y} = {x}; {y}[0]++; {t} = {x}[0] + {y}[0] + {y}[2];", f"std::vector<int> {x} = {{{n}, {m}}}; auto {y} = {x}; {y}[0] = {a}; {t} = {x}[0] * 2 + {y}[0];",
        f"auto {x} = std::make_pair({a}, {n}); {x}.first += 2; {t} = {x}.first + {x}.second;", f"auto [{x}, {y}] = std::make_pair({a}, {n}); {t} = {x} - {y};", f"Pod {x}{{{a}, 2, 3, 4}}; auto &[{x}a, {x}b, {x}c, {x}d] = {x}; {x}a += {n}; {t} = {x}.a + {x}b;",
        f"std::tuple<int, int, int> {x}({a}, {n}, 3); std::get<1>({x}) = {m}; {t} = std::get<1>({x}) + std::get<0>({x});", f"std::optional<int> {x}; if ({a} > 4) {x} = {n}; {t} = {x}.value_or({m});", f"std::optional<int> {x} = {a}; {t} = *{x} + {x}.has_value();",
        f"std::string {x} = \"{n}\"; {t} = std::stoi({x}) + (int){x}.size();", f"const char *{x} = \"{n}\"; {t} = atoi({x}) + (int)strlen({x});", f"std::string {x} = std::to_string({a}); {t} = (int){x}.length();", f"std::string {x} = \"ab\"; {t} = {x} == \"ab\" ? {n} : {m};",
        f"{t} = std::min({{int({a}), {n}, {m}}});", f"std::swap({t}, {u});", f"swap_them({t}, {u});", f"raise({t}); raise(&{u}); {u} %= 93;", f"raise({t}, {n});", f"{t} = fib({m} + 3) % 40;", f"{t} = next_id(); {t} += next_id();",
        f"auto {x} = [](int q) {{ return q * {m} + 1; }}; {t} = {x}({a}) % 88;", f"auto {x} = [&, {y} = {u}](int q) {{ {t} = q + {y}; }}; {u}++; {x}({n});", f"int {y} = {n}; auto {x} = [{y}]() mutable {{ return ++{y}; }}; {x}(); {t} = {x}() + {y};",
        f"auto {x} = [q = {a} + 1](int r) {{ return q + r; }}; {t} = applied({x}, {m}) % 99;", f"{t} = applied([&](int q) {{ return q + {u}; }}, {n}) % 80;", f"std::function<int(int)> {x} = [=](int q) {{ return q + {m}; }}; {t} = {x}({a});", f"int (*{x})(int) = {a} > 5 ? scaled : kinds; {t} = {x}({n}) % 92;",
        f"int {x} = {a}; {{ int {x} = {n}; {t} = {x}; }} {t} += {x};", f"int {x}[3][2] = {{{{1, {n}}}, {{{a}, 4}}}}; {t} = {x}[1][0] + {x}[0][1] + {x}[2][1]; int (*{y})[2] = {x} + 1; {t} += (*{y})[1];",
        f"int {x}[4], {y}[4] = {{{a}, {n}, {m}, 7}}; memcpy({x}, {y}, sizeof {y}); {y}[0] = 0; {t} = {x}[0] + {x}[3];", f"int {x}[3]; memset({x}, 0, sizeof({x})); {x}[1] = {a}; {t} = {x}[0] + {x}[1];", f"int *{x} = (int *)malloc(3 * sizeof(int)); {x}[1] = {a}; {x}[2] = {x}[1]++; {t} = {x}[1] + {x}[2]; free({x});",
        f"Mode {x} = {a} > 5 ? Mode::on : Mode::off; {t} = {x} == Mode::on ? {n} : static_cast<int>({x});", f"Kind {x} = SECOND; {t} = {x} + THIRD; switch ({x}) {{ case FIRST: {t} = 1; case SECOND: {t} += {m}; case THIRD: {t} += 1; break; default: {t} = 0; }}",
        f"std::map<std::string, int> {x} = {{{{\"a\", {n}}}, {{\"b\", {m}}}}}; {t} = {x}[\"b\"] + (int){x}.count(\"c\");", f"int {x} = {n}; int &{y} = {a} > 4 ? {x} : {t}; {y} += 3; {t} += {x};", f"int *{x} = &{t}; int **{y} = &{x}; **{y} = {a}; *{x} += 1;", f"dim3 {x}({n}, {m}); {x}.z = 2; dim3 {y} = {x}; {y}.x++; {t} = {y}.x + {x}.x * {y}.y + {y}.z;",
        f"std::vector<std::vector<int>> {x}(2, std::vector<int>({m}, {n})); {x}[1][0] = {a}; {t} = {x}[0][0] + {x}[1][0] + (int){x}[1].size();", f"std::vector<int> {x}{{{n}, {a}, {m}}}; std::sort({x}.begin(), {x}.end()); {t} = {x}[0];", f"std::vector<int> {x}{{{n}, {a}, {m}}}; {t} = std::accumulate({x}.begin(), {x}.end(), 0);", f"std::vector<int> {x}(3); std::iota({x}.begin(), {x}.end(), {n}); {t} = {x}[2];",
        f"union {{ int i; unsigned u; }} {x}; {x}.i = {a}; {t} = {x}.i;", f"goto {x}; {t} = {n}; {x}: {t} += 1;", f"int {y} = 0; {x}: {t} += {m}; if (++{y} < {m}) goto {x};", f"if ({a} > 4) goto {x}; {t} = {n}; {launch(p)}; {x}:;",
        f"int {x} = {a}; do {{ {x} -= 7; if ({x} == {n}) continue; {t}++; }} while ({x} > 0); {t} %= 87;", f"for (int i = {n}, j = 0; i > j; i -= 2, ++j) {t} = (i * j + {t}) % 90;", f"for (int q : {{{n}, {m}, 3}}) {t} = (q + {t}) % 70;", f"int {x} = 5; while ({x}--) {{ if ({x} == {m}) break; {t} += {x}; }}",
        f"{t} = getenv(\"NO_SUCH_VARIABLE_{x}\") ? {n} : {m};", f"{t} = [] {{ int q = 0; for (int i = 0; i < {n}; i++) q += i; return q; }}() % 85;", f"if (int {x} = {a}; {x} > {n}) {t} = {x}; else {t} = {x} + 1;", f"constexpr int {x} = {n} * 2; static_assert({x} > 1); {t} = {x} + {a};",
    ]  # fmt: skip
    return p.draw.choice(forms)


def references(p: Program) -> str:
    """Statements in which a value has several names, or is given under another one."""
    x, y, t, u = p.name("r"), p.name("r"), p.variable(), p.variable()
    a, b, n, m = expression(p), expression(p, 1), p.number(), p.number(5)
    three = f"int {x}[3] = {{{a}, {n}, {m}}};"
    forms = [
        f"auto {x} = [](auto &q) {{ q += {n}; }}; {x}({t});", f"auto {x} = [](auto &&...q) {{ ((q += {n}), ...); }}; {x}({t}, {u});",
        f"auto {x} = [](int &&q) {{ q = {n}; return q + {m}; }}; {u} = {x}(std::move({t}));", f"auto {x} = [&](auto q) {{ q += {t}; return q / 2; }}; {t} = {x}({a}) + int({x}((short){n})) + int({x}({m}.5));",
        f"std::function<void(int &)> {x} = [&](int &q) {{ q = {a}; }}; {x}({t});", f"auto {x} = [&]() -> int & {{ return {b} > 3 ? {t} : {u}; }}; {x}() = {n};",
        f"std::function<int &()> {x} = [&]() -> int & {{ return {t}; }}; {x}() += {m}; {u} = {x}();", f"auto {x} = [&](auto &&q) -> decltype(auto) {{ {u} += 1; return (q); }}; {x}({t}) = {n};",
        f"set({t});", f"pass({t});", f"pass(int({a})); set(std::move({u}));", f"call([](int &q, int r) {{ q += r; }}, {t}, {a});", f"{t} = call([&](auto &&q, auto r) {{ return q + r + {m}; }}, {u}, {n});",
        f"call(pick, {t}, {u}) = {n};", f"call(swap_them, {t}, {u});", f"{t} = twice([&](auto &q) {{ q += {u}; {u} = {n}; }}, {a});", f"auto {x} = [&](auto q) {{ auto in = [&](auto r) -> int & {{ {t} += int(r); return {t}; }}; return in(q) + in({m}.5f); }}; {u} = {x}({n}) % 90;",
        f"const int &{x} = std::max({t}, {u}); {t} = {n}; {u} = {x} + 1;", f"const int &{x} = std::min({t}, {u}); {u} = {a}; {t} = {x};", f"int &{x} = pick({t}, {u}); {x} += {n}; {t} += {m};", f"pick({t}, {u}) = {n};",
        f"int &{x} = {b} > 2 ? {t} : {u}; {x} = {n};", f"int &{x} = ++{t}; {x} += {m};", f"({t} += {m}) %= {n};", f"int &{x} = ({t} = {a}); {x}++; {u} = {t};", f"int *{x} = &{t}, *&{y} = {x}; {y} = &{u}; *{x} = {n};", f"int *{x} = &{t}, **{y} = &{x}; **{y} = {n}; *{y} = &{u}; *{x} += {m};",
        f"stored() = {a}; {t} = gstored + stored();", f"gstored += {m}; {t} = stored();", f"gpicked += {n}; {t} = g0 + left::same;", f"g0 = {a}; {t} = gmost;", f"gelse += {m}; {t} = g0 - g1;",
        f"{three} auto {y} = [](int (&q)[3]) {{ q[1] += q[0]; }}; {y}({x}); {t} = {x}[1];", f"{three} shift({x}); {t} = {x}[1] + {x}[2];", f"{three} for (auto &&q : {x}) q += {m}; {t} = {x}[0] % 80;", f"{three} auto &[q0, q1, q2] = {x}; q1 = q0 + q2; {t} = {x}[1];",
        f"{three} int &{y} = {x}[({t} & 1) + 1]; {y} = 50; {t} = {x}[1] - {x}[2];", f"{three} int *{y} = std::begin({x}) + 1; *{y}++ = {m}; *{y} = {n}; {t} = {x}[1] * 2 + {x}[2];", f"{three} std::swap({x}[0], {x}[2]); std::swap({x}[1], {t}); {u} = {x}[0] - {x}[2];",
        f"std::pair<int, int> {x}{{{a}, {n}}}; auto &[q, r] = {x}; q = r + {m}; {t} = {x}.first;", f"Pod {x}{{{a}, 2, 3, {n}}}; auto &&[q, r, v, w] = {x}; r += {m}; w--; {t} = {x}.s + (int){x}.l + q + v;", f"Pod {x}[2] = {{}}; of({x}, {m}) = {n}; int &{y} = of({x}, std::abs({t}) % 2); {y} += 3; {t} = {x}[0].a * 3 + {x}[1].a;",
        f"std::array<Pod, 3> {x}{{}}; for (auto &q : {x}) q.a = int(&q - {x}.data()) + {n}; std::swap({x}[0], {x}[2]); {t} = {x}[0].a; {x}.at(1).s = {m}; {u} = {x}[1].s;", f"std::vector<Pod> {x}(3); {x}[1].a = {n}; for (auto &q : {x}) q.a += {m}; {t} = {x}[1].a + {x}.back().a; {x}.front() = {x}[1]; {u} = {x}[0].a;",
        f"std::vector<int> {x} = {{{n}, {m}, 3}}; for (int &q : {x}) q += {t}; int &{y} = {x}.back(); {y} = {a}; {t} = {x}[0] + {x}[2];", f"std::vector<int> {x} = {{{n}, {m}, 3}}; std::for_each({x}.begin(), {x}.end(), [&](int &q) {{ q += 2; {u}++; }}); {t} = {x}[1];", f"std::vector<std::vector<int>> {x}(2, std::vector<int>(3, {m})); {x}[1][2] = {n}; for (auto &q : {x}) q[0]++; {t} = {x}[1][2] + {x}[0][0];",
        f"Name {x}{{{t}, {m}}}; {x}.add({n}); {u} = {x}.to; {x}.to = {m};", f"Name {x}{{{t}, 2}}, {y} = {x}; {y}.to += {n}; {u} = {x}.to;", f"struct {x}s {{ int &q; void operator()(int v) {{ q = v; }} }} {y}{{{t}}}; {y}({n});", f"std::reference_wrapper<int> {x} = {t}; {x}.get() = {n}; {u} = {x} + 1;", f"auto {x} = std::ref({t}); {x}.get()++; {u} = {x};", f"std::tuple<int &, int> {x}({t}, {n}); std::get<0>({x}) = {m};", f"std::tie({t}, {u}) = std::make_pair({n}, {m});",
        f"Counted<int> {x}; Counted<float> {y}; {t} = Counted<int>::n * 2 + Counted<float>::n;", f"Counted<char>::n = {n}; {t} = Counted<char>::n + Counted<int>::n;", f"left::same = {a}; {t} = left::same - right::same;", f"right::own = {n}; left::own += {m}; {t} = left::own + right::own;", f"{{ using namespace right; same = {n}; }} {t} = left::same + right::same;",
        f"auto {x} = [q = {a}](int r) mutable {{ q += r; return q; }}; auto {y} = {x}; {t} = {x}({m}) + {x}(1); {u} = {y}({n});", f"auto *{x} = &{t}; auto {y} = [{x}](int v) {{ *{x} = v; }}; {y}({n});", f"auto {x} = [&r = {t}](int v) {{ r += v; }}; {x}({m}); {x}(1);", f"{u} = std::exchange({t}, {n});", f"Right {x}({n}); Left &{y} = {x}; static_cast<Base &>({y}).b += {m}; {t} = {x}.b; dynamic_cast<Right &>({y}).extra = {n}; {u} = {x}.extra;",
        f"Bits {x}{{}}; {x}.lo = {n} + 12; {x}.hi--; {x}.rest = {x}.lo++ + {x}.hi; {t} = {x}.rest + {x}.lo;", f"unsigned char {x} = {n}; {x} -= 21; {t} = {x}; signed char {y} = 127; {y} = {y} + {m}; {u} = {y};", f"Mode {x} = Mode::on; unsigned char {y} = 250; {y} += (unsigned char){x} + {n}; {t} = {y};", f"std::string {x} = \"{n}\"; {x} += \"{m}\"; {t} = std::stoi({x}) + std::atoi({x}.c_str() + 1) + (int){x}.size();", f"{t} = (int)std::strtol(\"0x{m}f\", nullptr, 16) + (int)std::stod(\"{n}.75\");",
        f"if (auto *{x} = {b} > 5 ? &{t} : nullptr) *{x} = {n}; else {u} = {m};", f"int {x} = {n}; int *{y} = &{x}; memcpy({y}, &{t}, sizeof *{y}); {u} = {x};", f"Pod {x}{{{a}, 2, 3, 4}}, {y}; memcpy(&{y}, &{x}, sizeof {y}); memset(&{x}, 0, sizeof {x}); {t} = {y}.a + {x}.s;", f"const auto &[q, r] = std::minmax({t}, {u}); int {x} = r - q; {t} = {x};", f"{t} = std::clamp({t}, {m}, {n} + 5);", f"int {x} = 0; std::map<int, int> {y}; {y}[{m}] = {n}; {y}[{m}]++; for (auto &[q, r] : {y}) {x} += r; {t} = {x};",
    ]  # fmt: skip
    return f"{{ {p.draw.choice(forms)} }}"


def uncounted(p: Program) -> str:
    """Loops of more than 64 iterations, most of them not counted: time steps, residuals, generators, depths."""
    x, t, u = p.name("w"), p.variable(), p.variable()
    a, n, m = expression(p, 1), p.number(), p.number(4)
    every, at = p.draw.choice((7, 20, 40, 90)), p.draw.randint(0, 4)
    now, c = f"{x}t", f"{x}c"
    p.names.append(c)
    inner = [
        f"if (++{c} % {every} == {at}) {{ {launch(p)}; }}", f"if ({c}++ == {every + 30}) {launch(p)}; else {{ {t} = {n}; }}", f"{c} += 1; {launch(p)}; if ({c} % {every} == {at}) {t} = {c};", f"switch (++{c} % {every}) {{ case {at}: {launch(p)}; break; case 5: {u} = {c}; }}",
        f"{c}++; if ({c} % 3 == 1) continue; {launch(p)};", f"{c}++; if ({c} == {every}) {{ {t} = {a}; }} if ({t} == {n}) {{ {launch(p)}; }}", f"++{c} % {every} == {at} && ({t} = {c}); {launch(p)};", f"for (int i = 0; i < {c}++ % 3; i++) {{ {launch(p)}; }}",
        f"if ({x}.tick()) {{ {launch(p)}; }} {c} = {x}.n;", f"{x}.tick(); if ({x}.on) {launch(p)}; {c} = {x}.n - {x}.on;", f"static int own = {n}; if (++own == {every}) {{ {launch(p)}; }} {c} = own;", f"{x}v[++{c} % 9]++; if ({x}v[{at}] == {m}) {launch(p)};",
        f"raise({c}, 1); if ({c} > {every}) {{ {launch(p)}; }} {t} = ({t} + {m}) % 90;", f"std::swap({t}, {u}); {launch(p)}; {c}++;", f"std::swap({x}p, {x}q); ++*{x}p; {c} = *{x}q; {launch(p)};", f"{c}++; if ({c} % {every} == {at}) {{ {block(p, MOST_NESTED)} }}", f"{{ {block(p, MOST_NESTED)} }} {c}++;",
        f"double in = 1; while (in > 0.5) {{ in *= 0.99; if (++{c} % {every} == {at}) {{ {launch(p)}; }} }}",
    ]  # fmt: skip
    body = p.draw.choice(inner)
    p.names.remove(c)
    end = p.draw.choice(("0.7", "1.0", "2.5"))
    loops = [
        f"for (double {now} = 0; {now} < {end}; {now} += 0.01) {{ {body} }}", f"double {now} = 0; while ({now} < {end}) {{ {now} += 0.01; {body} }}", f"double {now} = 1; do {{ {now} *= 0.95; {body} }} while ({now} > 1e-3);", f"double {now} = 0; for (;;) {{ if ({now} >= {end}) break; {now} += 0.01; {body} }}",
        f"for (int {now} = 0; {now} < {p.draw.choice((60, 70, 200))}; {now}++) {{ {body} }}", f"while ({x}.next()) {{ {body} }}", f"std::vector<int> {now}(150, {m}); for (int q : {now}) {{ {t} = ({t} + q) % 91; {body} }}", f"auto {now} = [&](double end) {{ for (double now = 0; now < end; now += 0.01) {{ {body} }} }}; {now}({end}); {now}(0.3);",
        f"int {now} = 1 << 30; for (int i = 0; {now}; i++) {{ if (i % 9 == 8) {now} >>= 1; {body} }}", f"for (int {now} = 0; {now} < 90; {now}++) {{ if ({c} > {every + 20}) break; {body} }}",
        f"int {now} = 0; while ({now} < {p.draw.choice((60, 70, 200))}) {{ {now}++; {body} }} {u} = {now} % 90;", f"unsigned {now} = {p.draw.choice((60, 70, 200))}; while ({now}--) {{ {body} }} {u} = {now} % 90u;", f"short {now} = 0; do {{ {body} }} while (++{now} != {p.draw.choice((60, 70, 200))}); {u} = {now} % 90;",
        f"unsigned char {now} = 3; for (; {now} != {p.draw.choice((63, 72, 203))}; {now} += 3) {{ {body} }} {u} = {now} % 90;", f"int {now} = 0; do {{ {now} += 2; {body} }} while ({now} < {p.draw.choice((121, 140, 401))}); {u} = {now} % 90;",
    ]  # fmt: skip
    made = f"struct {{ int n = {m}, on = 0, left = 99; int tick() {{ if (++n % {every} == {at}) on = 1; else if (n % 10 == 3) on = 0; return n % 17 == {m}; }} bool next() {{ return --left > 0; }} }} {x}; int {x}v[9] = {{}}, {c} = 0, {x}a = {n}, {x}b = {m}, *{x}p = &{x}a, *{x}q = &{x}b;"
    p.names.append(c)
    after = p.draw.choice([f"{launch(p)};", f"if ({c} > {every}) {launch(p)};", ""])
    p.names.remove(c)
    return (
        f"{{ {made} {p.draw.choice(loops)} {after} {u} = ({c} + {x}.n + {x}.on + {x}v[{at}] + *{x}p) % 97; }}"
    )


def algorithms(p: Program) -> str:
    """Statements over the elements of a sequence: algorithms, iterators, containers that grow and shrink."""
    x, y, t, u = p.name("v"), p.name("v"), p.variable(), p.variable()
    a, b, n, m = expression(p, 1), expression(p, 1), p.number(), p.number(4)
    made = p.draw.choice([f"std::vector<int> {x} = {{{a}, {n}, {m}, 7}};", f"int {x}a[] = {{{a}, {n}, {m}, 7}}; std::vector<int> {x}({x}a, {x}a + 4);",
                          f"std::array<int, 4> {x} = {{{a}, {n}, {m}, 7}};", f"std::vector<long long> {x} = {{{a}, {n}, {m}, 7}};"])  # fmt: skip
    both, more = f"{x}.begin(), {x}.end()", "std::array" not in made
    forms = [
        f"{t} = int(std::accumulate({both}, {b}) % 90);", f"{t} = int(*std::max_element({both}) - *std::min_element({both}));", f"std::sort({both}); {t} = int({x}[0] + {x}[3]);",
        f"std::sort({both}, std::greater<>()); {t} = int({x}[1]);", f"std::reverse({x}.begin() + 1, {x}.end()); {t} = int({x}[1] - {x}[3]);", f"std::fill({x}.begin(), {x}.begin() + {m} % 4, {b}); {t} = int({x}[0] + {x}[2]);",
        f"std::iota({both}, {b}); {t} = int({x}[3] % 80);", f"{t} = int(std::find({both}, {n}) - {x}.begin()) * 3 + int(std::count({both}, {m}));", f"for (auto i = {x}.begin(); i != {x}.end(); ++i) *i += {m}; {t} = int({x}[2]);",
        f"auto {y} = {x}.begin() + {m} % 3; *{y} = {b}; *++{y} = {n}; {t} = int({x}[1] * 2 - {x}[2]);", f"auto {y} = {x}; std::partial_sum({both}, {y}.begin()); {t} = int({y}[3] % 70) + int(std::distance({both}));", f"int {y}[4] = {{}}; std::copy_n({x}.data(), 3, {y} + 1); {t} = {y}[1] + {y}[3];",
        f"{t} = int(std::lower_bound({both}, {n}) == {x}.end());" if "sort" in made else f"{t} = int(*std::next({x}.begin(), {m} % 4) + *std::prev({x}.end()));", f"{t} = int(std::max_element({both}) - {x}.begin()) + ({x}.begin() < {x}.end());",
    ]  # fmt: skip
    grown = [
        f"{x}.insert({x}.begin() + {m} % 4, {b}); {t} = int({x}[1] + {x}[3]) + (int){x}.size();", f"{x}.erase({x}.begin() + {m} % 4); {t} = int({x}[1]) + (int){x}.size();", f"{x}.erase({x}.begin() + 1, {x}.begin() + 3); {x}.push_back({n}); {t} = int({x}[2] * 2 + {x}[1]);",
        f"{x}.resize(2); {x}.resize(4); {t} = int({x}[3] + {x}[1]) + (int){x}.size();", f"{x}.clear(); {x}.resize({m}, {n}); {t} = int({x}.back()) + (int){x}.size();", f"auto {y} = {x}; {y}.clear(); {y}.insert({y}.end(), {both}); {y}.insert({y}.begin(), 2, {m}); {y}.swap({x}); {t} = int({x}[1] + {x}[3]) * 2 + (int){y}.size();",
        f"if ({condition(p).rpartition('; ')[2].replace('q >', f'{a} >')}) {x}.erase({x}.begin()); {t} = int({x}[0]) + (int){x}.size();", f"std::vector<int> {y}; for (int i = 0; i < {m}00; i++) {y}.push_back(i); {t} = (int){y}.size() % 83 + {y}[{m}];", f"std::vector<int> {y}(2000); for (int i = 0; i < 2000; i++) {y}[i] = i % 7; {t} = (int){y}.size() % 91;",
    ]  # fmt: skip
    others = [
        f"std::map<int, int> {y} = {{{{{n}, {a}}}, {{{m}, 5}}}}; {y}[{b}] += 2; for (auto &q : {y}) q.second++; {t} = {y}.begin()->second + (int){y}.size() * 3 + {y}.count({m});", f"std::unordered_map<std::string, int> {y}; {y}[\"a\"] = {a}; {y}[\"b\"] += {n}; auto i = {y}.find(\"b\"); {t} = i == {y}.end() ? 3 : i->second + {y}[\"c\"]; {y}.erase(\"a\"); {u} = (int){y}.size();",
        f"std::map<int, int> {y}; {y}.emplace({m}, {n}); {y}.insert({{{m}, {a}}}); {y}.insert({{{n} + 30, 4}}); {t} = {y}.at({m}) + (--{y}.end())->first;", f"char {y}[] = \"{n},{m};x\"; int q = 0; for (char *w = strtok({y}, \",;\"); w; w = strtok(nullptr, \",;\")) q = q * 3 + atoi(w) + 1; {t} = q;",
        f"std::istringstream {y}(\"{n} w {m}\"); int q = 0, r = 1; std::string w; {y} >> q >> w >> r; {t} = q * 2 + r + (int)w.size(); if ({y} >> r) {u} = {n};", f"std::stringstream {y}(\"{n}:{m}:4\"); std::string w; int q = 0; while (std::getline({y}, w, ':')) q += std::stoi(w); {t} = q;", f"std::ostringstream {y}; {y} << {n} << ',' << \"ab\" << {a}; {t} = (int){y}.str().size();",
        f"std::stringstream {y}; {y} << {n} << ' ' << {m}; int q; {y} >> q; {y} << 5; {y} >> {u}; {t} = q;",
    ]  # fmt: skip
    if p.draw.random() < 0.25:
        return f"{{ {p.draw.choice(others)} }}"
    return f"{{ {made} {p.draw.choice([*forms, *(grown if more else [])])} }}"


def printing(p: Program) -> str:
    """Statements that print, test, free or measure, with something that runs in them, or by such a name."""
    x, y, t, u = p.name("q"), p.name("q"), p.variable(), p.variable()
    a, n, m = expression(p, 1), p.number(), p.number(4)
    runs = f"auto {x} = [&](int q) {{ {launch(p)}; {t} = q; return q; }};"
    box = f"Box {x}({n}, {m});"
    forms = [
        f'printf("%d\\n", ++{t});', f'printf("%d %d", {t} += {n}, 3);', f'std::cout << {t}++ << "\\n";', f"std::cout << ({t} = {a}) << std::endl;", f"assert(({t} = {n}) > 0);", f'puts(({t} += {n}) > 9 ? "a" : "b");', f'fprintf(stdout, "%*d", 3, {t} = {n});',
        f'printf("%d\\n", next_id()); {t} = next_id();', f"std::cout << next_id() << fib({m}) << next_id(); {t} = next_id();", f'printf("%d", guarded(std::abs({a}))); {t} = g0;', f"{runs} printf(\"%d\", {x}({n}));", f"{runs} std::cout << {x}({n}) << ' ' << {x}({m}) << '\\n';",
        f"{runs} assert({x}({n}) > 0);", f"{runs} for (int i = 0; i < {m}; i++) std::cout << {x}(i);", f"{runs} {a} > 4 ? printf(\"%d\", {x}({n})) : printf(\"b\");", f"{runs} if (printf(\"%d\", {x}({m}))) {u} = {n};", f"{runs} std::function<int(int)> {y} = {x}; std::cout << {y}({n});", f"{runs} assert({a} > 5 || {x}({n}));",
        f'{box} printf("%d", {x}.add({m}).v); std::cout << {x}.sum() << {x}({n}); {t} = {x}.v;', f"{box} std::cout << by_value({x}) << Box({m}).v; {t} = gone + made;", f"{box} fprintf(stdout, \"%d\", ++{x} < Box({m})); {t} = {x}.v + gone;", f'{box} printf("%d", (by_reference({x}), {x}.w)); {t} = {x}.v;',
        f'struct {x}s {{ int n = {m}; int printf(const char *, int v) {{ return n += v; }} void free(int v) {{ n -= v; }} void exit(int v) {{ n *= v; }} }} {y}; {y}.printf("a", {n}); {y}.free({m}); {y}.exit(2); {t} = {y}.n;', f"struct {x}s {{ int s = {n}; {x}s &operator<<(int v) {{ s = (s * 3 + v) % 97; return *this; }} }} {y}; {y} << {n} << {t}++ << {m}; {u} = {y}.s;",
        f'int *{x} = (int *)malloc(12); {x}[0] = {n}; printf("%d", {x}[0]++); {t} = {x}[0]; free({x});', f'for (int {x} = 0; {x} < {m}; printf("%d", {x}++)) {t} += 1;', f'printf("%d", std::exchange({t}, {n}));', f'std::cout << std::max({t}, {u}) << std::min({{1, {n}}}) << std::string("ab").size() << std::to_string({t});', f"std::vector<int> {x} = {{{n}, {m}}}; std::cout << {x}[1]++ << {x}.back() << {x}.size(); {t} = {x}[1];",
        f'printf("ab%n\\n", &{t});', f'sscanf("12ab", "%d%n", &{t}, &{u});', f'char {x}[8]; {u} = sscanf("ab 7", "%[a-z] %d", {x}, &{t});', f'std::map<int, int> {x}; std::cout << {x}[{m}]; {t} = (int){x}.size();',
    ]  # fmt: skip
    measured = [
        f"cudaEvent_t {x}, {y}; cudaEventCreate(&{x}); cudaEventCreate(&{y}); float {x}t = -1; cudaEventElapsedTime(&{x}t, {x}, {y}); {t} = {x}t > 1 ? {n} : {m}; {u} += {n};",
        f"cudaEvent_t {x} = nullptr; float {y} = 9, {y}b = 9; for (int i = 1; i < {m}; i++) {{ cudaEventElapsedTime(&{y}, {x}, {x}); if ({y} < {y}b) {{ {y}b = {y}; {t} = i; }} {launch(p)}; }}",
        f"cudaEvent_t {x}; cudaEventCreate(&{x}); {t} = 0; while (cudaEventQuery({x}) == cudaErrorNotReady) {t}++;", f"cudaStream_t {x} = nullptr; cudaStreamCreate(&{x}); if ({x}) {t} = {n}; if (cudaStreamQuery({x}) != cudaSuccess) {u} = {m};",
        f"cudaPitchedPtr {x} = {{}}; cudaMalloc3D(&{x}, cudaExtent{{100, 4, {m}}}); {t} = {x}.pitch / 64;", f"timeval {x} = {{}}; gettimeofday(&{x}, nullptr); {t} = {x}.tv_usec % 89; {u} = {x}.tv_sec > 9 ? {n} : {m};", f'int {x} = {n}; printf("%d", {x} += outside({m})); {t} = {x};', f"int {x} = {n}; assert(outside({m}) > 9 || ({x} = {m})); {t} = {x};",
    ]  # fmt: skip
    return f"{{ {p.draw.choice(forms + measured * p.has_outside)} }}"


def texts(p: Program) -> str:
    """Statements whose numbers hang on texts, on functions that are given, or on what a library calls."""
    x, y, t, u = p.name("s"), p.name("s"), p.variable(), p.variable()
    a, c, n, m = expression(p, 1), condition(p).rpartition("; ")[2], p.number(), p.number(4)
    if c.startswith("q "):
        c = f"{a} > {n}"
    word = p.draw.choice(["small", "a:b:c", "x", "--n=12", "12x34", "", "n", "abcabc"])
    piece = p.draw.choice(["a", "b", ":", "=", "n", "x3", "abc"])
    made = f'std::string {x} = "{word}";'
    forms = [
        f'{made} if ({c}) {x} = "{piece}"; {t} = {x} == "{piece}" ? {n} : {m};', f'{made} if ({c}) {x} += "{piece}"; {t} = (int){x}.size();', f'{made} auto {y} = {x}.find("{piece}"); {t} = {y} == std::string::npos ? {n} : int({y});',
        f'{made} {t} = int({x}.rfind("{piece}", {m}) % 90u);', f'{made} {t} = int({x}.find(\'{piece[0]}\', {m}) % 90u);', f'{made} {t} = int({x}.find_last_of("{piece}") % 90u) + int({x}.find_first_of(\'{piece[0]}\') % 50u);',
        f'{made} {x}.append("{piece}").push_back(\'q\'); {t} = (int){x}.length() + {x}.back() % 7 + ({x} < "b");', f'{made} std::string {y} = {x} + "{piece}" + std::to_string({a}); {t} = (int){y}.size() + ({y} > {x});', f'{made} {x} = {x}.substr({x}.size() / 2); {t} = (int){x}.size() * {m} + ({x}.compare(0, 1, "{piece}") < 0);',
        f'{made} std::string {y} = {x}; {y}[0] = \'z\'; {t} = ({x} == {y}) + (int){y}.size();' if word else f"{made} {t} = {x}.empty() ? {n} : {m};", f'{made} std::string &{y} = {x}; {y}.clear(); {t} = {x}.empty() * {n};', f'{made} switch ({a} % 3) {{ case 0: {x} = "{piece}"; case 1: {x} += "q"; break; default: {x}.clear(); }} {t} = (int){x}.size();',
        f'const char *{x} = "{word}"; if ({c}) {x} = "{n}{m}"; {t} = std::atoi({x}) + (int)strlen({x});', f'const char *{x} = "{n}:{m}"; if (const char *{y} = strchr({x}, \':\')) {t} = std::atoi({y} + 1) + int({y} - {x});', f'try {{ {t} = std::stoi(std::string("{word}") + "{n}"); }} catch (const std::invalid_argument &) {{ {t} = {m}; }}',
        f'std::vector<std::string> {x} = {{"{word}", "{piece}", "{n}"}}; for (auto &{y} : {x}) {y} += "{m}"; {t} = std::atoi({x}[2].c_str()) + (int){x}[0].size();', f'std::vector<std::string> {x} = {{"{word}", "{piece}"}}; {x}[1] = "{n}"; {t} = std::stoi({x}.back()) + (int){x}.size();', f'std::map<std::string, int> {x} = {{{{"a", {n}}}, {{"b", {m}}}}}; {x}["c"] = {a}; {t} = {x}["b"] + (int){x}.count("{piece}");',
        f"int (*{x})(int) = scaled; if ({c}) {x} = kinds; {t} = {x}(std::abs({a})) % 80;", f"std::function<int(int)> {x} = scaled; if ({c}) {x} = [&](int q) {{ {u} += 1; return q + {m}; }}; {t} = {x}({n}) % 80;", f"auto {x} = [&](int q) {{ {u} = q; return {n}; }}; auto {y} = {c} ? {n} : {x}({m}); {t} = {y};",
        f"std::function<int(int)> {x} = [&](int q) {{ return q > 0 ? 1 + {x}(q - 1) : {n}; }}; {t} = {x}({m});", f"int {x} = 0; std::vector<int> {y} = {{{n}, {m}, 3}}; {t} = (int)std::count_if({y}.begin(), {y}.end(), [&](int q) {{ {x}++; return q > 4; }}); {u} = {x};", f"std::vector<int> {x}(3, {m}); std::generate({x}.begin(), {x}.end(), [&] {{ return {t}++ % 50; }}); {u} = {x}[2];",
        f"Nest {x}{{}}, {y}; {x}.arr[1] = {a}; {y} = {c} ? {x} : Nest{{}}; {t} = {y}.arr[1];", f"auto {x} = [&]() -> Pod {{ if ({c}) return {{{n}, 2, 3, 4}}; return {{{m}, 5, 6, 7}}; }}; {t} = {x}().a + {x}().s;", f"auto {x} = [&]() -> std::string {{ if ({c}) return \"{word}\"; return \"{piece}\"; }}; {t} = (int){x}().size();",
    ]  # fmt: skip
    return f"{{ {p.draw.choice(forms)} }}"


def jumps(p: Program) -> str:
    """Statements that are left, skipped or decided in ways that a reader of the text may not know."""
    t, u, x = p.variable(), p.variable(), p.name("j")
    a, n, m = expression(p, 1), p.number(), p.number(4)
    when, other = (
        f"outside({expression(p, 1)}) {p.draw.choice(('>', '==', '<'))} {p.number(3)}" for _ in "12"
    )
    forms = [
        f"for (int {x} = 0; {x} < {m}; {x}++) {{ {t} = {a}; if ({when}) break; {u} = {n}; {launch(p)}; }}",
        f"for (int {x} = 0; {x} < {m}; {x}++) {{ {t} = {n}; if ({when}) continue; {t} = {m}; {u} += 1; }}",
        f"for (int {x} = 0;; {x}++) {{ {t} += {n}; if ({x} > 5) break; if ({when}) continue; {u} = {m}; break; }}",
        f"int {x} = {m}; while ({x}--) {{ if ({when}) {{ {t} = {n}; break; }} if ({other}) {{ {u}++; continue; }} {t} = {a}; }}",
        f"do {{ {t} = {n}; if ({when}) break; {t} = {m}; }} while ({other} && {t}++ < 60);",
        f"switch (outside({a})) {{ case 0: {t} = {n}; case 1: {u} = {m}; {launch(p)}; break; case 2: {t}++; default: {u} += 2; }}",
        f"switch (outside({a})) {{ case 0: {t} = {n}; if ({when}) break; {t} = {m}; break; case 1: {t} = {n}; break; default: {t} = {n}; }}",
        f"for (int {x} = 0; {x} < 3; {x}++) {{ switch (outside({x} + {a})) {{ case 1: continue; case 2: {u} = {n}; break; default: {t} = {m}; }} {launch(p)}; }}",
        f"auto {x} = [&](int q) {{ {t} = q; if ({when}) return {n}; {t} = {m}; return {n}; }}; {u} = {x}({a});",
        f"auto {x} = [&](int q) {{ switch (outside(q)) {{ case 0: return {n}; case 1: return {m}; default: {t} = 3; }} return {n}; }}; {u} = {x}({a});",
        f"auto {x} = [&] {{ for (int i = 0; i < {m}; i++) {{ if (outside(i) > {n}) break; if ({other}) return {n}; }} return {m}; }}; {u} = {x}();",
        f"{t} = {when} ? {u}++ : {u}--;", f"if ({when} && {t}++ > 3) {u} = {n};", f"if ({when} || ({t} = {n})) {u} += 1;",
        f"{when} ? {t} = {n} : {u} = {m};", f"Box {x} = {when} ? Box({n}) : Box({a}, {m}); {t} = {x}.v; {u} = made;",
        f"int {x} = {n}; int &{x}r = {when} ? {x} : {t}; {x}r = {m}; {u} = {x};", f"int *{x} = {when} ? &{t} : nullptr; if ({x}) *{x} = {n}; {u} += 2;",
        f"try {{ {t} = {n}; if ({when}) throw {m}; {t} = {m}; }} catch (int e) {{ {u} = e; }}",
        f"for (int {x} = 0; {x} < {m}; {x}++) try {{ if ({when}) break; {t} = checked({a}); if ({other}) continue; {u} = {n}; }} catch (const std::exception &) {{ {u}++; }}",
        f"if ({when}) goto {x}; {t} = {n}; {launch(p)}; {x}: {u} += 1;", f"{x}: {t} = ({t} + 1) % 40; if ({t} % {m} && {when}) goto {x}; {launch(p)};",
        f"static int {x} = {n}; if ({when}) {x} += {m}; {t} = {x};", f"int {x}[3] = {{{n}, {m}, 1}}; {x}[outside({a}) % 3] = 7; {t} = {x}[1]; {u} = {x}[2];",
        f"std::vector<int> {x}; if ({when}) {x}.push_back({n}); {x}.push_back({m}); {t} = {x}[0]; {u} = (int){x}.size();",
        f"Box {x}({n}); {{ Keep k({t}); {t} = {m}; if ({when}) {x}.add(2); }} {u} = {x}.v;",
    ]  # fmt: skip
    return p.draw.choice(forms)


def statement(p: Program, depth: int) -> str:
    """One or more statements."""
    if p.has_outside and p.draw.random() < 0.4:
        return jumps(p)
    if p.has_long_loops and depth < 2 and p.draw.random() < 0.7:
        return uncounted(p)
    pick = p.draw.random()
    if depth < MOST_NESTED and pick < 0.1:
        name = p.name("i")
        p.names.append(name)
        text = f"for (int {name} = 0; {name} < {p.draw.choice((1, 2, 3, 5))}; {name}++) {{ int keep_{name} = {name}; {block(p, depth + 1)} {name} = keep_{name}; }}"
        p.names.remove(name)
        return text
    if depth < MOST_NESTED and pick < 0.24:
        return f"if ({condition(p)}) {{ {block(p, depth + 1)} }} else {{ {block(p, depth + 1)} }}"
    if depth < MOST_NESTED and pick < 0.28:
        cases = " ".join(
            f"case {number}: {{ {block(p, depth + 1)} }} {p.draw.choice(('break;', ''))}"
            for number in range(3)
        )
        return f"switch (std::abs({expression(p)}) % 4) {{ {cases} default: {p.variable()} += 1; }}"
    if pick < 0.42:
        return f"{launch(p)};"
    if pick < 0.52:
        return objects(p)
    if pick < 0.55:
        return lifetimes(p)
    if pick < 0.6:
        return references(p)
    if pick < 0.64:
        return texts(p)
    if pick < 0.67:
        return printing(p)
    if pick < 0.70:
        return algorithms(p)
    if pick < 0.71:
        return printing(p)
    if pick < 0.76:
        return exceptions(p)
    if pick < 0.775 and depth < 2:
        return uncounted(p)
    if pick < 0.81:
        name = p.name("n")
        text = f"int {name} = {expression(p)};"
        p.names.append(name)
        return text
    return library(p)


def block(p: Program, depth: int) -> str:
    """Statements in which new names end."""
    known = len(p.names)
    text = "\n".join(statement(p, depth) for _ in range(p.draw.randint(1, 3)))
    del p.names[known:]
    return text


def _function(p: Program, name: str) -> str:
    """A function that launches."""
    outer, p.names = p.names, ["g0", "x", "y", "b.v"]
    inner = block(p, 1)
    p.names = outer
    parameters = p.draw.choice(["int x, int &y, Box b", "int x, int &y, Box &b", "int x, int y, Box b"])
    return f"int {name}({parameters}) {{ {inner} return ({expression_of(p, ['x', 'y', 'b.v'])}) % 90; }}"


def expression_of(p: Program, names: list[str]) -> str:
    """A value of these names."""
    outer, p.names = p.names, names
    text = expression(p)
    p.names = outer
    return text


def program(
    seed: int, *, is_short: bool = False, has_outside: bool = False, has_long_loops: bool = False
) -> tuple[str, int]:
    """Text of a program, with launches as `LAUNCH(kernel; grid; block; m; n)`, and their number.

    `is_short`: of one statement, then what it has changed.
    """
    p = Program(random.Random(seed), has_outside=has_outside, has_long_loops=has_long_loops)
    draw = p.draw

    def body(*forms: str) -> str:
        return draw.choice(forms)

    n = {f"n{i}": p.number(9) for i in range(6)}
    g = draw.choice(["", "Setup setup(3);", "Box gbox(g1 + 2);", "int g2 = g0 + scaled(2);", "Box gbox; int g2 = gbox.v + made;",
                     "int g2 = [] { return g0++ + 4; }();", "std::vector<int> gv = {4, 5, 6};", "Right gright(4); int g2 = gright.size();"])  # fmt: skip
    classes = _CLASSES.format(
        **n, m=draw.choice((2, 3, 5)), g0="g0", g1="g1", globals=g,
        ctor=body("made++;", "w += made;", "", "made += 2; v += w;"),
        copy=body(": v(o.v), w(o.w) {}", ": v(o.v + 1), w(o.w) { made++; }", "= default;", "{ v = o.v; w = 3; }"),
        assign=body("{ v = o.v; return *this; }", "= default;", "{ if (this != &o) { v = o.v + 2; w = o.w; } return *this; }"),
        dtor=body("", "gone++;", "gone += v > 3;", "g0 = v % 40;"), base=body("", "made++;"),
    )  # fmt: skip
    extra = [
        name
        for name in ("g2", "gbox.v", "gv[1]", "gright.extra")
        if re.search(rf"\b{name.split('.')[0].split('[')[0]}\b", g)
    ]
    p.names = ["g0", "g1", *extra]
    functions = [_function(p, f"work{i}") for i in range(0 if is_short else draw.randint(0, 2))]
    p.names = ["a", "b", "c", "g0", "g1", *extra]
    parts: list[str] = []
    for _ in range(1 if is_short else draw.randint(4, 9)):
        parts.append(statement(p, 0))
        if functions and draw.random() < 0.3:
            parts.append(f"c = work{draw.randrange(len(functions))}({expression(p)}, a, box);")
    parts.append(f"{launch(p)};")
    for name in (*p.names, "made", "gone", "Box::count", "box.v", "box.w") if is_short else ():
        parts.append(f"LAUNCH(k{p.launches}; 1; 32; {name}; 0);")
        p.launches += 1
    text = "\n".join(parts)
    main = f"int main() {{ int a = {p.number()}, b = {p.number()}, c = {p.number()}; Box box({p.number()}, 4); (void)b; (void)c;\n{text}\nreturn 0; }}"
    return "\n".join((classes, *functions, main)), p.launches


Made = Counter[tuple[str, tuple[int, ...], tuple[int, ...]]]
"""How often each kernel is launched with each geometry and arguments."""


def runs(programs: dict[int, tuple[str, int]], folder: Path) -> Iterator[tuple[int, str, int, Made]]:
    """Programs, by their number, with their launches as g++ and the processor make them."""
    made: dict[int, Made] = {seed: Counter() for seed in programs}
    texts, calls = [_HEADERS, _RUN_HEAD, _OUTSIDE], list[str]()
    for seed, (text, _) in programs.items():
        plain = _LAUNCH.sub(r'note("\1", \2, \3, \4, \5)', text).replace("int main()", "int run()")
        texts.append(f'namespace p{seed} {{\n#line 1 "p{seed}"\n{plain}\n}}')
        calls.append(f"case {seed}: return p{seed}::run();")
    texts.append(
        f"int main(int argc, char **argv) {{ switch (program = atoi(argv[1])) {{ {' '.join(calls)} }} }}"
    )
    source = folder / "all.cpp"
    source.write_text("\n".join(texts))
    subprocess.run(
        ["g++", "-std=c++20", "-O0", "-w", "-fsanitize=undefined", source, "-o", folder / "all"], check=True
    )
    for seed in programs:
        limited = ["timeout", "10", folder / "all", str(seed)]
        ran = subprocess.run(limited, capture_output=True, text=True, timeout=60, check=False)
        if ran.returncode or ran.stderr:
            continue  # no end, an exception that nobody catches, undefined behaviour: no program to judge by
        for line in ran.stdout.splitlines():
            if not line.startswith("@ "):
                continue  # what the program prints
            _, _, name, *numbers = line.split()
            values = tuple(map(int, numbers))
            made[seed][name, values[:6], values[6:]] += 1
        yield seed, *programs[seed], made[seed]


def cuda_text(text: str, launches: int) -> str:
    """The program as wattslice reads it."""
    kernels = "".join(f"__global__ void k{i}(int m, int n) {{}}\n" for i in range(launches))
    return (
        _HEADERS
        + "int outside(int);\n" * ("outside(" in text)
        + kernels
        + _LAUNCH.sub(r"\1<<<\2, \3>>>(\4, \5)", text)
    )


def is_known(one: KernelLaunch) -> bool:
    """Whether a launch is called host code, with nothing assumed."""
    return one.source is LaunchSource.HOST_CODE and not one.assumptions and one.line is not None


def wrong(found: tuple[KernelLaunch, ...], made: Made) -> Iterator[str]:
    """What is said of the launches of a program that its run denies."""
    for kernel in dict.fromkeys(one.kernel.name for one in found):
        own = [one for one in found if one.kernel.name == kernel and one.line is not None]
        real = {key[1:]: times for key, times in made.items() if key[0] == kernel}
        total = sum(real.values())
        known = [one.times for one in own if one.times is not None and is_known(one)]
        places = {(*one.grid, *one.block) for one in own}
        is_whole = len(known) == len(own) and places == {place for place, _ in real}
        if sum(known) > total or (is_whole and sum(known) != total):
            yield f"{kernel} is launched {total} times, said: {known}"
        for one in filter(is_known, own):
            geometry = (*one.grid, *one.block)
            others = [other for other in own if other is not one]
            told = {(*other.grid, *other.block) for other in others}
            if one.times is None and ({place for place, _ in real} <= told or not all(map(is_known, others))):
                continue  # it may not have been made
            if geometry not in {place for place, _ in real}:
                yield f"{kernel} is never launched on {geometry}: {list(real)}"
            elif None not in one.arguments and (geometry, one.arguments) not in real:
                yield f"{kernel} is never given {one.arguments} on {geometry}: {list(real)}"


def in_folder(folder: Path) -> list[tuple[str, int]]:
    """Programs, one a file, of which each launch is written LAUNCH(k7; grid; block; m; n); the numbers of kernels."""
    texts = [path.read_text() for path in sorted(folder.iterdir())]
    return [(text, max(int(one[1][1:]) for one in _LAUNCH.finditer(text)) + 1) for text in texts]


def check(texts: dict[int, tuple[str, int]], show: Callable[[str], None]) -> tuple[int, int, int, int]:
    """Judges programs; how many, launched kernels in them, those known with arguments and times, and faults."""
    gpu = load_gpu("v100")
    programs = launched = known = faults = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for start in range(0, len(texts), TOGETHER):
            some = dict(list(texts.items())[start : start + TOGETHER])
            for seed, text, launches, made in runs(some, folder):
                path = folder / f"p{seed}.cu"
                path.write_text(cuda_text(text, launches))
                found = resolve_launches(read_cuda(path), NO_OVERRIDES, gpu)
                programs += 1
                kernels = {kernel for kernel, *_ in made}
                launched += len(kernels)
                whole = {k: [one for one in found if one.kernel.name == k] for k in kernels}
                known += sum(
                    all(is_known(o) and None not in (o.times, *o.arguments) for o in own)
                    for own in whole.values()
                )
                for message in wrong(found, made):
                    faults += 1
                    show(f"seed {seed}: {message}")
    return programs, launched, known, faults


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0, help="seed of the first program")
    parser.add_argument("--programs", type=int, default=200)
    parser.add_argument(
        "--text", action="store_true", help="print the first program as wattslice reads it, and end"
    )
    parser.add_argument("--short", action="store_true", help="programs of one statement")
    parser.add_argument("--outside", action="store_true", help="programs that ask what only their run tells")
    parser.add_argument("--loops", action="store_true", help="programs with many long loops")
    parser.add_argument("--folder", type=Path, help="programs of a folder, one a file, numbered by name")
    options = parser.parse_args()
    forms = {"is_short": options.short, "has_outside": options.outside, "has_long_loops": options.loops}
    if options.text:
        print(cuda_text(*program(options.first, **forms)))
        return
    seeds = range(options.first, options.first + options.programs)
    texts = dict(
        enumerate(in_folder(options.folder))
        if options.folder
        else ((seed, program(seed, **forms)) for seed in seeds)
    )
    programs, launched, known, faults = check(texts, print)
    print(f"{programs} programs, {launched} kernels launched, {known} known, {faults} said wrongly")


if __name__ == "__main__":
    main()
