/* The entry in steps: each rank gives and takes its own part, and the time loop runs twice. */
static const char *library(MPI_Comm comm, int rank, const int *given)
{
    const int steps = given[0], n = given[1], m = given[2];
    struct jacobi_mpi_state *state;
    long long first[2], end[2];
    int wrong = 0;
    double *all[2] = {malloc(sizeof(double) * n * m), malloc(sizeof(double) * n * m)}, *part[2];
    for (int a = 0; a < 2; ++a)
        for (int e = 0; e < n * m; ++e) all[a][e] = (double)((e * 7919 + a * 31) % 1009) / 1009;
    if (jacobi_mpi_init(&state, comm, n, m)) return "refused";
    jacobi_mpi_box(state, first, end);
    const long long width = end[1] - first[1], height = end[0] - first[0];
    const int number[2] = {jacobi_mpi_array_A, jacobi_mpi_array_B};
    for (int a = 0; a < 2; ++a) {
        part[a] = malloc(sizeof(double) * height * width + 1);
        for (long long i = 0; i < height; ++i)
            memcpy(part[a] + i * width, all[a] + (first[0] + i) * m + first[1], sizeof(double) * width);
        wrong |= jacobi_mpi_put(state, number[a], part[a]);
    }
    wrong |= jacobi_mpi_iterate(state, steps);
    wrong |= jacobi_mpi_iterate(state, steps + 1);
    jacobi_in_c(2 * steps + 1, n, m, (void *)all[0], (void *)all[1]);
    for (int a = 0; a < 2; ++a) {
        wrong |= jacobi_mpi_get(state, number[a], part[a]);
        for (long long i = 0; i < height; ++i)
            wrong |= memcmp(part[a] + i * width, all[a] + (first[0] + i) * m + first[1], sizeof(double) * width);
        free(part[a]);
    }
    double *gathered = rank ? NULL : malloc(sizeof(double) * n * m);
    wrong |= jacobi_mpi_gather(state, jacobi_mpi_array_A, gathered);
    if (rank == 0) wrong |= memcmp(gathered, all[0], sizeof(double) * n * m);
    wrong |= jacobi_mpi_get(state, 7, gathered) != 1;
    jacobi_mpi_exit(state);
    free(gathered), free(all[0]), free(all[1]);
    return wrong ? "different" : "equal";
}
