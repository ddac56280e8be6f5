/* What GNU C has beyond C99, beside loops: kernels and host must agree with what gcc alone makes of it. */
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#ident "whole"
#define MAX(a, b) ({ __typeof__(a) _a = (a); __typeof__(b) _b = (b); _a > _b ? _a : _b; })
#define likely(x) __builtin_expect(!!(x), 1)
#define barrier() __asm__ volatile ("" : : : "memory")
#define N 64

static int hidden = 3;
static int touched[N];
static const int table[N] = { [0 ... 31] = 5, [32 ... 40] = 7, [41] = 1 };
int shared[N];
extern int other[N] __asm__("shared");
static __thread int mine[N];
typedef typeof(touched[0]) element;
_Float128 wide = 1;
enum { ONE = 1, TWO };

[[maybe_unused]] static double half(double x) { return x / 2; }

/* a function whose jumps cannot be followed, which changes what others read */
static void jumps(int n)
{
    static void *to[] = { &&first, &&second };
    goto *to[n & 1];
first:
    hidden += 1;
    for (int i = 0; i < N; i++) touched[i] += hidden;
    return;
second:
    hidden += 2;
    for (int i = 0; i < N; i++) touched[i] -= i;
}

static int bump(void) { int x = 1; __asm__ ("addl $4, %0" : "+r" (x)); return x; }

static int within(int n)
{
    int inner(int k) { return k * n; }
    int s = 0;
    for (int i = 0; i < 5; i++) s += inner(i);
    return s;
}

void conditions(int n, const int *restrict a, int *restrict b)
{
    for (int i = 0; i < n; i++) {
        __auto_type k = a[i];
        switch (k) {
        case -100 ... -1: b[i] = -k ?: 4; break;
        case 0 ... 9: b[i] = k ?: 77; break;
        case 'a' ... 'z': b[i] = 2 * k; break;
        default: b[i] = k % 5 ?: i;
        }
    }
}

void globals(int n)
{
    barrier();
    for (int i = 0; i < n; i++) shared[i] += touched[i] + hidden;
    barrier();
    for (int i = 0; i < n; i++) other[i] *= 3;
    for (int i = 0; i < n; i++) shared[i] += table[i];
    for (int i = 0; i < n; i++) mine[i] = shared[i] - mine[i];
}

void types(int n, element *restrict a, double *restrict b)
{
    typeof(b) c = b;
    for (int i = 0; i < n; i++) { typeof(a[i] + b[i]) t = a[i]; if (likely(i != 7)) c[i] = t * 0.25 + half(t); else c[i] = -1; }
}

void digraphs(int n, int *restrict a)
<%
    for (int i = 0; i < n; i++) a<:i:> += 2 * i;
    for (int i = 0; i < n; i++) <% a[i] += i; a[i] *= 3; %>
%>

void numbers(int n, double _Complex *restrict z)
{
    for (int i = 0; i < n; i++) z[i] = z[i] * (1.5 + 0.5i) + 2.0i;
}

int main(void)
{
    int a[N], b[N];
    double d[N];
    double _Complex z[N];
    register int r asm("ebx") = 5;
    for (int i = 0; i < N; i++) { a[i] = (i * 37) % 160 - 30; d[i] = i; z[i] = i - 3; b[i] = r; }
    for (int t = 0; t < 3; t++) {
        jumps(t);
        conditions(N, a, b);
        globals(N);
        types(N, b, d);
        digraphs(N, a);
        numbers(N, z);
    }
    long s = bump() + within(4) + MAX(3, hidden) + __builtin_types_compatible_p(int, element) + __alignof__(double) + (wide > 0);
    double q = 0;
    for (int i = 0; i < N; i++) {
        s = s * 31 % 1000003 + a[i] + b[i] + shared[i] + touched[i] + mine[i];
        q = q / 2 + d[i] + __real__ z[i] - __imag__ z[i];
    }
    printf("%ld %.17g\n", s, q);
    return 0;
}
