// Matrix products of doubles on tensor cores (mma): a whole warp multiplies, each lane holding some of the elements.
//
// Lane 4 g + t holds of the 16 x 8 matrix d rows g, g, g + 8, g + 8 at columns 2 t, 2 t + 1, 2 t, 2 t + 1; of the 16 x
// k matrix a rows g and g + 8 at column t, then (k = 8) the same at column t + 4; of the k x 8 matrix b rows t and t +
// 4 at column g (PTX ISA, "Matrix Fragments for mma.m16n8k8"). Products are added to d by fused multiply-adds, from the
// first k to the last; hardware may round otherwise.
#ifndef POLYTILE_EMULATOR_MATRIX_H
#define POLYTILE_EMULATOR_MATRIX_H

#pragma GCC visibility push(hidden)

namespace polytile_emulator {

// The registers of one lane; b[1] and the last two of a are used when k is 8.
struct Fragments {
  unsigned k;
  double d[4], a[4], b[2];
};

#if !defined(POLYTILE_EMULATOR_APART)

POLYTILE_EMULATOR_QUIET inline double sum_of_products(const Fragments *const *lanes, double sum, unsigned row,
                                                      unsigned column, unsigned k) {
  for (unsigned i = 0; i < k; ++i) {
    const double a = lanes[row % 8 * 4 + i % 4]->a[i / 4 * 2 + row / 8];
    const double b = lanes[column * 4 + i % 4]->b[i / 4];
    sum = fma(a, b, sum);
  }
  return sum;
}

POLYTILE_EMULATOR_QUIET inline void multiply(Thread *threads, unsigned arrived) {
  if (~arrived) fail("a matrix product without all lanes of the warp", threads[__builtin_ctz(arrived)].site.function);
  Fragments *lanes[kWarp];
  for (unsigned l = 0; l < kWarp; ++l) lanes[l] = reinterpret_cast<Fragments *>(threads[l].value);
  for (unsigned l = 1; l < kWarp; ++l)
    if (lanes[l]->k != lanes[0]->k) fail("matrix products of two shapes in one warp", threads[l].site.function);
  for (unsigned l = 0; l < kWarp; ++l)
    for (unsigned i = 0; i < 4; ++i)
      lanes[l]->d[i] = sum_of_products(lanes, lanes[l]->d[i], l / 4 + i / 2 * 8, l % 4 * 2 + i % 2, lanes[0]->k);
}

#endif

POLYTILE_EMULATOR_QUIET inline void multiply(Fragments &own, double &d0, double &d1, double &d2, double &d3,
                                             const Site &site) {
  meet(kMultiply, ~0u, reinterpret_cast<uintptr_t>(&own), 0, site);
  d0 = own.d[0];
  d1 = own.d[1];
  d2 = own.d[2];
  d3 = own.d[3];
}

}  // namespace polytile_emulator

POLYTILE_EMULATOR_QUIET inline void polytile_mma_m16n8k8(double &d0, double &d1, double &d2, double &d3, double a0,
                                                         double a1, double a2, double a3, double b0, double b1,
                                                         POLYTILE_EMULATOR_SITE) {
  polytile_emulator::Fragments own = {8, {d0, d1, d2, d3}, {a0, a1, a2, a3}, {b0, b1}};
  polytile_emulator::multiply(own, d0, d1, d2, d3, POLYTILE_EMULATOR_HERE);
}
POLYTILE_EMULATOR_QUIET inline void polytile_mma_m16n8k4(double &d0, double &d1, double &d2, double &d3, double a0,
                                                         double a1, double b0, POLYTILE_EMULATOR_SITE) {
  polytile_emulator::Fragments own = {4, {d0, d1, d2, d3}, {a0, a1, 0, 0}, {b0, 0}};
  polytile_emulator::multiply(own, d0, d1, d2, d3, POLYTILE_EMULATOR_HERE);
}

#pragma GCC visibility pop

#endif
