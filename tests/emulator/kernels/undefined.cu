// Kernels whose arithmetic C++ does not define. The lines end with `// undefined NAME`.
#include "checked.h"

__global__ void index(const double *data, double *out, int i, int n) {
  out[0] = data[(i * n + 4) & 3];    // undefined index
}
RUN(index_overflow) { return launch(1, 1, 0, index, Device<double>(4), Device<double>(1), 46341, 46341); }
RUN(index_largest) { return launch(1, 1, 0, index, Device<double>(4), Device<double>(1), 46340, 46340); }

__global__ void wide(double *out, int i, int n) { out[((long long)i * n) & 0] = 1; }
RUN(wide_index) { return launch(1, 1, 0, wide, Device<double>(1), 46341, 46341); }

__global__ void add(int *out, int a) { out[0] = a + 1; }    // undefined add
RUN(add_overflow) { return launch(1, 1, 0, add, Device<int>(1), 2147483647); }

__global__ void negate(int *out, int a) { out[0] = -a; }    // undefined negate
RUN(negate_overflow) { return launch(1, 1, 0, negate, Device<int>(1), -2147483647 - 1); }

__global__ void wrap(unsigned *out, unsigned a) { out[0] = (a + 1) * 65537u; }
RUN(wrap_around) { return launch(1, 1, 0, wrap, Device<unsigned>(1), 4294967295u); }

__global__ void shift(int *out, int by) { out[0] = 1 << by; }    // undefined shift
RUN(shift_32) { return launch(1, 1, 0, shift, Device<int>(1), 32); }
RUN(shift_30) { return launch(1, 1, 0, shift, Device<int>(1), 30); }

__global__ void rest(int *out, int a, int by) { out[0] = a % by; }    // undefined rest
RUN(rest_of_nothing) { return launch(1, 1, 0, rest, Device<int>(1), 7, 0); }
RUN(rest_too_large) { return launch(1, 1, 0, rest, Device<int>(1), -2147483647 - 1, -1); }
RUN(rest) { return launch(1, 1, 0, rest, Device<int>(1), -7, 4); }

__global__ void to_int(int *out, double a) { out[0] = static_cast<int>(a); }    // undefined to_int
RUN(to_int_too_large) { return launch(1, 1, 0, to_int, Device<int>(1), 3e9); }
RUN(to_int_fits) { return launch(1, 1, 0, to_int, Device<int>(1), -2e9); }


// What goes wrong inside a header is reported where the kernel calls it.
__global__ void in_a_header(int *out, int a) { out[0] = before(a); }    // undefined in_a_header
RUN(in_a_header) { return launch(1, 1, 0, in_a_header, Device<int>(1), -2147483647 - 1); }
