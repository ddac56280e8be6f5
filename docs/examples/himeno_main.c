/* The pressure of Himeno's benchmark on all ranks of MPI: arrays of rank 0 go in, and come back. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "himeno_mpi.h"

static float *filled(size_t count, float value)
{
    float *made = malloc(count * sizeof *made);
    for (size_t n = 0; n < count; n++)
        made[n] = value;
    return made;
}

int main(int argc, char **argv)
{
    const int nx = 25, ny = 26, nz = 27, steps = 6;
    const size_t plane = (size_t)nx * ny * nz;
    int rank, ranks;
    float *p = NULL, *zero = NULL, *one = NULL, *sixth = NULL; /* only rank 0 has arrays */

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (rank == 0) {
        zero = filled(plane, 0), one = filled(plane, 1), sixth = filled(plane, 1.0f / 6);
        p = filled(2 * plane, 0);
        for (size_t n = 0; n < 2 * plane; n++) {
            const int i = (int)(n % plane) / (ny * nz);
            p[n] = (float)(i * i) / ((nx - 1) * (nx - 1));
        }
    }
    int status = himeno_mpi(MPI_COMM_WORLD, steps, nx, ny, nz, 0.8f, p, one, one, one, sixth, zero, zero, zero, one, one,
                            one, zero, one);
    if (rank == 0 && status == 0) {
        double sum = 0;
        for (size_t n = 0; n < plane; n++)
            sum += p[n];
        printf("%d ranks: the pressures add up to %.6f\n", ranks, sum);
    }
    free(p), free(zero), free(one), free(sixth);
    MPI_Finalize();
    return status;
}
