// Times and checks one kernel on one problem, and prints a line of JSON.
#pragma once

#include <cuda_runtime.h>

#include <functional>

// A kernel, and how it is launched: `head` opens the line (its closing brace left out).
struct Launched {
    const char *head;
    const void *kernel;
    int blocks, threads, shared;
};

// C = alpha A B + beta C of ni x nj elements, rows as long as they have to be. A is [i][k] or [k][i], B is [k][j] or
// [j][k]. `triangle` is 'l' for j <= i, with B = A; else 0.
struct Contraction {
    int ni, nj, nk;
    bool a_along_k, b_along_k;
    char triangle;
    double alpha, beta;
};

// Prints figures, or what went wrong; compares all elements with sums of doubles, and times cuBLAS where it can be
// loaded.
template <class T>
void measure(const Launched &launched, const Contraction &contraction, std::function<void(const T *, const T *, T *)> run);
