// cuBLAS, where it can be loaded: the environment's CUBLAS_LIB, else the loader's.
#pragma once

#include "measure.h"

#include <dlfcn.h>

#include <cstdlib>
#include <stdexcept>

class Blas {
public:
    Blas()
    {
        const char *wish = std::getenv("CUBLAS_LIB");
        for (const char *name : {wish ? wish : "libcublas.so", "libcublas.so.13", "libcublas.so.12"})
            if (!library_) library_ = dlopen(name, RTLD_NOW);
        if (library_ && find<int (*)(void **)>("cublasCreate_v2")(&handle_)) throw std::runtime_error("cublasCreate");
    }

    bool loaded() const { return library_ != nullptr; }

    // The product as rows, that is, of transposed matrices as cuBLAS sees them: C' = B' A'.
    template <class T> void run(const Contraction &of, const T *a, const T *b, T *c) const
    {
        const T alpha = (T)of.alpha, beta = (T)of.beta;
        const bool wide = sizeof(T) == 8;
        int status;
        if (of.triangle)
            status = find<Rank<T>>(wide ? "cublasDsyrk_v2" : "cublasSsyrk_v2")(
                handle_, UPPER, of.a_along_k ? TRANSPOSED : PLAIN, of.ni, of.nk, &alpha, a, of.a_along_k ? of.nk : of.ni,
                &beta, c, of.nj);
        else
            status = find<Product<T>>(wide ? "cublasDgemm_v2" : "cublasSgemm_v2")(
                handle_, of.b_along_k ? TRANSPOSED : PLAIN, of.a_along_k ? PLAIN : TRANSPOSED, of.nj, of.ni, of.nk, &alpha,
                b, of.b_along_k ? of.nk : of.nj, a, of.a_along_k ? of.nk : of.ni, &beta, c, of.nj);
        if (status) throw std::runtime_error("cuBLAS");
    }

private:
    static constexpr int PLAIN = 0, TRANSPOSED = 1, UPPER = 1;  // cublasOperation_t, cublasFillMode_t

    template <class T>
    using Product = int (*)(void *, int, int, int, int, int, const T *, const T *, int, const T *, int, const T *, T *, int);
    template <class T>
    using Rank = int (*)(void *, int, int, int, int, const T *, const T *, int, const T *, T *, int);

    template <class F> F find(const char *name) const
    {
        void *found = dlsym(library_, name);
        if (!found) throw std::runtime_error(name);
        return (F)found;
    }

    void *library_ = nullptr, *handle_ = nullptr;
};
